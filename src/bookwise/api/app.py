"""Settings → the HTTP service, with every route, its borders and its problems."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import anyio
from fastapi import Depends, FastAPI, Request

from bookwise import __version__
from bookwise.adapters.sql.responses import KEPT
from bookwise.api import problems
from bookwise.api.auth.access import caller_of
from bookwise.api.auth.rate_limit import Limited, add_limits, limited
from bookwise.api.idempotency import REPLAYED
from bookwise.api.middleware.cors import Cors
from bookwise.api.middleware.request_guard import RequestGuard
from bookwise.api.middleware.request_log import RequestLog
from bookwise.api.openapi import describe
from bookwise.api.routes import books, chat, feedback, health, ingestion, openai, operator, page, search, sessions
from bookwise.api.routes.health import Examination
from bookwise.api.routes.mcp import mount_mcp
from bookwise.api.state import ServiceState, open_state
from bookwise.api.telemetry import RequestTracing
from bookwise.domain.errors import BookwiseError
from bookwise.domain.journal import KEPT_DAYS
from bookwise.domain.threads import IDLE_SECONDS
from bookwise.ports import Embedder
from bookwise.settings import Settings

TIDY_SECONDS = 300.0
SIGNED = "/ingestion/webhook/github"  #: its signature takes the place of a key
EXPOSED = ("X-Request-ID", "X-Session-ID", "Retry-After", "RateLimit", "RateLimit-Policy", "Location", REPLAYED)
#: Its spans carry whole addresses with their queries; ours are in api.telemetry.
NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False}

logger = logging.getLogger("bookwise.api")


def create_app(settings: Settings, *, open_to_anyone: bool | None = True, embedder: Embedder | None = None) -> FastAPI:
    """The service; its lifespan opens the data folder and holds it. `open_to_anyone` None: while there is no key.
    `embedder` replaces the configured one; the caller closes it."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_state(settings, open_to_anyone=open_to_anyone, embedder=embedder) as service:
            app.state.service = service
            app.state.examination = Examination(service)
            async with anyio.create_task_group() as beside:
                beside.start_soon(_tidy, service)
                yield
                beside.cancel_scope.cancel()

    app = FastAPI(
        title="Bookwise",
        version=__version__,
        description="Answers from technical books only, shows where, and says how sure it is.",
        lifespan=lifespan,
        docs_url=None,  # they load scripts from elsewhere; /openapi.json opens in any tool
        redoc_url=None,
        telemetry=NO_TELEMETRY,
    )
    _add_borders(app, settings)
    _add_routes(app)
    problems.install(app)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


def _add_borders(app: FastAPI, settings: Settings) -> None:
    """From the innermost to the outermost."""
    app.add_middleware(RequestGuard, body_limit=settings.body_limit_bytes, origins=settings.cors_origins)
    add_limits(app)
    app.add_middleware(
        Cors,
        allow_origins=settings.cors_origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("Authorization", "Content-Type", "X-Request-ID", "Idempotency-Key"),
        expose_headers=EXPOSED,
    )
    app.add_middleware(RequestLog)
    if settings.otel_endpoint:
        app.add_middleware(RequestTracing)


def _add_routes(app: FastAPI) -> None:
    for module in (chat, sessions, feedback, search, books, openai):
        app.include_router(module.router, dependencies=[Limited], responses=problems.RESPONSES)
    mount_mcp(app)
    app.include_router(ingestion.router, dependencies=[Depends(_admitted)], responses=problems.RESPONSES)
    app.include_router(operator.router, dependencies=[Limited])
    app.include_router(health.router)
    app.include_router(page.router, responses=problems.ANYWHERE)


async def _admitted(request: Request) -> None:
    if request.scope["route"].path != SIGNED:
        await limited(request, await caller_of(request))


async def _tidy(service: ServiceState) -> None:
    """Moves threads that nobody uses to cold storage and forgets what is old, for as long as the service is open."""
    while True:
        try:
            await service.app.threads.archive_idle(idle_seconds=IDLE_SECONDS)
            await service.app.responses.forget(before=datetime.now(UTC) - KEPT)
            await service.app.journal.forget(before=datetime.now(UTC) - timedelta(days=KEPT_DAYS))
        except BookwiseError as error:
            logger.warning("service.not-tidied", extra={"code": error.code})
        await anyio.sleep(TIDY_SECONDS)
