"""Which requests may be refused on their first bytes: plain questions that a proxy reads in the same way."""

import pytest

from bookwise.api.early_refusal import PATHS, QuestionHead, read_head

LIMIT = 64 * 1024
BODY = b'{"message": "Why?"}'
LENGTH = b"Content-Length: %d\r\n" % len(BODY)
LINE = b"POST /chat/run HTTP/1.1\r\n"
HOST = b"Host: book.example\r\n"


def head_of(data: bytes) -> QuestionHead | None:
    return read_head(data, body_limit=LIMIT)


@pytest.mark.parametrize("path", PATHS)
def test_a_plain_question_is_recognised(path: str) -> None:
    head = head_of(b"POST %b HTTP/1.1\r\n" % path.encode() + HOST + LENGTH + b"\r\n" + BODY)
    assert head == QuestionHead(path=path, origin="", request_id="", keeps_alive=True, unread=0)


def test_its_headers_are_read_in_any_case_and_order() -> None:
    more = b"x-REQUEST-id: abc\r\nORIGIN:https://book.example \r\nconnection: Close\r\n"
    head = head_of(LINE + more + LENGTH + HOST + b"\r\n" + BODY)
    assert head == QuestionHead(
        path="/chat/run", origin="https://book.example", request_id="abc", keeps_alive=False, unread=0
    )


@pytest.mark.parametrize("arrived", [0, 1, len(BODY) - 1])
def test_the_rest_of_the_body_may_come_later(arrived: int) -> None:
    head = head_of(LINE + HOST + LENGTH + b"\r\n" + BODY[:arrived])
    assert head is not None
    assert head.unread == len(BODY) - arrived


@pytest.mark.parametrize(
    "data",
    [
        b"GET /chat/run HTTP/1.1\r\n" + HOST + LENGTH + b"\r\n" + BODY,
        b"POST /ingestion/trigger HTTP/1.1\r\n" + HOST + LENGTH + b"\r\n" + BODY,
        b"POST /chat/run/x HTTP/1.1\r\n" + HOST + LENGTH + b"\r\n" + BODY,
        b"POST /chat/run?key=1 HTTP/1.1\r\n" + HOST + LENGTH + b"\r\n" + BODY,
        b"POST /chat/run HTTP/1.0\r\n" + HOST + LENGTH + b"\r\n" + BODY,
        b"\r\n" + LINE + HOST + LENGTH + b"\r\n" + BODY,
        LINE + HOST + LENGTH,
        LINE + HOST + b"\r\n" + BODY,
        LINE + HOST + LENGTH + LENGTH + b"\r\n" + BODY,
        LINE + HOST + LENGTH + b"Content-length: 1\r\n\r\n" + BODY,
        LINE + HOST + LENGTH + b"Transfer-Encoding: chunked\r\n\r\n" + BODY,
        LINE + HOST + b"Content-Length : 19\r\n\r\n" + BODY,
        LINE + HOST + b"Content-Length: +19\r\n\r\n" + BODY,
        LINE + HOST + b"Content-Length: 19, 19\r\n\r\n" + BODY,
        LINE + HOST + b"Content-Length: %d\r\n\r\n" % (LIMIT + 1),
        LINE + HOST + b"Content-Length: %b\r\n\r\n" % (b"9" * 5000),
        LINE + HOST + LENGTH + b"Expect: 100-continue\r\n\r\n",
        LINE + HOST + LENGTH + b"Content-Encoding: gzip\r\n\r\n" + BODY,
        LINE + HOST + LENGTH + b"Connection: upgrade\r\nUpgrade: websocket\r\n\r\n" + BODY,
        LINE + HOST + LENGTH + b"Connection: close\r\n\r\n" + BODY[:-1],
        LINE + HOST + LENGTH + b"X: a\n b\r\n\r\n" + BODY,
        LINE + HOST + LENGTH + b"X: a\r\n b\r\n\r\n" + BODY,
        LINE + HOST + LENGTH + b"X: a\0\r\n\r\n" + BODY,
        LINE.replace(b"\r", b"") + HOST + LENGTH + b"\n" + BODY + b"\r\n\r\n",
        LINE + HOST + LENGTH + b"\r\n" + BODY + b"GET /metrics HTTP/1.1\r\n",
    ],
)
def test_anything_unusual_takes_the_ordinary_way(data: bytes) -> None:
    assert head_of(data) is None
