"""A real `bookwise serve` on the sample book under load: 100 concurrent chats compared with one, active chats during
1,000 idle streams, and searches over HTTP compared with searches in the process. The scripted model writes 20 tokens
per second.

python -m benchmarks.serve [--idle N] [--hold SECONDS] [--only chats|idle|searches]
"""

import argparse
import asyncio
import json
import re
import resource
import subprocess
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median, quantiles
from typing import Any

from benchmarks.served import PROGRAM, Service, Talk, request, serving

SAMPLE = Path("examples/physical-ai")
CHATS = 100
ALONE = 10  #: sequential chats, for comparison
LIVE = 10  #: active chats during the idle streams
OPENING = 20  #: idle streams that are opened concurrently
LATEST_PING = 15.0  #: seconds after the previous data on the stream
SEARCHES = 400
CLIENTS = 4
QUESTIONS = (
    "What is a node in ROS 2?",
    "How do nodes communicate?",
    "What does a publisher do?",
    "How do I start a simulation in Gazebo?",
    "What is a URDF file for?",
    "How does a depth camera measure distance?",
    "What is a service in ROS 2?",
    "How is a robot controlled by voice?",
)

Figures = dict[str, Any]


def p95(values: Sequence[float]) -> float:
    return quantiles(values, n=20, method="inclusive")[-1]


def seconds(talks: Sequence[Talk], name: str) -> list[float]:
    return [getattr(talk, name) for talk in talks]


async def together(service: Service, count: int) -> list[Talk]:
    return list(await asyncio.gather(*(service.stream(Talk()) for _ in range(count))))


async def chats(service: Service) -> Figures:
    """100 concurrent chats, compared with sequential ones."""
    await together(service, CLIENTS)
    alone = [await service.stream(Talk()) for _ in range(ALONE)]
    crowd = await together(service, CHATS)
    figures: Figures = {
        "complete and own": sum(talk.in_order for talk in crowd),
        "stored as sent": sum([await service.keeps(talk) for talk in crowd]),
    }
    for name in ("first_event", "first_content"):
        one, many = seconds(alone, name), seconds(crowd, name)
        figures[f"{name} ms, alone / p50 / p95"] = [round(s * 1e3, 1) for s in (median(one), median(many), p95(many))]
        figures[f"{name} p50 ratio"] = round(median(many) / median(one), 2)
        figures[f"{name} p95 ratio"] = round(p95(many) / p95(one), 2)
    return figures


@asynccontextmanager
async def idle_streams(service: Service, count: int) -> AsyncIterator[list[tuple[asyncio.Task[Talk], Talk]]]:
    """`count` open streams whose model sends no text; the readers disconnect at the end."""
    streams: list[tuple[asyncio.Task[Talk], Talk]] = []
    turns = asyncio.Semaphore(OPENING)

    async def opened() -> None:
        async with turns:
            talk = Talk(silent=True)
            streams.append((asyncio.create_task(service.stream(talk)), talk))
            await asyncio.wait_for(talk.opened.wait(), 120)

    try:
        await asyncio.gather(*(opened() for _ in range(count)))
        yield streams
    finally:
        for task, _ in streams:
            task.cancel()
        await asyncio.gather(*(task for task, _ in streams), return_exceptions=True)


async def idle(service: Service, count: int, hold: float) -> Figures:
    """Idle streams, and active chats at the same time."""
    await together(service, LIVE)
    unloaded = await together(service, LIVE) + await together(service, LIVE)
    base = service.memory
    async with idle_streams(service, count) as streams:
        await asyncio.sleep(hold / 2)
        loaded = await together(service, LIVE) + await together(service, LIVE)
        await asyncio.sleep(hold / 2)
        memory, dropped = service.memory, sum(task.done() for task, _ in streams)
    silences = [later - sooner for _, talk in streams for sooner, later in zip(talk.sent, talk.sent[1:], strict=False)]
    figures: Figures = {
        "streams": count,
        "dropped": dropped,
        "pings": sum(len(talk.sent) - 2 for _, talk in streams),
        "late pings": sum(silence > LATEST_PING for silence in silences),
        "longest silence s": round(max(silences), 2),
        "memory MiB, before / with": [round(base), round(memory)],
        "memory ratio": round(memory / base, 3),
        "live chats complete": f"{sum(talk.in_order for talk in loaded)} of {len(loaded)}",
    }
    for name in ("first_event", "first_content"):
        figures[f"live {name} p95 ratio"] = round(p95(seconds(loaded, name)) / p95(seconds(unloaded, name)), 2)
    return figures


