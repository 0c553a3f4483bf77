"""A question in a stored thread → the same events as `ask`; whatever happens, the thread keeps both sides of it."""

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anyio

from bookwise.answering.ask import AskKit, ask
from bookwise.answering.followup.summary import topic_summary
from bookwise.domain.answers import (
    Answer,
    Answered,
    AnswerEvent,
    AnswerFinished,
    Interrupted,
    Passage,
    Question,
    Refused,
    TextDelta,
)
from bookwise.domain.errors import NotFound
from bookwise.domain.threads import SUMMARY_FROM_EXCHANGES, Role, ThreadMessage
from bookwise.ports import ThreadStore

LEASE_BEYOND_DEADLINE = 30.0  #: seconds; nobody may take the thread over while an answer could still be saved
SAVE_SECONDS = 10.0


async def converse(
    question: Question,
    thread_id: str,
    *,
    kit: AskKit,
    threads: ThreadStore,
    owner: str = "",
    answer_id: str | None = None,
) -> AsyncGenerator[AnswerEvent]:
    """The events of one answer. The question is stored before anything is searched; the answer when it has ended,
    marked as incomplete when its reader left or it was cut off, with the id by which it can be rated."""
    lease = kit.timeout_seconds + LEASE_BEYOND_DEADLINE
    before = await threads.begin(thread_id, question.text, owner=owner, lease_seconds=lease)
    said: list[str] = []
    answer: Answer | None = None
    try:
        async with aclosing(ask(question, kit, history=before.messages)) as events:
            async for event in events:
                if isinstance(event, TextDelta):
                    said.append(event.text)
                if isinstance(event, AnswerFinished):
                    answer = event.answer
                    break
                yield event
    finally:
        with anyio.move_on_after(SAVE_SECONDS, shield=True):
            message = assistant_message(answer) if answer else cut_off("".join(said))
            await _save(_with_id(message, answer_id), thread_id, threads=threads, owner=owner)
    assert answer is not None, "an answer that did not finish has raised"
    yield AnswerFinished(answer=answer)


async def _save(message: ThreadMessage, thread_id: str, *, threads: ThreadStore, owner: str) -> None:
    try:
        thread = await threads.finish(thread_id, message, owner=owner)
        if len(thread.messages) + thread.archived_messages >= 2 * SUMMARY_FROM_EXCHANGES:
            await threads.summarise(thread_id, topic_summary(thread.messages), owner=owner)
    except NotFound:
        return  # its reader deleted the thread meanwhile; there is nothing to keep the answer in


def assistant_message(answer: Answer) -> ThreadMessage:
    """What a thread keeps of an answer."""
    confidence = answer.evidence.confidence.average if isinstance(answer, Answered | Refused) else None
    if isinstance(answer, Refused) and answer.evidence.confidence.should_answer:
        confidence = 0.0  # the passages sufficed, and still there is no answer to trust
    complete = not isinstance(answer, Interrupted)
    return _message(answer.text, confidence=confidence, complete=complete, details=_details(answer))


def _with_id(message: ThreadMessage, answer_id: str | None) -> ThreadMessage:
    if answer_id is None:
        return message
    return replace(message, details={**message.details, "answer_id": answer_id})


def user_message(text: str) -> ThreadMessage:
    return _message(text, role="user")


def cut_off(text: str) -> ThreadMessage:
    """What a thread keeps of an answer whose reader left, or that failed."""
    return _message(text, complete=False, details={"outcome": "interrupted"})


def _message(
    content: str,
    *,
    role: Role = "assistant",
    confidence: float | None = None,
    complete: bool = True,
    details: Mapping[str, Any] | None = None,
) -> ThreadMessage:
    return ThreadMessage(
        role=role,
        content=content,
        timestamp=datetime.now(UTC),
        confidence=confidence,
        complete=complete,
        details=details or {},
    )


def _details(answer: Answer) -> dict[str, Any]:
    """What a face needs to show the answer again as it was."""
    details: dict[str, Any] = {"outcome": type(answer).__name__.lower(), "engine": answer.meta.engine}
    if isinstance(answer, Answered):
        details["citations"] = [_citation(c.passage, c.quote) for c in answer.citations]
        details["disclaimer"] = answer.disclaimer
        details["grounding"] = answer.grounding.supported
    if isinstance(answer, Refused):
        details["reason"] = answer.reason
        details["nearest"] = [_citation(passage, "") for passage in answer.nearest]
    if isinstance(answer, Answered | Refused) and answer.evidence.passages:
        details["searched_for"] = answer.evidence.question
    return details


def _citation(passage: Passage, quote: str) -> dict[str, Any]:
    where = passage.chunk.locator
    return {
        "number": passage.number,
        "chunk_id": passage.chunk.id,
        "page_title": where.page_title,
        "section": where.section_title,
        "url": where.url or where.source_file,
        "score": passage.score,
        "quote": quote,
    }
