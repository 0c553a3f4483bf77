"""Requests, searches and answers → spans and metrics by OpenTelemetry's conventions for HTTP and generative AI.

Active only when a collector is configured. Texts of questions and books are not exported unless
`BOOKWISE_OTEL_TEXTS` is set."""

import json
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from time import perf_counter, time_ns
from typing import Any
from urllib.parse import urlsplit

from opentelemetry import trace
from opentelemetry.trace import Span, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator
from starlette.datastructures import Headers
from starlette.types import Message, Receive, Scope, Send

from bookwise import __version__
from bookwise.adapters.telemetry import SERVICE, Exporting, exporting
from bookwise.answering.ask import AskKit
from bookwise.api.middleware.base import HttpMiddleware
from bookwise.api.problems import request_id
from bookwise.domain.answers import Answer, Passage, Question
from bookwise.domain.search import Hit, SearchResult, Timings
from bookwise.schemas.answers import AnswerSummary, summarize_answer
from bookwise.settings import Settings

#: Bucket boundaries from the conventions.
REQUEST_SECONDS = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.25, 0.5, 0.75, 1.0, 2.5, 5.0, 7.5, 10.0)
OPERATION_SECONDS = (0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92)
TOKENS = tuple(4**power for power in range(14))
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
PROVIDERS = {"openai": "openai", "cohere": "cohere"}

Attributes = dict[str, str | int | float]


@asynccontextmanager
async def open_telemetry(settings: Settings, kit: AskKit) -> AsyncIterator["Telemetry | None"]:
    """The recorder for the configured collector; None without one."""
    if settings.otel_endpoint is None:
        yield None
        return
    async with exporting(settings.otel_endpoint, version=__version__) as collector:
        yield Telemetry(collector, settings, kit)


