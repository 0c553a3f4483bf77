"""GET /health…, GET /info, GET /metrics: the state of the service, its configuration and its figures."""

import logging
from collections.abc import Awaitable, Callable
from functools import partial
from time import perf_counter
from typing import Any, Literal

import anyio
from fastapi import APIRouter, Request, Response

from bookwise import __version__
from bookwise.api.auth.access import Admin, Reader
from bookwise.api.auth.rate_limit import Limited
from bookwise.api.head_route import HeadRoute
from bookwise.api.problems import ANYWHERE, KEYED
from bookwise.api.routes.books import visible
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.answers import QUESTION_MAX, EngineName
from bookwise.domain.errors import BookwiseError
from bookwise.operations.books import require_lessons
from bookwise.ports import ModelStatus
from bookwise.schemas.wire import Shape, examples
from bookwise.settings import Settings
from bookwise.wiring import App

logger = logging.getLogger("bookwise.api")

router = APIRouter(tags=["service"], route_class=HeadRoute)

CHECK_SECONDS = 5.0  #: time limit of one check
FRESH_SECONDS = 5.0  #: how long a result is reused: anyone may call /health without a key
FRESH_SECONDS_REMOTE = 300.0  #: for checks that cost money

Check = Callable[[], Awaitable[object]]
IndexKind = Literal["embedded", "qdrant-server"]


HEALTHY_EXAMPLE: dict[str, Any] = {"ok": True, "latency_ms": 0.4, "code": None, "kind": None, "required": True}
CIRCUIT_OPEN = "circuit-open"  #: code of a language model to which no requests are sent, because too many have failed


class Dependency(Shape):
    """The state of one dependency of the service. Without a required one, the service is not ready."""

    ok: bool
    latency_ms: float | None  #: None for a language model that was not called yet
    code: str | None = None
    kind: str | None = None
    required: bool = True


class LiveResponse(Shape):
    """The process responds."""

    model_config = examples({"live": True})

    live: bool


class HealthResponse(Shape):
    """`live`: the process responds. `ready`: so do all required dependencies, and the service is not stopping."""

    model_config = examples(
        {
            "live": True,
            "ready": True,
            "dependencies": {
                "database": HEALTHY_EXAMPLE,
                "index": HEALTHY_EXAMPLE | {"kind": "qdrant-server"},
                "books": HEALTHY_EXAMPLE,
                "embedder": HEALTHY_EXAMPLE,
                "disk": HEALTHY_EXAMPLE,
            },
        }
    )

    live: bool
    ready: bool
    dependencies: dict[str, Dependency]


class Models(Shape):
    """The models in use."""

    embedder: str
    embedder_size: int
    language_model: str | None


class IndexInfo(Shape):
    """Where the chunks are: `embedded` in the data folder, or on a `qdrant-server`."""

    kind: IndexKind
    collection: str


class Counts(Shape):
    """The number of books, lessons and chunks that the caller may see."""

    books: int
    lessons: int
    chunks: int


class InfoResponse(Shape):
    """Version, models, limits and counts of the service."""

    model_config = examples(
        {
            "name": "bookwise",
            "version": "0.2.0",
            "engine": "direct",
            "engines": ["extractive", "direct", "agent"],
            "models": {"embedder": "all-MiniLM-L6-v2", "embedder_size": 384, "language_model": "gpt-4o-mini"},
            "index": {"kind": "embedded", "collection": "textbook_chunks"},
            "counts": {"books": 1, "lessons": 29, "chunks": 214},
            "question_max_characters": 1000,
            "body_limit_bytes": 65536,
        }
    )

    name: str
    version: str
    engine: EngineName
    engines: tuple[EngineName, ...]
    models: Models
    index: IndexInfo
    counts: Counts
    question_max_characters: int
    body_limit_bytes: int


class HealthChecks:
    """Checks the dependencies, and reuses recent results."""

    def __init__(self, state: ServiceState) -> None:
        app = state.app
        remote = not app.embedder.facts.local
        self._model = state.kit.model
        self._checks: dict[str, tuple[Check, float]] = {
            "database": (app.keys.any_ever, FRESH_SECONDS),
            "index": (app.index.check, FRESH_SECONDS),
            "books": (lambda: require_lessons(app), FRESH_SECONDS),
            "embedder": (lambda: app.embedder.embed_query("health"), FRESH_SECONDS_REMOTE if remote else FRESH_SECONDS),
        }
        if state.settings.needs_data_folder:
            self._checks["disk"] = (partial(_check_space, app), FRESH_SECONDS)
        self._kinds = {"index": index_kind(state.settings)}
        self._results: dict[str, tuple[Dependency, float]] = {}
        self._lock = anyio.Lock()

    async def dependencies(self) -> dict[str, Dependency]:
        async with self._lock, anyio.create_task_group() as checks:
            for name in self._checks:
                checks.start_soon(self._refresh, name)
        results = {name: self._results[name][0] for name in self._checks}
        return results | ({} if self._model is None else {"model": _model_dependency(self._model)})

    async def _refresh(self, name: str) -> None:
        check, fresh = self._checks[name]
        result, at = self._results.get(name, (None, 0.0))
        if result is None or not result.ok or anyio.current_time() > at + fresh:
            was_ok = result is None or result.ok
            result, reason = await _run_check(check, self._kinds.get(name))
            self._results[name] = (result, anyio.current_time())
            if was_ok and not result.ok:  # once: anyone may ask again and again
                logger.error("health.failed", extra={"dependency": name, "code": result.code, "reason": reason})


