"""Folders that track a branch: what is pulled, what is left unchanged, and what error messages may contain."""

import logging
from pathlib import Path

import anyio
import pytest

from bookwise.adapters.git import WorkTrees
from bookwise.domain.errors import BadSource
from bookwise.settings import foreign_environment
from tests.support.git_repository import Repository, commit, git
from tests.support.scripted_http import Reply, answering

pytestmark = pytest.mark.anyio

FIRST = {"first.md": "# First\n", "docs/deep.md": "# Deep\n"}
SECOND = {"second.md": "# Second\n"}
HANGING_SSH = """#!/bin/sh
trap 'echo ended > "$0.ended"; exit 1' TERM
echo began > "$0.began"
while :; do sleep 0.1; done
"""
TALKATIVE_SSH = """#!/bin/sh
echo "cannot open 'https://robot:hunter2@server.example/owner/book.git'" >&2
exit 1
"""


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path, FIRST)


@pytest.fixture
def clone(repository: Repository, tmp_path: Path) -> Path:
    return repository.clone(tmp_path / "clone")


def work_trees(name: str = "Owner/Book", branch: str = "main", seconds: float = 60.0, **more: str) -> WorkTrees:
    return WorkTrees(name, branch, environment={**foreign_environment(), **more}, seconds=seconds)


async def failure_of(folder: Path, **options: float) -> BadSource:
    with pytest.raises(BadSource) as failed:
        await work_trees(**options).pull(folder)  # type: ignore[arg-type]
    assert str(folder) in failed.value.message
    assert "pull --ff-only" in failed.value.advice
    return failed.value


@pytest.mark.parametrize("within", [".", "docs"])
async def test_a_clone_is_brought_to_the_head_of_its_branch(repository: Repository, clone: Path, within: str) -> None:
    head = repository.push(SECOND)
    assert await work_trees().pull(clone / within)
    assert git(clone, "rev-parse", "HEAD") == head
    assert (clone / "second.md").is_file()
    assert await work_trees().pull(clone), "when there is nothing new, too"


async def test_a_folder_that_is_no_work_tree_is_left_alone(tmp_path: Path) -> None:
    assert not await work_trees().pull(tmp_path)


async def test_another_branch_and_a_single_commit_stay_checked_out(
    repository: Repository, clone: Path, caplog: pytest.LogCaptureFixture
) -> None:
    repository.push(SECOND)
    for arguments in (["checkout", "--quiet", "-b", "draft"], ["checkout", "--quiet", "--detach"]):
        git(clone, *arguments)
        before = git(clone, "rev-parse", "HEAD")
        with caplog.at_level(logging.WARNING):
            assert not await work_trees().pull(clone)
        assert git(clone, "rev-parse", "HEAD") == before
        assert "git.not-pulled" in caplog.text


@pytest.mark.parametrize("url", ["https://github.example/owner/notebook", "https://owner.example/book", "book"])
async def test_the_clone_of_another_repository_is_left_alone(clone: Path, url: str) -> None:
    git(clone, "remote", "set-url", "origin", url)
    assert not await work_trees().pull(clone)


async def test_a_work_tree_that_follows_nothing_is_left_alone(tmp_path: Path) -> None:
    git(tmp_path, "init", "--quiet", "--initial-branch=main")
    commit(tmp_path, FIRST)
    assert not await work_trees().pull(tmp_path)


async def test_a_history_that_diverged_is_reported_and_kept(repository: Repository, clone: Path) -> None:
    repository.push(SECOND)
    own = commit(clone, {"own.md": "# Written here\n"})
    assert "Not possible to fast-forward" in (await failure_of(clone)).message
    assert git(clone, "rev-parse", "HEAD") == own
    assert git(clone, "status", "--porcelain") == ""


async def test_a_change_that_was_not_committed_is_reported_and_kept(repository: Repository, clone: Path) -> None:
    repository.push({"first.md": "# First, revised\n"})
    (clone / "first.md").write_text("# First, my way\n", encoding="utf-8")
    failed = await failure_of(clone)
    assert "local changes" in failed.message
    assert "first.md" in failed.message
    assert (clone / "first.md").read_text(encoding="utf-8") == "# First, my way\n"


async def test_no_error_message_contains_credentials(clone: Path) -> None:
    git(clone, "remote", "set-url", "origin", "http://robot:hunter2@127.0.0.1:1/owner/book.git")
    assert is_discreet(await failure_of(clone), "127.0.0.1")
    over_ssh(clone, TALKATIVE_SSH)
    assert is_discreet(await failure_of(clone), "cannot open 'https://server.example/owner/book.git'")


def is_discreet(failed: BadSource, words: str) -> bool:
    assert words in failed.message
    return not any(secret in f"{failed.message} {failed.advice}" for secret in ("robot", "hunter2"))


async def test_git_never_waits_for_a_password(clone: Path) -> None:
    locked = Reply(status=401, headers={"WWW-Authenticate": "Basic realm=books"})
    async with answering(lambda _: locked) as server:
        git(clone, "remote", "set-url", "origin", f"{server.url}/owner/book.git")
        git(clone, "config", "http.proxy", "")
        failed = await failure_of(clone)
    assert server.requests
    assert "could not read Username" in failed.message


async def test_where_the_service_was_started_does_not_change_what_is_pulled(
    repository: Repository, clone: Path
) -> None:
    head = repository.push(SECOND)
    assert await work_trees(GIT_DIR=str(repository.author / ".git"), GIT_WORK_TREE="/nowhere").pull(clone)
    assert git(clone, "rev-parse", "HEAD") == head


async def test_books_in_one_work_tree_may_be_pulled_at_the_same_time(repository: Repository, clone: Path) -> None:
    head = repository.push(SECOND)
    trees = work_trees()
    async with anyio.create_task_group() as tasks:
        for within in (".", "docs", ".", "docs"):
            tasks.start_soon(trees.pull, clone / within)
    assert git(clone, "rev-parse", "HEAD") == head


def over_ssh(clone: Path, code: str) -> Path:
    """Makes the clone follow a server that is reached by this program."""
    script = clone / ".git" / "ssh-program"
    script.write_text(code, encoding="utf-8")
    script.chmod(0o755)
    git(clone, "remote", "set-url", "origin", "ssh://git@server.example/owner/book.git")
    git(clone, "config", "core.sshCommand", str(script))
    git(clone, "config", "ssh.variant", "simple")
    return script


async def appeared(path: Path) -> None:
    with anyio.fail_after(30):
        while not await anyio.Path(path).exists():  # noqa: ASYNC110 - another process makes it
            await anyio.sleep(0.01)


@pytest.mark.slow
async def test_a_server_that_never_answers_is_given_up_with_all_that_was_started(clone: Path) -> None:
    script = over_ssh(clone, HANGING_SSH)
    assert "did not finish within 3 seconds" in (await failure_of(clone, seconds=3.0)).message
    await appeared(script.with_name(f"{script.name}.ended"))


async def test_a_pull_that_is_cancelled_ends_with_all_that_it_started(repository: Repository, clone: Path) -> None:
    script = over_ssh(clone, HANGING_SSH)
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(work_trees().pull, clone)
        await appeared(script.with_name(f"{script.name}.began"))
        tasks.cancel_scope.cancel()
    await appeared(script.with_name(f"{script.name}.ended"))
    git(clone, "remote", "set-url", "origin", str(repository.bare))
    assert await work_trees().pull(clone), "no lock is left behind"
