"""Figure 10: a request that is sent again has its effect once, a forged one has none, and a limit admits its number."""

import asyncio
import itertools
from collections import Counter
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any
from uuid import uuid4

from tests.support.small_books import ASKS_TOPIC, LESSONS

from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.pushes import HOOK, deliver, forgeries, send_push
from benchmarks.trust.service import Change, Line, Reply, Running, prepare, serving, temporary_folder
from bookwise.domain.rate_limits import WINDOW_SECONDS
from bookwise.wiring import App

WINDOWS = 3
REQUESTS = 1_000  #: in each window
RATE = 100  #: of which the key allows
AFTER_WINDOW = 1.02 * WINDOW_SECONDS + 0.5  #: seconds until nothing of a window counts any more
REPLAYS = 500
FORGERIES = 50
AT_ONCE = 4  #: the same request on as many connections
ROUNDS = 2  #: before and after a kill; each request is sent in both
EXAMPLES = 5


def forgetful(app: App) -> App:
    """The control: nothing is known of earlier requests and deliveries."""
    return replace(app, responses=_Forgetful(app.responses), deliveries=_Forgetful(app.deliveries, first=True))  # type: ignore[arg-type]


class _Forgetful:
    def __init__(self, store: Any, *, first: bool | None = None) -> None:
        self._store, self._first = store, first

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def claim(self, *args: Any, **options: Any) -> bool | None:
        return self._first


@dataclass(slots=True)
class Sent:
    """One request that is sent many times, and all responses."""

    key: str
    session: str = field(default_factory=lambda: str(uuid4()))
    replies: list[Reply] = field(default_factory=list)

    @property
    def body(self) -> dict[str, str]:
        return {"message": ASKS_TOPIC, "session_id": self.session}

    async def send(self, line: Line) -> None:
        self.replies.append(await line.post("/chat/run", self.body, **{"Idempotency-Key": f'"{self.key}"'}))

    def faults(self, messages: int) -> list[str]:
        answered = [reply for reply in self.replies if reply.status == 200]
        first = [reply for reply in answered if not reply.is_replayed]
        faults = [f"{reply.status} for a repeated request" for reply in self.replies if reply.status not in (200, 409)]
        if len(first) != 1 or len({reply.body for reply in answered}) != 1:
            faults.append(f"{len(first)} of {len(self.replies)} responses are new")
        if messages != 2:
            faults.append(f"{messages} messages in the session of one question")
        return [f"key {self.key}: {fault}" for fault in faults]


