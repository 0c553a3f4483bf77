"""Middleware: request ids, body limits, media types, headers, origins."""

import json
import logging
import socket
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from bookwise.api.serve import bound
from tests.support.http_service import Exchange, Opened, exchange, http_service
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

PAGE = "https://book.example"
OTHER_ORIGIN = "https://stranger.example"


@pytest.fixture
async def small(tmp_path: Path) -> AsyncIterator[Opened]:
    """A service that takes small bodies, and pages of one origin."""
    settings = settings_for(tmp_path / "data", embedder="hashing", body_limit_bytes=2048, cors_origins=PAGE)
    async with http_service(settings) as opened:
        yield opened


def code(seen: Exchange) -> tuple[int, str]:
    return seen.status, json.loads(seen.body)["code"]


async def test_a_sane_request_id_is_kept_and_any_other_replaced(empty: Opened) -> None:
    kept = await empty.client.get("/books", headers={"X-Request-ID": "trace-1.2_3"})
    assert kept.headers["x-request-id"] == "trace-1.2_3"
    for insane in ("", "a b", "x" * 65, "<script>"):
        made = (await empty.client.get("/books", headers={"X-Request-ID": insane})).headers["x-request-id"]
        assert made != insane
        assert len(made) == 32


async def test_two_requests_have_two_ids(empty: Opened) -> None:
    first, second = [(await empty.client.get("/nowhere")).json()["request_id"] for _ in range(2)]
    assert first != second


async def test_the_log_names_the_route_and_not_what_was_asked(empty: Opened, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "bookwise")
    await empty.client.get("/session/550e8400-e29b-41d4-a716-446655440000?secret=swordfish")
    [record] = [record for record in caplog.records if record.getMessage() == "request"]
    assert (record.__dict__["route"], record.__dict__["status"]) == ("/session/{session_id}", 404)
    assert "swordfish" not in str(vars(record))


async def test_a_body_over_the_limit_is_refused_by_its_length(small: Opened) -> None:
    answer = await small.client.post("/chat/run", json={"message": "x" * 3000})
    assert (answer.status_code, answer.json()["code"]) == (413, "payload-too-large")
    assert "2,048 bytes" in answer.json()["detail"]


async def test_a_body_without_a_length_is_counted_while_it_comes(small: Opened) -> None:
    seen = Exchange()
    await exchange(small.app, "/chat/run", *[b"x" * 500] * 1000, seen=seen)
    assert code(seen) == (413, "payload-too-large")
    assert len(seen._parts) > 990, "reading stops at the limit"


async def test_a_body_at_the_limit_is_read(small: Opened) -> None:
    body = json.dumps({"text": "valve"}).encode()
    seen = await exchange(small.app, "/search", *(bytes([byte]) for byte in body.ljust(2048)))
    assert code(seen) == (404, "not-found"), "there is no book, but the body was read"


async def test_a_compressed_body_is_refused(small: Opened) -> None:
    seen = await exchange(small.app, "/chat/run", b"\x1f\x8b", content_encoding="gzip")
    assert code(seen) == (415, "unsupported-media-type")


@pytest.mark.parametrize("query", ["api_key=s3cret", "key=s3cret", "token=s3cret", "x=1&API_KEY=s3cret", "key="])
async def test_a_key_in_an_address_is_refused(empty: Opened, query: str) -> None:
    answer = await empty.client.get(f"/books?{query}")
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")
    assert "s3cret" not in answer.text


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (b"", (400, "malformed-request")),
        (b"  ", (400, "malformed-request")),
        (b"{", (400, "malformed-request")),
        (b'{"message": "a", "message": "b"}', (400, "malformed-request")),
        (b'{"message": "a", "similarity_threshold": NaN}', (400, "malformed-request")),
        (b"[" * 60_000, (400, "malformed-request")),
        (b"\xff\xfe", (400, "malformed-request")),
        (b'{"message": "a", "top_k": 1' + b"0" * 400 + b"}", (422, "validation")),
        (b'{"message": "a", "top_k": 1' + b"0" * 5000 + b"}", (400, "malformed-request")),
        (b'{"message": "a\\u0000b"}', (422, "validation")),
        (b'{"message": "a\\ud800b"}', (422, "validation")),
        (b'["message"]', (422, "validation")),
        (b"null", (422, "validation")),
        (b'{"message": "   "}', (422, "validation")),
    ],
)
async def test_json_that_is_none_or_says_what_nobody_can_keep_is_refused(
    empty: Opened, body: bytes, expected: tuple[int, str]
) -> None:
    assert code(await exchange(empty.app, "/chat/run", body)) == expected
    assert await empty.service.app.threads.threads() == []


