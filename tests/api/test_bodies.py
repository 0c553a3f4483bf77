"""Bodies that are large or hostile: what they cost, who may send them, and how much of them is read."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from pydantic import SecretStr

from tests.support.http_service import Exchange, Opened, exchange, http_service
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

SECRET = "a secret between GitHub and us"
WEBHOOK = "/ingestion/webhook/github"
MIB = 1024 * 1024
KIB = 1024
JSON = {"Content-Type": "application/json"}
ACCEPT = {"Accept": "application/json, text/event-stream"}


@pytest.fixture
async def guarded(tmp_path: Path) -> AsyncIterator[Opened]:
    """A service without books, for those who have a key."""
    settings = settings_for(tmp_path / "data", embedder="hashing")
    async with http_service(settings, open_to_anyone=False) as opened:
        yield opened


@pytest.fixture
async def hooked(tmp_path: Path) -> AsyncIterator[Opened]:
    """A service without books that expects webhooks."""
    hook: dict[str, Any] = {"github_webhook_secret": SecretStr(SECRET), "github_repository": "owner/book"}
    async with http_service(settings_for(tmp_path / "data", embedder="hashing", **hook)) as opened:
        yield opened


def bad_items(size: int) -> bytes:
    """A body of about this many bytes in which every message is wrong."""
    return b'{"model": "bookwise", "messages": [' + b",".join([b"{}"] * (size // 3 - 20)) + b"]}"


async def posted(opened: Opened, body: bytes, headers: dict[str, str]) -> int:
    """The status of a request with this body."""
    answer = await opened.client.post("/v1/chat/completions", content=body, headers={**JSON, **headers})
    return answer.status_code


async def test_a_body_without_a_key_is_not_parsed(guarded: Opened) -> None:
    assert await posted(guarded, b"{not json", {}) == 401
    assert await posted(guarded, bad_items(60 * KIB), {}) == 401


async def test_a_body_with_too_many_members_is_refused_before_it_is_validated(guarded: Opened) -> None:
    key = await guarded.key(rate=1000)
    assert await posted(guarded, b"{not json", key) == 400
    assert await posted(guarded, bad_items(KIB), key) == 422
    assert await posted(guarded, bad_items(60 * KIB), key) == 413


async def test_a_question_has_at_most_64_kilobytes(guarded: Opened) -> None:
    key = await guarded.key()
    for path in ("/chat/run", "/chat/stream", "/search", "/v1/chat/completions", "/feedback", "/mcp"):
        body = b'{"text": "' + b"x" * 64 * KIB + b'"}'
        answer = await guarded.client.post(path, content=body, headers={**JSON, **key})
        assert (answer.status_code, answer.json()["limit_bytes"]) == (413, 64 * KIB), path


async def test_only_so_many_members_are_looked_at_and_only_so_many_errors_reported(guarded: Opened) -> None:
    key = await guarded.key()

    async def sent(members: int) -> httpx2.Response:
        body = json.dumps({"messages": [1] * (members - 1)})
        return await guarded.client.post("/v1/chat/completions", content=body, headers={**JSON, **key})

    reported = await sent(2_000)
    assert (reported.status_code, len(reported.json()["errors"])) == (422, 20)
    refused = await sent(2_001)
    assert (refused.status_code, refused.json()["code"]) == (413, "payload-too-large")
    assert "2,000" in refused.json()["detail"]


async def test_members_are_counted_at_every_level(guarded: Opened) -> None:
    key = await guarded.key()
    for deep in ({"metadata": {str(n): [n] for n in range(1_001)}}, {"metadata": {"a": [[{"b": list(range(2_000))}]]}}):
        body = json.dumps({"message": "hi", **deep})
        answer = await guarded.client.post("/chat/run", content=body, headers={**JSON, **key})
        assert answer.status_code == 413, answer.text


def push(size: int) -> bytes:
    """A push that GitHub could send, of exactly this many bytes."""
    head = json.dumps({"ref": "refs/heads/other", "repository": {"full_name": "owner/book"}, "commits": ""})
    return (head[:-2] + "x" * (size - len(head)) + '"}').encode()


def signature(body: bytes, secret: str = SECRET) -> dict[str, str]:
    return {"X-Hub-Signature-256": "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()}


async def deliver(opened: Opened, body: bytes, headers: dict[str, str]) -> httpx2.Response:
    sent = {**JSON, **headers, "X-GitHub-Event": "push", "X-GitHub-Delivery": "1"}
    return await opened.client.post(WEBHOOK, content=body, headers=sent)


async def test_a_webhook_may_send_what_github_sends(hooked: Opened) -> None:
    for size in (711 * 1000, 25 * MIB):
        body = push(size)
        answer = await deliver(hooked, body, signature(body))
        assert (answer.status_code, answer.json()["outcome"]) == (202, "ignored"), size
        assert (await deliver(hooked, body, signature(body, "another"))).status_code == 401


async def test_a_webhook_that_is_larger_is_refused_by_its_length_and_by_its_bytes(hooked: Opened) -> None:
    body = push(25 * MIB + 1)
    assert (await deliver(hooked, body, signature(body))).status_code == 413
    signed = signature(body)["X-Hub-Signature-256"]
    seen = Exchange()
    await exchange(hooked.app, WEBHOOK, *[b"x" * MIB] * 40, seen=seen, x_hub_signature_256=signed)
    assert seen.status == 413
    assert len(seen._parts) == 14, "reading stops at the limit"


async def test_a_webhook_without_a_signature_is_refused_unread(hooked: Opened) -> None:
    for bad in ("", "sha256=", "sha1=" + "0" * 40, "sha256=" + "g" * 64):
        seen = Exchange()
        await exchange(hooked.app, WEBHOOK, *[b"x" * MIB] * 3, seen=seen, x_hub_signature_256=bad)
        assert (seen.status, len(seen._parts)) == (401, 3), bad


async def test_large_webhooks_wait_for_each_other_and_small_ones_do_not(hooked: Opened) -> None:
    senders = [Exchange() for _ in range(4)]
    async with anyio.create_task_group() as tasks:
        for sender in senders:
            hold(sender)
            tasks.start_soon(deliver_slowly, hooked, sender, [b"x" * MIB] * 8)
        await anyio.wait_all_tasks_blocked()
        assert sorted(len(sender._parts) for sender in senders) == [1, 1, 6, 6], "two are read, two wait"
        body = push(900 * KIB)
        assert (await deliver(hooked, body, signature(body))).status_code == 202, "a small one is read at once"
        senders[0].leave()
        tasks.cancel_scope.cancel()


async def deliver_slowly(opened: Opened, sender: Exchange, parts: list[bytes]) -> None:
    await exchange(opened.app, WEBHOOK, *parts, seen=sender, x_hub_signature_256="sha256=" + "0" * 64)


def hold(sender: Exchange) -> None:
    """Makes the sender keep its last part."""
    receive = sender.receive

    async def all_but_the_last() -> Any:
        if len(sender._parts) == 1:
            await sender._left.wait()
        return await receive()

    sender.receive = all_but_the_last  # type: ignore[method-assign]


async def test_a_sender_of_a_webhook_who_leaves_is_no_bug(hooked: Opened, caplog: pytest.LogCaptureFixture) -> None:
    seen = Exchange()
    hold(seen)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(deliver_slowly, hooked, seen, [b"x"] * 2)
        await anyio.wait_all_tasks_blocked()
        seen._parts.clear()
        seen.leave()
    assert "request.bug" not in caplog.text


async def call(opened: Opened, body: bytes) -> httpx2.Response:
    return await opened.client.post(
        "/mcp", content=body, headers={**JSON, **ACCEPT, "MCP-Protocol-Version": "2025-06-18"}
    )


def tool_call(arguments: str) -> bytes:
    params = f'{{"name": "search", "arguments": {arguments}}}'
    return f'{{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {params}}}'.encode()


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        ('{"query": "a", "query": "b"}', (400, "malformed-request")),
        ('{"query": "a\\u0000b"}', (422, "validation")),
        ('{"query": NaN}', (400, "malformed-request")),
        ("[" * 20_000, (400, "malformed-request")),
        (f'{{"query": {[1] * 2_000}}}', (413, "payload-too-large")),
    ],
)
async def test_a_tool_reads_json_as_strictly_as_every_route(
    empty: Opened, arguments: str, expected: tuple[int, str]
) -> None:
    answer = await call(empty, tool_call(arguments))
    assert (answer.status_code, answer.json()["code"]) == expected


async def test_a_tool_searches_for_no_more_than_a_question(empty: Opened) -> None:
    answer = await call(empty, tool_call(json.dumps({"query": "x" * 1001})))
    result = json.loads(answer.text.partition("data: ")[2] or answer.text)["result"]
    assert result["isError"]
    assert "1000 characters" in result["content"][0]["text"]
