"""A folder in a git work tree → the same folder at the head of its branch."""

import logging
import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from subprocess import DEVNULL
from tempfile import TemporaryFile

import anyio
import anyio.to_thread
from anyio.abc import Process

from bookwise.domain.errors import BadSource

PULL_SECONDS = 120.0
END_SECONDS = 5.0
REASON_MAX = 300

_USERINFO = re.compile(r"(?<=://)[^\s'\"]*@")
_PLACE = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")

logger = logging.getLogger(__name__)


class WorkTrees:
    """Pulls one branch of one repository, into whichever folder holds a clone of it."""

    def __init__(
        self, repository: str, branch: str, *, environment: Mapping[str, str], seconds: float = PULL_SECONDS
    ) -> None:
        self._repository, self._branch, self._seconds = repository, branch, seconds
        # A service that was itself started by a git hook inherits where that hook ran.
        inherited = {name: value for name, value in environment.items() if name not in _PLACE}
        self._environment = {**inherited, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        self._one_at_a_time = anyio.Lock()  # two books may be folders of one work tree

    async def pull(self, folder: Path) -> bool:
        """Whether the folder was brought to the head of its branch. One that is no clone of the repository, or has
        something else checked out, is left as it is: somebody else looks after it. `BadSource` with git's reason
        when a pull fails; the folder is then as it was."""
        if not await anyio.to_thread.run_sync(_is_in_work_tree, folder):
            return False
        async with self._one_at_a_time:
            if not await self._follows(folder):
                logger.warning("git.not-pulled", extra={"folder": str(folder)})
                return False
            await self._git(folder, "pull", "--ff-only", "--quiet")
        return True

    async def _follows(self, folder: Path) -> bool:
        """Whether the branch is checked out there and follows the repository."""
        if await self._git(folder, "branch", "--show-current") != self._branch:
            return False
        remote = await self._git(folder, "config", "--default", "", "--get", f"branch.{self._branch}.remote")
        url = await self._git(folder, "ls-remote", "--get-url", remote) if remote else ""
        return _names(url, self._repository)

    async def _git(self, folder: Path, *arguments: str) -> str:
        """What git prints on stdout, without blanks around it."""
        with TemporaryFile() as said:  # not a pipe: what git leaves running in the background could keep that open
            try:
                process = await anyio.open_process(
                    ["git", "-C", str(folder), *arguments],
                    stdin=DEVNULL,
                    stderr=said,
                    env=self._environment,
                    start_new_session=True,  # without a terminal nothing can ask for a password
                )
            except FileNotFoundError:
                raise _failed(folder, "git is not installed.") from None
            try:
                with anyio.fail_after(self._seconds):
                    printed = await _finished(process)
            except TimeoutError:
                raise _failed(folder, f"git did not finish within {self._seconds:g} seconds.") from None
            said.seek(0)
            if process.returncode != 0:
                raise _failed(folder, _reason(said.read()))
        return printed.decode(errors="replace").strip()


async def _finished(process: Process) -> bytes:
    """What it prints until its end. Cancelled, it is told to end, with all that it started: killed, it would leave
    locks behind."""
    assert process.stdout is not None
    async with process:
        try:
            printed = b"".join([part async for part in process.stdout])
            await process.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(END_SECONDS, shield=True), suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
                await process.wait()
            raise
        return printed


def _is_in_work_tree(folder: Path) -> bool:
    whole = folder.resolve()
    return any((parent / ".git").exists() for parent in (whole, *whole.parents))


def _names(url: str, repository: str) -> bool:
    """Whether an address of any kind ends with this owner and name."""
    parts = re.split(r"[/:\\]+", url.lower().rstrip("/").removesuffix(".git"))
    return parts[-2:] == repository.lower().split("/")


def _reason(said: bytes) -> str:
    """Git's own words on one line, without hints and without what opens a repository."""
    lines = [line for line in said.decode(errors="replace").splitlines() if not line.startswith("hint:")]
    text = " ".join(_USERINFO.sub("", " ".join(lines)).split())
    return (
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)[:REASON_MAX] or "no reason given."
    )


def _failed(folder: Path, reason: str) -> BadSource:
    return BadSource(
        f"The folder {folder} could not be brought to the head of its branch: {reason}",
        advice=f"Run `git -C {folder} pull --ff-only` there, repair what it says, then deliver the push again.",
    )
