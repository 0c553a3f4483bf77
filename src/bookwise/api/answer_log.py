"""Answers on their way to their readers → figures for the operator and notes for the author."""

import logging
from collections.abc import AsyncGenerator
from contextlib import aclosing
from dataclasses import dataclass, field, replace
from datetime import datetime

import anyio

from bookwise.api.state import ServiceState
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, EvidenceFound, Question
from bookwise.domain.books import Locator
from bookwise.domain.errors import BookwiseError
from bookwise.domain.journal import AskedOutcome, AskedQuestion, QuotedLesson
from bookwise.schemas.answers import AnswerSummary, summarize_answer
from bookwise.schemas.wire import new_id, now

NOTE_SECONDS = 5.0  #: no reader waits longer for a note
READER_LEFT, SHUTTING_DOWN = "reader-left", "shutting-down"

logger = logging.getLogger("bookwise.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """A question on its way to its answer, and whose it is."""

    question: Question
    owner: str
    thread_id: str | None = None
    answer_id: str = field(default_factory=new_id)
    asked_at: datetime = field(default_factory=now)


async def log_answer(
    events: AsyncGenerator[AnswerEvent], asking: ChatTurn, service: ServiceState
) -> AsyncGenerator[AnswerEvent]:
    """The same events. When the last one is seen, the answer is counted and can be rated; one whose reader left is
    noted as interrupted. What fails is no answer, and not noted."""
    standalone = asking.question.text
    if service.settings.log_questions:
        logger.info("question", extra={"question": standalone, "book_id": asking.question.book_id})
    answer: Answer | None = None
    try:
        async with aclosing(events):
            async for event in events:
                if isinstance(event, EvidenceFound):
                    standalone = event.evidence.question
                if isinstance(event, AnswerFinished):
                    answer = event.answer
                    break
                yield event
    except (GeneratorExit, anyio.get_cancelled_exc_class()):
        await _note(_broken_off(asking, standalone, service), service)
        raise
    assert answer is not None, "an answer that did not finish has raised"
    _count(answer, service)
    if service.telemetry:
        service.telemetry.answered(asking.question, answer, thread_id=asking.thread_id)
    await _note(_ended(asking, standalone, summarize_answer(answer)), service)
    yield AnswerFinished(answer=answer)


def _count(answer: Answer, service: ServiceState) -> None:
    engine = answer.meta.engine
    service.metrics.answers.labels(summarize_answer(answer).outcome, engine).inc()
    service.metrics.answer_seconds.labels(engine).observe(answer.meta.total_ms / 1e3)


def _ended(asking: ChatTurn, standalone: str, told: AnswerSummary) -> AskedQuestion:
    quoted = told.citations if told.outcome == "answered" else ()
    lessons = {citation.passage.chunk.lesson_id: citation.passage.chunk.locator for citation in quoted}
    return replace(
        _asked(asking, standalone, told.outcome, told.reason or ""),
        level=told.confidence.level,
        lessons=tuple(_quoted(lesson_id, where) for lesson_id, where in lessons.items()),
    )


def _quoted(lesson_id: str, where: Locator) -> QuotedLesson:
    address = where.url.partition("#")[0] or where.source_file
    return QuotedLesson(lesson_id=lesson_id, title=where.page_title, url=address)


def _broken_off(asking: ChatTurn, standalone: str, service: ServiceState) -> AskedQuestion:
    service.metrics.answers.labels("interrupted", asking.question.engine or service.kit.engine).inc()
    return _asked(asking, standalone, "interrupted", SHUTTING_DOWN if service.stopping.is_set() else READER_LEFT)


def _asked(asking: ChatTurn, standalone: str, outcome: AskedOutcome, reason: str) -> AskedQuestion:
    return AskedQuestion(
        answer_id=asking.answer_id,
        book_id=asking.question.book_id,
        owner=asking.owner,
        thread_id=asking.thread_id,
        asked_at=asking.asked_at,
        question=standalone,
        outcome=outcome,
        reason=reason,
    )


async def _note(asked: AskedQuestion, service: ServiceState) -> None:
    """Keeps the note, whoever leaves meanwhile. An answer without a note is still an answer."""
    kept = asked if service.settings.keep_questions else replace(asked, question="")
    with anyio.move_on_after(NOTE_SECONDS, shield=True) as waited:
        try:
            await service.app.journal.note(kept)
        except BookwiseError as error:
            logger.warning("answer.not-noted", extra={"code": error.code})
        except Exception:  # a bug; the answer is there all the same
            logger.exception("answer.not-noted")
    if waited.cancelled_caught:
        logger.warning("answer.not-noted", extra={"code": "timeout"})
