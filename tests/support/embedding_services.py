"""Replies into what a caller of the embedding service sees of them."""

import math
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest
from pydantic import SecretStr

from bookwise.adapters.embedders.service import (
    EmbeddingEndpoint,
    EmbeddingService,
    EmbeddingTimeouts,
)
from bookwise.domain.errors import EmbedderUnavailable
from tests.support.scripted_http import Reply, Request, scripted
from tests.support.stopped_time import StoppedTime

KEY = "a-secret-nobody-may-read"
GOOD = Reply(json=[[3.0, 4.0]])


def rows(answer: object) -> list[object]:
    if not isinstance(answer, list):
        raise ValueError("no list")
    return answer


def payload(texts: Sequence[str]) -> dict[str, object]:
    return {"texts": list(texts)}


def endpoint(url: str, **changes: Any) -> EmbeddingEndpoint:
    facts: dict[str, Any] = {
        "name": "The test service",
        "url": f"{url}/embed",
        "key": SecretStr(KEY),
        "key_setting": "TEST_API_KEY",
        "url_setting": "TEST_BASE_URL",
        "size": 2,
        "text_bytes": 100,
        "batch_texts": 3,
        "batch_tokens": 1_000,
        "rows": rows,
    }
    return EmbeddingEndpoint(**{**facts, **changes})


@asynccontextmanager
async def service(
    url: str, time: StoppedTime | None = None, *, attempt_seconds: float = 5.0, **changes: Any
) -> AsyncIterator[EmbeddingService]:
    time = time or StoppedTime()
    timeouts = EmbeddingTimeouts(attempt_seconds=attempt_seconds, sleep=time.sleep, clock=time.clock)
    client = EmbeddingService(endpoint(url, **changes), timeouts)
    try:
        yield client
    finally:
        await client.aclose()


async def failure(*replies: Reply, texts: Sequence[str] = ("one",), **changes: Any) -> EmbedderUnavailable:
    """What the caller sees of these replies."""
    async with scripted(*replies) as server, service(server.url, **changes) as client:
        with pytest.raises(EmbedderUnavailable) as caught:
            await client.vectors(texts, payload)
    return caught.value


def echo(request: Request) -> Reply:
    """A vector for each text that is a number: the direction of that angle."""
    angles = [float(text) for text in request.json["texts"]]
    return Reply(json=[[math.cos(angle), math.sin(angle)] for angle in angles])
