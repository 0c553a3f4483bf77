"""A push on GitHub → the book at the head of its branch, read from a real clone."""

import hashlib
import hmac
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest
from pydantic import SecretStr

from bookwise.domain.jobs import CANCELLED
from bookwise.settings import Settings
from tests.support.apps import found, ingested
from tests.support.git_repository import Repository, commit, git, nested_repository
from tests.support.http_service import Opened, http_service

pytestmark = pytest.mark.anyio

SECRET = "a secret between GitHub and us"
FIRST = {"first.md": "# First\n\nThe very first lesson is about gearboxes.\n"}
SECOND = {"second.md": "# Second\n\nThe second lesson is about heliotrope lamps.\n"}
SECOND_REVISED = {"second.md": "# Second\n\nThe second lesson is about ultramarine lamps.\n"}


@dataclass(frozen=True, kw_only=True)
class Scene:
    """A service that reads the book "book" from a clone."""

    opened: Opened
    repository: Repository
    clone: Path

    async def deliver(self, delivery: str, **changed: Any) -> dict[str, Any]:
        pushed = {"ref": "refs/heads/main", "repository": {"full_name": "owner/book"}, "after": delivery, **changed}
        body = json.dumps(pushed).encode()
        headers = {
            "Content-Type": "application/json",
            "X-GitHub-Event": "push",
            "X-GitHub-Delivery": delivery,
            "X-Hub-Signature-256": "sha256=" + hmac.new(SECRET.encode(), body, hashlib.sha256).hexdigest(),
        }
        answer = await self.opened.client.post("/ingestion/webhook/github", content=body, headers=headers)
        receipt: dict[str, Any] = answer.raise_for_status().json()
        return receipt

    async def ended(self, job_id: int) -> dict[str, Any]:
        """The job when it is over, and nothing follows it."""
        with anyio.fail_after(60):
            while self.opened.service.runner.is_busy:  # noqa: ASYNC110 - what is waited for is the state of the product
                await anyio.sleep(0.01)
        shown = (await self.opened.client.get(f"/ingestion/status/{job_id}")).raise_for_status().json()
        job: dict[str, Any] = shown["job"]
        return job

    async def pushed(self, delivery: str, **changed: Any) -> dict[str, Any]:
        return await self.ended((await self.deliver(delivery, **changed))["job"]["job_id"])

    async def jobs(self) -> list[int]:
        """All jobs, when none is open."""
        with anyio.fail_after(60):
            while self.opened.service.runner.is_busy:  # noqa: ASYNC110 - what is waited for is the state of the product
                await anyio.sleep(0.01)
        return [job.job_id for job in await self.opened.service.app.jobs.jobs()]

    async def finds(self, words: str) -> bool:
        return words in str([hit.chunk.text for hit in (await found(self.opened.service.app, words)).hits])


@asynccontextmanager
async def serving(repository: Repository, clone: Path, data: Path) -> AsyncIterator[Scene]:
    settings = Settings(
        data_dir=data, embedder="hashing", github_webhook_secret=SecretStr(SECRET), github_repository="Owner/Book"
    )
    async with http_service(settings) as opened:
        yield Scene(opened=opened, repository=repository, clone=clone)


@pytest.fixture
async def scene(tmp_path: Path) -> AsyncIterator[Scene]:
    repository = Repository(tmp_path, FIRST)
    clone = repository.clone(tmp_path / "clone")
    async with serving(repository, clone, tmp_path / "data") as scene:
        await ingested(scene.opened.service.app, clone)
        yield scene


async def test_what_was_pushed_is_found_when_the_webhooks_job_is_over(scene: Scene) -> None:
    scene.repository.push(SECOND)
    assert not await scene.finds("heliotrope")
    job = await scene.pushed("delivery-1")
    assert (job["status"], job["error_message"]) == ("completed", None)
    assert await scene.finds("heliotrope")


async def test_a_job_that_was_triggered_by_hand_reads_the_folder_as_it_is(scene: Scene) -> None:
    scene.repository.push(SECOND)
    answer = await scene.opened.client.post("/ingestion/trigger", json={"book_id": "book"})
    assert (await scene.ended(answer.json()["job_id"]))["status"] == "completed"
    assert not await scene.finds("heliotrope")


async def test_an_old_push_that_arrives_after_a_newer_one_does_not_take_the_book_back(scene: Scene) -> None:
    old = scene.repository.push(SECOND)
    new = scene.repository.push(SECOND_REVISED)
    await scene.pushed("delivery-new", after=new)
    assert await scene.finds("ultramarine")
    await scene.pushed("delivery-old", after=old)
    assert git(scene.clone, "rev-parse", "HEAD") == new
    assert await scene.finds("ultramarine")
    assert not await scene.finds("heliotrope")


@pytest.mark.slow
async def test_a_delivery_that_comes_again_after_a_restart_starts_nothing(tmp_path: Path) -> None:
    repository = Repository(tmp_path, FIRST)
    clone = repository.clone(tmp_path / "clone")
    async with serving(repository, clone, tmp_path / "data") as scene:
        await ingested(scene.opened.service.app, clone)
        old = repository.push(SECOND)
        await scene.pushed("delivery-1", after=old)
        new = repository.push(SECOND_REVISED)
        await scene.pushed("delivery-2", after=new)
    async with serving(repository, clone, tmp_path / "data") as scene:
        assert (await scene.deliver("delivery-1", after=old))["outcome"] == "duplicate"
        assert git(clone, "rev-parse", "HEAD") == new
        assert await scene.finds("ultramarine")


