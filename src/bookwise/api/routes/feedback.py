"""POST /feedback, GET /insights: readers' ratings, and what readers ask."""

from datetime import UTC, datetime
from typing import Annotated

from fastapi import APIRouter, Query, Request

from bookwise.analytics.insights import read_insights
from bookwise.api.auth.access import Admin, Reader
from bookwise.api.problems import documented
from bookwise.api.routes.books import book_for
from bookwise.api.state import state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.journal import KEPT_DAYS
from bookwise.schemas.insights import Feedback, InsightsResponse

router = APIRouter(tags=["feedback"], route_class=StrictRoute)

BookId = Annotated[str | None, Query(max_length=200, description="Book id. Optional when there is only one book.")]
Days = Annotated[int, Query(ge=1, le=KEPT_DAYS, description="Number of days to include, counting today (UTC).")]


@router.post("/feedback", status_code=204, summary="Rate an answer", responses=documented(404, 507))
async def feedback(rating: Feedback, request: Request, caller: Reader) -> None:
    """Rates an answer to one of your questions. A new rating replaces the old one."""
    journal = state_of(request).app.journal
    await journal.rate(rating.answer_id, rating.thumb, rating.stored_comment, owner=caller.owner)


@router.get("/insights", summary="See what readers ask", responses=documented(404))
async def insights(request: Request, caller: Admin, book_id: BookId = None, days: Days = 30) -> InsightsResponse:
    """Returns what readers asked about a book: unanswered questions first, grouped by subject."""
    state = state_of(request)
    book = await book_for(caller, book_id, state)
    report = await read_insights(state.app.journal, book.id, days=days, now=datetime.now(UTC))
    return InsightsResponse.of(book, report)
