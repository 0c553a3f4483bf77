"""Settings → the HTTP service, with every route, its borders and its problems."""

import logging
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio
from fastapi import Depends, FastAPI, Request
from fastapi.openapi.utils import get_openapi

from bookwise import __version__
from bookwise.api import problems
from bookwise.api.access import caller_of
from bookwise.api.limits import Limited, add_limits, limited
from bookwise.api.middleware import Cors, Guard, Watch
from bookwise.api.routes import books, chat, health, ingestion, openai, search, sessions
from bookwise.api.routes.health import Examination
from bookwise.api.routes.mcp import mount_mcp
from bookwise.api.service import Service, open_service
from bookwise.domain.errors import BookwiseError
from bookwise.domain.threads import IDLE_SECONDS
from bookwise.settings import Settings

TIDY_SECONDS = 300.0
SIGNED = "/ingestion/webhook/github"  #: its signature takes the place of a key
EXPOSED = ("X-Request-ID", "X-Session-ID", "Retry-After", "RateLimit", "RateLimit-Policy", "Location")
NO_TELEMETRY: Any = {"tracing": False, "metrics": False, "logs": False, "operation_spans": False}

logger = logging.getLogger("bookwise.api")


def create_app(settings: Settings, *, open_to_anyone: bool | None = True) -> FastAPI:
    """The service; its lifespan opens the data folder and holds it. `open_to_anyone` None: while there is no key."""

    @asynccontextmanager
    async def lifespan(app: FastAPI) -> AsyncIterator[None]:
        async with open_service(settings, open_to_anyone=open_to_anyone) as service:
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
    app.openapi = lambda: _openapi(app)  # type: ignore[method-assign]
    return app


def _add_borders(app: FastAPI, settings: Settings) -> None:
    """From the innermost to the outermost."""
    app.add_middleware(Guard, body_limit=settings.body_limit_bytes, origins=settings.cors_origins)
    add_limits(app)
    if settings.cors_origins:
        app.add_middleware(
            Cors,
            allow_origins=settings.cors_origins,
            allow_methods=("GET", "POST", "DELETE"),
            allow_headers=("Authorization", "Content-Type", "X-Request-ID", "Idempotency-Key"),
            expose_headers=EXPOSED,
        )
    app.add_middleware(Watch)


def _add_routes(app: FastAPI) -> None:
    for module in (chat, sessions, search, books, openai):
        app.include_router(module.router, dependencies=[Limited], responses=problems.RESPONSES)
    mount_mcp(app)
    app.include_router(ingestion.router, dependencies=[Depends(_admitted)], responses=problems.RESPONSES)
    app.include_router(health.router)


async def _admitted(request: Request) -> None:
    if request.scope["route"].path != SIGNED:
        await limited(request, await caller_of(request))


async def _tidy(service: Service) -> None:
    """Moves threads that nobody uses to cold storage, for as long as the service is open."""
    while True:
        try:
            await service.app.threads.archive_idle(idle_seconds=IDLE_SECONDS)
        except BookwiseError as error:
            logger.warning("threads.not-archived", extra={"code": error.code})
        await anyio.sleep(TIDY_SECONDS)


def _openapi(app: FastAPI) -> dict[str, Any]:
    """What FastAPI finds out, with problems and keys."""
    if not app.openapi_schema:
        found = get_openapi(title=app.title, version=app.version, description=app.description, routes=app.routes)
        components = found.setdefault("components", {})
        components.setdefault("schemas", {})["Problem"] = problems.SCHEMA
        components["securitySchemes"] = {"key": {"type": "http", "scheme": "bearer"}}
        for path, item in found["paths"].items():
            for operation in item.values():
                operation["security"] = [] if path in ("/health", SIGNED) else [{"key": []}]
        app.openapi_schema = found
    return app.openapi_schema
