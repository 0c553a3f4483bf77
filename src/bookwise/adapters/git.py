"""A folder in a clone → the same folder updated to the head of its branch. Nothing that a commit contains is run."""

import logging
import os
import re
import signal
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
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

#: Options of every call. git also obeys the configuration of a bare repository that it finds in a folder, and any
#: commit can contain one.
_OPTIONS = (
    "safe.bareRepository=explicit",
    f"core.hooksPath={os.devnull}",
    "core.fsmonitor=false",
    "submodule.recurse=false",
    "fetch.recurseSubmodules=false",
)
#: What git inherits: where programs, keys, proxies and certificates are. No GIT_ variable: a service that was started
#: by a git hook has those of that hook.
_INHERITED = frozenset({"PATH", "HOME", "USER", "LOGNAME", "TMPDIR", "SSH_AUTH_SOCK", "XDG_CONFIG_HOME"}) | frozenset(
    {"SSL_CERT_FILE", "SSL_CERT_DIR", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY"}
)
_ENVIRONMENT = {
    "GIT_ALLOW_PROTOCOL": "file:http:https:ssh",  # not `ext`, which runs a program
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_SUBMODULE = "160000"  # its mode in a tree
_USERINFO = re.compile(r"(?<=://)[^\s'\"]*@")

logger = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class _Clone:
    """A clone, and the folder of it that contains the book."""

    root: Path
    folder: Path
    is_plain: bool  #: its repository is its own, so it is not a submodule
    umask: int  #: new files get the permissions of the clone, not those of the data folder

    @property
    def git_dir(self) -> Path:
        return self.root / ".git"

    @property
    def path(self) -> str:
        """The folder, as git names it in a commit. Empty: the root."""
        return "" if self.folder == self.root else self.folder.relative_to(self.root).as_posix()


class WorkTrees:
    """Updates folders in clones of one repository to the head of one branch."""

    def __init__(
        self, repository: str, branch: str, *, environment: Mapping[str, str], seconds: float = PULL_SECONDS
    ) -> None:
        self._repository, self._branch, self._seconds = repository, branch, seconds
        inherited = {name: value for name, value in environment.items() if name.upper() in _INHERITED}
        self._environment = {**inherited, **_ENVIRONMENT}
        self._pull_lock = anyio.Lock()  # two books may be folders of one work tree

    async def pull(self, folder: Path) -> bool:
        """Updates the folder to the head of its branch; returns whether it did.

        A folder that is not in a clone of the repository, or has another branch checked out, is left unchanged and the
        result is False; so is a submodule. If the update fails, the folder is unchanged too: `BadSource` with the
        reason. The commit is refused if it has a submodule in the folder, or something else in its place.
        """
        clone = await anyio.to_thread.run_sync(_clone_of, folder)
        if clone is None:
            return False
        async with self._pull_lock:
            remote = await self._tracked_remote(clone) if clone.is_plain else None
            if remote is None:
                logger.warning("git.not-pulled", extra={"folder": str(folder)})
                return False
            await self._update(clone, remote)
        return True

    async def _tracked_remote(self, clone: _Clone) -> str | None:
        """The remote that the branch follows. None if another branch is checked out, or it follows no such remote."""
        await self._require_owner(clone)
        if await self._git(clone, "branch", "--show-current") != self._branch:
            return None
        remote = await self._git(clone, "config", "--default", "", "--get", f"branch.{self._branch}.remote")
        url = await self._git(clone, "ls-remote", "--get-url", "--", remote) if remote else ""
        return remote if _is_repository(url, self._repository) else None

    async def _require_owner(self, clone: _Clone) -> None:
        """git refuses the clone of another user, but only when it finds the clone itself."""
        await self._run_git(clone, "-C", str(clone.root), "rev-parse", "--absolute-git-dir")

    async def _update(self, clone: _Clone, remote: str) -> None:
        branch = f"refs/heads/{self._branch}"
        await self._git(clone, "fetch", "--quiet", "--no-tags", "--no-recurse-submodules", "--", remote, branch)
        head = await self._git(clone, "rev-parse", "--verify", "FETCH_HEAD^{commit}")
        await self._require_plain_folder(clone, f"{head}:{clone.path}")
        await self._git(clone, "merge", "--ff-only", "--quiet", head)

    async def _require_plain_folder(self, clone: _Clone, tree: str) -> None:
        """A link in place of the folder would lead out of the clone; a submodule would be missing from the book."""
        if await self._git(clone, "cat-file", "-t", tree) != "tree":
            raise _pull_error(
                clone,
                f"{clone.path} is no longer a folder in the new commit.",
                advice="Push a commit that makes it a folder again, or ingest the book's new folder.",
            )
        entries = (await self._git(clone, "ls-tree", "-r", "-z", tree)).split("\0")
        submodules = [entry.partition("\t")[2] for entry in entries if entry.startswith(_SUBMODULE)]
        if submodules:
            name = "/".join(filter(None, (clone.path, submodules[0])))
            raise _pull_error(
                clone,
                f"the submodule {name} is in the book, and submodules are not fetched.",
                advice="Push a commit that contains the lessons themselves, or keep the submodule outside the book.",
            )

    async def _git(self, clone: _Clone, *arguments: str) -> str:
        """The output of git on the clone, wherever the current folder is."""
        where = (f"--git-dir={clone.git_dir}", f"--work-tree={clone.root}", "-C", str(clone.root))
        return await self._run_git(clone, *where, *arguments)

    async def _run_git(self, clone: _Clone, *arguments: str) -> str:
        """The output of git on stdout, without surrounding whitespace."""
        options = [part for option in _OPTIONS for part in ("-c", option)]
        with TemporaryFile() as errors:  # not a pipe: a background process of git could keep that open
            try:
                process = await anyio.open_process(
                    ["git", *options, *arguments],
                    stdin=DEVNULL,
                    stderr=errors,
                    env={**self._environment, "GIT_CEILING_DIRECTORIES": str(clone.root.parent)},
                    start_new_session=True,  # without a terminal git cannot prompt for a password
                    umask=clone.umask,
                )
            except FileNotFoundError:
                raise _pull_error(clone, "git is not installed.") from None
            try:
                with anyio.fail_after(self._seconds):
                    output = await _run(process)
            except TimeoutError:
                raise _pull_error(clone, f"git did not finish within {self._seconds:g} seconds.") from None
            errors.seek(0)
            if process.returncode != 0:
                raise _pull_error(clone, _error_text(errors.read()))
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


def _clone_of(folder: Path) -> _Clone | None:
    """The clone that contains the folder. No commit can contain a file or folder named .git."""
    path = folder.resolve()
    root = next((parent for parent in (path, *path.parents) if (parent / ".git").exists()), None)
    if root is None:
        return None
    return _Clone(root, path, is_plain=(root / ".git").is_dir(), umask=~root.stat().st_mode & 0o077)


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


def _pull_error(clone: _Clone, reason: str, *, advice: str = "") -> BadSource:
    pull = f"Run `git -C {clone.root} pull --ff-only`, fix the error it reports, then ingest the book again."
    return BadSource(f"The folder {clone.folder} could not be updated from git: {reason}", advice=advice or pull)
