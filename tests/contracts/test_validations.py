"""What the port `ValidationStore` promises."""

from datetime import timedelta
from uuid import uuid4

import pytest

from bookwise.adapters.sql import validations
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.validations import SqlValidations
from bookwise.domain.validation_runs import FailedQuestion, KindCount, ValidationRun
from bookwise.ports import ValidationStore
from tests.support.builders import NOON

pytestmark = pytest.mark.anyio


@pytest.fixture
def store(database: Database) -> ValidationStore:
    return SqlValidations(database)


def a_run(hours: int, book_id: str = "robots") -> ValidationRun:
    return ValidationRun(
        run_id=str(uuid4()),
        book_id=book_id,
        ran_at=NOON + timedelta(hours=hours),
        engine="extractive",
        own_questions=True,
        asked=10,
        correct=9,
        useful_asked=4,
        useful=3,
        kinds=(KindCount(kind="answerable", asked=8, correct=8), KindCount(kind="near-miss", asked=2, correct=1)),
        failed=(FailedQuestion(id="price", reason="answered, „but“ the book has no answer"),),
    )


async def test_runs_come_back_as_they_were_stored_newest_first_for_one_book(store: ValidationStore) -> None:
    runs = [a_run(hours) for hours in (1, 3, 2)]
    for run in [*runs, a_run(4, "rust")]:
        await store.add(run)
    first, last, middle = runs
    assert await store.runs("robots") == [last, middle, first]
    assert await store.runs("robots", limit=1) == [last]
    assert await store.runs("absent") == []


async def test_only_the_newest_runs_of_each_book_are_kept(
    store: ValidationStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(validations, "RUNS_KEPT", 2)
    other = a_run(0, "rust")
    await store.add(other)
    runs = [a_run(hours) for hours in range(4)]
    for run in runs:
        await store.add(run)
    assert await store.runs("robots") == [runs[3], runs[2]]
    assert await store.runs("rust") == [other]
