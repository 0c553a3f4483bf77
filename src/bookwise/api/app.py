"""Settings → the HTTP service: routes, middleware, error handling and background cleanup."""

import logging
from collections.abc import AsyncIterator
from contextlib import aclosing, asynccontextmanager
from datetime import UTC, datetime
from functools import cache
from typing import Any

import anyio
from fastapi import APIRouter, FastAPI
from starlette.routing import BaseRoute

from bookwise import __version__
from bookwise.adapters.sql.deliveries import DELIVERIES_KEPT
from bookwise.answering.converse import renew_leases
from bookwise.api import problems
from bookwise.api.auth.rate_limit import Limited, add_rate_headers
from bookwise.api.idempotency import REPLAYED
from bookwise.api.middleware.cors import Cors
from bookwise.api.middleware.request_guard import RequestGuard
from bookwise.api.middleware.request_log import RequestLog
from bookwise.api.openapi import describe
from bookwise.api.request_body import add_large_bodies
from bookwise.api.routes import (
    author,
    author_page,
    books,
    chat,
    feedback,
    health,
    ingestion,
    keys,
    openai,
    operator,
    page,
    search,
    sessions,
)
from bookwise.api.routes.health import HealthChecks
from bookwise.api.routes.mcp import mount_mcp
from bookwise.api.state import ServiceState, open_state
from bookwise.api.telemetry import RequestTracing
from bookwise.domain.errors import BookwiseError
from bookwise.domain.rate_limits import MAINTENANCE_SECONDS
from bookwise.domain.threads import IDLE_SECONDS
from bookwise.operations.retention import apply_retention
from bookwise.ports import Embedder, LessonIndex
from bookwise.settings import Settings

CLEANUP_SECONDS = 300.0
EXPOSED_HEADERS = ("X-Request-ID", "X-Session-ID", "Retry-After", "RateLimit", "RateLimit-Policy", "Location", REPLAYED)
#: FastAPI's own spans contain whole URLs with queries; ours are in api/telemetry.py.
NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False}

logger = logging.getLogger("bookwise.api")


def create_app(
    settings: Settings,
    *,
    open_to_anyone: bool | None = True,
    embedder: Embedder | None = None,
    index: LessonIndex | None = None,
) -> FastAPI:
    """The service. Its lifespan locks the data folder. `open_to_anyone` None: open unless there has been a key.
    `embedder` and `index` replace the configured ones; the caller closes them."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_state(settings, open_to_anyone=open_to_anyone, embedder=embedder, index=index) as state:
            app.state.service = state
            app.state.rate_limits = state.app.rate_limits
            app.state.health_checks = HealthChecks(state)
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_clean_up, state)
                tasks.start_soon(_maintain_limits, state)
                tasks.start_soon(renew_leases, state.app.threads)
                tasks.start_soon(_watch_keys, state)
                yield
                tasks.cancel_scope.cancel()

    app = FastAPI(
        title="Bookwise",
        version=__version__,
        description="Answers questions only from technical books, with sources and a confidence.",
        lifespan=lifespan,
        docs_url=None,  # they load scripts from other origins; any tool can open /openapi.json
        redoc_url=None,
        telemetry=NO_TELEMETRY,
    )
    _add_middleware(app, settings)
    app.router.routes.extend(_routes())
    mount_mcp(app)
    problems.install(app)
    app.openapi = lambda: describe(app)  # type: ignore[method-assign]
    return app


def _add_middleware(app: FastAPI, settings: Settings) -> None:
    """Adds the middleware, innermost first."""
    app.add_middleware(
        RequestGuard,
        body_limit=settings.body_limit_bytes,
        origins=settings.cors_origins,
        unread=(ingestion.WEBHOOK, operator.PREFIX),
    )
    add_large_bodies(app)
    add_rate_headers(app)
    app.add_middleware(
        Cors,
        allow_origins=settings.cors_origins,
        allow_methods=("GET", "POST", "DELETE"),
        allow_headers=("Authorization", "Content-Type", "X-Request-ID", "Idempotency-Key"),
        expose_headers=EXPOSED_HEADERS,
    )
    app.add_middleware(RequestLog)
    if settings.otel_endpoint:
        app.add_middleware(RequestTracing)


@cache
def _routes() -> list[BaseRoute]:
    """The routes, which hold nothing of one service: a process with several services builds them once."""
    routes = APIRouter()
    routes.include_router(page.browser_router)  # before /lesson/{id}
    routes.include_router(author.csv_router)  # before /author/questions/{id}
    for module in (chat, sessions, feedback, author, search, books, openai, ingestion, keys):
        routes.include_router(module.router, dependencies=[Limited], responses=problems.RESPONSES)
    routes.include_router(ingestion.webhook_router, responses=problems.RESPONSES)
    routes.include_router(operator.router, dependencies=[Limited])
    routes.include_router(health.router)
    for pages in (page, author_page):
        routes.include_router(pages.router, responses=problems.ANYWHERE)
    return routes.routes


async def _maintain_limits(state: ServiceState) -> None:
    """Keeps the open streams of this process counted."""
    while True:
        await anyio.sleep(MAINTENANCE_SECONDS)
        try:
            await state.app.rate_limits.maintain()
        except BookwiseError as error:
            logger.warning("limits.not-maintained", extra={"code": error.code})


async def _watch_keys(state: ServiceState) -> None:
    """Acts on changes of keys by other processes."""
    async with aclosing(state.app.key_changes.watch()) as changes:
        async for _ in changes:
            while not await _checked_keys(state):  # noqa: ASYNC110 - the database announces nothing while it is away
                await anyio.sleep(1)


async def _checked_keys(state: ServiceState) -> bool:
    try:
        await state.check_keys()
    except BookwiseError as error:
        logger.warning("keys.not-checked", extra={"code": error.code})
        return False
    return True


async def _clean_up(state: ServiceState) -> None:
    """Archives idle threads and deletes old records, every few minutes while the service is open."""
    while True:
        try:
            await state.app.threads.archive_idle(idle_seconds=IDLE_SECONDS)
            await state.app.deliveries.forget(before=datetime.now(UTC) - DELIVERIES_KEPT)
            await apply_retention(state.app)
        except BookwiseError as error:
            logger.warning("cleanup.failed", extra={"code": error.code})
        await anyio.sleep(CLEANUP_SECONDS)