@dataclass(slots=True)
class Scene:
    """A service that is killed and started again, and what was sent to it."""

    data: Path
    secret: str
    change: Change | None
    cases: int = 0
    found: list[str] = field(default_factory=list)

    def service(self) -> Any:
        return serving(self.data, self.secret, change=self.change, **HOOK)

    async def repeat_requests(self, replays: int) -> None:
        """The same questions from several connections at once, before and after a kill."""
        sent = [Sent(f"request {number}") for number in range(-(-replays // (ROUNDS * AT_ONCE - 1)))]
        for _ in range(ROUNDS):
            async with self.service() as running:
                lines = [running.line() for _ in range(AT_ONCE)]
                for request in sent:
                    await asyncio.gather(*(request.send(line) for line in lines))
        async with self.service() as running:
            line = running.line()
            for request in sent:
                self.cases += len(request.replies) - 1
                self.found += request.faults((await line.get(f"/session/{request.session}/history")).json["total"])

    async def repeat_deliveries(self, replays: int) -> None:
        """The same pushes from several connections at once, before and after a kill."""
        outcomes: dict[str, Counter[str]] = {}
        for _ in range(ROUNDS):
            async with self.service() as running:
                lines = [running.line() for _ in range(AT_ONCE)]
                for number in range(-(-replays // (ROUNDS * AT_ONCE - 1))):
                    name = f"delivery {number}"
                    outcomes.setdefault(name, Counter()).update(
                        await asyncio.gather(*(deliver(line, name) for line in lines))
                    )
        for name, counted in outcomes.items():
            self.cases += counted.total() - 1
            if counted["accepted"] != 1 or counted.keys() - {"accepted", "duplicate"}:
                self.found.append(f"{name}: {dict(counted)}")

    async def forge(self, count: int) -> None:
        """Pushes with wrong signatures start nothing, and do not keep the true one from being accepted."""
        async with self.service() as running:
            line = running.line()
            await settled(line)
            before = (await line.get("/ingestion/jobs?limit=1")).json
            names = [f"forged {number}" for number in range(-(-count // len(forgeries(""))))]
            for name, signed in [(each, signed) for each in names for signed in forgeries(each)]:
                reply = await send_push(line, name, signed)
                self.cases += 1
                if reply.status != 401:
                    self.found.append(f"forged delivery with {signed!r}: {reply.status}")
            if (await line.get("/ingestion/jobs?limit=1")).json != before:
                self.found.append("a forged delivery has started a job")
            for name in names:
                if (outcome := await deliver(line, name)) != "accepted":
                    self.found.append(f"true delivery after forged ones: {outcome}")


async def settled(line: Line) -> None:
    """Waits until no job is open."""
    while (await line.get("/ingestion/jobs?limit=1")).json["jobs"][0]["completed_at"] is None:  # noqa: ASYNC110
        await asyncio.sleep(0.005)


@dataclass(slots=True)
class Limited:
    """A key that sends ten times as many requests as it may."""

    running: Running
    rate: int
    cases: int = 0
    found: list[str] = field(default_factory=list)

    async def run(self) -> None:
        created = await self.running.operator().post("/operator/CreateKey", {**NEW_KEY, "rate_per_minute": self.rate})
        lines = [self.running.line(created.json["secret"]) for _ in range(AT_ONCE)]
        per_line = REQUESTS * self.rate // RATE // AT_ONCE
        for window in range(WINDOWS):
            await asyncio.sleep(AFTER_WINDOW if window else 0)
            statuses = Counter(itertools.chain(*await asyncio.gather(*(_statuses(line, per_line) for line in lines))))
            self.cases += statuses.total()
            if statuses[200] != self.rate or statuses.keys() - {200, 429}:
                self.found.append(f"window {window}: {dict(statuses)} with {self.rate} requests per minute")


NEW_KEY = {"name": "a reader", "role": "reader", "books": [], "origins": []}


async def _statuses(line: Line, count: int) -> list[int]:
    return [(await line.get("/books")).status for _ in range(count)]


async def measure(cases: int, broken: bool) -> Measured:
    share = cases / FIGURE.cases
    parts: list[Any] = []
    with temporary_folder() as repeated, temporary_folder() as limited:
        async with asyncio.TaskGroup() as tasks:
            parts.append(tasks.create_task(_repeat(repeated, share, broken)))
            if not broken:
                parts.append(tasks.create_task(_limit(limited, share)))
    results = [part.result() for part in parts]
    found = [fault for result in results for fault in result.found]
    return Measured(cases=sum(result.cases for result in results), bad=len(found), examples=tuple(found[:EXAMPLES]))


async def _repeat(folder: Path, share: float, broken: bool) -> Scene:
    _, data, secret = await prepare(folder, LESSONS)
    scene = Scene(data, secret, forgetful if broken else None)
    await scene.repeat_requests(round(REPLAYS * share))
    await scene.repeat_deliveries(round(REPLAYS * share))
    await scene.forge(round(FORGERIES * share))
    return scene


async def _limit(folder: Path, share: float) -> Limited:
    _, data, secret = await prepare(folder, LESSONS)
    async with serving(data, secret) as running:
        limited = Limited(running, max(1, round(RATE * share)))
        await limited.run()
    return limited


FIGURE = Figure(
    number=10,
    name="exactly once",
    counts="repeated requests with an idempotency key, repeated and forged pushes, before and after a SIGKILL, and "
    "three minutes of 1,000 requests with a key for 100; bad: an effect that happens twice or not, or a wrong count",
    cases=WINDOWS * REQUESTS + REPLAYS + FORGERIES,
    control="earlier requests and deliveries are not known",
    control_cases=100,
    measure=measure,
)
