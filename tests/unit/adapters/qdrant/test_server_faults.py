"""What the index on a server does when the server refuses, fails, hangs or is no Qdrant at all."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace

import pytest

from bookwise.adapters.qdrant.server import ServerAddress, ServerIndex, open_server_index
from bookwise.adapters.qdrant.server_calls import ATTEMPTS, ServerTimeouts
from bookwise.adapters.qdrant.server_collection import CollectionOptions
from bookwise.domain.errors import BookwiseError, IndexUnavailable, Misconfigured
from bookwise.domain.search import Filter
from tests.support.builders import chunks, embedded
from tests.support.qdrant_loopback import Loopback
from tests.support.scripted_http import Reply, Request, Server, answering
from tests.support.silent_server import silent_server
from tests.support.stopped_time import StoppedTime

pytestmark = pytest.mark.anyio

KEY = "a-secret-key"
EAST = (1.0, 0.0)
OPTIONS = CollectionOptions(name="books", fingerprint="test:1", size=2)
LOOPS = embedded(chunks("loops", "r1", "A loop repeats."), EAST)


def error(status: int, message: str, **headers: str) -> Reply:
    """An error as a server sends it."""
    return Reply(status=status, headers=headers, json={"status": {"error": message}, "time": 0.0})


@dataclass
class FaultyServer:
    """A loopback whose replies can be replaced."""

    server: Server
    loopback: Loopback
    time: StoppedTime
    faults: list[Reply] = field(default_factory=list)  #: sent first, one per request

    def address(self, **more: object) -> ServerAddress:
        timeouts = ServerTimeouts(sleep=self.time.sleep, clock=self.time.clock)
        return replace(ServerAddress(url=self.server.url, api_key=KEY, timeouts=timeouts), **more)  # type: ignore[arg-type]


@pytest.fixture
async def faulty() -> AsyncIterator[FaultyServer]:
    loopback, faults = Loopback(), list[Reply]()

    def answer(request: Request) -> Reply:
        return faults.pop(0) if faults else loopback(request)

    async with answering(answer) as server:
        yield FaultyServer(server=server, loopback=loopback, time=StoppedTime(), faults=faults)
    loopback.close()


@asynccontextmanager
async def opened(faulty: FaultyServer) -> AsyncIterator[ServerIndex]:
    async with open_server_index(faulty.address(), OPTIONS) as index:
        await index.stage(LOOPS)
        faulty.server.requests.clear()
        yield index


async def refusal(faulty: FaultyServer, *faults: Reply) -> BookwiseError:
    """The error of one search that meets these replies. It never contains the key."""
    async with opened(faulty) as index:
        faulty.faults.extend(faults)
        with pytest.raises(BookwiseError) as raised:
            await index.lesson("book", "any")
    assert KEY not in f"{raised.value.message} {raised.value.advice}"
    return raised.value


async def test_replies_are_not_compressed(faulty: FaultyServer) -> None:
    """A compressed reply comes in parts, and a real server waits 40 ms between two of them."""
    async with opened(faulty) as index:
        await index.lesson("book", LOOPS[0].chunk.lesson_id)
    assert {request.headers["accept-encoding"] for request in faulty.server.requests} == {"identity"}


@pytest.mark.parametrize("status", [429, 502, 503, 504])
async def test_a_failure_that_may_pass_is_tried_again(faulty: FaultyServer, status: int) -> None:
    async with opened(faulty) as index:
        faulty.faults += [error(status, "busy"), error(status, "busy")]
        assert len(await index.lesson("book", LOOPS[0].chunk.lesson_id)) == 1
    assert len(faulty.server.requests) == 3
    first, second = faulty.time.waits
    assert 0 < first < second * 2


async def test_a_lost_connection_is_tried_again(faulty: FaultyServer) -> None:
    async with opened(faulty) as index:
        faulty.faults.append(Reply(fault="reset"))
        assert len(await index.lesson("book", LOOPS[0].chunk.lesson_id)) == 1


async def test_the_wait_that_the_server_asks_for_is_kept(faulty: FaultyServer) -> None:
    async with opened(faulty) as index:
        faulty.faults.append(error(429, "Rate limiting exceeded", **{"Retry-After": "3"}))
        await index.revisions("book")
    assert faulty.time.waits == [3.0]


async def test_a_wait_beyond_the_deadline_is_not_waited_for(faulty: FaultyServer) -> None:
    problem = await refusal(faulty, error(429, "Rate limiting exceeded", **{"Retry-After": "900"}))
    assert isinstance(problem, IndexUnavailable)
    assert "asks to wait 900 s" in problem.message
    assert faulty.time.waits == []


async def test_a_retry_after_that_is_a_date_is_replaced_by_the_own_wait(faulty: FaultyServer) -> None:
    async with opened(faulty) as index:
        faulty.faults.append(error(429, "busy", **{"Retry-After": "Wed, 21 Oct 2015 07:28:00 GMT"}))
        await index.revisions("book")
    assert len(faulty.time.waits) == 1


async def test_attempts_are_bounded(faulty: FaultyServer) -> None:
    problem = await refusal(faulty, *[error(503, "shard")] * ATTEMPTS)
    assert isinstance(problem, IndexUnavailable)
    assert f"returned HTTP 503; stopped after {ATTEMPTS} attempts" in problem.message
    assert len(faulty.server.requests) == ATTEMPTS


async def test_every_call_has_a_deadline(faulty: FaultyServer) -> None:
    async with opened(faulty):
        pass
    hasty = faulty.address(timeouts=ServerTimeouts(read_seconds=0.2))
    faulty.faults += [Reply(fault="hang")] * ATTEMPTS
    with pytest.raises(IndexUnavailable, match=r"did not respond within 0\.1 s"):
        async with open_server_index(hasty, OPTIONS):
            pass


async def test_a_batch_that_was_applied_before_its_answer_was_lost_is_repeated(faulty: FaultyServer) -> None:
    """The connection ends after the server has stored the chunks: sending them again changes nothing."""
    cut = False

    def answer(request: Request) -> Reply:
        nonlocal cut
        reply = faulty.loopback(request)
        if request.method == "PUT" and "/points?" in request.target and not cut:
            cut = True
            return Reply(fault="reset")
        return reply

    async with answering(answer) as server:
        async with open_server_index(faulty.address(url=server.url), OPTIONS) as index:
            await index.stage(LOOPS)
            assert await index.revisions("book") == {"r1": 1}
        assert sum("/points?" in target for target in server.targets) == 2
        (request,) = {r.target.partition("?")[2] for r in server.requests if "/points?" in r.target}
    assert set(request.split("&")) == {"wait=true", "ordering=strong"}


@pytest.mark.parametrize("status", ["acknowledged", "wait_timeout"])
async def test_a_write_counts_only_when_it_is_completed(faulty: FaultyServer, status: str) -> None:
    accepted = Reply(json={"result": {"operation_id": 1, "status": status}, "status": "ok", "time": 0.0})
    async with opened(faulty) as index:
        faulty.faults.append(accepted)
        await index.stage(LOOPS)
        assert len([r for r in faulty.server.requests if r.method == "PUT"]) == 2
        faulty.faults += [accepted] * ATTEMPTS
        with pytest.raises(IndexUnavailable, match="without completing it"):
            await index.stage(LOOPS)


PAGE = b"<!doctype html><title>Welcome</title>"

REFUSALS: dict[str, tuple[Reply, type[BookwiseError], str]] = {
    "wrong key": (Reply(status=401, body=b"Invalid API key or JWT"), Misconfigured, "QDRANT_API_KEY"),
    "read-only key": (
        error(403, "Forbidden: Write access to collection books is required"),
        Misconfigured,
        "Write access to collection",
    ),
    "read-only cluster": (
        error(403, "Locked: maintenance"),
        Misconfigured,
        "does not allow this operation.*Locked: maintenance",
    ),
    "wrong size": (
        error(400, "Wrong input: Vector dimension error: expected dim: 4, got 2"),
        Misconfigured,
        "expected dim: 4, got 2",
    ),
    "missing collection": (
        error(404, "Not found: Collection `books` doesn't exist!"),
        IndexUnavailable,
        "collection is missing",
    ),
    "strict mode": (
        error(400, 'Bad request: Limit exceeded 256 > 100 for "limit". Help: Reduce the "limit" parameter.'),
        Misconfigured,
        "strict mode.*Limit exceeded 256 > 100",
    ),
    "quota": (error(507, "Insufficient storage: quota reached"), IndexUnavailable, "no space left.*quota reached"),
    "web page": (Reply(body=PAGE), Misconfigured, "does not answer like a Qdrant server"),
    "web page not found": (Reply(status=404, body=PAGE), Misconfigured, "does not answer like a Qdrant server"),
    "redirect": (Reply(status=302, headers={"Location": "/login"}), Misconfigured, "does not answer like"),
    "other JSON": (Reply(json={"hello": "world"}), Misconfigured, "does not answer like a Qdrant server"),
    "too large": (error(413, "Payload too large"), IndexUnavailable, "HTTP 413"),
    "broken server": (error(500, "Service internal error: panic"), IndexUnavailable, "HTTP 500.*panic"),
}


@pytest.mark.parametrize("reason", REFUSALS)
async def test_a_refusal_is_named_and_not_tried_again(faulty: FaultyServer, reason: str) -> None:
    reply, kind, message = REFUSALS[reason]
    problem = await refusal(faulty, reply)
    assert type(problem) is kind
    assert problem.advice
    with pytest.raises(kind, match=message):
        raise problem
    assert len(faulty.server.requests) == 1


@pytest.mark.parametrize("key", [None, "wrong"])
async def test_a_missing_or_wrong_key_is_named_at_start(key: str | None) -> None:
    loopback = Loopback(api_key="right")
    async with answering(loopback) as server:
        with pytest.raises(Misconfigured, match="QDRANT_API_KEY"):
            async with open_server_index(ServerAddress(url=server.url, api_key=key), OPTIONS):
                pass
        async with open_server_index(ServerAddress(url=server.url, api_key="right"), OPTIONS):
            pass
    loopback.close()


async def test_an_older_server_is_refused_with_its_version(faulty: FaultyServer) -> None:
    faulty.faults.append(Reply(json={"title": "qdrant - vector search engine", "version": "1.18.3", "commit": None}))
    with pytest.raises(Misconfigured, match=r"is version 1\.18\.3; Bookwise needs 1\.19"):
        async with open_server_index(faulty.address(), OPTIONS):
            pass


async def test_a_wrong_scheme_is_a_tls_failure(faulty: FaultyServer) -> None:
    address = faulty.address(url=faulty.server.url.replace("http:", "https:"))
    with pytest.raises(Misconfigured, match="TLS connection to Qdrant"):
        async with open_server_index(address, OPTIONS):
            pass


async def test_a_handshake_that_never_ends_leaves_no_socket_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwise.adapters.qdrant.server.CONNECT_SECONDS", 0.05)
    async with silent_server() as server:
        address = ServerAddress(url=server.url, timeouts=ServerTimeouts(sleep=StoppedTime().sleep))
        with pytest.raises(IndexUnavailable):
            async with open_server_index(address, OPTIONS):
                pass
        await server.all_closed(ATTEMPTS)


async def test_a_server_that_is_not_there_is_unavailable() -> None:
    address = ServerAddress(url="http://127.0.0.1:1", timeouts=ServerTimeouts(read_seconds=1.0))
    with pytest.raises(IndexUnavailable, match=r"Qdrant at 127\.0\.0\.1:1 is unreachable \(ConnectError\)"):
        async with open_server_index(address, OPTIONS):
            pass


async def test_a_collection_with_vectors_of_another_size_is_refused(faulty: FaultyServer) -> None:
    async with open_server_index(faulty.address(), OPTIONS):
        pass
    with pytest.raises(Misconfigured, match="vectors have 2 numbers, those of the embedder 3"):
        async with open_server_index(faulty.address(), replace(OPTIONS, size=3)):
            pass


async def test_a_collection_that_disappears_during_an_ingest_is_noticed_before_the_commit(faulty: FaultyServer) -> None:
    async with opened(faulty) as index:
        faulty.loopback(Request(method="DELETE", target=f"/collections/{OPTIONS.collection}", headers={}, body=b""))
        async with open_server_index(faulty.address(), OPTIONS):  # another process creates it again
            pass
        with pytest.raises(IndexUnavailable, match="was replaced by another process"):
            await index.stage(LOOPS)


async def test_a_search_reports_the_first_of_two_failures(faulty: FaultyServer) -> None:
    async with opened(faulty) as index:
        faulty.faults += [Reply(status=401, body=b"no"), Reply(status=401, body=b"no")]
        with pytest.raises(Misconfigured):
            await index.nearest(EAST, "loop", within=Filter(book_id="book"), limit=5)
