"""Responses of a rerank service that cannot be used."""

import math
from contextlib import aclosing

import anyio
import pytest
from pydantic import SecretStr

from bookwise.adapters.rerankers.service import ServiceReranker, scores_by_index
from bookwise.domain.errors import Misconfigured, RerankerUnavailable
from tests.support.scripted_http import Reply, scripted
from tests.support.silent_server import silent_server

KEY = "a-secret-that-stays-secret"


def reranker(url: str, key: str = KEY) -> ServiceReranker:
    return ServiceReranker(SecretStr(key), url=url, model="m", key_setting="SOME_KEY", url_setting="SOME_URL")


def result(index: object, score: object) -> dict[str, object]:
    return {"index": index, "relevance_score": score}


@pytest.mark.anyio
@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        (Reply(status=401, body=KEY.encode()), "returned HTTP 401"),
        (Reply(status=503), "returned HTTP 503"),
        (Reply(status=302, headers={"Location": "http://[broken"}), "unreachable|HTTP 302"),
        (Reply(body=b"<html>"), "invalid response"),
        (Reply(body=b"x" * (2**20 + 1)), "more than 1,048,576 bytes"),
        (Reply(fault="reset"), "unreachable"),
    ],
)
async def test_a_response_that_cannot_be_used_is_an_error_without_the_key(reply: Reply, reason: str) -> None:
    async with scripted(reply) as server, aclosing(reranker(server.url)) as service:
        with pytest.raises(RerankerUnavailable, match=reason) as caught:
            await service.scores("What?", ["one"])
    assert KEY not in caught.value.message


@pytest.mark.anyio
async def test_a_handshake_that_never_ends_leaves_no_socket_open(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bookwise.adapters.rerankers.service.CONNECT_SECONDS", 0.05)
    async with silent_server() as server, aclosing(reranker(server.url)) as service:
        with pytest.raises(RerankerUnavailable, match="unreachable"), anyio.fail_after(10):
            await service.scores("What?", ["one"])
        await server.all_closed(1)


@pytest.mark.parametrize(
    "response",
    [
        [],
        {"results": None},
        {"results": [result(0, 0.5)]},
        {"results": [result(0, 0.5), result(0, 0.4)]},
        {"results": [result(0, 0.5), result(2, 0.4)]},
        {"results": [result(0, 0.5), result(-1, 0.4)]},
        {"results": [result(0, 0.5), result(True, 0.4)]},
        {"results": [result(0, 0.5), result(1, math.nan)]},
        {"results": [result(0, 0.5), result(1, "0.4")]},
        {"results": [result(0, 0.5), None]},
    ],
)
def test_every_text_needs_exactly_one_finite_score(response: object) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - any reason
        scores_by_index(response, 2)


@pytest.mark.parametrize(("url", "key", "setting"), [("ftp://x", KEY, "SOME_URL"), ("http://x", "", "SOME_KEY")])
def test_a_wrong_setting_is_named(url: str, key: str, setting: str) -> None:
    with pytest.raises(Misconfigured, match=setting):
        reranker(url, key)
