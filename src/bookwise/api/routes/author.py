"""/author/…: the questions, lessons and validation runs of a book, for its author."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Request, Response

from bookwise.analytics.insights import masked, read_insights, read_questions
from bookwise.analytics.question_csv import questions_csv
from bookwise.analytics.question_list import (
    ListedQuestion,
    MarkStatus,
    QuestionKind,
    list_questions,
    with_status,
)
from bookwise.analytics.validation_entry import EntryKind, validation_entry
from bookwise.api.auth.access import Admin
from bookwise.api.auth.rate_limit import Limited
from bookwise.api.problems import KEYED, documented
from bookwise.api.rendering.markdown import render
from bookwise.api.routes.books import book_for
from bookwise.api.routes.feedback import BookId, Days
from bookwise.api.state import ServiceState, state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.errors import InvalidInput, NotFound
from bookwise.domain.journal import AskedQuestion, question_not_found
from bookwise.domain.search import Filter, Hit, SearchQuery
from bookwise.domain.threads import ThreadMessage
from bookwise.retrieval.search import search
from bookwise.schemas.author import (
    AuthorQuestion,
    AuthorQuestionsResponse,
    CitedLessonsResponse,
    MarkRequest,
    MarkResponse,
    NearestSection,
    QuestionDetailResponse,
    TranscriptMessage,
    ValidationRunReport,
    ValidationsResponse,
)
from bookwise.text.masking import mask

router = APIRouter(prefix="/author", tags=["author"], route_class=StrictRoute)
csv_router = APIRouter(prefix="/author", tags=["author"])  #: returns no JSON

NEAREST_MAX = 3
NEAREST_READ = 12  #: hits that are searched for distinct sections
HISTORY_READ = 400  #: newest messages of a thread that are searched for the answer
BEFORE, AFTER = 9, 2  #: messages shown around the answer
NOT_KEPT = "This service does not store questions for the author (BOOKWISE_KEEP_QUESTIONS=false)."
NO_THREAD = "The conversation was not stored: the question came without a session."
GONE = "The conversation is no longer stored."

AnswerId = Annotated[str, Path(max_length=100, description="The `answer_id` of a question.")]
Kind = Annotated[QuestionKind, Query(description="Which questions to list.")]
Status = Annotated[MarkStatus, Query(description="What the author decided about them.")]
Limit = Annotated[int, Query(ge=1, le=500, description="Maximum number of runs.")]
CSV: dict[int | str, dict[str, Any]] = {
    200: {"description": "A CSV table.", "content": {"text/csv": {"schema": {"type": "string"}}}}
}


@router.get("/questions", summary="List the questions to work on", responses=documented(404))
async def questions(
    request: Request,
    caller: Admin,
    book_id: BookId = None,
    days: Days = 30,
    kind: Kind = "unanswered",
    status: Status = "open",
) -> AuthorQuestionsResponse:
    """Returns questions that got no answer, one with low confidence, or one that readers rated down. 30 or more
    questions are grouped by subject. A question without an answer may be answered in the book all the same."""
    state = state_of(request)
    book = await book_for(caller, book_id, state)
    entries = await read_questions(state.app.journal, book.id, days=days, now=datetime.now(UTC))
    return AuthorQuestionsResponse.of(
        list_questions(entries, kind, status),
        book,
        days=days,
        kind=kind,
        status=status,
        questions_kept=state.settings.keep_questions,
    )


@router.get("/questions/{answer_id}", summary="Read a question with its conversation", responses=documented(404))
async def question(answer_id: AnswerId, request: Request, caller: Admin) -> QuestionDetailResponse:
    """Returns the conversation around a question, the sections of the book that are nearest to it now, and entries for
    the book's validation questions to copy."""
    state = state_of(request)
    entry = await state.app.journal.question(answer_id)
    if not caller.may_see(entry.book_id):
        raise question_not_found()
    await book_for(caller, entry.book_id, state)  # the book may have been removed
    transcript, note = await _transcript(entry, state)
    shown = masked(entry)
    (listed,) = with_status([shown])
    return QuestionDetailResponse(
        question=AuthorQuestion.of(listed),
        lessons=tuple(lesson.title for lesson in entry.lessons),
        transcript=transcript,
        transcript_note=note,
        nearest=tuple(_nearest(listed, hit) for hit in await _nearest_hits(entry, state)),
        refusal_entry=_entry(shown, "near-miss") if shown.question else "",
    )


