"""What a commit can put into a book folder must never run, and must never lead the service out of its clone."""

import os
import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest

from bookwise.adapters.data_folder import lock_data_folder
from bookwise.adapters.git import WorkTrees
from bookwise.domain.errors import BadSource
from bookwise.settings import foreign_environment
from tests.support.git_repository import Repository, commit, git, nested_repository

pytestmark = pytest.mark.anyio

FIRST = {"docs/first.md": "# First\n"}
SECOND = {"docs/second.md": "# Second\n"}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path, FIRST)


@pytest.fixture
def clone(repository: Repository, tmp_path: Path) -> Path:
    return repository.clone(tmp_path / "clone")


@pytest.fixture
def marker(tmp_path: Path) -> Path:
    """A file that only the attacker's program writes."""
    return tmp_path / "executed"


@pytest.fixture
def program(tmp_path: Path, marker: Path) -> Path:
    """The attacker's program."""
    script = tmp_path / "program"
    script.write_text(f'#!/bin/sh\necho "$0 $*" >> {marker}\n', encoding="utf-8")
    script.chmod(0o755)
    return script


def was_run(marker: Path) -> bool:
    return marker.exists()


async def pull(folder: Path, environment: Mapping[str, str] | None = None) -> bool:
    trees = WorkTrees("owner/book", "main", environment={**foreign_environment(), **(environment or {})}, seconds=60)
    return await trees.pull(folder)


@pytest.mark.parametrize(
    "config",
    [
        '[core]\n\tsshCommand = {program}\n[remote "origin"]\n\turl = ssh://git@server.example/owner/book.git\n',
        '[core]\n\tfsmonitor = {program}\n[remote "origin"]\n\turl = {bare}\n',
        '[remote "origin"]\n\turl = {bare}\n\tuploadpack = {program}\n',
        '[remote "origin"]\n\turl = ext::{program} owner/book\n[protocol "ext"]\n\tallow = always\n',
        '[remote "origin"]\n\turl = http://127.0.0.1:1/owner/book.git\n[core]\n\tgitProxy = {program}\n'
        "[credential]\n\thelper = {program}\n",
    ],
    ids=["ssh-command", "fsmonitor", "upload-pack", "ext-transport", "helpers"],
)
async def test_a_repository_inside_the_book_folder_gives_no_orders(
    repository: Repository, clone: Path, program: Path, marker: Path, config: str
) -> None:
    orders = config.format(program=program, bare=repository.bare)
    repository.push(nested_repository("docs", orders))
    assert await pull(clone / "docs")
    assert (clone / "docs" / "HEAD").is_file(), "the nested repository is in the book folder"
    head = repository.push(SECOND)
    assert await pull(clone / "docs"), "the clone is updated, not the nested repository"
    assert git(clone, "rev-parse", "HEAD") == head
    assert not was_run(marker)


async def test_hooks_in_the_book_folder_and_in_the_clone_never_run(
    repository: Repository, clone: Path, program: Path, marker: Path
) -> None:
    for folder in (clone / ".git" / "hooks", repository.author / "docs" / "hooks"):
        folder.mkdir(exist_ok=True)
        for name in ("post-merge", "post-checkout", "reference-transaction", "pre-auto-gc", "fsmonitor-watchman"):
            shutil.copy(program, folder / name)
    repository.push(nested_repository("docs", "[core]\n\thooksPath = hooks\n"))
    assert await pull(clone / "docs")
    repository.push(SECOND)
    assert await pull(clone / "docs")
    assert not was_run(marker)


async def test_a_file_system_monitor_never_runs(
    repository: Repository, clone: Path, program: Path, marker: Path
) -> None:
    git(clone, "config", "core.fsmonitor", str(program))
    head = repository.push(SECOND)
    assert await pull(clone)
    assert not was_run(marker)
    assert git(clone, "-c", "core.fsmonitor=false", "rev-parse", "HEAD") == head


