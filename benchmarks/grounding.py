"""How well unfaithful answers are separated from faithful ones: our check and 4-gram overlap on the same answers.

python -m benchmarks.grounding
"""

import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import perf_counter

from benchmarks.sets import DATA
from bookwise.answering.grounding.sentence_gate import SentenceGate
from bookwise.answering.grounding.support import GROUNDED, LEAST_SUPPORT, CheckedSegment, is_grounded, support
from bookwise.domain.answers import Passage
from bookwise.domain.books import Audience, Chunk, Locator

UNFAITHFUL_MEDIAN = 2
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Judged:
    """An answer, the contexts it was written from, and the verdict of people."""

    response: str
    contexts: tuple[str, ...]
    faithful: bool


@dataclass(frozen=True)
class Verdict:
    score: float
    grounded: bool


def lines(path: Path) -> Iterator[dict[str, object]]:
    return (json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line)


def mtrag(folder: Path) -> list[Judged]:
    contexts = {str(row["id"]): str(row["text"]) for row in lines(folder / "mtrag_human_contexts.jsonl")}
    return [
        Judged(
            response=str(row["response"]),
            contexts=tuple(contexts[key] for key in row["context_ids"]),  # type: ignore[attr-defined]
            faithful=float(str(row["faithfulness_median"])) > UNFAITHFUL_MEDIAN,
        )
        for row in lines(folder / "mtrag_human_faithfulness.jsonl")
    ]


def labelled(path: Path) -> list[Judged]:
    """The answers with a label; those that people disagreed about have none."""
    return [
        Judged(response=str(row["response"]), contexts=(str(row["source"]),), faithful=bool(row["grounded"]))
        for row in lines(path)
        if row["grounded"] is not None
    ]


def passages(contexts: Sequence[str]) -> tuple[Passage, ...]:
    return tuple(Passage(number=number, chunk=_chunk(text), score=1.0) for number, text in enumerate(contexts, 1))


def _chunk(text: str) -> Chunk:
    return Chunk(
        id="",
        text=text,
        locator=Locator(book_id="", module="", chapter=0, lesson=0, source_file="", page_title=""),
        audience=Audience(),
        lesson_id="",
        revision="",
        index=0,
        total=1,
        prev_id=None,
        next_id=None,
        content_hash="",
        file_hash="",
        word_count=0,
        token_count=0,
        char_count=0,
        created_at=LONG_AGO,
        updated_at=LONG_AGO,
    )


def ours(judged: Judged) -> Verdict:
    """The score is the mean support of the claims; the verdict is the one that Bookwise uses."""
    evidence = passages(judged.contexts)
    gate = SentenceGate(evidence)
    checked: list[CheckedSegment] = [*gate.feed(judged.response), *gate.close()]
    scores = [support(piece.text, evidence) for piece in checked if piece.claims]
    grounded = is_grounded(checked)
    return Verdict(score=sum(scores) / len(scores) if scores else float(grounded), grounded=grounded)


def four_grams(text: str) -> list[tuple[str, ...]]:
    words = re.findall(r"\w+", text.lower())
    return [tuple(words[at : at + 4]) for at in range(max(1, len(words) - 3))]


def overlap(judged: Judged) -> float:
    """The share of the answer's word 4-grams that occur in a context."""
    known = {gram for context in judged.contexts for gram in four_grams(context)}
    grams = four_grams(judged.response)
    return sum(gram in known for gram in grams) / len(grams)


def balanced(judged: Sequence[Judged], grounded: Sequence[bool]) -> float:
    """The mean of two shares: faithful answers classified correctly, and unfaithful ones."""
    right = {True: 0, False: 0}
    for answer, verdict in zip(judged, grounded, strict=True):
        right[answer.faithful] += verdict == answer.faithful
    faithful = sum(answer.faithful for answer in judged)
    return (right[True] / faithful + right[False] / (len(judged) - faithful)) / 2


def best_threshold(judged: Sequence[Judged], scores: Sequence[float]) -> tuple[float, float]:
    """(balanced accuracy, threshold) at the best threshold for this set."""
    return max((balanced(judged, [score >= at for score in scores]), at) for at in set(scores))


def roc(judged: Sequence[Judged], scores: Sequence[float]) -> float:
    """Area under the curve: how often a faithful answer scores above an unfaithful one."""
    high = [score for answer, score in zip(judged, scores, strict=True) if answer.faithful]
    low = [score for answer, score in zip(judged, scores, strict=True) if not answer.faithful]
    return sum((up > down) + 0.5 * (up == down) for up in high for down in low) / (len(high) * len(low))


def report(name: str, judged: Sequence[Judged]) -> None:
    started = perf_counter()
    verdicts = [ours(answer) for answer in judged]
    milliseconds = (perf_counter() - started) / len(judged) * 1000
    scores = [verdict.score for verdict in verdicts]
    grams = [overlap(answer) for answer in judged]
    accuracy, at = best_threshold(judged, grams)
    unfaithful = sum(not answer.faithful for answer in judged)
    print(f"{name}: {len(judged)} answers, {unfaithful} unfaithful, {milliseconds:.1f} ms each")
    ours_accuracy = balanced(judged, [verdict.grounded for verdict in verdicts])
    print(f"  ours    balanced accuracy {ours_accuracy:.3f}  AUC {roc(judged, scores):.3f}")
    print(f"  4-gram  balanced accuracy {accuracy:.3f}  AUC {roc(judged, grams):.3f}  (at {at:.2f}, best on this set)")


def main() -> None:
    folder = DATA / "evaluation" / "groundedness"
    if not folder.exists():
        print(f"skipped: {folder} does not exist")
        return
    print(
        f"all sets: a sentence is supported from {LEAST_SUPPORT}, an answer is grounded if {GROUNDED} of its sentences"
        " are"
    )
    loaders: dict[str, Callable[[], list[Judged]]] = {
        "mtrag_human_faithfulness": lambda: mtrag(folder),
        "begin": lambda: labelled(folder / "begin.jsonl"),
        "faithbench": lambda: labelled(folder / "faithbench.jsonl"),
    }
    for name, load in loaders.items():
        report(name, load())


if __name__ == "__main__":
    main()
