"""Question in a stored thread → the events of `ask`; question and answer are saved in the thread in any case."""

import logging
from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import anyio

from bookwise.answering.ask import AskKit, ask
from bookwise.answering.followup.summary import topic_summary
from bookwise.answering.messages import title
from bookwise.domain.answers import (
    Answer,
    Answered,
    AnswerEvent,
    AnswerFinished,
    Interrupted,
    Passage,
    Question,
    Refused,
    RelatedSection,
    SearchStarted,
    TextDelta,
)
from bookwise.domain.errors import BookwiseError, NotFound
from bookwise.domain.threads import RENEWAL_SECONDS, SUMMARY_FROM_EXCHANGES, Role, ThreadMessage
from bookwise.ports import ThreadStore

LEASE_BEYOND_DEADLINE = 30.0  #: seconds; the thread stays locked while the answer could still be saved
SAVE_SECONDS = 10.0  #: for saving the answer after the caller has left

logger = logging.getLogger(__name__)


async def converse(
    question: Question,
    thread_id: str,
    *,
    kit: AskKit,
    threads: ThreadStore,
    owner: str = "",
    answer_id: str | None = None,
) -> AsyncGenerator[AnswerEvent]:
    """Yields the events of one answer.

    The question is saved before the search. The answer is saved at its end, with the id by which it can be rated; it
    is marked as incomplete if the caller left or the answer was cut off.
    """
    lease = kit.timeout_seconds + LEASE_BEYOND_DEADLINE
    before = await threads.begin(thread_id, question.text, owner=owner, lease_seconds=lease)
    position = before.archived_messages + len(before.messages)
    deltas: list[str] = []
    query = ""
    answer: Answer | None = None
    try:
        async with aclosing(ask(question, kit, history=before.messages)) as events:
            async for event in events:
                if isinstance(event, SearchStarted):
                    query = query or event.query
                if isinstance(event, TextDelta):
                    deltas.append(event.text)
                if isinstance(event, AnswerFinished):
                    answer = event.answer
                    break
                yield event
    finally:
        with anyio.move_on_after(SAVE_SECONDS, shield=True):
            message = assistant_message(answer) if answer else cut_off("".join(deltas))
            message = _with_details(message, searched_for=query, answer_id=answer_id)
            await _save(message, thread_id, position, threads=threads, owner=owner)
    assert answer is not None, "an answer that does not finish raises"
    yield AnswerFinished(answer=answer)


async def renew_leases(threads: ThreadStore) -> None:
    """Keeps the threads reserved whose questions this process is answering. Runs until it is cancelled."""
    while True:
        await anyio.sleep(RENEWAL_SECONDS)
        try:
            await threads.renew()
        except BookwiseError as error:
            logger.warning("threads.not-renewed", extra={"code": error.code})


async def _save(message: ThreadMessage, thread_id: str, position: int, *, threads: ThreadStore, owner: str) -> None:
    try:
        thread = await threads.finish(thread_id, message, owner=owner, position=position)
        if len(thread.messages) + thread.archived_messages >= 2 * SUMMARY_FROM_EXCHANGES:
            await threads.summarise(thread_id, topic_summary(thread.messages), owner=owner)
    except NotFound:
        return  # the thread was deleted meanwhile: there is nothing to save the answer in


def assistant_message(answer: Answer) -> ThreadMessage:
    """Returns the message that a thread stores for an answer."""
    confidence = None
    if isinstance(answer, Answered | Refused):
        confidence = answer.evidence.confidence.usefulness if isinstance(answer, Answered) else 0.0
    complete = not isinstance(answer, Interrupted)
    return _message(answer.text, confidence=confidence, complete=complete, details=_details(answer))


def _with_details(message: ThreadMessage, **details: str | None) -> ThreadMessage:
    """Returns the message with these details, except empty ones."""
    return replace(message, details={**message.details, **{name: value for name, value in details.items() if value}})


def user_message(text: str) -> ThreadMessage:
    """Returns the message that a thread stores for a question."""
    return _message(text, role="user")


def cut_off(text: str) -> ThreadMessage:
    """Returns the message that a thread stores for an answer that failed or whose caller left."""
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
    """Returns what an interface needs to show the answer again."""
    details: dict[str, Any] = {"outcome": type(answer).__name__.lower(), "engine": answer.meta.engine}
    if isinstance(answer, Answered):
        citations = {citation.number: citation for citation in reversed(answer.citations)}  # the first of each number
        details["citations"] = [_citation(citations[n].passage, citations[n].quote) for n in sorted(citations)]
        details["degraded"] = answer.meta.degraded
        details["highlights"] = [{"start": h.start, "end": h.end} for h in answer.highlights]
        details["related"] = [_related(related) for related in answer.related]
        details["disclaimer"] = answer.disclaimer
        details["grounding"] = answer.grounding.supported
    if isinstance(answer, Refused):
        details["reason"] = answer.reason
        details["nearest"] = [_citation(passage, "") for passage in answer.nearest]
    return details


def _related(related: RelatedSection) -> dict[str, Any]:
    where = related.passage.chunk.locator
    return {
        "title": title(related.passage),
        "url": where.address,
        "line": related.line,
        "chunk_id": related.passage.chunk.id,
    }


def _citation(passage: Passage, quote: str) -> dict[str, Any]:
    locator = passage.chunk.locator
    return {
        "number": passage.number,
        "chunk_id": passage.chunk.id,
        "parent_doc_id": passage.chunk.lesson_id,
        "page_title": locator.page_title,
        "section": locator.section_title,
        "url": locator.address,
        "score": passage.score,
        "quote": quote,
    }