async def test_the_environment_gives_no_orders(
    repository: Repository, clone: Path, program: Path, marker: Path
) -> None:
    head = repository.push(SECOND)
    orders = {
        "GIT_CONFIG_COUNT": "1",
        "GIT_CONFIG_KEY_0": "core.fsmonitor",
        "GIT_CONFIG_VALUE_0": str(program),
        "GIT_EXTERNAL_DIFF": str(program),
        "GIT_OBJECT_DIRECTORY": "/nowhere",
        "GIT_CONFIG_PARAMETERS": f"'core.hooksPath'='{program.parent}'",
    }
    assert await pull(clone, orders)
    assert git(clone, "rev-parse", "HEAD") == head
    assert not was_run(marker)


async def test_a_transport_that_runs_a_program_is_refused(clone: Path, program: Path, marker: Path) -> None:
    git(clone, "remote", "set-url", "origin", f"ext::{program} /owner/book")
    git(clone, "config", "protocol.ext.allow", "always")
    with pytest.raises(BadSource, match="transport 'ext' not allowed"):
        await pull(clone)
    assert not was_run(marker)


def add_submodule(work_tree: Path, name: str, other: Path) -> None:
    """Adds a new repository as a submodule."""
    other.mkdir()
    git(other, "init", "--quiet", "--initial-branch=main")
    commit(other, {"third.md": "# Third\n"})
    git(work_tree, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(other), name)


async def test_a_submodule_in_the_book_folder_is_refused_and_nothing_changes(
    repository: Repository, clone: Path, tmp_path: Path
) -> None:
    before = git(clone, "rev-parse", "HEAD")
    add_submodule(repository.author, "docs/third", tmp_path / "other")
    repository.push({})
    with pytest.raises(BadSource, match=r"submodule.*docs/third"):
        await pull(clone / "docs")
    assert git(clone, "rev-parse", "HEAD") == before
    assert not (clone / ".gitmodules").exists()


async def test_a_submodule_beside_the_book_folder_is_not_fetched(
    repository: Repository, clone: Path, tmp_path: Path
) -> None:
    git(clone, "config", "submodule.recurse", "true")
    git(clone, "config", "fetch.recurseSubmodules", "true")
    add_submodule(repository.author, "theme", tmp_path / "other")
    head = repository.push(SECOND)
    assert await pull(clone / "docs")
    assert git(clone, "rev-parse", "HEAD") == head
    assert list((clone / "theme").iterdir()) == []


async def test_a_book_folder_inside_a_submodule_is_left_alone(repository: Repository, tmp_path: Path) -> None:
    outer = tmp_path / "outer"
    outer.mkdir()
    git(outer, "init", "--quiet", "--initial-branch=main")
    git(outer, "-c", "protocol.file.allow=always", "submodule", "--quiet", "add", str(repository.bare), "book")
    head = git(outer / "book", "rev-parse", "HEAD")
    repository.push(SECOND)
    assert not await pull(outer / "book" / "docs")
    assert git(outer / "book", "rev-parse", "HEAD") == head


async def test_a_commit_that_turns_the_book_folder_into_a_link_is_refused(
    repository: Repository, clone: Path, tmp_path: Path
) -> None:
    private = tmp_path / "private"
    private.mkdir()
    (private / "diary.md").write_text("# Diary\n", encoding="utf-8")
    (repository.author / "docs" / "first.md").unlink()
    (repository.author / "docs").rmdir()
    (repository.author / "docs").symlink_to(private)
    repository.push({})
    with pytest.raises(BadSource, match="docs is no longer a folder"):
        await pull(clone / "docs")
    assert (clone / "docs" / "first.md").is_file(), "the folder is unchanged"


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a folder to another user")
async def test_a_clone_of_another_user_is_refused(
    repository: Repository, clone: Path, program: Path, marker: Path
) -> None:
    repository.push(SECOND)
    git(clone, "config", "core.sshCommand", str(program))
    git(clone, "remote", "set-url", "origin", "ssh://git@server.example/owner/book.git")
    for path in (clone, clone / ".git"):
        os.chown(path, 65534, 65534)
    with pytest.raises(BadSource, match="dubious ownership"):
        await pull(clone)
    assert not was_run(marker)


async def test_what_is_pulled_has_the_permissions_of_the_clone(
    repository: Repository, clone: Path, tmp_path: Path
) -> None:
    repository.push(SECOND)
    os.chmod(clone, 0o755)
    with lock_data_folder(tmp_path / "data"):
        assert await pull(clone)
    assert oct((clone / "docs" / "second.md").stat().st_mode & 0o777) == "0o644"
