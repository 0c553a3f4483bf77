"""A folder in a git work tree → the same folder updated to the head of its branch."""

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
STOP_SECONDS = 5.0
MAX_REASON_LENGTH = 300

_USERINFO = re.compile(r"(?<=://)[^\s'\"]*@")
_LOCATION_VARIABLES = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX")

logger = logging.getLogger(__name__)


class WorkTrees:
    """Pulls one branch of one repository into folders that contain a clone of it."""

    def __init__(
        self, repository: str, branch: str, *, environment: Mapping[str, str], seconds: float = PULL_SECONDS
    ) -> None:
        self._repository, self._branch, self._seconds = repository, branch, seconds
        # A service that was started by a git hook inherits the repository of that hook.
        inherited = {name: value for name, value in environment.items() if name not in _LOCATION_VARIABLES}
        self._environment = {**inherited, "GIT_TERMINAL_PROMPT": "0", "LC_ALL": "C"}
        self._pull_lock = anyio.Lock()  # two books may be folders of one work tree

    async def pull(self, folder: Path) -> bool:
        """Updates the folder to the head of its branch; returns whether it did.

        A folder that is not a clone of the repository, or has another branch checked out, is left unchanged and the
        result is False. If the pull fails, the folder is unchanged too: `BadSource` with git's reason.
        """
        if not await anyio.to_thread.run_sync(_is_in_work_tree, folder):
            return False
        async with self._pull_lock:
            if not await self._tracks_branch(folder):
                logger.warning("git.not-pulled", extra={"folder": str(folder)})
                return False
            await self._git(folder, "pull", "--ff-only", "--quiet")
        return True

    async def _tracks_branch(self, folder: Path) -> bool:
        """Whether the branch is checked out there and tracks the repository."""
        if await self._git(folder, "branch", "--show-current") != self._branch:
            return False
        remote = await self._git(folder, "config", "--default", "", "--get", f"branch.{self._branch}.remote")
        url = await self._git(folder, "ls-remote", "--get-url", remote) if remote else ""
        return _is_repository(url, self._repository)

    async def _git(self, folder: Path, *arguments: str) -> str:
        """The output of git on stdout, without surrounding whitespace."""
        with TemporaryFile() as errors:  # not a pipe: a background process of git could keep that open
            try:
                process = await anyio.open_process(
                    ["git", "-C", str(folder), *arguments],
                    stdin=DEVNULL,
                    stderr=errors,
                    env=self._environment,
                    start_new_session=True,  # without a terminal git cannot prompt for a password
                )
            except FileNotFoundError:
                raise _pull_error(folder, "git is not installed.") from None
            try:
                with anyio.fail_after(self._seconds):
                    output = await _run(process)
            except TimeoutError:
                raise _pull_error(folder, f"git did not finish within {self._seconds:g} seconds.") from None
            errors.seek(0)
            if process.returncode != 0:
                raise _pull_error(folder, _error_text(errors.read()))
        return output.decode(errors="replace").strip()


async def _run(process: Process) -> bytes:
    """The output of the process. On cancellation it is terminated with its child processes, not killed: a killed git
    leaves lock files behind."""
    assert process.stdout is not None
    async with process:
        try:
            output = b"".join([part async for part in process.stdout])
            await process.wait()
        except anyio.get_cancelled_exc_class():
            with anyio.move_on_after(STOP_SECONDS, shield=True), suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGTERM)
                await process.wait()
            raise
        return output


def _is_in_work_tree(folder: Path) -> bool:
    path = folder.resolve()
    return any((parent / ".git").exists() for parent in (path, *path.parents))


def _is_repository(url: str, repository: str) -> bool:
    """Whether a remote URL of any kind ends with this owner and name."""
    parts = re.split(r"[/:\\]+", url.lower().rstrip("/").removesuffix(".git"))
    return parts[-2:] == repository.lower().split("/")


def _error_text(output: bytes) -> str:
    """The error output of git on one line, without hints and credentials."""
    lines = [line for line in output.decode(errors="replace").splitlines() if not line.startswith("hint:")]
    text = " ".join(_USERINFO.sub("", " ".join(lines)).split())
    return (
        "".join(c if c.isprintable() else "\N{REPLACEMENT CHARACTER}" for c in text)[:MAX_REASON_LENGTH]
        or "git gave no reason."
    )


def _pull_error(folder: Path, reason: str) -> BadSource:
    return BadSource(
        f"The folder {folder} could not be updated from git: {reason}",
        advice=f"Run `git -C {folder} pull --ff-only`, fix the error it reports, then redeliver the webhook.",
    )
