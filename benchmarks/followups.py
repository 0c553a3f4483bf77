"""Follow-ups in threads with known answers: file hit@1, @5 and @10 of the bare question, of the question resolved
against its thread without a model, and of the stand-alone form a person wrote.

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
SAID_AT = datetime(2025, 1, 1, tzinfo=UTC)


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
        ThreadMessage(role="user" if said["role"] == "user" else "assistant", content=said["text"], timestamp=SAID_AT)
        for said in history
    )


async def measure(app: App, name: str) -> None:
    book = DATA / "evaluation" / name / "book"
    await ingest(discover(book, book_id=name), book, app.ingestion_kit)
    asked = turns(name)
    started = perf_counter()
    resolved = [resolve(turn.text, turn.history) for turn in asked]
    spent_ms = (perf_counter() - started) * 1e3 / len(asked)
    forms = {
        "bare question": [turn.text for turn in asked],
        "resolved": [found.text for found in resolved],
        "rewritten by a person": [turn.rewrite for turn in asked],
    }
    print(f"{name}: {len(asked)} questions, {spent_ms:.2f} ms to resolve one; {_changes(asked, resolved)}")
    for form, texts in forms.items():
        ranks = [await _rank(app, name, text, turn.gold) for text, turn in zip(texts, asked, strict=True)]
        print(f"  {form:22} {shares(ranks)}", flush=True)


def _changes(asked: Sequence[Turn], resolved: Sequence[Resolved]) -> str:
    pairs = list(zip(asked, resolved, strict=True))
    first = sum(found.is_followup for turn, found in pairs if not turn.history)
    left = [found.is_followup for turn, found in pairs if turn.history and turn.rewrite == turn.text]
    return (
        f"{sum(found.is_followup for found in resolved)} changed, of them {first} first questions "
        f"and {sum(left)} of {len(left)} that the person left as they were"
    )


async def _rank(app: App, name: str, text: str, gold: frozenset[str]) -> int:
    found = await search(SearchQuery(text=text, filter=Filter(book_id=name), limit=DEEP), app.search_kit)
    return first_hit([hit.chunk for hit in found.hits], {(file, "") for file in gold}, page)


if __name__ == "__main__":
    measure_sets(__doc__, SETS, measure, heading=f"{HITS} by file; ranks count different files")