async def test_a_body_of_another_form_is_refused(empty: Opened) -> None:
    for kind in ("text/plain", "application/xml", ""):
        seen = await exchange(empty.app, "/chat/run", b'{"message": "hi"}', content_type=kind)
        assert code(seen) == (415, "unsupported-media-type"), kind


async def test_an_answer_in_another_form_is_refused(empty: Opened) -> None:
    for accept, status in (("application/xml", 406), ("*/*", 200), ("text/html, application/json;q=0.5", 200)):
        assert (await empty.client.get("/books", headers={"Accept": accept})).status_code == status, accept


@pytest.mark.parametrize("path", ["/books", "/nowhere", "/metrics"])
async def test_every_response_has_safe_headers(empty: Opened, path: str) -> None:
    headers = (await empty.client.get(path)).headers
    assert headers["x-content-type-options"] == "nosniff"
    assert "frame-ancestors 'none'" in headers["content-security-policy"]
    assert headers["referrer-policy"] == "no-referrer"
    assert headers["cache-control"] == "no-store"


async def test_pages_of_a_configured_origin_may_call_and_others_may_not(small: Opened) -> None:
    def preflight(origin: str) -> dict[str, str]:
        return {"Origin": origin, "Access-Control-Request-Method": "POST"}

    allowed = await small.client.options("/chat/run", headers=preflight(PAGE))
    assert allowed.headers["access-control-allow-origin"] == PAGE
    refused = await small.client.options("/chat/run", headers=preflight(OTHER_ORIGIN))
    assert refused.status_code == 405
    assert "access-control-allow-origin" not in refused.headers
    assert (await small.client.get("/books", headers={"Origin": PAGE})).headers["access-control-allow-origin"] == PAGE


async def test_without_origins_nobody_is_allowed(empty: Opened) -> None:
    answer = await empty.client.get("/books", headers={"Origin": "http://localhost:3000"})
    assert "access-control-allow-origin" not in answer.headers


@pytest.mark.parametrize(
    "headers",
    [
        {"Origin": OTHER_ORIGIN},
        {"Host": "rebound.stranger.example:8000"},
        {"Origin": "null"},
        {"Origin": "http://intranet"},
        {"Origin": "http://router:8080"},
        {"Origin": "http://localhost.stranger.example"},
        {"Origin": "file://"},
        {"Host": "bookwise"},
        {"Host": "router:8000"},
    ],
    ids=str,
)
async def test_without_keys_a_page_on_the_internet_cannot_use_its_readers_browser(
    small: Opened, headers: dict[str, str]
) -> None:
    answer = await small.client.get("/books", headers=headers)
    assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")


@pytest.mark.parametrize("host", ["localhost:8000", "127.0.0.1", "[::1]:8000"])
async def test_without_keys_this_machine_can_use_the_service_by_any_of_its_names(empty: Opened, host: str) -> None:
    assert (await empty.client.get("/books", headers={"Host": host})).status_code == 200


@pytest.mark.parametrize("name", ["X-Forwarded-For", "X-Forwarded-Proto", "x-forwarded-host", "Forwarded", "X-Real-IP"])
async def test_without_keys_the_service_does_not_answer_through_a_proxy(empty: Opened, name: str) -> None:
    for value in ("127.0.0.1", "for=127.0.0.1", ""):
        answer = await empty.client.get("/books", headers={name: value})
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden")
        assert "proxy" in answer.json()["detail"]


