"""Answers and refusals on books with known questions: what is answered, what is refused, and how good the answers are.

python -m benchmarks.answers [--data-dir FOLDER] [SET ...]
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benchmarks.on_sets import measure_sets
from benchmarks.sets import DATA
from bookwise.answering.ask import AskKit, ask, final
from bookwise.domain.answers import Answer, Answered, Question, Refused
from bookwise.domain.search import Filter, SearchQuery
from bookwise.domain.threads import ThreadMessage
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.retrieval.search import search
from bookwise.wiring import App, open_answers

SETS = ("physical-ai", "squad2", "mtrag-cloud", "mtrag-govt")

Row = dict[str, Any]


@dataclass(frozen=True)
class Result:
    row: Row
    answer: Answer

    @property
    def answered(self) -> bool:
        return isinstance(self.answer, Answered)

    @property
    def score(self) -> float:
        """The average similarity, which decides between answer and refusal."""
        return self.answer.evidence.confidence.average if isinstance(self.answer, Answered | Refused) else 0.0


def rows(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


async def ask_all(kit: AskKit, book_id: str, questions: Sequence[Row]) -> list[Result]:
    return [Result(row, await final(ask(Question(text=row["text"], book_id=book_id), kit))) for row in questions]


def area(better: Sequence[float], worse: Sequence[float]) -> float:
    """Area under the ROC curve: how often a better one scores above a worse one."""
    wins = sum((b > w) + 0.5 * (b == w) for b in better for w in worse)
    return wins / (len(better) * len(worse))


def share(flags: Sequence[bool]) -> str:
    return f"{sum(flags) / len(flags):.3f} of {len(flags)}" if flags else "none"


def contains_gold(result: Result) -> bool:
    text = " ".join(result.answer.text.lower().split())
    return any(" ".join(gold.lower().split()) in text for gold in result.row["answers"])


def thread_of(row: Row) -> list[ThreadMessage]:
    roles = {"user": "user", "agent": "assistant", "assistant": "assistant"}
    return [
        ThreadMessage(role=roles[turn["role"]], content=turn["text"], timestamp=datetime.now(UTC))  # type: ignore[arg-type]
        for turn in row["history"]
    ]


async def measure_threads(kit: AskKit, name: str) -> None:
    """Refusals in threads: the recall among unanswerable turns, and the precision among refused turns."""
    answered_by_kind: dict[str, list[bool]] = {}
    for row in rows(DATA / "evaluation" / name / "queries.jsonl"):
        answer = await final(ask(Question(text=row["text"], book_id=name), kit, history=thread_of(row)))
        answered_by_kind.setdefault(row["answerability"], []).append(isinstance(answer, Answered))
    for kind, answered in sorted(answered_by_kind.items()):
        print(f"{name}: {kind.lower()} turns answered {share(answered)}")
    refused = {kind: answered.count(False) for kind, answered in answered_by_kind.items()}
    correct, wrong = refused.get("UNANSWERABLE", 0), refused.get("ANSWERABLE", 0) + refused.get("PARTIAL", 0)
    recall = correct / max(1, len(answered_by_kind.get("UNANSWERABLE", [])))
    print(f"{name}: refusal precision {correct / max(1, correct + wrong):.2f}, recall {recall:.2f}")


async def measure(app: App, name: str) -> None:
    book = DATA / "evaluation" / name / "book"
    await ingest(discover(book, book_id=name), book, app.ingestion_kit)
    async with open_answers(app.settings, app.search_kit) as kit:
        await (measure_threads if name.startswith("mtrag") else measure_questions)(kit, name)


async def measure_questions(kit: AskKit, name: str) -> None:
    folder = DATA / "evaluation" / name
    questions = rows(folder / "queries.jsonl")
    await measure_speed(kit, name)
    answerable = await ask_all(kit, name, [row for row in questions if row["answerable"]])
    off_topic = await ask_all(kit, name, rows(folder / "offtopic_queries.jsonl"))
    print(f"{name}: answerable answered {share([a.answered for a in answerable])}")
    print(f"{name}: off-topic refused {share([not a.answered for a in off_topic])}")
    with_gold = [a for a in answerable if a.answered] if name == "squad2" else []
    if with_gold:
        print(f"{name}: answers that contain a gold answer {share([contains_gold(a) for a in with_gold])}")
    adversarial = await ask_all(kit, name, [row for row in questions if not row["answerable"]])
    if adversarial:
        auc = area([a.score for a in answerable], [a.score for a in adversarial])
        print(f"{name}: adversarial refused {share([not a.answered for a in adversarial])}; area under ROC {auc:.3f}")


async def measure_speed(kit: AskKit, name: str) -> None:
    """Answerable questions, searched and answered alternately, each for the first time and then again."""
    texts = [row["text"] for row in rows(DATA / "evaluation" / name / "queries.jsonl") if row["answerable"]][:100]
    await final(ask(Question(text=texts[0], book_id=name), kit))
    for asked in ("first", "again"):
        await _measure_round(kit, name, texts, asked)


async def _measure_round(kit: AskKit, name: str, texts: Sequence[str], asked: str) -> None:
    search_seconds, answer_seconds = [], []
    for text in texts:
        started = perf_counter()
        await search(SearchQuery(text=text, filter=Filter(book_id=name)), kit.search)
        searched = perf_counter()
        await final(ask(Question(text=text, book_id=name), kit))
        search_seconds.append(searched - started)
        answer_seconds.append(perf_counter() - searched)
    answer_ms, search_ms = median(answer_seconds) * 1e3, median(search_seconds) * 1e3
    print(f"{name}: asked {asked}: answer p50 {answer_ms:.1f} ms, search p50 {search_ms:.1f} ms, ", end="")
    print(f"ratio {answer_ms / search_ms:.2f}")


if __name__ == "__main__":
    measure_sets(__doc__, SETS, measure)