async def per_second(searched: Callable[[int, str], Awaitable[object]]) -> float:
    """Searches per second with a few concurrent clients, warm: the best of three rounds."""

    async def client(number: int, count: int) -> None:
        for turn in range(count):
            await searched(number, QUESTIONS[(number + turn) % len(QUESTIONS)])

    async def round_of(count: int) -> float:
        started = time.perf_counter()
        await asyncio.gather(*(client(number, count // CLIENTS) for number in range(CLIENTS)))
        return count / (time.perf_counter() - started)

    await round_of(SEARCHES // 4)
    return max([await round_of(SEARCHES) for _ in range(3)])


async def searches_over_http(service: Service) -> float:
    lines = [await service.connected() for _ in range(CLIENTS)]

    async def searched(number: int, text: str) -> None:
        reader, writer = lines[number]
        writer.write(request("/search", {"text": text}))
        head = await reader.readuntil(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 200"), head
        length = re.search(rb"(?i)content-length: (\d+)", head)
        assert length is not None
        await reader.readexactly(int(length[1]))

    try:
        return await per_second(searched)
    finally:
        for _, writer in lines:
            writer.close()


async def searches_in_process(data: Path) -> float:
    from bookwise.domain.search import Filter, SearchQuery
    from bookwise.retrieval.search import search
    from bookwise.settings import load_settings
    from bookwise.wiring import open_app

    async with open_app(load_settings(data_dir=data)) as app:
        (book,) = await app.catalog.books()
        within = Filter(book_id=book.id)
        return await per_second(lambda _, text: search(SearchQuery(text=text, filter=within), app.search_kit))


async def searches(service: Service, in_process: float) -> Figures:
    over_http = await searches_over_http(service)
    return {
        "per second over HTTP": round(over_http),
        "per second in process": round(in_process),
        "ratio": round(over_http / in_process, 2),
        "memory MiB": round(service.memory),
    }


def allow_files(count: int) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (max(soft, min(hard, count)), hard))


def show(title: str, figures: Figures) -> None:
    for name, value in figures.items():
        print(f"{title}: {name:34} {value}", flush=True)


def run(options: argparse.Namespace, data: Path) -> Figures:
    subprocess.run([PROGRAM, "--data-dir", str(data), "ingest", str(SAMPLE)], check=True, capture_output=True)
    requested, figures = options.only or ("chats", "idle", "searches"), Figures()
    in_process = asyncio.run(searches_in_process(data)) if "searches" in requested else 0.0
    with serving(data) as service:
        parts: dict[str, Callable[[], Awaitable[Figures]]] = {
            "chats": lambda: chats(service),
            "idle": lambda: idle(service, options.idle, options.hold),
            "searches": lambda: searches(service, in_process),
        }
        for name in requested:
            figures[name] = asyncio.run(parts[name]())  # type: ignore[arg-type]
            show(name, figures[name])
    return figures


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--idle", type=int, default=1000)
    parser.add_argument("--hold", type=float, default=30.0)
    parser.add_argument("--only", nargs="*", choices=("chats", "idle", "searches"))
    options = parser.parse_args()
    allow_files(4 * options.idle + 1000)
    with tempfile.TemporaryDirectory() as scratch:
        print(json.dumps(run(options, Path(scratch) / "data")))


if __name__ == "__main__":
    main()