@pytest.mark.parametrize("origin", ["http://localhost:3000", "http://127.0.0.1:3000", "https://[::1]"])
async def test_without_keys_a_page_on_this_machine_may_call(empty: Opened, origin: str) -> None:
    assert (await empty.client.get("/books", headers={"Origin": origin})).status_code == 200


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("POST", "/ingestion/jobs/1/cancel"),
        ("DELETE", "/session/550e8400-e29b-41d4-a716-446655440000"),
        ("DELETE", "/books/book"),
        ("POST", "/chat/run"),
    ],
)
async def test_without_keys_a_form_cannot_change_anything(empty: Opened, method: str, path: str) -> None:
    """A page can send a form, without being asked, to any address; a header or JSON it must be allowed first."""
    for kind in (
        "",
        "text/plain",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
        "text/plain;application/json",
    ):
        seen = await exchange(empty.app, path, b"a=1", method=method, content_type=kind)
        assert code(seen) == (415, "unsupported-media-type"), kind
        assert "X-Requested-With" in json.loads(seen.body)["advice"]
    for headers in (
        {"x_requested_with": "curl"},
        {"authorization": "Bearer any"},
        {"content_type": "application/json"},
    ):
        seen = await exchange(empty.app, path, b"{}", method=method, **{"content_type": "", **headers})
        assert (seen.status == 415) == (path == "/chat/run" and "content_type" not in headers), headers


async def test_with_keys_the_service_may_be_behind_a_proxy(locked: Opened) -> None:
    headers = {**await locked.key(), "X-Forwarded-For": "203.0.113.9", "Forwarded": "for=203.0.113.9"}
    assert (await locked.client.get("/books", headers=headers)).status_code == 200


@pytest.mark.parametrize(
    "host", ["192.0.2.1", "book.example", "localhost.example", "127.0.0.1.example", "[2001:db8::1]", ""]
)
async def test_without_keys_the_service_has_no_other_names(empty: Opened, host: str) -> None:
    assert (await exchange(empty.app, "/books", method="GET", host=host)).status == 403


async def test_with_keys_the_service_may_have_any_name(locked: Opened) -> None:
    headers = {**await locked.key(), "Host": "book.example", "Origin": OTHER_ORIGIN}
    assert (await locked.client.get("/books", headers=headers)).status_code == 200


async def test_a_sender_who_leaves_within_the_body_is_no_error(empty: Opened, caplog: pytest.LogCaptureFixture) -> None:
    seen = Exchange()

    async def receive() -> dict[str, object]:
        return {"type": "http.disconnect"}

    seen.receive = receive  # type: ignore[method-assign,assignment]
    await exchange(empty.app, "/chat/run", b"{", seen=seen)
    assert seen.status == 0
    assert not [record for record in caplog.records if record.levelno >= logging.ERROR]


@pytest.mark.parametrize("path", ["/chat/run", "/chat/stream", "/search"])
async def test_who_has_no_key_learns_nothing_else(locked: Opened, path: str) -> None:
    for body, kind in ((b"", ""), (b"{", "application/json"), (b"{}", "application/json"), (b"x", "text/plain")):
        seen = await exchange(locked.app, path, body, content_type=kind)
        assert code(seen) == (401, "unauthenticated"), (body, kind)


async def test_requests_that_cannot_be_read_count_like_any_other(locked: Opened) -> None:
    headers = await locked.key(rate=2)
    sent = {"content": b"{", "headers": {**headers, "Content-Type": "application/json"}}
    answers = [await locked.client.post("/search", **sent) for _ in range(3)]  # type: ignore[arg-type]
    assert [answer.status_code for answer in answers] == [400, 400, 429]


async def test_a_page_may_call_as_long_as_a_key_is_bound_to_its_origin(locked: Opened) -> None:
    async def allowed() -> str | None:
        asked = {"Origin": PAGE, "Access-Control-Request-Method": "POST"}
        response = await locked.client.options("/chat/stream", headers=asked)
        return response.headers.get("access-control-allow-origin")

    assert await allowed() is None
    key, _ = await locked.service.keys.create("widget", "reader", origins=[PAGE])
    assert await allowed() == PAGE
    await locked.service.keys.revoke(key.id)
    assert await allowed() is None


async def test_a_response_does_not_wait_for_word_about_its_head() -> None:
    with bound("127.0.0.1", 0) as listening, socket.create_connection(listening.getsockname()):
        connection, _ = listening.accept()
        with connection:
            assert connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY)
