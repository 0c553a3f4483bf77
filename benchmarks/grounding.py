"""How well unfaithful answers are separated from faithful ones: our check and 4-gram overlap on the same answers.

python -m benchmarks.grounding
"""

import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from time import process_time
from zlib import crc32

from benchmarks.sets import DATA
from bookwise.answering.grounding.sentence_gate import SentenceGate
from bookwise.answering.grounding.support import GROUNDED, LEAST_SUPPORT, CheckedSegment, answer_support, is_grounded
from bookwise.domain.answers import Passage
from bookwise.domain.books import Audience, Chunk, Locator

UNFAITHFUL_MEDIAN = 2
FOLDS = 5
LONG_AGO = datetime(2000, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Judged:
    """An answer, the contexts it was written from, and the verdict of people."""

    response: str
    contexts: tuple[str, ...]
    faithful: bool
    group: str  #: answers about the same source have the same


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
            group=str(row["group"]),
        )
        for row in lines(folder / "mtrag_human_faithfulness.jsonl")
    ]


def labelled(path: Path) -> list[Judged]:
    """The answers with a label; those that people disagreed about have none."""
    return [
        Judged(
            response=str(row["response"]),
            contexts=(str(row["source"]),),
            faithful=bool(row["grounded"]),
            group=str(row["group"]),
        )
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
    """The score and the verdict that Bookwise uses."""
    evidence = passages(judged.contexts)
    gate = SentenceGate(evidence)
    checked: list[CheckedSegment] = [*gate.feed(judged.response), *gate.close()]
    return Verdict(score=answer_support(checked, evidence), grounded=is_grounded(checked, evidence))


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


@dataclass(frozen=True)
class Scored:
    """The answers of one set with one score each."""

    judged: list[Judged]
    scores: list[float]

    def accuracy(self, at: float) -> float:
        return balanced(self.judged, [score >= at for score in self.scores])

    def without(self, fold: int) -> "Scored":
        kept = [pair for pair in zip(self.judged, self.scores, strict=True) if fold_of(pair[0]) != fold]
        return Scored([answer for answer, _ in kept], [score for _, score in kept])


def report(name: str, judged: list[Judged]) -> tuple[Scored, Scored]:
    """Prints one set; returns it with our scores, and with its overlaps."""
    started = process_time()
    verdicts = [ours(answer) for answer in judged]
    milliseconds = (process_time() - started) / len(judged) * 1000
    scores = [verdict.score for verdict in verdicts]
    grams = [overlap(answer) for answer in judged]
    accuracy, at = best_threshold(judged, grams)
    unfaithful = sum(not answer.faithful for answer in judged)
    print(f"{name}: {len(judged)} answers, {unfaithful} unfaithful, {milliseconds:.1f} ms each")
    ours_accuracy = balanced(judged, [verdict.grounded for verdict in verdicts])
    print(f"  ours    balanced accuracy {ours_accuracy:.3f}  AUC {roc(judged, scores):.3f}")
    print(f"  4-gram  balanced accuracy {accuracy:.3f}  AUC {roc(judged, grams):.3f}  (at {at:.2f}, best on this set)")
    return Scored(judged, scores), Scored(judged, grams)


def one_threshold(sets: Iterable[Scored]) -> float:
    """The threshold with the best mean over these sets."""
    sets = list(sets)
    return max((step / 100 for step in range(101)), key=lambda at: sum(scored.accuracy(at) for scored in sets))


def fold_of(answer: Judged) -> int:
    return crc32(answer.group.encode()) % FOLDS


def folded(sets: dict[str, Scored], name: str) -> float:
    """Balanced accuracy on one set, each fold with the threshold that is best on the other folds of all sets."""
    chosen = [one_threshold(scored.without(fold) for scored in sets.values()) for fold in range(FOLDS)]
    judged, scores = sets[name].judged, sets[name].scores
    return balanced(judged, [score >= chosen[fold_of(answer)] for answer, score in zip(judged, scores, strict=True)])


def compare_thresholds(title: str, sets: dict[str, Scored]) -> None:
    """Prints one score at a threshold for all sets, and at thresholds chosen on other groups, or on other sets."""
    common = one_threshold(sets.values())
    print(f"{title}: one threshold for all sets {common:.2f}")
    for name, scored in sets.items():
        apart = one_threshold(other for other in sets.values() if other is not scored)
        print(
            f"  {name:25} {scored.accuracy(common):.3f}  chosen on other groups: {folded(sets, name):.3f}"
            f"  on other sets ({apart:.2f}): {scored.accuracy(apart):.3f}"
        )


def main() -> None:
    folder = DATA / "evaluation" / "groundedness"
    if not folder.exists():
        print(f"skipped: {folder} does not exist")
        return
    print(f"all sets: a sentence is supported from {LEAST_SUPPORT}, an answer is grounded from {GROUNDED}")
    loaders: dict[str, Callable[[], list[Judged]]] = {
        "mtrag_human_faithfulness": lambda: mtrag(folder),
        "begin": lambda: labelled(folder / "begin.jsonl"),
        "faithbench": lambda: labelled(folder / "faithbench.jsonl"),
    }
    measured = {name: report(name, load()) for name, load in loaders.items()}
    compare_thresholds("ours", {name: scored for name, (scored, _) in measured.items()})
    compare_thresholds("4-gram", {name: scored for name, (_, scored) in measured.items()})


if __name__ == "__main__":
    main()
