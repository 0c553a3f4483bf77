"""Every route × everyone who might call it: nobody learns or changes what is not theirs."""

import re
from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest

from bookwise.api.auth.auth_throttle import AuthThrottle
from bookwise.domain.access import Caller
from tests.support.apps import ingested, write_book
from tests.support.http_service import Opened, http_service
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

SECRET_WORD = "heliotrope"
LESSON = {"a.md": f"# Arms\n\nThe {SECRET_WORD} arm has six joints, and each joint turns on one motor.\n"}
OTHER_LESSON = {"b.md": "# Borrowing\n\nA borrowed value is lent to a function, and comes back unharmed.\n"}
QUESTION = "How many joints does the arm have?"
NOWHERE = "00000000-0000-4000-8000-000000000000"
PAGE = "https://book.example"
MCP_HEADERS = {"Accept": "application/json, text/event-stream"}


@dataclass(frozen=True, slots=True)
class Names:
    """What a request may name: one book and what belongs to it."""

    book: str
    chunk: str
    lesson: str
    session: str
    answer: str
    job: int
    key: str = "key_000000000000"

    def hidden_in(self, text: str) -> str:
        """The text without these names, so that two problems can be compared."""
        names = (self.chunk, self.lesson, self.session, self.answer, self.book, self.key)
        text = re.sub(rf"\b{self.job}\b", "JOB", text)
        for name in names:
            text = text.replace(name, "NAME")
        return text


ABSENT = Names(book="absent", chunk=NOWHERE, lesson=NOWHERE, session=NOWHERE, answer=NOWHERE, job=987654)


@dataclass(frozen=True, slots=True)
class Call:
    """One request to one route."""

    method: str
    path: str
    body: Any = None
    query: dict[str, str] = field(default_factory=dict)
    needs: str = "reader"  #: reader, admin, operator (no key does), or nothing
    names_book: bool = True  #: it asks for one book or something in it; else it lists what there is
    owned: bool = False  #: only its owner may see what it names, whoever else sees the book

    def to(self, names: Names) -> dict[str, Any]:
        """The request about these names, as the client wants it."""
        parts = {"chunk_id": names.chunk, "parent_doc_id": names.lesson, "session_id": names.session}
        parts |= {"job_id": str(names.job), "model": names.book, "book_id": names.book}
        parts |= {"answer_id": names.answer, "key_id": names.key, "name": "main.js"}
        known: dict[str, Any] = {"$book": names.book, "$session": names.session, "$answer": names.answer}
        asked: dict[str, Any] = {"method": self.method, "url": self.path.format(**parts)}
        asked["params"] = {name: known.get(value, value) for name, value in self.query.items()}
        if self.body is not None:
            body = {
                name: known.get(value, value) if isinstance(value, str) else value for name, value in self.body.items()
            }
            asked["json"] = body
        return asked


