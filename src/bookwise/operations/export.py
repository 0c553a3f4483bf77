"""Threads, questions and ratings of readers → one JSON object each."""

from collections.abc import AsyncGenerator
from dataclasses import asdict
from typing import Any, Literal, TypeAlias

from bookwise.adapters.sql.export import export_questions, export_threads
from bookwise.domain.journal import AskedQuestion
from bookwise.domain.threads import Thread, ThreadMessage
from bookwise.settings import Settings
from bookwise.wiring.export import open_export

ExportKind: TypeAlias = Literal["threads", "questions", "feedback"]
EXPORT_KINDS: tuple[ExportKind, ...] = ("threads", "questions", "feedback")
RATING = ("thumb", "comment", "rated_at")


async def export(kind: ExportKind, settings: Settings, *, book_id: str | None = None) -> AsyncGenerator[dict[str, Any]]:
    """The records of a book, or of all books, in no particular order. Works while a service uses the data folder.

    Raises `NotFound` if there is no database or no such book.
    """
    async with open_export(settings) as stores:
        if book_id is not None:
            await stores.catalog("").book(book_id)
        if kind == "threads":
            async for thread, messages in export_threads(stores.database, book_id):
                yield _thread(thread, messages)
            return
        async for question in export_questions(stores.database, book_id):
            if kind == "questions" or question.thumb is not None:
                yield _question(question) if kind == "questions" else _rating(question)


def _thread(thread: Thread, messages: list[ThreadMessage]) -> dict[str, Any]:
    return {
        "thread_id": thread.id,
        "book_id": thread.book_id,
        "owner": thread.owner,
        "created_at": thread.created_at,
        "updated_at": thread.updated_at,
        "topic_summary": thread.topic_summary,
        "metadata": thread.metadata,
        "messages": [asdict(message) for message in messages],
    }


def _question(question: AskedQuestion) -> dict[str, Any]:
    return {name: value for name, value in asdict(question).items() if name not in RATING}


def _rating(question: AskedQuestion) -> dict[str, Any]:
    names = ("answer_id", "book_id", "owner", "thread_id", "question", "outcome", *RATING)
    return {name: getattr(question, name) for name in names}