@router.post("/marks", summary="Mark questions as fixed or ignored", responses=documented(404, 507))
async def marks(body: MarkRequest, request: Request, caller: Admin) -> MarkResponse:
    """Marks questions of a book. A question that is asked again after a fix is listed as open."""
    state = state_of(request)
    book = await book_for(caller, body.book_id, state)
    mark = None if body.status == "open" else body.status
    return MarkResponse(marked=await state.app.journal.mark(book.id, body.answer_ids, mark))


@router.get("/lessons", summary="See which lessons answers quote", responses=documented(404))
async def lessons(request: Request, caller: Admin, book_id: BookId = None, days: Days = 30) -> CitedLessonsResponse:
    """Returns the most cited lessons and those that no answer quotes."""
    state = state_of(request)
    book = await book_for(caller, book_id, state)
    insights = await read_insights(state.app.journal, book.id, days=days, now=datetime.now(UTC))
    records = await state.app.catalog.records(book.id)
    return CitedLessonsResponse.of(book, insights.lessons, records, days=days, answers=insights.totals.answered)


@router.get("/validations", summary="List the validation runs", responses=documented(404))
async def validations(
    request: Request, caller: Admin, book_id: BookId = None, limit: Limit = 100
) -> ValidationsResponse:
    """Returns the figures of each `bookwise validate` of the book, newest first."""
    state = state_of(request)
    book = await book_for(caller, book_id, state)
    runs = await state.app.validations.runs(book.id, limit=limit)
    return ValidationsResponse(book_id=book.id, runs=tuple(map(ValidationRunReport.of, runs)))


@csv_router.get(
    "/questions.csv",
    dependencies=[Limited],
    response_class=Response,
    responses=KEYED | CSV | documented(404),
    summary="Export the questions",
)
async def export(request: Request, caller: Admin, book_id: BookId = None, days: Days = 30) -> Response:
    """Returns all questions of the period as CSV, newest first. Cells that a spreadsheet would take for a formula begin
    with an apostrophe."""
    state = state_of(request)
    book = await book_for(caller, book_id, state)
    entries = await read_questions(state.app.journal, book.id, days=days, now=datetime.now(UTC))
    table = "\N{ZERO WIDTH NO-BREAK SPACE}" + questions_csv(with_status(entries))  # spreadsheets detect UTF-8 by it
    name = f"{book.id}-questions.csv"
    headers = {"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"}
    return Response(table.encode(), media_type="text/csv; charset=utf-8", headers=headers)


async def _transcript(entry: AskedQuestion, state: ServiceState) -> tuple[tuple[TranscriptMessage, ...], str]:
    """The messages around the answer, or why there are none."""
    if not (state.settings.keep_questions and entry.question):
        return (), NOT_KEPT
    if entry.thread_id is None:
        return (), NO_THREAD
    try:
        history = await state.app.threads.history(entry.thread_id, owner=entry.owner, limit=HISTORY_READ)
    except NotFound:
        return (), GONE
    at = next((i for i, one in enumerate(history) if one.details.get("answer_id") == entry.answer_id), None)
    if at is None:
        return (), GONE
    shown = history[max(0, at - BEFORE) : at + 1 + AFTER]
    return tuple(_transcript_message(one, entry.answer_id) for one in shown), ""


def _transcript_message(message: ThreadMessage, answer_id: str) -> TranscriptMessage:
    text = mask(message.content)
    return TranscriptMessage(
        role=message.role,
        text=text,
        html=render(text, [], cited=True) if message.role == "assistant" else None,
        sent_at=message.timestamp,
        is_answer=message.details.get("answer_id") == answer_id,
    )


async def _nearest_hits(entry: AskedQuestion, state: ServiceState) -> list[Hit]:
    """The best hit of each of the nearest sections, in the book as it is now."""
    try:
        query = SearchQuery(text=entry.standalone, filter=Filter(book_id=entry.book_id), limit=NEAREST_READ)
    except InvalidInput:  # too short to search for, or not stored
        return []
    async with state.load_limit.slot():
        result = await search(query, state.app.search_kit)
    sections: dict[tuple[str, str], Hit] = {}
    for hit in result.hits:
        sections.setdefault((hit.chunk.lesson_id, hit.chunk.locator.anchor), hit)
    return list(sections.values())[:NEAREST_MAX]


def _nearest(listed: ListedQuestion, hit: Hit) -> NearestSection:
    where = hit.chunk.locator
    entry = _entry(listed.entry, "answerable", lesson=where.source_file, section=where.anchor or None)
    return NearestSection.of(hit, entry=entry)


def _entry(asked: AskedQuestion, kind: EntryKind, **place: str | None) -> str:
    return validation_entry(asked.question, kind, searched=asked.searched, **place)
