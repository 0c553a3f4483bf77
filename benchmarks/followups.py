"""Follow-ups in threads with known answers: file hit@1, @5 and @10 of the question as asked, as resolved by the rules
without a model, and as rewritten by a person.

python -m benchmarks.followups [--data-dir FOLDER] [SET ...]
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from time import perf_counter

from benchmarks.on_sets import measure_sets
from benchmarks.retrieval import DEEP, HITS, first_hit, page, shares
from benchmarks.sets import DATA, load
from bookwise.answering.followup.resolve import Resolved, resolve
from bookwise.domain.search import Filter, SearchQuery
from bookwise.domain.threads import ThreadMessage
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.retrieval.search import search
from bookwise.wiring import App

SETS = ("mtrag-cloud", "mtrag-govt")
SENT_AT = datetime(2025, 1, 1, tzinfo=UTC)


@dataclass(frozen=True)
class Turn:
    """A question late in a thread, with the files that answer it."""

    text: str
    history: tuple[ThreadMessage, ...]
    rewrite: str
    gold: frozenset[str]


def turns(name: str) -> list[Turn]:
    """All questions of a set that have an answer in the book."""
    gold = {question.id: question.pages for question in load(name).questions}
    lines = (DATA / "evaluation" / name / "queries.jsonl").read_text(encoding="utf-8").splitlines()
    return [
        Turn(text=row["text"], history=_messages(row["history"]), rewrite=row["rewrite"], gold=gold[row["id"]])
        for row in map(json.loads, filter(None, lines))
        if row["id"] in gold
    ]


def _messages(history: Sequence[dict[str, str]]) -> tuple[ThreadMessage, ...]:
    return tuple(
        ThreadMessage(role="user" if turn["role"] == "user" else "assistant", content=turn["text"], timestamp=SENT_AT)
        for turn in history
    )


async def measure(app: App, name: str) -> None:
    book = DATA / "evaluation" / name / "book"
    await ingest(discover(book, book_id=name), book, app.ingestion_kit)
    questions = turns(name)
    started = perf_counter()
    resolved = [resolve(turn.text, turn.history) for turn in questions]
    spent_ms = (perf_counter() - started) * 1e3 / len(questions)
    forms = {
        "as asked": [turn.text for turn in questions],
        "resolved": [resolution.text for resolution in resolved],
        "rewritten by a person": [turn.rewrite for turn in questions],
    }
    print(f"{name}: {len(questions)} questions, {spent_ms:.2f} ms to resolve one; {_changes(questions, resolved)}")
    for form, texts in forms.items():
        ranks = [await _rank(app, name, text, turn.gold) for text, turn in zip(texts, questions, strict=True)]
        print(f"  {form:22} {shares(ranks)}", flush=True)


def _changes(questions: Sequence[Turn], resolved: Sequence[Resolved]) -> str:
    pairs = list(zip(questions, resolved, strict=True))
    first = sum(resolution.is_followup for turn, resolution in pairs if not turn.history)
    standalone = [resolution.is_followup for turn, resolution in pairs if turn.history and turn.rewrite == turn.text]
    return (
        f"{sum(resolution.is_followup for resolution in resolved)} changed, among them {first} first questions "
        f"and {sum(standalone)} of {len(standalone)} that the person did not change"
    )


async def _rank(app: App, name: str, text: str, gold: frozenset[str]) -> int:
    result = await search(SearchQuery(text=text, filter=Filter(book_id=name), limit=DEEP), app.search_kit)
    return first_hit([hit.chunk for hit in result.hits], {(file, "") for file in gold}, page)


if __name__ == "__main__":
    measure_sets(__doc__, SETS, measure, heading=f"{HITS} by file; a rank counts distinct files")
