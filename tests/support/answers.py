"""Makers of passages, evidence, threads and every kind of answer for tests."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta

from bookwise.answering.evidence.confidence import confidence_of
from bookwise.answering.relevance.question_type import classify_question
from bookwise.answering.relevance.sections import question_weights, rank_sections
from bookwise.domain.answers import (
    Answered,
    AnswerMeta,
    Blocked,
    Citation,
    Evidence,
    Grounding,
    Highlight,
    Interrupted,
    Passage,
    RankedSection,
    Refused,
    RelatedSection,
    Usage,
)
from bookwise.domain.search import Timings
from bookwise.domain.threads import Thread, ThreadMessage
from tests.support.builders import NOON, chunks_of, lesson, lesson_file, section

THREAD_ID = "550e8400-e29b-41d4-a716-446655440000"
URL = "https://example.com/book/nodes"
MADE = AnswerMeta(
    engine="direct",
    model="test-model",
    usage=Usage(prompt_tokens=90, completion_tokens=10, calls=1),
    retrieval_ms=12.5,
    generation_ms=30.25,
    total_ms=45.0,
)


def passage(number: int = 1, score: float = 0.9, *, text: str = "", url: str = URL, **place: object) -> Passage:
    """A passage of the lesson Nodes; `place` overrides fields of its locator."""
    file = lesson_file("nodes.md", url=url, breadcrumb=("Part One", "ROS 2"))
    body = text or f"Node {number} talks to other nodes over named topics."
    built = chunks_of(lesson(section("Talking", body), file=file, title="Nodes"))[0]
    chunk = replace(built, id=f"chunk-{number}", text=body, locator=replace(built.locator, **place))  # type: ignore[arg-type]
    return Passage(number=number, chunk=chunk, score=score, cosine=score / 2, lexical=0.25)


async def chunk_text(passage: Passage) -> str:
    """A section that is one chunk."""
    return passage.chunk.text


def sections_of(question: str, passages: Sequence[Passage]) -> tuple[RankedSection, ...]:
    """The sections of these passages, ranked for the question without an embedder."""
    kind = classify_question(question)
    return tuple(rank_sections(kind, passages, question_weights(kind, passages)))


def evidence(*scores: float, question: str = "How do nodes talk?") -> Evidence:
    """Passages numbered from 1, one per score; an answer from them is as likely to be useful as they are similar."""
    passages = tuple(passage(number, score) for number, score in enumerate(scores, 1))
    confidence = confidence_of(scores, [])
    return Evidence(
        question=question,
        passages=passages,
        confidence=replace(confidence, usefulness=confidence.average if confidence.should_answer else 0.0),
        timings=Timings(embed_ms=2.0, index_ms=5.0, total_ms=7.5),
    )


def answered(*scores: float, cites: tuple[int, ...] = (1,), disclaimer: str | None = None) -> Answered:
    """An answer whose sentence is highlighted, with one related section."""
    found = evidence(*(scores or (0.95, 0.9, 0.9, 0.88, 0.87)))
    citations = tuple(
        Citation(number=n, passage=found.passages[n - 1], quote=f"Node {n} talks to other nodes") for n in cites
    )
    return Answered(
        text="Nodes talk over topics. " + " ".join(f"[{n}]" for n in cites),
        citations=citations,
        evidence=found,
        grounding=Grounding(supported=0.5, unsupported=("They also sing.",), unsupported_citations=1),
        disclaimer=disclaimer,
        meta=MADE,
        highlights=(Highlight(0, len("Nodes talk over topics.")),),
        related=(RelatedSection(passage=passage(6), line="Node 6 talks to other nodes."),),
    )


def refused(*scores: float) -> Refused:
    found = evidence(*scores)
    return Refused(
        text="The book does not say.",
        reason="not-in-the-book" if scores else "nothing-found",
        evidence=found,
        nearest=found.passages[:3],
        meta=MADE,
    )


def blocked() -> Blocked:
    return Blocked(text="I only answer questions about the book.", reason="injection", meta=MADE)


def interrupted(*scores: float, text: str = "Nodes talk over topics. [1]") -> Interrupted:
    """An answer that was cut off; with evidence, after it cited its first passage."""
    found = evidence(*scores) if scores else None
    citations = (
        tuple(Citation(number=p.number, passage=p, quote="Node 1 talks") for p in found.passages[:1]) if found else ()
    )
    return Interrupted(text=text, reason="deadline", evidence=found, meta=MADE, citations=citations)


def thread(*texts: str) -> Thread:
    """A thread of one message per text, a second apart, the user beginning."""
    said = tuple(
        ThreadMessage(
            role="user" if number % 2 == 0 else "assistant",
            content=text,
            timestamp=NOON + timedelta(seconds=number),
            confidence=None if number % 2 == 0 else 0.9,
        )
        for number, text in enumerate(texts)
    )
    return Thread(
        id=THREAD_ID,
        book_id="book",
        owner="",
        messages=said,
        created_at=NOON,
        updated_at=said[-1].timestamp if said else NOON,
    )
