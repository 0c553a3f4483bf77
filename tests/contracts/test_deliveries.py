"""Every delivery of a webhook is handled once, by one process."""

from datetime import UTC, datetime, timedelta

import anyio
import pytest

from bookwise.adapters.sql.database import Database, open_database
from bookwise.adapters.sql.deliveries import SqlDeliveries
from bookwise.ports import DeliveryStore

pytestmark = pytest.mark.anyio

NOW = datetime(2026, 3, 1, tzinfo=UTC)


@pytest.fixture
def deliveries(database: Database) -> DeliveryStore:
    return SqlDeliveries(database, clock=lambda: NOW)


async def test_a_delivery_is_new_once(deliveries: DeliveryStore) -> None:
    assert [await deliveries.claim("one") for _ in range(3)] == [True, False, False]
    assert await deliveries.claim("two")


async def test_a_delivery_that_was_given_up_may_come_again(deliveries: DeliveryStore) -> None:
    await deliveries.claim("one")
    await deliveries.release("one")
    assert [await deliveries.claim("one") for _ in range(2)] == [True, False]
    await deliveries.release("never seen")


async def test_the_newest_delivery_is_known(database: Database) -> None:
    assert await SqlDeliveries(database).newest() is None
    for seconds in (0, 60, 30):
        moment = NOW + timedelta(seconds=seconds)
        await SqlDeliveries(database, clock=lambda moment=moment: moment).claim(f"after {seconds} seconds")
    assert await SqlDeliveries(database).newest() == NOW + timedelta(seconds=60)


async def test_of_two_services_that_get_the_same_delivery_one_handles_it(migrated_url: str) -> None:
    claims: list[bool] = []

    async def claim(store: DeliveryStore) -> None:
        claims.append(await store.claim("one"))

    async with (
        open_database(migrated_url) as one,
        open_database(migrated_url) as two,
        anyio.create_task_group() as tasks,
    ):
        for database in (one, two) * 5:
            tasks.start_soon(claim, SqlDeliveries(database))
    assert claims.count(True) == 1
    async with open_database(migrated_url) as later:
        assert not await SqlDeliveries(later).claim("one"), "also after a restart"


async def test_a_delivery_whose_process_died_is_handled_when_it_comes_again(database: Database) -> None:
    first, soon, later = (SqlDeliveries(database, clock=lambda s=s: NOW + timedelta(seconds=s)) for s in (0, 59, 60))
    assert await first.claim("lost")
    assert await first.claim("handled")
    await first.keep("handled")
    assert not await soon.claim("lost")
    assert [await later.claim("lost") for _ in range(2)] == [True, False]
    assert not await later.claim("handled")


async def test_old_deliveries_are_forgotten(database: Database, deliveries: DeliveryStore) -> None:
    await deliveries.claim("old")
    await SqlDeliveries(database, clock=lambda: NOW + timedelta(days=2)).claim("new")
    assert await deliveries.forget(before=NOW) == 0
    assert await deliveries.forget(before=NOW + timedelta(days=1)) == 1
    assert await deliveries.claim("old")
    assert not await deliveries.claim("new")
