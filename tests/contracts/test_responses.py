"""What the port `ResponseStore` promises."""

from datetime import timedelta

import anyio
import pytest

from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.responses import SqlResponses
from bookwise.domain.errors import RequestMismatch, RequestRunning
from bookwise.ports import KeptResponse, ResponseStore
from tests.support.talks import WallClock

pytestmark = pytest.mark.anyio

ME = "key_0123456789ab"
KEY = 'order 66 \\ "quoted"'
ANSWER = KeptResponse(status=202, headers={"location": "/über/7", "content-type": "text/plain"}, body=b"\x00\xff\r\n")
DAY = 24 * 3600


@pytest.fixture
def clock() -> WallClock:
    return WallClock()


@pytest.fixture
def responses(database: Database, clock: WallClock) -> ResponseStore:
    return SqlResponses(database, clock=clock)


async def claim(
    responses: ResponseStore, key: str = KEY, *, owner: str = ME, fingerprint: str = "a", lease: float = 60
) -> KeptResponse | None:
    return await responses.claim(owner, key, fingerprint, lease_seconds=lease)


async def test_a_kept_response_comes_back_byte_for_byte_as_often_as_it_is_asked_for(responses: ResponseStore) -> None:
    assert await claim(responses) is None
    await responses.keep(ME, KEY, ANSWER)
    assert [await claim(responses), await claim(responses)] == [ANSWER, ANSWER]


async def test_an_empty_body_is_a_body(responses: ResponseStore) -> None:
    empty = KeptResponse(status=200, headers={}, body=b"")
    await claim(responses)
    await responses.keep(ME, KEY, empty)
    assert await claim(responses) == empty


async def test_a_request_that_runs_is_not_claimed_again_until_its_lease_ends(
    responses: ResponseStore, clock: WallClock
) -> None:
    assert await claim(responses, lease=10) is None
    clock.move(9.9)
    with pytest.raises(RequestRunning):
        await claim(responses)
    clock.move(0.1)
    assert await claim(responses) is None, "the lease of the claim has ended"
    with pytest.raises(RequestRunning):
        await claim(responses)


async def test_a_key_belongs_to_one_request_while_it_runs_and_after(responses: ResponseStore) -> None:
    await claim(responses)
    with pytest.raises(RequestMismatch):
        await claim(responses, fingerprint="b")
    await responses.keep(ME, KEY, ANSWER)
    with pytest.raises(RequestMismatch):
        await claim(responses, fingerprint="b")
    assert await claim(responses) == ANSWER


async def test_owners_and_their_keys_are_separate(responses: ResponseStore) -> None:
    await claim(responses)
    await responses.keep(ME, KEY, ANSWER)
    for owner, key in (("key_ba9876543210", KEY), ("", KEY), (ME, KEY.upper()), (ME, f"{KEY} ")):
        assert await claim(responses, key, owner=owner, fingerprint="b") is None
    await responses.release("", KEY)
    assert await claim(responses) == ANSWER


async def test_a_released_key_is_free_for_any_request(responses: ResponseStore) -> None:
    await claim(responses)
    await responses.release(ME, KEY)
    assert await claim(responses, fingerprint="b") is None


async def test_what_is_kept_is_neither_released_nor_replaced(responses: ResponseStore) -> None:
    await claim(responses)
    await responses.keep(ME, KEY, ANSWER)
    await responses.release(ME, KEY)
    await responses.keep(ME, KEY, KeptResponse(status=500, headers={}, body=b"late"))
    assert await claim(responses) == ANSWER


async def test_without_a_claim_there_is_nothing_to_keep_or_to_release(responses: ResponseStore) -> None:
    await responses.keep(ME, KEY, ANSWER)
    await responses.release(ME, KEY)
    assert await claim(responses) is None


async def test_after_a_day_a_response_counts_as_absent(responses: ResponseStore, clock: WallClock) -> None:
    await claim(responses)
    await responses.keep(ME, KEY, ANSWER)
    clock.move(DAY - 1)
    assert await claim(responses) == ANSWER
    clock.move(1)
    assert await claim(responses, fingerprint="b") is None
    with pytest.raises(RequestRunning):
        await claim(responses, fingerprint="b")


async def test_older_ones_are_forgotten_newer_ones_not(responses: ResponseStore, clock: WallClock) -> None:
    await claim(responses, "old")
    await responses.keep(ME, "old", ANSWER)
    await claim(responses, "old and never answered")
    clock.move(10)
    await claim(responses, "new")
    await responses.keep(ME, "new", ANSWER)
    assert await responses.forget(before=clock.now - timedelta(seconds=10)) == 0
    assert await responses.forget(before=clock.now) == 2
    assert await responses.forget(before=clock.now) == 0
    assert await claim(responses, "old") is None
    assert await claim(responses, "new") == ANSWER


@pytest.mark.parametrize("left_behind", [False, True])
async def test_of_many_claimants_at_once_exactly_one_gets_the_request(
    responses: ResponseStore, clock: WallClock, left_behind: bool
) -> None:
    if left_behind:
        await claim(responses, lease=1)
        clock.move(1)
    claims: list[KeptResponse | None] = []
    conflicts: list[RequestRunning] = []

    async def compete() -> None:
        try:
            claims.append(await claim(responses))
        except RequestRunning as error:
            conflicts.append(error)

    async with anyio.create_task_group() as claimants:
        for _ in range(20):
            claimants.start_soon(compete)
    assert claims == [None]
    assert len(conflicts) == 19


async def test_the_responses_of_a_session_are_deleted_with_it(responses: ResponseStore) -> None:
    session, other = "550e8400-e29b-41d4-a716-446655440000", "650e8400-e29b-41d4-a716-446655440000"
    mentions = {
        "in the body": KeptResponse(status=200, headers={}, body=b'\x00\xff{"session_id": "%s"}' % session.encode()),
        "in a header": KeptResponse(status=200, headers={"x-session-id": session}, body=b""),
        "another": KeptResponse(status=200, headers={}, body=b'{"session_id": "%s"}' % other.encode()),
        "none": ANSWER,
    }
    for owner in (ME, "key_another"):
        for key, response in mentions.items():
            await claim(responses, key, owner=owner)
            await responses.keep(owner, key, response)
    await claim(responses, "running")
    assert await responses.forget_session(ME, session) == 2
    assert [await claim(responses, key) for key in mentions] == [None, None, mentions["another"], ANSWER]
    assert [await claim(responses, key, owner="key_another") for key in mentions] == list(mentions.values())
    with pytest.raises(RequestRunning):
        await claim(responses, "running")
