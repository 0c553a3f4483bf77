"""How useful answers are to readers of six real books: their questions, with the facts a good answer must hold.

`bookwise.evaluation.usefulness` defines what makes an answer *useful* or *complete*.

With `--story`, every question comes at the end of a story that has nothing to do with it. With `--curve`, the
reliability of the estimated usefulness is written as an SVG.

python -m benchmarks.readers [--data-dir FOLDER] [--misses] [--story] [--curve FILE] [BOOK ...]
"""

import argparse
import json
import tempfile
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import anyio

from benchmarks.sets import DATA
from benchmarks.usefulness import Sample, Signals, recorded_signals, reliability_svg
from benchmarks.usefulness import report as report_usefulness
from bookwise.answering.ask import AskKit, ask, final
from bookwise.domain.answers import Answer, Answered, Passage, Question
from bookwise.domain.threads import ThreadMessage
from bookwise.evaluation.usefulness import Usefulness, flat, usefulness_of
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.settings import load_settings
from bookwise.wiring import App, open_answers, open_app

QUESTIONS = DATA / "evaluation" / "reader-questions" / "questions.jsonl"
TYPE_LEAST = 9  #: questions of a type whose share is worth a line
STORY = (
    "Hi, I started reading this two weeks ago after my colleague in the office recommended it, and on the train this "
    "morning I tried things on my old laptop while my coffee got cold, and now I am a little confused. "
)
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


@dataclass(frozen=True)
class ReaderQuestion:
    """A question, the places that answer it and the facts an answer must hold, each in several wordings."""

    id: str
    book: str
    type: str
    question: str
    answerable: bool
    history: tuple[str, ...] = ()
    gold: tuple[tuple[str, str], ...] = ()  #: (file, heading)
    facts: tuple[tuple[str, ...], ...] = ()
    harmful: tuple[str, ...] = ()


@dataclass(frozen=True)
class Verdict:
    """What an answer is worth to its reader."""

    question: ReaderQuestion
    answer: Answer
    usefulness: Usefulness
    signals: Signals = ()  #: of the estimated usefulness; empty for a refusal

    @property
    def answered(self) -> bool:
        return isinstance(self.answer, Answered)

    @property
    def useful(self) -> bool:
        return self.usefulness.useful

    @property
    def complete(self) -> bool:
        return self.usefulness.complete

    @property
    def first_place(self) -> bool:
        """Whether the first place the answer cites is one of those that answer the question."""
        return isinstance(self.answer, Answered) and _is_gold(self.answer.citations[0].passage, self.question)

    @property
    def words(self) -> int:
        return len(self.answer.text.split())

    @property
    def level(self) -> str:
        return self.answer.evidence.confidence.level if isinstance(self.answer, Answered) else "none"


def judge(question: ReaderQuestion, answer: Answer) -> Verdict:
    return Verdict(question, answer, usefulness_of(answer, question.facts, question.harmful))


def _is_gold(passage: Passage, question: ReaderQuestion) -> bool:
    where = passage.chunk.locator
    return any(
        (flat(where.source_file).endswith(flat(file)) or flat(file).endswith(flat(where.source_file)))
        and (not heading or flat(where.section_title or "") == flat(heading))
        for file, heading in question.gold
    )


def reader_questions(books: Sequence[str]) -> list[ReaderQuestion]:
    rows: Iterable[dict[str, Any]] = map(json.loads, QUESTIONS.read_text(encoding="utf-8").splitlines())
    return [
        ReaderQuestion(
            id=row["id"],
            book=row["book"],
            type=row["type"],
            question=row["question"],
            answerable=row["answerable"],
            history=tuple(row.get("history", ())),
            gold=tuple((place["file"], place["heading"]) for place in row.get("gold", ())),
            facts=tuple(map(tuple, row.get("nuggets", ()))),
            harmful=tuple(row.get("bad", ())),
        )
        for row in rows
        if not books or row["book"] in books
    ]


def in_story(question: ReaderQuestion) -> ReaderQuestion:
    text = question.question
    return replace(question, question=f"{STORY}{text[:1].upper()}{text[1:]}")


async def measure(data: Path, books: Sequence[str], story: bool = False) -> list[Verdict]:
    questions = reader_questions(books)
    if story:
        questions = list(map(in_story, questions))
    settings = load_settings(data_dir=data)
    async with open_app(settings) as app, open_answers(settings, app.search_kit) as kit:
        for book in dict.fromkeys(question.book for question in questions):
            await _ingest(app, book)
        return [await _verdict(kit, question) for question in questions]


async def _verdict(kit: AskKit, question: ReaderQuestion) -> Verdict:
    with recorded_signals() as signals:
        verdict = judge(question, await _answer(kit, question))
    return replace(verdict, signals=signals[-1] if verdict.answered else ())


