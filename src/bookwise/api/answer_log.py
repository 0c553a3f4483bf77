"""Answers → metrics and traces for the operator, and a journal entry for the author."""

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

LOG_SECONDS = 5.0  #: longest time that a reader waits for the journal
READER_LEFT, SHUTTING_DOWN = "reader-left", "shutting-down"

logger = logging.getLogger("bookwise.api")


@dataclass(frozen=True, slots=True, kw_only=True)
class ChatTurn:
    """One question, with its owner and the id of its answer."""

    question: Question
    owner: str
    thread_id: str | None = None
    answer_id: str = field(default_factory=new_id)
    asked_at: datetime = field(default_factory=now)


async def log_answer(
    events: AsyncGenerator[AnswerEvent], turn: ChatTurn, state: ServiceState
) -> AsyncGenerator[AnswerEvent]:
    """Passes the events through and logs the answer before the last one, so that it can be rated.

    An answer whose reader disconnects is logged as interrupted. A failure is not an answer and is not logged.
    """
    standalone = turn.question.text
    if state.settings.log_questions:
        logger.info("question", extra={"question": turn.question.text, "book_id": turn.question.book_id})
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
        await _log(_interrupted_entry(turn, standalone, state), state)
        raise
    assert answer is not None, "events end with AnswerFinished, or raise"
    _count(answer, state)
    if state.telemetry:
        state.telemetry.answered(turn.question, answer, thread_id=turn.thread_id)
    await _log(_finished_entry(turn, standalone, summarize_answer(answer)), state)
    yield AnswerFinished(answer=answer)


def _count(answer: Answer, state: ServiceState) -> None:
    engine = answer.meta.engine
    state.metrics.answers.labels(summarize_answer(answer).outcome, engine).inc()
    state.metrics.answer_seconds.labels(engine).observe(answer.meta.total_ms / 1e3)


def _finished_entry(turn: ChatTurn, standalone: str, summary: AnswerSummary) -> AskedQuestion:
    quoted = summary.citations if summary.outcome == "answered" else ()
    lessons = {citation.passage.chunk.lesson_id: citation.passage.chunk.locator for citation in quoted}
    return replace(
        _entry(turn, standalone, summary.outcome, summary.reason or ""),
        level=summary.confidence.level,
        lessons=tuple(_quoted(lesson_id, where) for lesson_id, where in lessons.items()),
    )


def _quoted(lesson_id: str, where: Locator) -> QuotedLesson:
    address = where.url.partition("#")[0] or where.source_file
    return QuotedLesson(lesson_id=lesson_id, title=where.page_title, url=address)


def _interrupted_entry(turn: ChatTurn, standalone: str, state: ServiceState) -> AskedQuestion:
    state.metrics.answers.labels("interrupted", turn.question.engine or state.kit.engine).inc()
    return _entry(turn, standalone, "interrupted", SHUTTING_DOWN if state.stopping.is_set() else READER_LEFT)


def _entry(turn: ChatTurn, standalone: str, outcome: AskedOutcome, reason: str) -> AskedQuestion:
    return AskedQuestion(
        answer_id=turn.answer_id,
        book_id=turn.question.book_id,
        owner=turn.owner,
        thread_id=turn.thread_id,
        asked_at=turn.asked_at,
        question=turn.question.text,
        searched=standalone if standalone != turn.question.text else None,
        outcome=outcome,
        reason=reason,
    )


async def _log(entry: AskedQuestion, state: ServiceState) -> None:
    """Writes the journal entry, even when the reader disconnects meanwhile. A failure does not affect the answer."""
    stored = entry if state.settings.keep_questions else replace(entry, question="", searched=None)
    with anyio.move_on_after(LOG_SECONDS, shield=True) as timeout:
        try:
            await state.app.journal.note(stored)
        except BookwiseError as error:
            logger.warning("answer.not-logged", extra={"code": error.code})
        except Exception:  # a bug; the reader still gets the answer
            logger.exception("answer.not-logged")
    if timeout.cancelled_caught:
        logger.warning("answer.not-logged", extra={"code": "timeout"})
