"""Figure 9: what every route shows to those whom the data does not belong to."""

import json
import random
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import count, product
from pathlib import Path
from typing import Any
from uuid import uuid4

import httpx2
from tests.api.test_access import CALLS, MCP, OPERATOR, OTHER_LESSON, QUESTION, SECRET_WORD, Call, Names
from tests.api.test_access import LESSON as SECRET_LESSON

from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.real_service import RealService, ingest_books, running, scratch
from bookwise.settings import Settings
from bookwise.wiring import open_app

BOOK, OTHER = "robots", "rust"
OWNERS_REQUEST = "the-owners-request"  #: the owner's idempotency key
RATE = 10_000
SMALLEST = 400  #: requests
ACCEPT = {"Accept": "application/json, text/event-stream", "X-Requested-With": "trust"}
#: Headers that differ between any two responses.
VARYING = frozenset({"date", "x-request-id", "content-length", "ratelimit", "ratelimit-policy"})
#: What a service makes up for each answer: ids and times.
NEW = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f-]{22,27}|\d{4}-\d\d-\d\dT[\d:.]+Z?")
GUESSES_PER_ADDRESS = 40  #: of invalid keys; more are refused unread


@dataclass(frozen=True, slots=True, kw_only=True)
class Position:
    """A request with a place for an id."""

    method: str
    path: str
    body: Any = None
    query: Mapping[str, str] = field(default_factory=dict)
    headers: Mapping[str, str] = field(default_factory=dict)
    needs: str = "reader"
    names_book: bool = True
    owned: bool = False
    creates: bool = False  #: a session with an id that the caller does not have yet

    @classmethod
    def of(cls, call: Call) -> "Position":
        path = call.path
        for name, sign in PATH_SIGNS.items():
            path = path.replace(f"{{{name}}}", sign)
        return cls(
            method=call.method,
            path=path,
            body=call.body,
            query=call.query,
            needs=call.needs,
            names_book=call.names_book,
            owned=call.owned,
        )

    def about(self, names: Names) -> dict[str, Any]:
        """The request about these names, as the client wants it."""
        asked: dict[str, Any] = {"method": self.method, "url": _filled(self.path, names), "headers": dict(self.headers)}
        asked["params"] = {name: _filled(value, names) for name, value in self.query.items()}
        if self.body is not None:
            asked["content"] = _filled(json.dumps(self.body), names)
            asked["headers"]["Content-Type"] = "application/json"
        return asked

    def __str__(self) -> str:
        return f"{self.method} {self.path} {json.dumps(self.body) if self.body else ''}".strip()


PATH_SIGNS = {
    "chunk_id": "$chunk",
    "parent_doc_id": "$lesson",
    "session_id": "$session",
    "job_id": "$job",
    "model": "$book",
    "book_id": "$book",
}


def _filled(text: str, names: Names) -> str:
    known = {"$book": names.book, "$chunk": names.chunk, "$lesson": names.lesson, "$session": names.session}
    known |= {"$answer": names.answer, "$job": str(names.job)}
    for sign, name in known.items():
        text = text.replace(sign, name)
    return text


