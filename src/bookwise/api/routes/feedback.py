"""POST /feedback, GET /insights: what readers think of the answers, and what they ask that the book does not say."""

from datetime import UTC, datetime
from typing import Annotated, Any

from fastapi import APIRouter, Body, Query, Request

from bookwise.analytics.insights import read_insights
from bookwise.api.auth.access import Admin, Reader
from bookwise.api.problems import documented
from bookwise.api.routes.books import book_for
from bookwise.api.state import state_of
from bookwise.api.strict_json import StrictRoute
from bookwise.domain.journal import KEPT_DAYS
from bookwise.schemas.insights import FEEDBACK_EXAMPLE, INSIGHTS_EXAMPLE, Feedback, InsightsResponse

router = APIRouter(tags=["feedback"], route_class=StrictRoute)

EXAMPLES: Any = {"down": {"summary": "An answer that did not help, and why", "value": FEEDBACK_EXAMPLE}}
TOLD: dict[int | str, dict[str, Any]] = {200: {"content": {"application/json": {"example": INSIGHTS_EXAMPLE}}}}
Rating = Annotated[Feedback, Body(openapi_examples=EXAMPLES)]
BookId = Annotated[str | None, Query(max_length=200, description="May be left out when there is only one book.")]
Days = Annotated[int, Query(ge=1, le=KEPT_DAYS, description="So many days up to now, today included, by UTC.")]


@router.post("/feedback", status_code=204, summary="Rate an answer", responses=documented(404, 507))
async def feedback(rating: Rating, request: Request, caller: Reader) -> None:
    """Rates an answer to a question of your own; the next rating replaces it."""
    journal = state_of(request).app.journal
    await journal.rate(rating.answer_id, rating.thumb, rating.comment, owner=caller.owner)


@router.get("/insights", summary="See what readers ask", responses=TOLD | documented(404))
async def insights(request: Request, caller: Admin, book_id: BookId = None, days: Days = 30) -> InsightsResponse:
    """What readers asked: questions without an answer first, grouped by what they are about."""
    service = state_of(request)
    book = await book_for(caller, book_id, service)
    found = await read_insights(service.app.journal, book.id, days=days, now=datetime.now(UTC))
    return InsightsResponse.of(book, found)
