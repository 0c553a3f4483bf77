"""Ingestion over HTTP: who may start it, from where, how it is watched and stopped, and what GitHub may say."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from fastapi import FastAPI
from pydantic import SecretStr

from bookwise.api.app import create_app
from bookwise.api.job_runner import open_job_runner
from bookwise.api.state import ServiceState
from bookwise.settings import Settings
from bookwise.wiring import open_app
from tests.support.apps import ingested, write_book
from tests.support.gated_embedder import GatedEmbedder
from tests.support.http_service import DELIBERATE

pytestmark = pytest.mark.anyio

SECRET = "a secret between GitHub and us"
FIRST = {"first.md": "# First\n\nThe very first lesson of all.\n"}
SECOND = {"second.md": "# Second\n\nA second lesson comes in.\n"}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """The service with the book "book", already ingested; whatever is embedded from now on waits at the gate."""

    client: httpx2.AsyncClient
    service: ServiceState
    embedder: GatedEmbedder
    root: Path

    async def trigger(self, **body: Any) -> httpx2.Response:
        return await self.client.post("/ingestion/trigger", json={"book_id": "book", **body})

    async def job_when(self, job_id: int, fits: Callable[[dict[str, Any]], bool]) -> dict[str, Any]:
        """The status of the job, as soon as the job fits."""
        with anyio.fail_after(20):
            while True:
                shown: dict[str, Any] = (await self.client.get(f"/ingestion/status/{job_id}")).raise_for_status().json()
                if fits(shown["job"]):
                    return shown
                await anyio.sleep(0.01)

    async def ended(self, job_id: int) -> dict[str, Any]:
        return await self.job_when(job_id, lambda job: job["completed_at"] is not None)

    async def jobs(self) -> list[int]:
        return [job.job_id for job in await self.service.app.jobs.jobs(limit=100)]

    async def push(self, delivery: str = "delivery-1", *, event: str = "push", **changed: Any) -> httpx2.Response:
        pushed = {"ref": "refs/heads/main", "repository": {"full_name": "owner/book"}, "after": delivery, **changed}
        body = json.dumps(pushed).encode()
        return await self.deliver(body, delivery, event=event, signature=signed(body))

    async def deliver(self, body: bytes, delivery: str, *, event: str = "push", signature: str) -> httpx2.Response:
        headers = {"X-GitHub-Event": event, "X-GitHub-Delivery": delivery, "X-Hub-Signature-256": signature}
        headers |= {"Content-Type": "application/json"}
        return await self.client.post("/ingestion/webhook/github", content=body, headers=headers)


def signed(body: bytes, secret: str = SECRET) -> str:
    return "sha256=" + hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()


@asynccontextmanager
async def client_of(app: FastAPI, key: str = "") -> AsyncIterator[httpx2.AsyncClient]:
    headers = {"Authorization": f"Bearer {key}"} if key else DELIBERATE
    transport = httpx2.ASGITransport(app)
    async with httpx2.AsyncClient(transport=transport, base_url="http://127.0.0.1", headers=headers) as client:
        yield client


@asynccontextmanager
async def opened(folder: Path, *, open_to_anyone: bool = True, **others: Any) -> AsyncIterator[tuple[FastAPI, Scene]]:
    settings = Settings(data_dir=folder / "data", embedder="hashing", **others)
    root = write_book(folder / "book", FIRST)
    async with open_app(settings) as setup:
        await ingested(setup, root)
    embedder = GatedEmbedder()
    embedder.is_open = False
    app = create_app(settings, open_to_anyone=open_to_anyone)
    async with app.router.lifespan_context(app):
        whole: ServiceState = app.state.service
        gated = replace(whole.app, embedder=embedder)
        async with open_job_runner(gated) as runner, client_of(app) as client:
            app.state.service = service = replace(whole, app=gated, runner=runner)
            yield app, Scene(client=client, service=service, embedder=embedder, root=root)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    async with opened(tmp_path, github_webhook_secret=SecretStr(SECRET), github_repository="Owner/Book") as (_, found):
        yield found


async def test_a_triggered_job_is_accepted_watched_and_completed(scene: Scene) -> None:
    write_book(scene.root, SECOND | {"third.md": "# Third\n\nRun it:\n\n{{#include missing.rs}}\n"})
    accepted = await scene.trigger()
    assert accepted.status_code == 202
    job_id = accepted.json()["job_id"]
    assert accepted.headers["location"] == f"/ingestion/status/{job_id}"
    half = await scene.job_when(job_id, lambda job: job["total_files"] > 0)
    assert (half["job"]["status"], half["job"]["total_files"]) == ("running", 3)
    scene.embedder.is_open = True
    scene.embedder.let_pass()
    done = await scene.ended(job_id)
    assert (done["job"]["status"], done["job"]["error_message"]) == ("completed", None)
    assert "second.md" in [lesson["source_file"] for lesson in done["lessons"] if lesson["status"] == "published"]
    assert [warning.partition(":")[0] for warning in done["job"]["warnings"]] == ["third.md"]
    listed = (await scene.client.get("/ingestion/jobs", params={"book_id": "book", "limit": 1})).json()
    assert listed["jobs"] == [done["job"]]


async def test_a_second_trigger_meanwhile_finds_that_a_job_exists(scene: Scene) -> None:
    first = (await scene.trigger(mode="recreate")).json()
    refused = await scene.trigger()
    assert refused.status_code == 409
    assert refused.headers["content-type"] == "application/problem+json"
    assert refused.json()["code"] == "job-exists"
    assert f"job {first['job_id']}" in refused.json()["detail"]
    scene.embedder.let_pass()
    assert (await scene.ended(first["job_id"]))["job"]["status"] == "completed"


async def test_a_cancelled_job_fails_as_cancelled_and_frees_the_book(scene: Scene) -> None:
    write_book(scene.root, SECOND)
    job_id = (await scene.trigger()).json()["job_id"]
    await scene.job_when(job_id, lambda job: job["total_files"] > 0)
    for _ in range(2):
        assert (await scene.client.post(f"/ingestion/jobs/{job_id}/cancel")).status_code == 202
    job = (await scene.ended(job_id))["job"]
    assert (job["status"], job["error_message"], job["files_processed"]) == ("failed", "cancelled", 0)
    assert [record.source_file for record in await scene.service.app.catalog.records("book")] == ["first.md"]
    late = await scene.client.post(f"/ingestion/jobs/{job_id}/cancel")
    assert late.json() == job, "a job that has ended stays as it is"
    scene.embedder.is_open = True
    assert (await scene.ended((await scene.trigger()).json()["job_id"]))["job"]["status"] == "completed"


async def test_changes_name_what_an_ingest_would_do(scene: Scene) -> None:
    (scene.root / "first.md").unlink()
    write_book(scene.root, SECOND)
    shown = await scene.client.get("/ingestion/changes", params={"book_id": "book"})
    assert shown.status_code == 200
    assert shown.json() == {
        "book_id": "book",
        "new": ["second.md"],
        "modified": [],
        "deleted": ["first.md"],
        "unchanged": 0,
        "unreadable": [],
    }


@pytest.mark.parametrize(
    "body",
    [
        {"path": "/etc"},
        {"source": "/etc"},
        {"root": "https://elsewhere.example/"},
        {"book_id": "/etc"},
        {"book_id": "../book"},
        {"book_id": "https://elsewhere.example/"},
        {"book_id": "book\n"},
        {"mode": "delete"},
        {"book_id": None},
    ],
)
async def test_no_request_can_say_where_to_read_from(scene: Scene, body: dict[str, Any]) -> None:
    before = await scene.jobs()
    assert (await scene.trigger(**body)).status_code == 422
    assert await scene.jobs() == before


@pytest.mark.parametrize(
    ("method", "address"),
    [
        ("POST", "/ingestion/trigger"),
        ("GET", "/ingestion/status/1"),
        ("GET", "/ingestion/jobs"),
        ("POST", "/ingestion/jobs/1/cancel"),
        ("GET", "/ingestion/changes?book_id=book"),
    ],
)
async def test_only_an_admin_may_ingest(tmp_path: Path, method: str, address: str) -> None:
    async with opened(tmp_path, open_to_anyone=False) as (app, scene):
        body = {"book_id": "book"} if address.endswith("trigger") else None
        assert (await scene.client.request(method, address, json=body)).status_code == 401
        _, reader = await scene.service.keys.create("a reader", "reader")
        async with client_of(app, reader) as client:
            assert (await client.request(method, address, json=body)).status_code == 403


async def test_an_admin_of_other_books_finds_no_such_book_and_no_such_job(tmp_path: Path) -> None:
    async with opened(tmp_path, open_to_anyone=False) as (app, scene):
        [job_id] = await scene.jobs()
        _, key = await scene.service.keys.create("another admin", "admin", books=["other"])
        _, whole = await scene.service.keys.create("the operator", "admin")
        async with client_of(app, key) as client:
            foreign = await client.get(f"/ingestion/status/{job_id}")
            absent = await client.get("/ingestion/status/4711")
            assert foreign.status_code == absent.status_code == 404
            assert foreign.json()["detail"].replace(str(job_id), "N") == absent.json()["detail"].replace("4711", "N")
            assert foreign.json()["advice"] == absent.json()["advice"]
            assert (await client.post(f"/ingestion/jobs/{job_id}/cancel")).status_code == 404
            assert (await client.post("/ingestion/trigger", json={"book_id": "book"})).status_code == 404
            assert (await client.get("/ingestion/changes", params={"book_id": "book"})).status_code == 404
            assert (await client.get("/ingestion/jobs", params={"book_id": "book"})).status_code == 404
            assert (await client.get("/ingestion/jobs")).json() == {"jobs": []}
        async with client_of(app, whole) as client:
            assert [job["job_id"] for job in (await client.get("/ingestion/jobs")).json()["jobs"]] == [job_id]


async def test_a_book_and_a_job_that_are_not_there_are_not_found(scene: Scene) -> None:
    assert (await scene.trigger(book_id="absent")).json()["code"] == "not-found"
    for job_id in ("4711", "0", "-1", str(2**70)):
        assert (await scene.client.get(f"/ingestion/status/{job_id}")).status_code == 404
    assert (await scene.client.get("/ingestion/status/one")).status_code == 422
    assert (await scene.client.get("/ingestion/jobs", params={"limit": 0})).status_code == 422


async def test_a_signed_push_ingests_the_book(scene: Scene) -> None:
    write_book(scene.root, SECOND)
    scene.embedder.is_open = True
    answer = await scene.push()
    assert answer.status_code == 202
    assert answer.json()["outcome"] == "accepted"
    assert (await scene.ended(answer.json()["job"]["job_id"]))["job"]["status"] == "completed"
    assert len(await scene.service.app.catalog.records("book")) == 2


async def test_the_signature_of_a_push_takes_the_place_of_a_key(tmp_path: Path) -> None:
    hook = {"github_webhook_secret": SecretStr(SECRET), "github_repository": "owner/book"}
    async with opened(tmp_path, open_to_anyone=False, **hook) as (_, scene):
        scene.embedder.is_open = True
        assert (await scene.push()).status_code == 202


BODY = b'{"ref": "refs/heads/main", "repository": {"full_name": "owner/book"}}'


@pytest.mark.parametrize(
    "signature",
    [
        "",
        "sha256=",
        signed(BODY)[:-1],
        signed(BODY).upper(),
        signed(BODY).removeprefix("sha256="),
        signed(BODY + b" "),
        signed(BODY, "another secret"),
        "sha1=" + hmac.new(SECRET.encode(), BODY, hashlib.sha1).hexdigest(),
        "sha256=é",
    ],
)
async def test_a_delivery_with_a_wrong_signature_starts_nothing(scene: Scene, signature: str) -> None:
    before = await scene.jobs()
    refused = await scene.client.post(
        "/ingestion/webhook/github",
        content=BODY,
        headers=[
            (b"X-GitHub-Event", b"push"),
            (b"X-GitHub-Delivery", b"delivery-1"),
            (b"X-Hub-Signature-256", signature.encode("latin-1")),
        ],
    )
    assert refused.status_code == 401
    assert refused.json()["code"] == "unauthenticated"
    assert await scene.jobs() == before


async def test_a_delivery_that_comes_again_starts_nothing_more(scene: Scene) -> None:
    scene.embedder.is_open = True
    job_id = (await scene.push()).json()["job"]["job_id"]
    await scene.ended(job_id)
    before = await scene.jobs()
    for _ in range(100):
        again = await scene.push()
        assert (again.status_code, again.json()["outcome"]) == (200, "duplicate")
    assert await scene.jobs() == before


async def test_a_signed_body_is_accepted_once_whatever_its_delivery_id(scene: Scene) -> None:
    scene.embedder.is_open = True
    body = json.dumps({"ref": "refs/heads/main", "repository": {"full_name": "owner/book"}}).encode()
    outcomes = [
        (await scene.deliver(body, f"delivery-{number}", signature=signed(body))).json()["outcome"]
        for number in range(20)
    ]
    assert outcomes == ["accepted"] + ["duplicate"] * 19


async def test_one_push_may_be_delivered_for_two_books(scene: Scene) -> None:
    scene.embedder.is_open = True
    await ingested(scene.service.app, scene.root, book_id="second")
    body = json.dumps({"ref": "refs/heads/main", "repository": {"full_name": "owner/book"}}).encode()
    headers = {"X-GitHub-Event": "push", "X-Hub-Signature-256": signed(body), "Content-Type": "application/json"}
    for outcome in ("accepted", "duplicate"):
        for book_id in ("book", "second"):
            path = f"/ingestion/webhook/github?book_id={book_id}"
            answer = await scene.client.post(path, content=body, headers={**headers, "X-GitHub-Delivery": book_id})
            assert answer.json()["outcome"] == outcome


async def test_a_delivery_that_failed_may_come_again(scene: Scene) -> None:
    scene.embedder.is_open = True
    book = await scene.service.app.catalog.book("book")
    await scene.service.app.catalog.register(replace(book, source=""))
    assert (await scene.push()).status_code == 404
    await scene.service.app.catalog.register(book)
    assert (await scene.push()).json()["outcome"] == "accepted"


async def test_a_burst_of_pushes_becomes_the_running_job_and_one_more(scene: Scene) -> None:
    write_book(scene.root, SECOND)
    job_id = (await scene.trigger()).json()["job_id"]
    await scene.job_when(job_id, lambda job: job["total_files"] > 0)
    write_book(scene.root, {"third.md": "# Third\n\nThe third lesson was too late for the job.\n"})
    before = await scene.jobs()
    for number in range(50):
        assert (await scene.push(f"delivery-{number}")).json()["job"]["job_id"] == job_id
    scene.embedder.is_open = True
    scene.embedder.let_pass()
    with anyio.fail_after(20):
        while scene.service.runner.is_busy:  # noqa: ASYNC110 - what is waited for is the state of the product
            await anyio.sleep(0.01)
    assert len(await scene.jobs()) == len(before) + 1
    assert len(await scene.service.app.catalog.records("book")) == 3


@pytest.mark.parametrize(
    "changed",
    [
        {"ref": "refs/heads/draft"},
        {"ref": "refs/tags/main"},
        {"ref": "main"},
        {"repository": {"full_name": "somebody/book"}},
        {"repository": {"full_name": ""}},
        {"deleted": True},
        {"event": "issues"},
    ],
)
async def test_what_does_not_concern_the_book_is_accepted_and_ignored(scene: Scene, changed: dict[str, Any]) -> None:
    before = await scene.jobs()
    answer = await scene.push(**changed)
    assert (answer.status_code, answer.json()) == (202, {"outcome": "ignored", "job": None})
    assert await scene.jobs() == before


async def test_a_ping_is_answered(scene: Scene) -> None:
    answer = await scene.push(event="ping")
    assert (answer.status_code, answer.json()["outcome"]) == (200, "pong")


@pytest.mark.parametrize("body", [b"[]", b"{}", b"payload=%7B%7D", b"[" * 50_000, b'{"ref": "\xff"}'])
async def test_a_signed_body_that_is_no_push_is_refused(scene: Scene, body: bytes) -> None:
    before = await scene.jobs()
    assert (await scene.deliver(body, "delivery-1", signature=signed(body))).status_code == 422
    assert await scene.jobs() == before


@pytest.mark.parametrize("half", [{"github_webhook_secret": SecretStr(SECRET)}, {"github_repository": "owner/book"}])
async def test_a_webhook_that_is_not_set_up_is_not_there(tmp_path: Path, half: dict[str, Any]) -> None:
    async with opened(tmp_path, **half) as (_, scene):
        assert (await scene.push()).status_code == 404


async def test_no_response_tells_where_a_book_is_on_the_machine(scene: Scene) -> None:
    scene.embedder.is_open = True
    scene.root.rename(scene.root.with_name("moved"))
    job_id = (await scene.trigger()).json()["job_id"]
    ended = await scene.ended(job_id)
    assert ended["job"]["status"] == "failed"
    assert scene.root.name in ended["job"]["error_message"]
    listed = await scene.client.get("/ingestion/jobs")
    previewed = await scene.client.get("/ingestion/changes?book_id=book")
    assert (previewed.status_code, previewed.json()["code"]) == (404, "not-found")
    for text in (json.dumps(ended), listed.text, previewed.text):
        assert str(scene.root.parent) not in text
    stored = await scene.service.app.jobs.job(job_id)
    assert str(scene.root) in (stored.error_message or ""), "the operator reads the whole message"