async def _ingest(app: App, book: str) -> None:
    root = DATA / "books" / book
    await ingest(discover(root, book_id=_book_id(book)), root, app.ingestion_kit)


async def _answer(kit: AskKit, question: ReaderQuestion) -> Answer:
    """The answer; earlier questions of the thread are asked first."""
    history: list[ThreadMessage] = []
    for earlier in question.history:
        answer = await final(ask(Question(text=earlier, book_id=_book_id(question.book)), kit, history=history))
        history.append(ThreadMessage(role="user", content=earlier, timestamp=NOON))
        history.append(ThreadMessage(role="assistant", content=answer.text, timestamp=NOON))
    return await final(ask(Question(text=question.question, book_id=_book_id(question.book)), kit, history=history))


def _book_id(book: str) -> str:
    return book.replace("_", "-")


def highlighted(verdict: Verdict) -> list[str]:
    """The highlighted parts of an answer."""
    answer = verdict.answer
    highlights = answer.highlights if isinstance(answer, Answered) else ()
    return [answer.text[highlight.start : highlight.end] for highlight in highlights]


def facts_highlighted(verdict: Verdict) -> list[bool]:
    """Of each fact in the answer, whether it is highlighted."""
    text, marked = flat(verdict.answer.text), [flat(part) for part in highlighted(verdict)]
    held = [fact for fact in verdict.question.facts if any(flat(wording) in text for wording in fact)]
    return [any(flat(wording) in part for wording in fact for part in marked) for fact in held]


def _share(hits: Sequence[bool]) -> str:
    return f"{sum(hits) / len(hits):.2f} of {len(hits)}" if hits else "–"


def report(verdicts: Sequence[Verdict]) -> None:
    answerable = [v for v in verdicts if v.question.answerable]
    answered = [v for v in answerable if v.answered]
    high = [v for v in verdicts if v.answered and v.level == "high"]
    print(f"useful            {_share([v.useful for v in answerable])}")
    print(f"complete          {_share([v.complete for v in answerable])}")
    print(f"answered          {_share([v.answered for v in answerable])}")
    print(f"first place right {_share([v.first_place for v in answerable])}")
    print(f"high is useful    {_share([v.useful for v in high])}")
    for kind in ("near-miss", "off-topic"):
        print(f"{kind} refused {_share([not v.answered for v in verdicts if v.question.type == kind])}")
    words = [v.words for v in answered]
    print(f"words             median {median(words):.0f}, nine in ten below {quantiles(words, n=10)[-1]:.0f}")
    print(f"facts highlighted {_share([marked for v in answered for marked in facts_highlighted(v)])}")
    print(f"words highlighted {sum(len(' '.join(highlighted(v)).split()) for v in answered) / sum(words):.2f}")
    _by("type", answerable, lambda v: v.question.type)
    _by("book", answerable, lambda v: v.question.book)
    report_usefulness(samples_of(verdicts))


def samples_of(verdicts: Sequence[Verdict]) -> list[Sample]:
    return [Sample(v.question.book, v.signals, v.useful) for v in verdicts if v.answered]


def _by(name: str, verdicts: Sequence[Verdict], key: Any) -> None:
    groups: dict[str, list[Verdict]] = defaultdict(list)
    for verdict in verdicts:
        groups[key(verdict)].append(verdict)
    for group, members in sorted(groups.items()):
        if name == "book" or len(members) >= TYPE_LEAST:
            print(f"  useful, {name} {group:20} {_share([v.useful for v in members])}")


def show_misses(verdicts: Sequence[Verdict]) -> None:
    for verdict in verdicts:
        question = verdict.question
        if verdict.useful if question.answerable else not verdict.answered:
            continue
        print(f"\n{question.id} [{question.type}] {question.question}")
        print(f"  {type(verdict.answer).__name__}, {verdict.level}, {verdict.usefulness.share:.2f} of {question.facts}")
        print(f"  {verdict.answer.text[:400]}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("books", nargs="*")
    parser.add_argument("--data-dir", type=Path, help="keep the index here and use it again")
    parser.add_argument("--misses", action="store_true", help="show the answers that are not useful")
    parser.add_argument("--story", action="store_true", help="ask every question at the end of a story")
    parser.add_argument("--curve", type=Path, help="write the reliability curve to this SVG file; needs two books")
    options = parser.parse_args()
    if not QUESTIONS.exists():
        print(f"left out, {QUESTIONS} is not there")
        return
    with tempfile.TemporaryDirectory() as scratch:
        verdicts = anyio.run(measure, options.data_dir or Path(scratch), options.books, options.story)
    report(verdicts)
    if options.curve:
        options.curve.write_text(reliability_svg(samples_of(verdicts)), encoding="utf-8")
    if options.misses:
        show_misses(verdicts)


if __name__ == "__main__":
    main()
