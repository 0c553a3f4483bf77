"""Settings → ServiceState: everything the routes use, opened once per process."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from ipaddress import ip_address
from secrets import token_urlsafe

import anyio
from fastapi import Request

from bookwise.answering.ask import AskKit
from bookwise.api.alarm import Alarm
from bookwise.api.auth.auth_throttle import AuthThrottle
from bookwise.api.job_runner import open_job_queue
from bookwise.api.load_limit import LoadLimit
from bookwise.api.metrics import Metrics
from bookwise.api.telemetry import Telemetry, open_telemetry
from bookwise.domain.errors import Misconfigured
from bookwise.ports import Embedder, JobQueue, KeyStore, LessonIndex
from bookwise.settings import Settings
from bookwise.wiring import App, open_answers, open_app


@dataclass(slots=True, kw_only=True)
class ServiceState:
    """What the routes of one process share."""

    settings: Settings
    app: App
    kit: AskKit
    runner: JobQueue
    load_limit: LoadLimit
    open_to_anyone: bool  #: no key is needed until one is created; the service then listens on loopback only
    telemetry: Telemetry | None = None
    metrics: Metrics = field(default_factory=Metrics)
    auth_throttle: AuthThrottle = field(default_factory=AuthThrottle)
    key_check_seconds: float = 5.0  #: how often a stream checks that its key is still valid
    operator_secret: str = field(
        default_factory=token_urlsafe, repr=False
    )  #: proves that a command may read the data folder
    draining: bool = False  #: set first when the service stops: it still answers, but is no longer ready
    stopping: anyio.Event = field(default_factory=anyio.Event)  #: set when the service stops and streams should end
    key_origins: frozenset[str] = frozenset()  #: origins of active keys, as they were read last
    alarm: Alarm = field(default_factory=Alarm)  #: rings when a key has changed and when the service stops

    @property
    def keys(self) -> KeyStore:
        return self.app.keys

    async def check_keys(self) -> None:
        """Acts on a change of the keys: an open service with a key is closed, and streams check their keys."""
        if self.open_to_anyone and await self.keys.any_ever():
            self.open_to_anyone = False  # behind a proxy, loopback is not only this machine
        self.alarm.ring()

    async def read_key_origins(self) -> frozenset[str]:
        keys = await self.keys.keys()
        self.key_origins = frozenset(origin for key in keys if key.revoked_at is None for origin in key.origins)
        return self.key_origins

    def stop(self) -> None:
        """Makes streams end soon."""
        self.stopping.set()
        self.alarm.ring()


@asynccontextmanager
async def open_state(
    settings: Settings,
    *,
    open_to_anyone: bool | None = True,
    embedder: Embedder | None = None,
    index: LessonIndex | None = None,
) -> AsyncIterator[ServiceState]:
    """Locks the data folder while it is open. `open_to_anyone` None: open unless there has ever been a key. `embedder`
    and `index` replace the configured ones."""
    async with open_app(settings, embedder=embedder, index=index, take_over_jobs=True) as app:
        is_open = not await app.keys.any_ever() if open_to_anyone is None else open_to_anyone
        if is_open:
            _require_loopback(settings.host)
        async with (
            open_answers(settings, app.search_kit) as kit,
            open_telemetry(settings, kit) as telemetry,
            open_job_queue(app) as runner,
        ):
            yield ServiceState(
                settings=settings,
                app=app,
                kit=kit,
                runner=runner,
                load_limit=LoadLimit(settings.queue_seconds),
                open_to_anyone=is_open,
                telemetry=telemetry,
            )


def _require_loopback(host: str) -> None:
    if not is_loopback(host):
        raise Misconfigured(
            f"Without an API key the service may only listen on this machine, not on {host}.",
            advice="Create a key with `bookwise keys create`, or leave --host out.",
        )


def is_loopback(host: str) -> bool:
    """Whether the address is reachable from this machine only."""
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False


def state_of(request: Request) -> ServiceState:
    state: ServiceState = request.app.state.service
    return state
