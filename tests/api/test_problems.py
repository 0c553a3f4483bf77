"""What goes wrong, as a client is told it: always a problem, never a page, a stack or what was sent."""

import re

import pytest

from bookwise.api.problems import MEDIA_TYPE, RETRY_SECONDS, TYPES, problem_of
from bookwise.domain import errors
from bookwise.domain.errors import BookwiseError
from tests.architecture.test_rules import descendants
from tests.support.http_service import Opened

pytestmark = pytest.mark.anyio

SECRET = "swordfish-4711"


def raised(kind: type[BookwiseError]) -> BookwiseError:
    if issubclass(kind, errors.BadLesson | errors.ModelUnavailable):
        return kind("a-reason", "What happened.", advice="What to do.")
    return kind("What happened.", advice="What to do.")


@pytest.mark.parametrize("kind", descendants(BookwiseError))
def test_every_error_has_a_problem_of_the_closed_list(kind: type[BookwiseError]) -> None:
    body = problem_of(raised(kind)).body("/somewhere")
    assert body["type"] == f"https://bookwise.example/problems/{body['code']}"
    assert body["status"] == TYPES[body["code"]][0]
    assert body["title"]
    assert body["detail"]
    assert body["advice"]
    assert body["instance"] == "/somewhere"


@pytest.mark.parametrize(
    ("error", "status", "code"),
    [
        (errors.InvalidInput(""), 422, "validation"),
        (errors.BadSource(""), 422, "unsupported-source"),
        (errors.NotFound(""), 404, "not-found"),
        (errors.ThreadBusy(""), 409, "session-busy"),
        (errors.RequestRunning(""), 409, "idempotency-in-progress"),
        (errors.RequestMismatch(""), 422, "idempotency-mismatch"),
        (errors.Conflict(""), 503, "overloaded"),
        (errors.JobAlreadyRunning(""), 409, "job-exists"),
        (errors.EmbedderMismatch(""), 503, "index-mismatch"),
        (errors.StoreUnavailable(""), 503, "store-unavailable"),
        (errors.DiskFull(""), 507, "insufficient-storage"),
        (errors.IndexUnavailable(""), 503, "index-unavailable"),
        (errors.EmbedderUnavailable(""), 503, "upstream-unavailable"),
        (errors.ModelUnavailable("rate-limited", ""), 503, "upstream-unavailable"),
        (errors.ModelUnavailable("timeout", ""), 504, "upstream-timeout"),
        (errors.ModelUnavailable("bad-response", ""), 502, "upstream-bad-response"),
        (errors.Unauthenticated(""), 401, "unauthenticated"),
        (errors.Forbidden(""), 403, "forbidden"),
        (errors.TooManyRequests(""), 429, "rate-limited"),
        (errors.Misconfigured(""), 500, "internal"),
        (errors.DamagedData(""), 503, "store-unavailable"),
    ],
)
def test_an_error_becomes_the_status_its_family_says(error: BookwiseError, status: int, code: str) -> None:
    problem = problem_of(error)
    assert (problem.http_status, problem.body()["code"]) == (status, code)


@pytest.mark.parametrize(
    "kind", [errors.Misconfigured, errors.MissingModel, errors.DamagedData, errors.StoreUnavailable, errors.DiskFull]
)
def test_what_only_the_operator_can_mend_is_not_told_to_readers(kind: type[BookwiseError]) -> None:
    assert SECRET not in str(problem_of(kind(f"/srv/{SECRET} is damaged", advice=SECRET)).body())


