"""Figure 7: what a crowd gets, and what is left of the service when three times as many ask as it can answer."""

import asyncio
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import cycle
from pathlib import Path

from benchmarks.serve import SAMPLE, allow_files, idle_streams, together
from benchmarks.served import PROGRAM, request, serving
from benchmarks.trust.figure import Figure, Measured, Ratio
from benchmarks.trust.real_service import REQUEST_SECONDS, RealService, ingest_small_book, new_session, running, scratch

CHATS = 100
IDLE = 1_000
QUESTIONS = (
    "When does the irrigation valve open?",
    "What is a moisture sensor?",
    "How do I read a moisture sensor?",
    "What is the carriage?",
    "How do I stop the carriage?",
    "How is the sensor package installed?",
    "How fast does the carriage move?",
    "What is the difference between drip and spray?",
)
CLIENTS = 16  #: enough to keep the service busy at its peak
OVERLOAD = 3  #: times the peak
WARM_SECONDS, PEAK_SECONDS, OVERLOAD_SECONDS = 3.0, 6.0, 22.0
USEFUL_SECONDS = 8.0  #: a reader who waits longer has left


@dataclass
class Answers:
    """What came back while the questions came in."""

    until: float  #: later answers do not count: by then the reader has left
    answered: int = 0
    useful: int = 0
    refused: int = 0
    bad: list[str] = field(default_factory=list)

    def count(self, head: bytes, began: float) -> None:
        now = time.perf_counter()
        status = head[9:12].decode(errors="replace")
        if status == "200":
            self.answered += 1
            self.useful += now <= self.until and now - began <= USEFUL_SECONDS
        elif status == "503" and b"retry-after" in head.lower():
            self.refused += 1
        else:
            self.bad.append(f"status {status or 'none'} after {now - began:.1f} s")


async def ask(service: RealService, question: str, answers: Answers) -> None:
    """One question on one connection. On bare sockets, because the client shares the machine with the service."""
    began, answer = time.perf_counter(), b""
    with socket.socket() as connection, suppress(OSError, TimeoutError):
        connection.setblocking(False)
        async with asyncio.timeout(REQUEST_SECONDS):
            answer = await exchange(connection, service.port, question)
    answers.count(answer.partition(b"\r\n\r\n")[0], began)


async def exchange(connection: socket.socket, port: int, question: str) -> bytes:
    loop, parts = asyncio.get_running_loop(), list[bytes]()
    await loop.sock_connect(connection, ("127.0.0.1", port))
    body = {"message": question, "session_id": new_session()}
    await loop.sock_sendall(connection, request("/chat/run", body, "close"))
    while part := await loop.sock_recv(connection, 2**16):
        parts.append(part)
    return b"".join(parts)


async def peak(service: RealService, questions: Iterator[str], seconds: float) -> Answers:
    """A few clients, of which each waits for its answer."""
    answers = Answers(time.perf_counter() + seconds)

    async def client() -> None:
        while time.perf_counter() < answers.until:
            await ask(service, next(questions), answers)

    await asyncio.gather(*(client() for _ in range(CLIENTS)))
    return answers


async def overload(service: RealService, questions: Iterator[str], rate: float, seconds: float) -> Answers:
    """Questions at a fixed rate, whether or not the earlier ones are answered."""
    began = time.perf_counter()
    answers = Answers(began + seconds)
    async with asyncio.TaskGroup() as tasks:
        for number in range(round(rate * seconds)):
            await asyncio.sleep(began + number / rate - time.perf_counter())
            tasks.create_task(ask(service, next(questions), answers))
    return answers


@dataclass(frozen=True, slots=True, kw_only=True)
class Goodput:
    """What is left of the peak under overload: by the clock, and per CPU second of the service, which other work of
    the machine hardly changes."""

    answers: Answers
    by_clock: float
    by_cpu: float


async def goodput(folder: Path, *, broken: bool) -> Goodput:
    """The peak is measured before and after the overload: the machine may have other work meanwhile."""
    await ingest_small_book(folder)
    questions = cycle(QUESTIONS)
    async with running(folder, control="no-refusals" if broken else "") as service:
        await peak(service, questions, WARM_SECONDS)
        cpu = [service.cpu_seconds]
        before = await peak(service, questions, PEAK_SECONDS)
        cpu.append(service.cpu_seconds)
        answers = await overload(service, questions, OVERLOAD * before.useful / PEAK_SECONDS, OVERLOAD_SECONDS)
        cpu.append(service.cpu_seconds)
        after = await peak(service, questions, PEAK_SECONDS)
        cpu.append(service.cpu_seconds)
    at_peak = (before.useful + after.useful) / (2 * PEAK_SECONDS)
    per_cpu_at_peak = (before.answered + after.answered) / (cpu[1] - cpu[0] + cpu[3] - cpu[2])
    return Goodput(
        answers=answers,
        by_clock=answers.useful / OVERLOAD_SECONDS / at_peak,
        by_cpu=answers.answered / (cpu[2] - cpu[1]) / per_cpu_at_peak,
    )


async def crowd(folder: Path, *, idle: int, chats: int) -> list[str]:
    """What went wrong with chats at the same moment, while many streams are open whose model is silent."""
    allow_files(4 * idle + 1000)
    command = [PROGRAM, "--data-dir", str(folder / "data"), "ingest", str(SAMPLE)]
    await asyncio.to_thread(subprocess.run, command, check=True, capture_output=True)
    with serving(folder / "data") as service:
        async with idle_streams(service, idle) as streams:
            talks = await together(service, chats)
            bad = ["an idle stream was dropped" for task, _ in streams if task.done()]
        bad += [f"a chat ended with {talk.ended}" for talk in talks if not talk.in_order]
        bad += ["a chat is not stored as it was sent" for talk in talks if not await service.keeps(talk)]
    return bad


async def measure(cases: int, broken: bool) -> Measured:
    async with scratch() as folder:
        result = await goodput(folder, broken=broken)
    answers, bad = result.answers, result.answers.bad
    if not broken:
        chats = max(1, round(cases * CHATS / (CHATS + IDLE)))
        async with scratch() as folder:
            bad += await crowd(folder, idle=cases - chats, chats=chats)
    return Measured(
        cases=cases,
        bad=len(bad),
        ratios=(Ratio(name="goodput at 3 × capacity", value=result.by_clock, at_least=0.8),),
        examples=(
            f"under overload: {answers.useful} useful, {answers.answered - answers.useful} too late, {answers.refused} "
            f"refused; answers per CPU second of the service: {result.by_cpu:.2f} of the peak",
            *bad[:5],
        ),
    )


FIGURE = Figure(
    number=7,
    name="load",
    counts=f"{CHATS} chats at one moment and {IDLE:,} idle streams; bad: one that is dropped, mixed up or not stored, "
    f"or a request under overload that gets neither an answer nor a 503 with Retry-After. Goodput: answers within "
    f"{USEFUL_SECONDS:.0f} s, as a part of the peak",
    cases=CHATS + IDLE,
    control="no question is refused",
    control_cases=1,
    measure=measure,
)
