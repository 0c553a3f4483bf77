"""Figure 6: what readers leave behind who end their stream without warning."""

import asyncio
import socket
import struct
from collections.abc import Awaitable, Callable
from itertools import chain, repeat
from time import monotonic

from tests.support.scripted_http import Reply, Request, Server, answering
from tests.support.scripted_model import KEY, chunk, dripping

from benchmarks.served import request
from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.model_faults import MORE, QUESTION, TRUE
from benchmarks.trust.real_service import RealService, ingest_small_book, new_session, running, scratch, wait_until

ABORTS = 1_000
AT_ONCE = 16
SETTLED_SECONDS = 20.0  #: within which a service without readers is idle again
READ_SECONDS = 60.0
TOLERATED = 2  #: tasks of the moment, such as one that cleans up

Abort = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]


def endless(_: Request) -> Reply:
    """Sentences that the book supports, without an end."""
    return dripping(
        chain([chunk({"role": "assistant", "content": ""})], repeat(chunk({"content": TRUE + MORE}))), pause=0.1
    )


async def before_first_byte(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    writer.close()


async def mid_stream(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"event: content\n")
    writer.close()


async def half_closed(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """The reader says that it sends no more, and reads on until the service ends the connection."""
    await reader.readuntil(b"event: content\n")
    writer.write_eof()
    while await reader.read(2**16):
        pass
    writer.close()


async def reset(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    await reader.readuntil(b"event: content\n")
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    writer.transport.abort()


KINDS: tuple[Abort, ...] = (before_first_byte, mid_stream, half_closed, reset)


async def abort(service: RealService, kind: Abort) -> tuple[str, str]:
    """The session of the stream, and what went wrong before the reader left."""
    session, wrong = new_session(), ""
    reader, writer = await service.connect()
    try:
        async with asyncio.timeout(READ_SECONDS):
            writer.write(request("/chat/stream", {"message": QUESTION, "session_id": session}, "close"))
            await writer.drain()
            await kind(reader, writer)
    except (TimeoutError, asyncio.IncompleteReadError, ConnectionError) as error:
        wrong = f"{kind.__name__}: {type(error).__name__}"
    finally:
        writer.transport.abort()
    return session, wrong


async def aborts(service: RealService, count: int) -> tuple[list[str], list[str]]:
    """The sessions, and what went wrong."""
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(number: int) -> tuple[str, str]:
        async with turns:
            return await abort(service, KINDS[number % len(KINDS)])

    done = await asyncio.gather(*(one(number) for number in range(count)))
    return [session for session, _ in done], [wrong for _, wrong in done if wrong]


async def leftovers(service: RealService, model: Server, tasks: int, descriptors: int) -> list[str]:
    """What is still there after a while: each task, descriptor and connection to the model counts."""
    until, left = monotonic() + SETTLED_SECONDS, ["nothing was looked at"]
    while left and monotonic() < until:
        await asyncio.sleep(0.5)
        left = ["a task is left"] * (await service.tasks() - tasks - TOLERATED)
        left += ["a descriptor is left"] * (service.descriptors - descriptors)
        left += ["a connection to the model is left"] * model.connections
    return left


async def broken_history(service: RealService, session: str) -> str:
    """What is wrong with a session whose reader left. It may not exist; else it is readable, honest and free."""
    answer = await service.client.get(f"/session/{session}")
    if answer.status_code == 404:
        return ""
    messages = answer.json().get("messages", [])
    if [message["role"] for message in messages] != ["user", "assistant"] or messages[-1].get("complete", True):
        return f"history: {[(message['role'], message.get('complete', True)) for message in messages]}"
    next_question = {"message": "Hello", "session_id": session}
    answer = await service.client.post("/chat/run", json=next_question)
    return "" if answer.status_code == 200 else f"history: the next question gets {answer.status_code}"


async def histories(service: RealService, sessions: list[str]) -> list[str]:
    turns = asyncio.Semaphore(AT_ONCE)

    async def one(session: str) -> str:
        async with turns:
            return await broken_history(service, session)

    return list(filter(None, await asyncio.gather(*map(one, sessions))))


async def measure(cases: int, broken: bool) -> Measured:
    async with scratch() as folder, answering(endless) as model:
        model.keeps_requests = False
        await ingest_small_book(folder)
        settings = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{model.url}/v1"}
        async with running(folder, control="deaf-streams" if broken else "", **settings) as service:
            tasks, descriptors = await _baseline(service, model, broken=broken)
            sessions, bad = await aborts(service, cases)
            bad += await leftovers(service, model, tasks, descriptors)
            bad += [] if broken else await histories(service, sessions)
    return Measured(cases=cases, bad=len(bad), examples=tuple(dict.fromkeys(bad)))


async def _baseline(service: RealService, model: Server, *, broken: bool) -> tuple[int, int]:
    """Tasks and descriptors of an idle service that has opened what it keeps: database connections and threads."""
    if broken:
        return await service.tasks(), service.descriptors
    await aborts(service, 4 * AT_ONCE)
    await wait_until(lambda: not model.connections)
    await asyncio.sleep(1)
    return await service.tasks(), service.descriptors


FIGURE = Figure(
    number=6,
    name="stream hygiene",
    counts=f"{ABORTS:,} streams whose reader leaves before the first byte, in the middle, by half a close or by a "
    "reset; bad: a task, descriptor or connection to the model that is left, a broken history or a busy session",
    cases=ABORTS,
    control="streams do not notice that their reader has left",
    control_cases=32,
    measure=measure,
)