def test_who_must_wait_is_told_how_long() -> None:
    assert problem_of(errors.TooManyRequests("", retry_after=12.2)).headers == {"Retry-After": "13"}
    assert problem_of(errors.TooManyRequests("", retry_after=-3)).headers == {"Retry-After": "1"}
    assert problem_of(errors.StoreUnavailable("")).headers == {"Retry-After": f"{RETRY_SECONDS:.0f}"}
    for passing in (errors.ThreadBusy(""), errors.RequestRunning("")):
        assert problem_of(passing).headers == {"Retry-After": f"{RETRY_SECONDS:.0f}"}
    assert problem_of(errors.JobAlreadyRunning("")).headers == {}
    assert problem_of(errors.NotFound("")).headers == {}
    assert problem_of(errors.Unauthenticated("")).headers == {"WWW-Authenticate": "Bearer"}


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [("GET", "/nowhere", 404), ("GET", "/%00%2e%2e%2fetc", 404), ("PUT", "/books", 405), ("GET", "/chat/run", 405)],
)
async def test_an_unknown_address_or_method_is_a_problem_too(
    empty: Opened, method: str, path: str, status: int
) -> None:
    answer = await empty.client.request(method, path)
    assert (answer.status_code, answer.headers["content-type"]) == (status, MEDIA_TYPE)
    assert answer.json()["status"] == status
    assert answer.json()["request_id"] == answer.headers["x-request-id"]


async def test_what_is_not_valid_is_named_by_its_place_and_never_repeated(empty: Opened) -> None:
    sent = {"message": "What?", "top_k": SECRET, "engine": SECRET, "surprise": SECRET}
    answer = await empty.client.post("/chat/run", json=sent)
    assert answer.status_code == 422
    assert answer.json()["code"] == "validation"
    assert {entry["pointer"] for entry in answer.json()["errors"]} == {"#/top_k", "#/engine", "#/surprise"}
    assert all(entry["message"] and entry["in"] == "body" for entry in answer.json()["errors"])
    assert SECRET not in answer.text


@pytest.mark.parametrize(("path", "pointer"), [("/session/none", "#/session_id"), ("/context/none", "#/chunk_id")])
async def test_an_id_that_is_none_is_not_valid(empty: Opened, path: str, pointer: str) -> None:
    answer = await empty.client.get(path)
    assert answer.status_code == 422
    assert [(entry["in"], entry["pointer"]) for entry in answer.json()["errors"]] == [("path", pointer)]


async def test_broken_json_is_malformed_at_its_position(empty: Opened) -> None:
    answer = await empty.client.post(
        "/chat/run", content=b'{"message": "hi",}', headers={"Content-Type": "application/json"}
    )
    assert (answer.status_code, answer.json()["code"]) == (400, "malformed-request")
    assert re.search(r"at character 1[67]\b", answer.json()["detail"])


async def test_a_bug_shows_nothing_but_the_id_of_the_request(empty: Opened, caplog: pytest.LogCaptureFixture) -> None:
    async def buggy() -> None:
        raise RuntimeError(f"SELECT {SECRET} FROM /srv/data")

    empty.app.add_api_route("/bug", buggy)
    answer = await empty.client.get("/bug")
    assert (answer.status_code, answer.json()["code"]) == (500, "internal")
    assert answer.json()["request_id"] == answer.headers["x-request-id"]
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert SECRET not in answer.text
    assert SECRET in caplog.text, "the operator must be able to find it"


@pytest.mark.parametrize("kind", [errors.Misconfigured, errors.DamagedData])
async def test_what_is_hidden_from_readers_stands_in_the_operators_log_once_without_what_was_sent(
    empty: Opened, caplog: pytest.LogCaptureFixture, kind: type[BookwiseError]
) -> None:
    async def damaged() -> None:
        raise kind(f"/srv/{SECRET} is damaged.", advice="Mend it.")

    empty.app.add_api_route("/damaged", damaged)
    answer = await empty.client.get("/damaged", params={"question": "a reader's words"})
    assert answer.status_code in (500, 503)
    assert SECRET not in answer.text
    told = [record for record in caplog.records if SECRET in record.getMessage()]
    assert [(record.levelname, record.getMessage()) for record in told] == [
        ("ERROR", f"/srv/{SECRET} is damaged. Mend it.")
    ]
    assert "a reader's words" not in caplog.text


async def test_a_host_that_is_none_is_refused(empty: Opened) -> None:
    for headers in ({"Host": "["}, {"Origin": "http://[::1"}, {"Host": "a]b"}):
        answer = await empty.client.get("/books", headers=headers)
        assert (answer.status_code, answer.json()["code"]) == (403, "forbidden"), headers