async def _check_space(app: App) -> None:
    app.require_space()


def index_kind(settings: Settings) -> IndexKind:
    return "embedded" if settings.qdrant_url is None else "qdrant-server"


async def _run_check(check: Check, kind: str | None) -> tuple[Dependency, str]:
    """The result, and for the log why the check failed."""
    start, code, reason = perf_counter(), "timeout", ""
    with anyio.move_on_after(CHECK_SECONDS):
        try:
            await check()
            code = ""
        except BookwiseError as error:
            code, reason = error.code, error.message
    latency = round((perf_counter() - start) * 1e3, 2)
    return Dependency(ok=not code, latency_ms=latency, code=code or None, kind=kind), reason


def _model_dependency(model: ModelStatus) -> Dependency:
    """From the calls so far: a separate check would cost money. Without the model, answers quote the book."""
    seconds = model.latency_seconds
    return Dependency(
        ok=model.is_available,
        latency_ms=None if seconds is None else round(seconds * 1e3, 2),
        code=None if model.is_available else CIRCUIT_OPEN,
        required=False,
    )


UNHEALTHY: dict[int | str, dict[str, Any]] = {
    503: {"model": HealthResponse, "description": "A dependency does not respond, or the service starts or stops."}
}
METRIC_EXAMPLE = 'bookwise_answers_total{engine="extractive",outcome="answered"} 3.0\n'
METRICS: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "Metrics in the Prometheus text format.",
        "content": {"text/plain": {"schema": {"type": "string"}, "example": METRIC_EXAMPLE}},
    }
}


@router.get("/health/live", summary="Check that the process runs", responses=ANYWHERE)
async def live() -> LiveResponse:
    """Returns 200 as long as the process responds, also when a dependency does not. Needs no key."""
    return LiveResponse(live=True)


@router.get("/health/ready", summary="Check that the service can answer", responses=ANYWHERE | UNHEALTHY)
@router.get("/health", summary="Check the service", responses=ANYWHERE | UNHEALTHY)
async def health(request: Request, response: Response) -> HealthResponse:
    """Returns 200 when the service is ready, else 503, with the state of each dependency. Needs no key."""
    checks: HealthChecks = request.app.state.health_checks
    dependencies = await checks.dependencies()
    state = state_of(request)
    is_stopping = state.draining or state.stopping.is_set()
    ready = not is_stopping and all(found.ok for found in dependencies.values() if found.required)
    response.status_code = 200 if ready else 503
    return HealthResponse(live=True, ready=ready, dependencies=dependencies)


@router.get("/info", dependencies=[Limited], responses=KEYED, summary="Describe the service")
async def info(request: Request, caller: Reader) -> InfoResponse:
    """Returns versions, models, limits and counts."""
    state = state_of(request)
    facts, settings = state.app.embedder.facts, state.settings
    return InfoResponse(
        name="bookwise",
        version=__version__,
        engine=state.kit.engine,
        engines=tuple(state.kit.engines),
        models=Models(
            embedder=facts.name,
            embedder_size=facts.size,
            language_model=settings.openai_model if "direct" in state.kit.engines else None,
        ),
        index=IndexInfo(kind=index_kind(settings), collection=settings.qdrant_collection_name),
        counts=await _counts(state, [book.id for book in await visible(state, caller).books()]),
        question_max_characters=QUESTION_MAX,
        body_limit_bytes=settings.body_limit_bytes,
    )


async def _counts(state: ServiceState, books: list[str]) -> Counts:
    records = [record for book_id in books for record in await state.app.catalog.records(book_id)]
    return Counts(books=len(books), lessons=len(records), chunks=sum(record.chunk_count for record in records))


@router.get(
    "/metrics",
    dependencies=[Limited],
    response_class=Response,
    responses=KEYED | METRICS,
    summary="Read the metrics",
)
async def metrics(request: Request, caller: Admin) -> Response:
    """Returns the metrics for Prometheus."""
    return Response(state_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
