"""Questions that readers asked about one book."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bookwise.analytics.insights import read_insights
from bookwise.retrieval.select_book import select_book
from bookwise.schemas.insights import InsightsResponse
from bookwise.wiring import RecordsKit


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadInsights:
    """The questions of the last `days` days, grouped."""

    book: str | None
    days: int

    async def run(self, kit: RecordsKit) -> InsightsResponse:
        book = await select_book(kit.catalog, self.book)
        insights = await read_insights(kit.journal, book.id, days=self.days, now=datetime.now(UTC))
        return InsightsResponse.of(book, insights)
