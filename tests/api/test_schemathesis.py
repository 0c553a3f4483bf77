"""What /openapi.json promises, held against requests that are made up from it: valid ones and such as break it.

Each bound of the document is tried on one of two services, which differ only in whether they ask for a key.

/mcp speaks a protocol of its own and /operator only to commands of the same version; neither is in the document.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

import anyio
import pytest
import requests
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from pydantic import SecretStr
from schemathesis import GenerationMode, checks
from schemathesis.python import asgi

from bookwise.api.app import create_app
from bookwise.wiring import open_app
from tests.support.apps import ingested, write_book
from tests.support.copies import copy_folder
from tests.support.http_service import DELIBERATE
from tests.support.small_book import BOOK, LESSONS, settings_for

REQUESTS_MIN = 1_000  #: of each service
MADE_UP = 4  #: for each operation, valid and invalid each
KEY = "Idempotency-Key"
CHECKS: Any = [
    checks.not_a_server_error,
    checks.status_code_conformance,
    checks.content_type_conformance,
    checks.response_schema_conformance,
    checks.response_headers_conformance,
    checks.negative_data_rejection,
]
#: Nobody can make up a signature.
UNREACHED = {"POST /ingestion/webhook/github"}
KEY_CHANGES = ("POST /keys", "DELETE /keys/{key_id}")

quietly = settings(
    max_examples=MADE_UP,
    derandomize=True,
    database=None,
    deadline=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


@pytest.fixture(scope="module")
def book(tmp_path_factory: pytest.TempPathFactory) -> "BookAndKeys":
    """A data folder with the small book, to be copied, and two keys."""
    root = tmp_path_factory.mktemp("described")

    async def prepare() -> BookAndKeys:
        async with open_app(settings_for(root / "data", embedder="hashing")) as app:
            await ingested(app, write_book(root / "book", LESSONS), book_id=BOOK)
            _, secret = await app.keys.create("operator", "admin", rate_per_minute=100_000)
            spare, _ = await app.keys.create("spare", "reader")
            return BookAndKeys(data=root / "data", secret=secret, spare_key=spare.id)

    return anyio.run(prepare)


@dataclass(frozen=True, kw_only=True)
class BookAndKeys:
    """A data folder, the secret of an admin, and the id of a key that may be revoked."""

    data: Path
    secret: str
    spare_key: str


@dataclass(frozen=True, kw_only=True)
class Described:
    """A service, its document, and what came of the requests so far."""

    schema: Any
    client: requests.Session
    headers: dict[str, str]
    spare_key: str
    sent: Counter[str] = field(default_factory=Counter)
    succeeded: set[str] = field(default_factory=set)

    @property
    def operations(self) -> list[Any]:
        """Whatever deletes comes last, and then what makes an open service ask for keys."""
        found = [operation.ok() for operation in self.schema.get_all_operations()]
        return sorted(found, key=lambda operation: (operation.label in KEY_CHANGES, operation.method == "delete"))

    def check(self, case: Any) -> None:
        label = case.operation.label
        self.sent[label] += 1
        if KEY in case.headers and self._is_documented(case):
            case.headers[KEY] = f'"{self.sent.total()}"'  # the same for all, it would answer for all
        response = case.call(session=self.client, headers=self.headers)
        if response.status_code < 300:
            self.succeeded.add(label)
        case.validate_response(response, checks=CHECKS, headers=self.headers)

    def _is_documented(self, case: Any) -> bool:
        (parameter,) = (known for known in case.operation.headers if known.name == KEY)
        return bool(case.headers[KEY] == parameter.definition["example"])

    def known(self) -> dict[str, dict[str, Any]]:
        """For operations that no made-up name finds anything for: what there is to find."""
        question = {"message": "What is a moisture sensor?"}
        answer = self._post("/chat/run", question)
        (hit, *_) = self._post("/search", {"text": "moisture sensor"})["results"]
        session, json = {"session_id": answer["session_id"]}, "application/json"
        ids = {
            "chunk_id": hit["chunk_id"],
            "parent_doc_id": hit["parent_doc_id"],
            "job_id": 1,
            "model": BOOK,
            "book_id": BOOK,
            "answer_id": answer["answer_id"],
            "key_id": self.spare_key,
            "name": "main.js",
            **session,
        }
        rating = {"answer_id": answer["answer_id"], "thumb": "up"}
        marked = {"answer_ids": [answer["answer_id"]], "status": "fixed"}
        known: dict[str, dict[str, Any]] = {
            "GET /ingestion/changes": {"query": {"book_id": BOOK}},
            "POST /ingestion/trigger": {"body": {"book_id": BOOK}, "media_type": json},
            "POST /feedback": {"body": rating, "media_type": json},
            "POST /author/marks": {"body": {"book_id": BOOK, **marked}, "media_type": json},
        }
        for operation in self.operations:
            named = {parameter.name: ids[parameter.name] for parameter in operation.path_parameters}
            if named:
                known[operation.label] = {"path_parameters": named}
        return known

    def _post(self, path: str, body: dict[str, Any]) -> Any:
        response = self.client.post(path, json=body, headers=self.headers)
        response.raise_for_status()
        return response.json()


@contextmanager
def described(data: Path, book: "BookAndKeys", *, open_to_anyone: bool) -> Iterator[Described]:
    webhook = {"github_webhook_secret": SecretStr("a secret"), "github_repository": "owner/book"}
    app = create_app(settings_for(data, embedder="hashing", **webhook), open_to_anyone=open_to_anyone)
    config = schemathesis.Config(seed=1)
    config.projects.default.generation.update(with_security_parameters=False, deterministic=True)
    headers = {"Host": "127.0.0.1", **DELIBERATE} if open_to_anyone else {"Authorization": f"Bearer {book.secret}"}
    try:
        with asgi.get_client(app, max_stream_events=1_000_000) as client:
            schema = schemathesis.openapi.from_asgi("/openapi.json", app, config=config, headers=headers)
            yield Described(schema=schema, client=client, headers=headers, spare_key=book.spare_key)
    finally:
        asgi.shutdown_lifespans()


@pytest.mark.slow
@pytest.mark.parametrize("open_to_anyone", [True, False], ids=["open", "with keys"])
def test_every_operation_keeps_the_promises_of_its_document(
    tmp_path: Path, book: BookAndKeys, open_to_anyone: bool
) -> None:
    copy_folder(book.data, tmp_path / "data")
    with described(tmp_path / "data", book, open_to_anyone=open_to_anyone) as service:
        known = service.known()
        for operation in service.operations:
            for case in islice(at_the_edges(service, operation), open_to_anyone, None, 2):
                service.check(case)
            for strategy in made_up(operation, known.get(operation.label, {})):
                quietly(given(strategy)(service.check))()
    unreached = UNREACHED | ({"DELETE /keys/{key_id}"} if open_to_anyone else set())  # a new key has closed it
    assert service.succeeded == {operation.label for operation in service.operations} - unreached
    assert service.sent.total() >= REQUESTS_MIN, service.sent


def at_the_edges(service: Described, operation: Any) -> Iterator[Any]:
    """Each bound, type and name of the document, kept and broken, one at a time."""
    config = service.schema.config.generation_for(operation=operation)
    yield from service.schema.iter_coverage_cases(
        operation, generation_modes=list(GenerationMode), generation_config=config
    )


def made_up(operation: Any, known: dict[str, Any]) -> Iterator[Any]:
    """Requests of any kind; what has nothing to fill in can only be right."""
    yield operation.as_strategy(generation_mode=GenerationMode.POSITIVE)
    if known:
        yield operation.as_strategy(generation_mode=GenerationMode.POSITIVE, **known)
    if operation.path_parameters or operation.query or operation.headers or operation.body:
        yield operation.as_strategy(generation_mode=GenerationMode.NEGATIVE)