MESSAGES = [{"role": "user", "content": QUESTION}]
SESSION = "/session/{session_id}"
CALLS = (
    Call("GET", "/", needs="nothing", names_book=False),
    Call("GET", "/widget.js", needs="nothing", names_book=False),
    Call("GET", "/author", needs="nothing", names_book=False),
    Call("GET", "/author/assets/{name}", needs="nothing", names_book=False),
    Call("GET", "/health", needs="nothing", names_book=False),
    Call("GET", "/health/live", needs="nothing", names_book=False),
    Call("GET", "/health/ready", needs="nothing", names_book=False),
    Call("POST", "/ingestion/webhook/github", {}, needs="nothing", names_book=False),
    Call("GET", "/books", names_book=False),
    Call("GET", "/books/{book_id}"),
    Call("GET", "/info", names_book=False),
    Call("GET", "/v1/models", names_book=False),
    Call("GET", "/v1/models/{model}"),
    Call("POST", "/v1/chat/completions", {"model": "$book", "messages": MESSAGES}),
    Call("POST", "/chat/run", {"message": QUESTION, "book_id": "$book"}),
    Call("POST", "/chat/stream", {"message": QUESTION, "book_id": "$book"}),
    Call("POST", "/search", {"text": QUESTION, "book_id": "$book"}),
    Call("GET", "/context/{chunk_id}"),
    Call("GET", "/lesson/{parent_doc_id}"),
    Call("GET", SESSION, owned=True),
    Call("GET", SESSION + "/history", owned=True),
    Call("POST", "/feedback", {"answer_id": "$answer", "thumb": "up"}, owned=True),
    Call("DELETE", SESSION, owned=True),
    Call("GET", "/insights", query={"book_id": "$book"}, needs="admin"),
    Call("GET", "/author/questions", query={"book_id": "$book"}, needs="admin"),
    Call("GET", "/author/questions/{answer_id}", needs="admin"),
    Call("GET", "/author/questions.csv", query={"book_id": "$book"}, needs="admin"),
    Call("POST", "/author/marks", {"book_id": "$book", "answer_ids": [NOWHERE], "status": "fixed"}, needs="admin"),
    Call("GET", "/author/lessons", query={"book_id": "$book"}, needs="admin"),
    Call("GET", "/author/validations", query={"book_id": "$book"}, needs="admin"),
    Call("GET", "/metrics", needs="admin", names_book=False),
    Call("GET", "/ingestion/jobs", query={"book_id": "$book"}, needs="admin"),
    Call("GET", "/ingestion/status/{job_id}", needs="admin"),
    Call("GET", "/ingestion/changes", query={"book_id": "$book"}, needs="admin"),
    Call("POST", "/ingestion/jobs/{job_id}/cancel", needs="admin"),
    Call("POST", "/ingestion/trigger", {"book_id": "$book"}, needs="admin"),
    Call("GET", "/keys", needs="admin", names_book=False),
    Call("POST", "/keys", {"name": "new"}, needs="admin", names_book=False),
    Call("DELETE", "/keys/{key_id}", needs="admin"),
    Call("DELETE", "/books/{book_id}", needs="admin"),  # last: the others need the book
)
MCP = Call("POST", "/mcp", {"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, names_book=False)
OPERATOR = Call("POST", "/operator/ListLessons", {"book_id": "$book"}, needs="operator")
KEYED = tuple(call for call in (*CALLS, MCP, OPERATOR) if call.needs != "nothing")


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """A service with two books, and what there is to protect in the first."""

    opened: Opened
    secret_key: dict[str, str]  #: of the reader who owns the session
    robots: Names

    async def ask(self, call: Call, key: dict[str, Any] | None = None, names: Names | None = None) -> httpx2.Response:
        return await self.opened.client.request(**call.to(names or self.robots), headers={**MCP_HEADERS, **(key or {})})

    async def key(self, *books: str, **facts: Any) -> dict[str, str]:
        return await self.opened.key(*books, **facts)


@pytest.fixture
async def site(tmp_path: Path) -> AsyncIterator[Site]:
    settings = settings_for(tmp_path / "data", embedder="hashing")
    async with http_service(settings, open_to_anyone=False) as opened:
        app = opened.service.app
        job = await ingested(app, write_book(tmp_path / "robots", LESSON), book_id="robots")
        await ingested(app, write_book(tmp_path / "rust", OTHER_LESSON), book_id="rust")
        key = await opened.key("robots", rate=1_000)
        asked = {"text": QUESTION, "book_id": "robots"}
        (hit,) = (await opened.client.post("/search", json=asked, headers=key)).json()["results"]
        said = await opened.client.post("/chat/run", json={"message": QUESTION, "book_id": "robots"}, headers=key)
        session, answer = said.json()["session_id"], said.json()["answer_id"]
        (owner,) = await opened.service.keys.keys()
        robots = Names("robots", hit["chunk_id"], hit["parent_doc_id"], session, answer, job.job_id, owner.id)
        yield Site(opened=opened, secret_key=key, robots=robots)


def operations(site: Site) -> Iterator[tuple[str, str]]:
    for path, item in site.opened.app.openapi()["paths"].items():
        yield from ((method.upper(), path) for method in item)


async def test_no_route_is_outside_the_matrix(site: Site) -> None:
    assert sorted((call.method, call.path) for call in CALLS) == sorted(operations(site))


async def invalid_callers(site: Site) -> dict[str, dict[str, Any]]:
    """Headers of everyone who has no key that works here."""
    keys = site.opened.service.keys
    revoked, lost = await keys.create("revoked", "admin")
    await keys.revoke(revoked.id)
    rotated, old = await keys.create("rotated", "admin")
    _, secret = await keys.rotate(rotated.id)
    bearers: dict[str, str | bytes] = {
        "garbage": "garbage",
        "almost": f"{secret[:-1]}-",
        "other case": secret.swapcase(),
        "an id": rotated.id,
        "empty": "",
        "sql": "' OR '1'='1' --",
        "not ascii": "bw_é".encode(),
        "large": "bw_" + "A" * 100_000,
        "revoked": lost,
        "rotated out": old,
        "two secrets": f"{secret} {secret}",
    }
    found: dict[str, dict[str, Any]] = {
        "none": {},
        "basic": {"Authorization": "Basic YTpi"},
        "bare": {"Authorization": secret},
    }
    for name, bearer in bearers.items():
        found[name] = {"Authorization": b"Bearer " + (bearer if isinstance(bearer, bytes) else bearer.encode())}
    return found


async def test_without_a_key_that_works_every_route_says_401_and_nothing_else(site: Site) -> None:
    patient = AuthThrottle(per_window=1_000_000)  # so many tries from one address would be refused unread
    site.opened.app.state.service = replace(site.opened.service, auth_throttle=patient)
    for who, headers in (await invalid_callers(site)).items():
        for call in KEYED:
            answer = await site.ask(call, headers)
            where = f"{who}: {call.method} {call.path}"
            assert answer.status_code == 401, where
            assert answer.headers["WWW-Authenticate"] == "Bearer", where
            assert answer.json()["type"].endswith("/unauthenticated"), where
            assert SECRET_WORD not in answer.text, where
            assert alike(answer, await site.ask(call, headers, ABSENT), site), where
    assert (await site.ask(Call("GET", SESSION), site.secret_key)).status_code == 200, "nobody deleted it"


async def test_a_key_of_another_site_says_so_on_every_route_and_nothing_else(site: Site) -> None:
    """Two sites with their keys swapped: the origin is allowed, for another key."""
    patient = AuthThrottle(per_window=1_000_000)
    site.opened.app.state.service = replace(site.opened.service, auth_throttle=patient)
    keys = site.opened.service.keys
    _, secret = await keys.create("widget", "admin", origins=[PAGE])
    await keys.create("another widget", "reader", origins=["https://other.example"])
    near = (f"{PAGE}.evil.example", f"{PAGE}:8443", "http://book.example", "null")
    for origin in ("", "https://other.example", "https://evil.example", *near):
        headers = {"Authorization": f"Bearer {secret}", **({"Origin": origin} if origin else {})}
        for call in KEYED:
            answer = await site.ask(call, headers)
            where = f"{origin}: {call.method} {call.path}"
            assert (answer.status_code, answer.json()["code"]) == (403, "forbidden-origin"), where
            assert SECRET_WORD not in answer.text, where
            assert alike(answer, await site.ask(call, headers, ABSENT), site), where
    assert (await site.ask(Call("GET", SESSION), site.secret_key)).status_code == 200, "nobody deleted it"


def alike(answer: httpx2.Response, other: httpx2.Response, site: Site) -> bool:
    """Whether two problems differ in nothing but the names their requests held."""
    shown = [
        (response.status_code, {**response.json(), "request_id": "", "instance": ""}) for response in (answer, other)
    ]
    return site.robots.hidden_in(str(shown[0])) == ABSENT.hidden_in(str(shown[1]))


async def test_health_shows_nothing_about_the_books_without_a_key(site: Site) -> None:
    answer = await site.ask(Call("GET", "/health"))
    assert answer.status_code == 200
    assert not {SECRET_WORD, "robots", "rust"} & set(re.findall(r"\w+", answer.text))


async def test_an_unsigned_delivery_is_turned_away_with_any_key_or_none(site: Site) -> None:
    for key in ({}, site.secret_key, await site.key(role="admin")):
        assert (await site.ask(Call("POST", "/ingestion/webhook/github", {}), key)).status_code in (401, 404)


async def test_a_reader_reads_and_may_not_do_what_is_for_admins(site: Site) -> None:
    for call in KEYED:
        answer = await site.ask(call, site.secret_key)
        where = f"{call.method} {call.path}"
        if call.needs in ("admin", "operator"):
            assert answer.status_code == 403, where
            assert SECRET_WORD not in answer.text, where
            assert alike(answer, await site.ask(call, site.secret_key, ABSENT), site), where
        else:
            assert answer.status_code in (200, 204), where


async def test_a_reader_of_another_book_finds_none_of_this_one(site: Site) -> None:
    key = await site.key("rust", rate=1_000)
    for call in KEYED:
        answer = await site.ask(call, key)
        where = f"{call.method} {call.path}: {answer.text}"
        assert SECRET_WORD not in answer.text, where
        if call.needs in ("admin", "operator"):
            assert answer.status_code == 403, where
        elif call.names_book:
            assert answer.status_code == 404, where
            assert alike(answer, await site.ask(call, key, ABSENT), site), where
        else:
            assert answer.status_code == 200, where
            assert "robots" not in answer.text, where


async def test_a_session_and_a_search_of_another_book_do_not_stray_into_this_one(site: Site) -> None:
    key = await site.key("rust")
    for body in ({"message": QUESTION}, {"message": QUESTION, "book_id": "rust"}):
        answer = await site.ask(Call("POST", "/chat/run", body), key)
        assert answer.status_code == 200
        assert SECRET_WORD not in answer.text
    found = (await site.ask(Call("POST", "/search", {"text": SECRET_WORD}), key)).json()
    assert found["book_id"] == "rust"
    assert SECRET_WORD not in str(found["results"])


async def test_a_question_in_somebody_elses_session_is_like_one_in_an_unused_session(site: Site) -> None:
    before = (await site.ask(Call("GET", SESSION), site.secret_key)).json()
    asked = {"message": QUESTION, "book_id": "$book", "session_id": "$session"}
    unused = replace(site.robots, session=NOWHERE)
    statuses = []
    for key in (await site.key("robots"), await site.key("rust"), await site.key(role="admin")):
        for path in ("/chat/run", "/chat/stream"):
            answer = await site.ask(Call("POST", path, asked), key)
            assert answer.status_code == (await site.ask(Call("POST", path, asked), key, unused)).status_code
            statuses.append(answer.status_code)
    assert statuses == [200, 200, 404, 404, 200, 200]
    assert (await site.ask(Call("GET", SESSION), site.secret_key)).json() == before


@pytest.mark.parametrize("role", ["reader", "admin"])
async def test_a_session_exists_for_its_owner_alone_even_among_those_who_see_the_book(site: Site, role: str) -> None:
    key = await site.key(role=role)
    for call in KEYED:
        if call.owned:
            answer = await site.ask(call, key)
            assert answer.status_code == 404, call.path
            assert alike(answer, await site.ask(call, key, ABSENT), site), call.path
    assert (await site.ask(Call("GET", SESSION), site.secret_key)).status_code == 200


async def test_an_admin_of_another_book_finds_no_book_and_no_job_of_this_one(site: Site) -> None:
    key = await site.key("rust", role="admin", rate=1_000)
    for call in KEYED:
        if call.needs == "admin" and call.names_book:
            answer = await site.ask(call, key)
            where = f"{call.method} {call.path}: {answer.text}"
            assert answer.status_code == 404, where
            assert alike(answer, await site.ask(call, key, ABSENT), site), where
    listed = (await site.ask(Call("GET", "/ingestion/jobs"), key)).json()["jobs"]
    assert {job["book_id"] for job in listed} == {"rust"}
    jobs = await site.opened.service.app.jobs.jobs("robots")
    assert [job.job_id for job in jobs] == [site.robots.job], "nothing was started"


async def test_an_admin_may_call_every_route_but_the_operators(site: Site) -> None:
    key = await site.key(role="admin")
    assert (await site.ask(OPERATOR, key)).status_code == 403
    for call in KEYED:
        if not call.owned and call is not OPERATOR:
            assert (await site.ask(call, key)).status_code not in (401, 403, 404), f"{call.method} {call.path}"


async def test_the_operator_may_call_every_route_without_a_limit(site: Site) -> None:
    operator = {"Authorization": f"Bearer {site.opened.service.operator_secret}"}
    for call in KEYED:
        while site.opened.service.runner.is_busy:  # noqa: ASYNC110 - a book cannot be removed while a job runs
            await anyio.sleep(0.01)
        answer = await site.ask(call, operator)
        assert answer.status_code == 404 if call.owned else answer.is_success, f"{call.method} {call.path}"
        assert "RateLimit" not in answer.headers


async def test_without_the_operator_secret_an_open_service_runs_no_operation(tmp_path: Path) -> None:
    async with http_service(settings_for(tmp_path / "data", embedder="hashing")) as opened:
        secret = opened.service.operator_secret
        for wrong in ({}, {"Authorization": "Bearer "}, {"Authorization": f"Bearer {secret[:-1]}"}):
            refused = await opened.client.post("/operator/ListKeys", json={}, headers=wrong)
            assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
        right = {"Authorization": f"Bearer {secret}"}
        assert (await opened.client.post("/operator/ListKeys", json={}, headers=right)).json() == []


async def test_a_key_that_stands_in_a_page_works_from_that_page(site: Site) -> None:
    _, secret = await site.opened.service.keys.create("widget", "reader", books=["robots"], origins=[PAGE])
    headers = {"Authorization": f"Bearer {secret}", "Origin": PAGE}
    for call in KEYED:
        if call.needs == "reader" and not call.owned and call is not MCP:
            assert (await site.ask(call, headers)).status_code == 200, f"{call.method} {call.path}"


async def test_a_key_is_read_whatever_the_case_of_the_word_before_it(site: Site) -> None:
    secret = site.secret_key["Authorization"].partition(" ")[2]
    for spelling in ("bearer", "BEARER", "Bearer "):
        assert (await site.ask(Call("GET", "/books"), {"authorization": f"{spelling} {secret}"})).status_code == 200


async def test_a_revoked_key_fails_with_its_next_request_on_every_route(site: Site) -> None:
    key, secret = await site.opened.service.keys.create("lost laptop", "admin")
    headers = {"Authorization": f"Bearer {secret}"}
    assert (await site.ask(Call("GET", "/books"), headers)).status_code == 200
    await site.opened.service.keys.revoke(key.id)
    assert {(await site.ask(call, headers)).status_code for call in KEYED} == {401}


async def test_a_session_stays_its_owners_when_the_key_gets_a_new_secret(site: Site) -> None:
    (owner, *_) = await site.opened.service.keys.keys()
    _, secret = await site.opened.service.keys.rotate(owner.id)
    assert (await site.ask(Call("GET", SESSION), site.secret_key)).status_code == 401
    assert (await site.ask(Call("GET", SESSION), {"Authorization": f"Bearer {secret}"})).status_code == 200


async def test_an_open_service_asks_for_no_key_and_minds_none(tmp_path: Path) -> None:
    async with http_service(settings_for(tmp_path / "data", embedder="hashing")) as opened:
        assert (await opened.client.get("/books")).status_code == 200
        assert (await opened.client.get("/books", headers={"Authorization": "Bearer garbage"})).status_code == 200


async def test_a_used_up_rate_stops_every_route_and_nobody_else(site: Site) -> None:
    key = await site.key(role="admin", rate=1)
    assert (await site.ask(Call("GET", "/books"), key)).headers["RateLimit"] == '"default";r=0;t=60'
    for call in KEYED:
        answer = await site.ask(call, key)
        where = f"{call.method} {call.path}"
        assert answer.status_code == 429, where
        assert answer.headers["RateLimit-Policy"] == '"default";q=1;w=60', where
        assert answer.headers["RateLimit"].startswith('"default";r=0;t='), where
        assert 1 <= int(answer.headers["Retry-After"]) <= 60, where
    assert (await site.ask(Call("GET", "/health"), key)).status_code == 200
    assert (await site.ask(Call("GET", "/books"), site.secret_key)).status_code == 200


async def test_every_answer_to_a_key_says_what_is_left_of_its_rate(site: Site) -> None:
    key = await site.key(role="admin", rate=50)
    for used, call in enumerate(KEYED, start=1):
        answer = await site.ask(call, key)
        assert answer.headers["RateLimit"].startswith(f'"default";r={50 - used};t='), f"{call.method} {call.path}"


async def test_one_stream_too_many_is_refused_before_its_first_byte(site: Site) -> None:
    (key, *_) = await site.opened.service.keys.keys()
    caller = Caller(owner=key.id, role=key.role, streams_at_once=key.streams_at_once)
    limits = site.opened.app.state.rate_limits
    streams = (
        Call("POST", "/chat/stream", {"message": QUESTION}),
        Call("POST", "/chat/run", {"message": QUESTION, "stream": True}),
        Call("POST", "/v1/chat/completions", {"model": "$book", "messages": MESSAGES, "stream": True}),
    )
    async with AsyncExitStack() as reading:
        for _ in range(10):
            await reading.enter_async_context(limits.stream(caller))
        for call in streams:
            answer = await site.ask(call, site.secret_key)
            assert (answer.status_code, answer.headers["Retry-After"]) == (429, "5"), call.path
        assert (await site.ask(streams[0], await site.key("robots"))).status_code == 200, "others are not held up"
    for call in streams:
        answer = await site.ask(call, site.secret_key)
        assert answer.headers["Content-Type"].startswith("text/event-stream"), call.path
    assert not limits._streams
