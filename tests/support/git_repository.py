"""A real repository with its author: lessons that are committed and pushed, and clones that lag behind."""

import subprocess
from collections.abc import Mapping
from pathlib import Path

from bookwise.settings import foreign_environment
from tests.support.apps import write_book

ALONE = {
    "GIT_CONFIG_GLOBAL": "/dev/null",
    "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_AUTHOR_NAME": "An author",
    "GIT_AUTHOR_EMAIL": "author@book.example",
    "GIT_COMMITTER_NAME": "An author",
    "GIT_COMMITTER_EMAIL": "author@book.example",
}


def git(folder: Path, *arguments: str) -> str:
    command = ["git", "-C", str(folder), *arguments]
    environment = {**foreign_environment(), **ALONE}
    done = subprocess.run(command, env=environment, check=True, capture_output=True, text=True, timeout=60)
    return done.stdout.strip()


class Repository:
    """The bare repository `owner/book`, and its author's own work tree."""

    def __init__(self, folder: Path, lessons: Mapping[str, str]) -> None:
        self.bare = folder / "owner" / "book.git"
        self.author = folder / "author"
        self.bare.mkdir(parents=True)
        git(self.bare, "init", "--quiet", "--bare", "--initial-branch=main")
        git(folder, "clone", "--quiet", str(self.bare), str(self.author))
        git(self.author, "symbolic-ref", "HEAD", "refs/heads/main")
        self.push(lessons)

    def push(self, lessons: Mapping[str, str]) -> str:
        """Commits these lessons and pushes them; returns the commit."""
        head = commit(self.author, lessons)
        git(self.author, "push", "--quiet", "origin", "main")
        return head

    def clone(self, folder: Path) -> Path:
        git(folder.parent, "clone", "--quiet", str(self.bare), str(folder))
        return folder


def commit(work_tree: Path, lessons: Mapping[str, str]) -> str:
    write_book(work_tree, lessons)
    git(work_tree, "add", "--all")
    git(work_tree, "commit", "--quiet", "--allow-empty", "--message", "Lessons")
    return git(work_tree, "rev-parse", "HEAD")


def nested_repository(folder: str, config: str) -> dict[str, str]:
    """The files that make git take this folder of a work tree for a repository, with this configuration."""
    head = "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n"
    tracking = '[branch "main"]\n\tremote = origin\n\tmerge = refs/heads/main\n'
    files = {"HEAD": "ref: refs/heads/main\n", "config": head + tracking + config}
    return {f"{folder}/{name}": text for name, text in files.items()} | {
        f"{folder}/objects/keep": "",
        f"{folder}/refs/heads/keep": "",
    }
