"""GET /health, GET /info, GET /metrics: whether the service works, what it is, and what it did."""

from collections.abc import Awaitable, Callable
from time import perf_counter
from typing import Any

import anyio
from fastapi import APIRouter, Request, Response

from bookwise import __version__
from bookwise.api.auth.access import Admin, Reader
from bookwise.api.auth.rate_limit import Limited
from bookwise.api.problems import ANYWHERE, KEYED
from bookwise.api.routes.books import visible
from bookwise.api.state import ServiceState, state_of
from bookwise.domain.answers import QUESTION_MAX, EngineName
from bookwise.domain.errors import BookwiseError
from bookwise.schemas.wire import Shape

router = APIRouter(tags=["service"])

CHECK_SECONDS = 5.0  #: one check may take so long
FRESH_SECONDS = 5.0  #: a check's result is told again for so long: nobody needs a key to ask for it
FRESH_SECONDS_REMOTE = 300.0  #: where a check costs money
NOBODY = "00000000-0000-5000-8000-000000000000"

Check = Callable[[], Awaitable[object]]


class Dependency(Shape):
    """How one thing that the service needs is doing."""

    ok: bool
    latency_ms: float
    code: str | None = None


class HealthResponse(Shape):
    """`live`: the process answers. `ready`: so does everything it needs."""

    live: bool
    ready: bool
    dependencies: dict[str, Dependency]


class Models(Shape):
    embedder: str
    embedder_size: int
    language_model: str | None


class Counts(Shape):
    books: int
    lessons: int
    chunks: int


class InfoResponse(Shape):
    """What this service is; of the books, what the caller may see."""

    name: str
    version: str
    engine: EngineName
    engines: tuple[EngineName, ...]
    models: Models
    counts: Counts
    question_max_characters: int
    body_limit_bytes: int


class Examination:
    """What is checked, and what came out of it a moment ago."""

    def __init__(self, service: ServiceState) -> None:
        app = service.app
        remote = not app.embedder.facts.local
        self._checks: dict[str, tuple[Check, float]] = {
            "database": (app.catalog.books, FRESH_SECONDS),
            "index": (lambda: app.index.chunk(None, NOBODY), FRESH_SECONDS),
            "embedder": (lambda: app.embedder.embed_query("health"), FRESH_SECONDS_REMOTE if remote else FRESH_SECONDS),
        }
        self._known: dict[str, tuple[Dependency, float]] = {}
        self._lock = anyio.Lock()

    async def dependencies(self) -> dict[str, Dependency]:
        async with self._lock:
            return {name: await self._checked(name) for name in self._checks}

    async def _checked(self, name: str) -> Dependency:
        check, fresh = self._checks[name]
        known, at = self._known.get(name, (None, 0.0))
        if known is None or not known.ok or anyio.current_time() > at + fresh:
            known = await _examined(check)
            self._known[name] = (known, anyio.current_time())
        return known


async def _examined(check: Check) -> Dependency:
    began, code = perf_counter(), "timeout"
    with anyio.move_on_after(CHECK_SECONDS):
        try:
            await check()
            code = ""
        except BookwiseError as error:
            code = error.code
    return Dependency(ok=not code, latency_ms=round((perf_counter() - began) * 1e3, 2), code=code or None)


UNWELL: dict[int | str, dict[str, Any]] = {
    503: {"model": HealthResponse, "description": "Something it needs does not answer."}
}
FIGURE = 'bookwise_answers_total{engine="extractive",outcome="answered"} 3.0\n'
FIGURES: dict[int | str, dict[str, Any]] = {
    200: {
        "description": "In Prometheus' own format.",
        "content": {"text/plain": {"schema": {"type": "string"}, "example": FIGURE}},
    }
}


@router.get("/health", summary="Check the service", responses=ANYWHERE | UNWELL)
async def health(request: Request, response: Response) -> HealthResponse:
    """Needs no key. 200 when everything the service needs answers, else 503."""
    examination: Examination = request.app.state.examination
    dependencies = await examination.dependencies()
    ready = all(found.ok for found in dependencies.values()) and not state_of(request).stopping.is_set()
    response.status_code = 200 if ready else 503
    return HealthResponse(live=True, ready=ready, dependencies=dependencies)


@router.get("/info", dependencies=[Limited], responses=KEYED, summary="Describe the service")
async def info(request: Request, caller: Reader) -> InfoResponse:
    """Versions, models, limits and counts."""
    service = state_of(request)
    facts, settings = service.app.embedder.facts, service.settings
    return InfoResponse(
        name="bookwise",
        version=__version__,
        engine=service.kit.engine,
        engines=tuple(service.kit.engines),
        models=Models(
            embedder=facts.name,
            embedder_size=facts.size,
            language_model=settings.openai_model if "direct" in service.kit.engines else None,
        ),
        counts=await _counts(service, [book.id for book in await visible(service, caller).books()]),
        question_max_characters=QUESTION_MAX,
        body_limit_bytes=settings.body_limit_bytes,
    )


async def _counts(service: ServiceState, books: list[str]) -> Counts:
    records = [record for book_id in books for record in await service.app.catalog.records(book_id)]
    return Counts(books=len(books), lessons=len(records), chunks=sum(record.chunk_count for record in records))


@router.get(
    "/metrics",
    dependencies=[Limited],
    response_class=Response,
    responses=KEYED | FIGURES,
    summary="Read the figures",
)
async def metrics(request: Request, caller: Admin) -> Response:
    """Figures for Prometheus."""
    return Response(state_of(request).metrics.text(), media_type="text/plain; version=0.0.4; charset=utf-8")