class RequestTracing(HttpMiddleware):
    """Wraps every request in a span, a child of the span that the client sent."""

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        telemetry: Telemetry = scope["app"].state.service.telemetry
        start, status = perf_counter(), 0

        async def send_recording_status(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        span = telemetry.request(scope)
        try:
            with trace.use_span(span, record_exception=False, set_status_on_exception=False):
                await self._app(scope, receive, send_recording_status)
        finally:
            telemetry.responded(span, scope, status, perf_counter() - start)


@dataclass(frozen=True, slots=True, kw_only=True)
class TimedOperation:
    """One operation of or for a model, with wall-clock times in nanoseconds."""

    name: str
    kind: SpanKind
    start: int
    end: int
    facts: Attributes  #: for the span and the metrics
    more: Attributes  #: for the span only
    error: str = ""


class Telemetry:
    """Records requests, searches and answers. The spans of a search or an answer are created when it has ended, from
    its own timings, so that search and answering contain no tracing code."""

    def __init__(self, collector: Exporting, settings: Settings, kit: AskKit) -> None:
        self._tracer, meter = collector
        self._texts = settings.otel_texts
        self._engine = kit.engine
        facts = kit.search.embedder.facts
        self._embedder: Attributes = {
            "gen_ai.provider.name": PROVIDERS.get(settings.embedder.partition(":")[0], SERVICE),
            "gen_ai.request.model": facts.name,
        }
        self._embedder_size = facts.size
        self._embedder_kind = SpanKind.INTERNAL if facts.local else SpanKind.CLIENT
        self._model: Attributes = {
            "gen_ai.provider.name": "openai",  # the protocol; server.address identifies the provider
            "gen_ai.request.model": settings.openai_model,
            **_server(settings.openai_base_url),
        }
        self._request_seconds = meter.create_histogram(
            "http.server.request.duration", unit="s", explicit_bucket_boundaries_advisory=REQUEST_SECONDS
        )
        self._operation_seconds = meter.create_histogram(
            "gen_ai.client.operation.duration", unit="s", explicit_bucket_boundaries_advisory=OPERATION_SECONDS
        )
        self._tokens = meter.create_histogram(
            "gen_ai.client.token.usage", unit="{token}", explicit_bucket_boundaries_advisory=TOKENS
        )

    def request(self, scope: Scope) -> Span:
        parent = TraceContextTextMapPropagator().extract(Headers(scope=scope))
        return self._tracer.start_span(_method(scope), parent, SpanKind.SERVER)

    def responded(self, span: Span, scope: Scope, status: int, seconds: float) -> None:
        """Records only route and status: the rest of the URL may contain a question or a key."""
        facts: Attributes = {"http.request.method": _method(scope), "url.scheme": scope["scheme"]}
        if route := getattr(scope.get("route"), "path", ""):
            facts["http.route"] = route
            span.update_name(f"{_method(scope)} {route}")
        if status:
            facts["http.response.status_code"] = status
        if status >= 500:
            facts["error.type"] = str(status)
            span.set_status(StatusCode.ERROR)
        self._request_seconds.record(seconds, facts, context=trace.set_span_in_context(span))
        span.set_attributes({**facts, "bookwise.request_id": request_id.get()})
        span.end()

    def searched(self, result: SearchResult) -> None:
        """Records a search that has just ended."""
        query = result.query
        texts = self._retrieval_texts(query.text, result.hits)
        self._record_search(query.filter.book_id, query.limit, result.timings, ended=time_ns(), more=texts)

    def answered(self, question: Question, answer: Answer, *, thread_id: str | None = None) -> None:
        """Records an answer that has just ended."""
        summary, end = summarize_answer(answer), time_ns()
        thread: Attributes = {"gen_ai.conversation.id": thread_id} if thread_id else {}
        trace.get_current_span().set_attributes(
            {
                **thread,
                "bookwise.outcome": summary.outcome,
                "bookwise.engine": summary.meta.engine,
                "bookwise.confidence": summary.confidence.level,
            }
        )
        retrieval_end = end - _ns(summary.meta.total_ms) + _ns(summary.meta.retrieval_ms)
        if summary.evidence and summary.evidence.timings:
            texts = self._retrieval_texts(summary.evidence.question, summary.evidence.passages)
            self._record_search(
                question.book_id,
                question.top_k,
                summary.evidence.timings,
                ended=retrieval_end,
                more={**thread, **texts},
            )
        if summary.meta.engine != "extractive" or summary.meta.degraded:
            self._record_model(question, summary, start=retrieval_end, end=end, more=thread)

    def _record_search(self, book_id: str, top_k: int, timings: Timings, *, ended: int, more: Attributes) -> None:
        start = ended - _ns(timings.total_ms)
        facts: Attributes = {"gen_ai.operation.name": "retrieval", "gen_ai.data_source.id": book_id}
        retrieval = TimedOperation(
            name=f"retrieval {book_id}",
            kind=SpanKind.INTERNAL,
            start=start,
            end=ended,
            facts=facts,
            more={"gen_ai.retrieval.top_k": top_k, **more},
        )
        embeddings = TimedOperation(
            name=f"embeddings {self._embedder['gen_ai.request.model']}",
            kind=self._embedder_kind,
            start=start,
            end=start + _ns(timings.embed_ms),
            facts={"gen_ai.operation.name": "embeddings", **self._embedder},
            more={"gen_ai.embeddings.dimension.count": self._embedder_size},
        )
        self._record(embeddings, parent=self._record(retrieval))

    def _record_model(
        self, question: Question, summary: AnswerSummary, *, start: int, end: int, more: Attributes
    ) -> None:
        """One span for all calls of the model; the agent can make several."""
        agent = (question.engine or self._engine) == "agent"
        facts: Attributes = {"gen_ai.operation.name": "invoke_agent" if agent else "chat", **self._model}
        used = summary.meta.usage
        usage: Attributes = {
            "gen_ai.usage.input_tokens": used.prompt_tokens,
            "gen_ai.usage.output_tokens": used.completion_tokens,
        }
        named: Attributes = {"gen_ai.agent.name": SERVICE} if agent else {}
        operation = TimedOperation(
            name=f"invoke_agent {SERVICE}" if agent else f"chat {facts['gen_ai.request.model']}",
            kind=SpanKind.INTERNAL if agent else SpanKind.CLIENT,
            start=start,
            end=end,
            facts=facts,
            more={**more, **named, **(usage if used.calls else {}), **self._model_texts(question, summary)},
            error=summary.meta.degraded or (summary.reason or "" if summary.outcome == "interrupted" else ""),
        )
        self._record(operation)
        if used.calls:
            self._tokens.record(used.prompt_tokens, {**facts, "gen_ai.token.type": "input"})
            self._tokens.record(used.completion_tokens, {**facts, "gen_ai.token.type": "output"})

    def _record(self, operation: TimedOperation, *, parent: Span | None = None) -> Span:
        facts = {**operation.facts, **({"error.type": operation.error} if operation.error else {})}
        context = trace.set_span_in_context(parent) if parent else None
        attributes = {**facts, **operation.more}
        span = self._tracer.start_span(operation.name, context, operation.kind, attributes, start_time=operation.start)
        if operation.error:
            span.set_status(StatusCode.ERROR)
        self._operation_seconds.record((operation.end - operation.start) / 1e9, facts)
        span.end(operation.end)
        return span

    def _retrieval_texts(self, query: str, hits: Sequence[Hit | Passage]) -> Attributes:
        if not self._texts:
            return {}
        documents = [{"id": hit.chunk.id, "score": hit.score, "content": hit.chunk.text} for hit in hits]
        return {"gen_ai.retrieval.query.text": query, "gen_ai.retrieval.documents": _json(documents)}

    def _model_texts(self, question: Question, summary: AnswerSummary) -> Attributes:
        """The question and the answer. The passages are on the retrieval span."""
        if not self._texts:
            return {}
        finish = "length" if summary.meta.truncated else "stop"
        return {
            "gen_ai.input.messages": _json([_message("user", question.text)]),
            "gen_ai.output.messages": _json([{**_message("assistant", summary.text), "finish_reason": finish}]),
        }


def _message(role: str, text: str) -> dict[str, Any]:
    return {"role": role, "parts": [{"type": "text", "content": text}]}


def _json(value: Sequence[Mapping[str, Any]]) -> str:
    return json.dumps(value, ensure_ascii=False)


def _method(scope: Scope) -> str:
    return scope["method"] if scope["method"] in METHODS else "_OTHER"


def _server(url: str) -> Attributes:
    parts = urlsplit(url)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    return {"server.address": parts.hostname or "", "server.port": port}


def _ns(milliseconds: float) -> int:
    return int(milliseconds * 1e6)