@pytest.mark.slow
async def test_a_push_that_was_accepted_and_left_to_the_next_start_is_not_lost(tmp_path: Path) -> None:
    repository = Repository(tmp_path, FIRST)
    clone = repository.clone(tmp_path / "clone")
    async with serving(repository, clone, tmp_path / "data") as scene:
        await ingested(scene.opened.service.app, clone)
        repository.push(SECOND)
        accepted = await scene.deliver("delivery-1")  # and the service stops, before or while its job runs
    async with serving(repository, clone, tmp_path / "data") as scene:
        assert (await scene.ended(accepted["job"]["job_id"]))["status"] == "completed"
        assert await scene.finds("heliotrope")


@pytest.mark.slow
async def test_a_push_that_waited_for_a_job_is_not_lost_when_the_service_is_killed_before_the_next(
    tmp_path: Path,
) -> None:
    repository = Repository(tmp_path, FIRST)
    clone = repository.clone(tmp_path / "clone")
    async with serving(repository, clone, tmp_path / "data") as scene:
        await ingested(scene.opened.service.app, clone)
        repository.push(SECOND)
        await scene.opened.service.app.deliveries.claim("delivery-1")  # the job has begun before, and ended since
    async with serving(repository, clone, tmp_path / "data") as scene:
        jobs = await scene.jobs()
        assert await scene.finds("heliotrope")
    async with serving(repository, clone, tmp_path / "data") as scene:
        assert await scene.jobs() == jobs, "once is enough"


@pytest.mark.slow
async def test_a_push_whose_job_has_ended_or_was_cancelled_starts_nothing_at_the_next_start(tmp_path: Path) -> None:
    repository = Repository(tmp_path, FIRST)
    clone = repository.clone(tmp_path / "clone")
    async with serving(repository, clone, tmp_path / "data") as scene:
        await ingested(scene.opened.service.app, clone)
        await scene.pushed("delivery-1")
        jobs = await scene.jobs()
    async with serving(repository, clone, tmp_path / "data") as scene:
        assert await scene.jobs() == jobs
        app = scene.opened.service.app
        cancelled = await app.jobs.open("book", "incremental", str(clone))
        await app.deliveries.claim("delivery-2")
        await app.jobs.fail(cancelled.job_id, CANCELLED)
        jobs = await scene.jobs()
    async with serving(repository, clone, tmp_path / "data") as scene:
        assert await scene.jobs() == jobs


async def test_a_clone_that_cannot_be_pulled_fails_the_job_and_loses_nothing(scene: Scene) -> None:
    own = commit(scene.clone, {"own.md": "# Own\n\nWritten on the server, about quicksilver.\n"})
    scene.repository.push(SECOND)
    job = await scene.pushed("delivery-1")
    assert job["status"] == "failed"
    assert "Not possible to fast-forward" in job["error_message"]
    assert "clone" in job["error_message"]
    assert str(scene.clone.parent) not in json.dumps(job), "not where the folder is on the machine"
    assert git(scene.clone, "rev-parse", "HEAD") == own
    assert await scene.finds("gearboxes"), "the book is as it was"
    git(scene.clone, "reset", "--quiet", "--hard", "origin/main~1")
    assert (await scene.pushed("delivery-2"))["status"] == "completed"
    assert await scene.finds("heliotrope")


async def test_a_failed_pull_does_not_tell_the_password_of_the_repository(
    scene: Scene, caplog: pytest.LogCaptureFixture
) -> None:
    git(scene.clone, "remote", "set-url", "origin", "http://robot:hunter2@127.0.0.1:1/owner/book.git")
    job = await scene.pushed("delivery-1")
    assert job["status"] == "failed"
    assert "127.0.0.1" in job["error_message"]
    listed = (await scene.opened.client.get("/ingestion/jobs")).text
    assert "hunter2" not in listed + caplog.text
    assert "robot" not in listed + caplog.text


async def test_pushes_while_one_is_pulled_end_at_the_last_head(scene: Scene) -> None:
    scene.repository.push(SECOND)
    first = await scene.deliver("delivery-0")
    for number in range(1, 6):
        scene.repository.push({"second.md": f"# Second\n\nThis is revision number{number} of the lamps.\n"})
        await scene.deliver(f"delivery-{number}")
    await scene.ended(first["job"]["job_id"])
    assert await scene.finds("number5")


async def test_a_repository_that_was_pushed_into_the_book_folder_is_not_obeyed(tmp_path: Path) -> None:
    executed = tmp_path / "executed"
    repository = Repository(tmp_path, {f"docs/{name}": text for name, text in FIRST.items()})
    clone = repository.clone(tmp_path / "clone")
    orders = f"""[core]
	sshCommand = touch {executed};
	fsmonitor = touch {executed};
[remote "origin"]
	url = ssh://git@server.example/owner/book.git
"""
    async with serving(repository, clone, tmp_path / "data") as scene:
        await ingested(scene.opened.service.app, clone / "docs")
        repository.push(nested_repository("docs", orders))
        assert (await scene.pushed("delivery-1"))["status"] == "completed"
        repository.push({f"docs/{name}": text for name, text in SECOND.items()})
        assert (await scene.pushed("delivery-2"))["status"] == "completed"
        assert await scene.finds("heliotrope")
    assert not await anyio.Path(executed).exists()
