"""Questions that readers asked about one book."""

from dataclasses import dataclass
from datetime import UTC, datetime

from bookwise.analytics.insights import read_insights, read_questions
from bookwise.analytics.question_csv import questions_csv
from bookwise.analytics.question_list import with_status
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


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportQuestions:
    """The questions of the last `days` days as CSV, newest first."""

    book: str | None
    days: int

    async def run(self, kit: RecordsKit) -> str:
        book = await select_book(kit.catalog, self.book)
        questions = await read_questions(kit.journal, book.id, days=self.days, now=datetime.now(UTC))
        return questions_csv(with_status(questions))