def tool(name: str, **arguments: str) -> Position:
    params = {"name": name, "arguments": arguments}
    return Position(
        method="POST", path="/mcp", body={"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params}
    )


def chat(path: str, **body: Any) -> Position:
    return Position(method="POST", path=path, body={"message": QUESTION, **body}, creates="session_id" in body)


def completion(model: str) -> Position:
    body = {"model": model, "messages": [{"role": "user", "content": QUESTION}]}
    return Position(method="POST", path="/v1/chat/completions", body=body)


#: Ids in places that the list of routes does not have.
MORE = (
    *(chat(path, session_id="$session") for path in ("/chat/run", "/chat/stream")),
    *(chat(path, session_id="$session", book_id="$book") for path in ("/chat/run", "/chat/stream")),
    *(chat(path, session_id="$session", book_id=OTHER) for path in ("/chat/run", "/chat/stream")),
    chat("/chat/run", book_id="$book", stream=True),
    completion("bookwise:$book"),
    Position(method="POST", path="/search", body={"text": QUESTION, "book_id": "$book", "parent_doc_id": "$lesson"}),
    Position(method="GET", path="/lesson/$lesson", query={"book_id": "$book"}),
    Position(method="GET", path="/session/$session/history", query={"limit": "1"}, owned=True),
    Position(method="POST", path="/feedback", body={"answer_id": "$answer", "thumb": "down"}, owned=True),
    Position(
        method="POST",
        path="/ingestion/trigger",
        body={"book_id": "$book", "mode": "recreate"},
        needs="admin",
    ),
    tool("fetch", id="$chunk"),
    tool("ask", question=QUESTION, book="$book"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Identity:
    """Who asks, and what is theirs."""

    name: str
    key: str = ""
    is_valid: bool = True
    role: str = "reader"
    sees_book: bool = False  #: that of the ids

    def must_get(self, position: Position) -> int | None:
        """The status that hides everything; None where this identity may have an answer."""
        if position.needs == "nothing":
            return None
        if not self.is_valid:
            return 401
        if position.needs == "operator" or (position.needs == "admin" and self.role == "reader"):
            return 403
        if position.owned or (not position.creates and position.names_book and not self.sees_book):
            return 404
        return None

    def may_try(self, position: Position) -> bool:
        """Not what this identity may do and what would change the data for the others."""
        changes = position.needs == "admin" and position.method in ("POST", "DELETE")
        return self.must_get(position) is not None or not changes


@dataclass(kw_only=True)
class Site:
    """The service with two books, and everybody who might ask it."""

    service: RealService
    owner: str  #: the key
    names: Names
    numbers: Iterator[int] = field(default_factory=count)

    async def send(self, position: Position, names: Names, identity: Identity) -> httpx2.Response:
        asked = position.about(names)
        key = {"Authorization": f"Bearer {identity.key}"} if identity.key else {}
        asked["headers"] |= {**ACCEPT, **key}
        address = f"127.0.1.{1 + next(self.numbers) // GUESSES_PER_ADDRESS % 250}"
        transport = httpx2.AsyncHTTPTransport(local_address=address)
        async with httpx2.AsyncClient(
            base_url=self.service.url, transport=transport, timeout=60, trust_env=False
        ) as client:
            return await client.request(**asked)

    async def foreign(self, position: Position) -> Names:
        """The owner's ids. Who asks in a session of another caller gets a session with this id, which is then there."""
        return await owned_names(self.service, self.owner) if position.creates else self.names

    def absent(self, position: Position) -> Names:
        """Ids of nothing. What belongs to a caller is absent in a book that is there."""
        session, answer = str(uuid4()), str(uuid4())
        if position.owned or position.creates:
            return replace(self.names, session=session, answer=answer)
        return Names("absent", str(uuid4()), str(uuid4()), session, answer, 987_654)


def shown(response: httpx2.Response, position: Position, names: Names) -> tuple[Any, ...]:
    """The response without what differs between any two: the ids that were sent, and the id of the request."""

    def hidden(text: str) -> str:
        for name in (names.chunk, names.lesson, names.session, names.answer, names.book):
            text = text.replace(name, "NAME")
        text = re.sub(rf"\b{names.job}\b", "JOB", text) if "$job" in position.path else text
        return NEW.sub("NEW", text)

    headers = [(name, hidden(value)) for name, value in response.headers.items() if name.lower() not in VARYING]
    return response.status_code, hidden(re.sub(r'"request_id": ?"[^"]*"', "", response.text)), sorted(headers)


async def judged(site: Site, position: Position, identity: Identity) -> list[str]:
    """What is wrong with the responses to this identity, for an id that another owner uses and for an unused one."""
    owners = await site.foreign(position)
    foreign = await site.send(position, owners, identity)
    unused = site.absent(position)
    absent = await site.send(position, unused, identity)
    where = f"{identity.name}: {position}"
    expected = identity.must_get(position)
    bad = [f"leak: {where}"] if leaks(foreign, position, identity, owners) else []
    if expected is None and not position.creates:
        return bad
    if expected is not None and position.path != "/mcp" and foreign.status_code != expected:
        bad.append(f"{foreign.status_code} instead of {expected}: {where}")
    if shown(foreign, position, owners) != shown(absent, position, unused):
        bad.append(f"difference: {where}: {foreign.status_code} {absent.status_code} {foreign.text[:120]}")
    return bad


def leaks(response: httpx2.Response, position: Position, identity: Identity, names: Names) -> bool:
    """Whether a response that the identity may have contains more than it may. An admin of the book may read the
    questions and conversations of its readers, in the author's view."""
    if identity.role == "admin" and identity.sees_book and position.path.startswith("/author/"):
        return False
    hidden = {names.session, names.answer} - set(re.findall(r"[0-9a-f-]{36}", _filled(f"{position}", names)))
    words = hidden if identity.sees_book and identity.must_get(position) is None else {*hidden, SECRET_WORD}
    return any(word in response.text for word in words)


async def open_identities(folder: Path) -> tuple[str, tuple[Identity, ...]]:
    """The owner's key, and everybody else."""
    async with open_app(Settings(data_dir=folder / "data", embedder="hashing")) as app:

        async def key(role: Any, *books: str) -> tuple[str, str]:
            made, secret = await app.keys.create("a key", role, books=books, rate_per_minute=RATE)
            return made.id, secret

        owner = (await key("reader", BOOK))[1]
        revoked_id, revoked = await key("admin")
        await app.keys.revoke(revoked_id)
        return owner, (
            Identity(name="no key", is_valid=False),
            Identity(name="wrong key", key=owner[:-1] + ("A" if owner[-1] != "A" else "B"), is_valid=False),
            Identity(name="revoked key", key=revoked, is_valid=False),
            Identity(name="reader of another book", key=(await key("reader", OTHER))[1]),
            Identity(name="another reader of the book", key=(await key("reader", BOOK))[1], sees_book=True),
            Identity(name="admin", key=(await key("admin"))[1], role="admin", sees_book=True),
            Identity(name="admin of another book", key=(await key("admin", OTHER))[1], role="admin"),
        )


async def owned_names(service: RealService, key: str) -> Names:
    """What the owner has: a session, an answer, and the ids of its book."""
    owner = {"Authorization": f"Bearer {key}"}
    found = await service.client.post("/search", json={"text": QUESTION, "book_id": BOOK}, headers=owner)
    hit = found.json()["results"][0]
    said = (await service.client.post("/chat/run", json={"message": QUESTION, "book_id": BOOK}, headers=owner)).json()
    return Names(BOOK, hit["chunk_id"], hit["parent_doc_id"], said["session_id"], said["answer_id"], 1)


async def leave_request(service: RealService, key: str) -> None:
    """A request of the owner whose response is kept for its repetition."""
    headers = {"Authorization": f"Bearer {key}", "Idempotency-Key": f'"{OWNERS_REQUEST}"'}
    await service.client.post("/chat/run", json={"message": QUESTION, "book_id": BOOK}, headers=headers)


def positions() -> tuple[Position, ...]:
    """All of them; what would remove the book comes last."""
    calls = [Position.of(call) for call in (*CALLS, MCP, OPERATOR)]
    replay = Position(
        method="POST",
        path="/chat/run",
        body={"message": QUESTION, "book_id": "$book"},
        headers={"Idempotency-Key": f'"{OWNERS_REQUEST}"'},
    )
    everything = [*MORE, replay, *calls]
    return tuple(sorted(everything, key=lambda position: (position.needs == "nothing", position.method == "DELETE")))


async def measure(cases: int, broken: bool) -> Measured:
    async with scratch() as folder:
        await ingest_books(folder, {BOOK: SECRET_LESSON, OTHER: OTHER_LESSON}, embedder="hashing")
        owner, identities = await open_identities(folder)
        control = "blind-access" if broken else ""
        async with running(folder, control=control, BOOKWISE_EMBEDDER="hashing") as service:
            names = await owned_names(service, owner)
            site = Site(service=service, owner=owner, names=names)
            await leave_request(service, owner)
            pairs = [pair for pair in product(positions(), identities) if pair[1].may_try(pair[0])]
            chosen = pairs if cases >= SMALLEST else random.Random(1).sample(pairs, min(len(pairs), cases // 2))
            bad: list[str] = []
            for position, identity in chosen:
                bad += await judged(site, position, identity)
            mine = await service.client.get(f"/session/{names.session}", headers={"Authorization": f"Bearer {owner}"})
            bad += [] if len(mine.json().get("messages", [])) == 2 else ["the owner's session has changed"]
    return Measured(cases=2 * len(chosen), bad=len(bad), examples=tuple(bad[:20]))


FIGURE = Figure(
    number=9,
    name="isolation",
    counts="requests: every route and place of an id × no key, wrong key, revoked key, reader of another book, another "
    "reader of the book, admin, admin of another book × ids that another owner uses and unused ids; bad: a leak, or a "
    "difference between the two",
    cases=SMALLEST,
    control="every key may see every book",
    control_cases=100,
    measure=measure,
)
