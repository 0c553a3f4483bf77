"""What a refusal costs a service that is overloaded: CPU time per refused question, on a connection that is kept and on
a new one each time. CPU time hardly depends on what else the machine does.

python -m benchmarks.refusals [--count 4000]
"""

import argparse
import asyncio
import re
import socket

from benchmarks.served import request
from benchmarks.trust.load import QUESTIONS
from benchmarks.trust.real_service import RealService, ingest_small_book, new_session, running, scratch

WARM_UP = 200


def refuse(port: int, count: int, *, keep: bool) -> None:
    """Asks this many times, one after the other."""
    body = {"message": QUESTIONS[0], "session_id": new_session()}
    question = request("/chat/run", body, "keep-alive" if keep else "close")
    connection: socket.socket | None = None
    for _ in range(count):
        connection = connection or socket.create_connection(("127.0.0.1", port))
        connection.sendall(question)
        _require_refusal(connection)
        if not keep:
            connection.close()
            connection = None
    if connection is not None:
        connection.close()


def _require_refusal(connection: socket.socket) -> None:
    data = b""
    while not (found := re.search(rb"(?is)content-length: (\d+).*?\r\n\r\n", data)) or (
        len(data) < found.end() + int(found[1])
    ):
        part = connection.recv(65536)
        assert part, "the service has closed the connection"
        data += part
    assert data.startswith(b"HTTP/1.1 503 "), data


async def cost(service: RealService, count: int, *, keep: bool) -> float:
    """CPU seconds of the service per refusal."""
    await asyncio.to_thread(refuse, service.port, WARM_UP, keep=keep)
    before = service.cpu_seconds
    await asyncio.to_thread(refuse, service.port, count, keep=keep)
    return (service.cpu_seconds - before) / count


async def measure(count: int) -> None:
    async with scratch() as folder:
        await ingest_small_book(folder)
        async with running(folder, control="no-room", BOOKWISE_QUEUE_SECONDS="0") as service:
            for name, keep in (("connection kept", True), ("new connection", False)):
                seconds = await cost(service, count, keep=keep)
                print(f"{name:16} {seconds * 1e3:.3f} ms of CPU per refusal, {1 / seconds:,.0f} per second and core")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--count", type=int, default=4_000)
    asyncio.run(measure(parser.parse_args().count))


if __name__ == "__main__":
    main()
