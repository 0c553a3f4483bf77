"""The book of traps, and the traps that a repository cannot hold."""

import os
import re
import shutil
import stat
from pathlib import Path

BOOKS = Path(__file__).parent.parent / "books"
TRAPS = BOOKS / "traps"
LIMIT = 8 * 1024 * 1024

_ROW = re.compile(r"^\| `([^`]+)` \|.*\| ([a-z0-9: -]+) \|$", re.MULTILINE)
_ADDED = "docs/module-5-files/"


def written_expectations() -> dict[str, str]:
    """Source file → `lesson`, `left out: rule` or `unreadable: reason`, from the tables of the README."""
    return dict(_ROW.findall((BOOKS / "README.md").read_text(encoding="utf-8")))


def trap_book(target: Path) -> tuple[Path, dict[str, str]]:
    """A whole copy of the book below `target`, with all traps, and what is expected of each."""
    root = target / "book"
    shutil.copytree(TRAPS, root)
    outside = target / "outside"
    outside.mkdir()
    (outside / "secret.md").write_text("# A secret\n\nNobody may read this.\n")
    folder = root / _ADDED
    folder.mkdir()
    expected = _links(folder, outside) | _specials(folder) | _names(folder) | _sizes(folder)
    below = {_ADDED + name: verdict for name, verdict in expected.items()}
    return root, written_expectations() | below | _hidden(root)


def _links(folder: Path, outside: Path) -> dict[str, str]:
    (folder / "secret.md").symlink_to(outside / "secret.md")
    (folder / "outside").symlink_to(outside)
    (folder / "zero.md").symlink_to("/dev/zero")
    (folder / "itself.md").symlink_to("itself.md")
    (folder / "above").symlink_to("..")
    (folder / "nothing.md").symlink_to("not-there.md")
    original = "../module-1-parsing/chapter-1-fences/03-unclosed-fence.md"
    (folder / "again.md").symlink_to(original)
    return {
        "secret.md": "left out: symlink-outside",
        "outside": "left out: symlink-outside",
        "zero.md": "left out: symlink-outside",
        "itself.md": "left out: symlink-loop",
        "above/": "left out: symlink-loop",
        "nothing.md": "left out: broken-link",
        "again.md": "left out: identical-copy",
    }


def _specials(folder: Path) -> dict[str, str]:
    os.mkfifo(folder / "pipe.md")
    os.mknod(folder / "socket.md", stat.S_IFSOCK | 0o600)
    (folder / "folder.md").mkdir()
    (folder / "folder.md" / "inner.md").write_text("# Inside\n")
    return {
        "pipe.md": "left out: not-a-file",
        "socket.md": "left out: not-a-file",
        "folder.md/": "left out: not-a-file",
    }


def _names(folder: Path) -> dict[str, str]:
    """Names on disk → names of the lessons."""
    names = {
        b"\xff.md": "%FF.md",
        b"caf\xe9.md": "caf%E9.md",
        b"line\nend.md": "line%0Aend.md",
        b"right\xe2\x80\xaetfel.md": "right%E2%80%AEtfel.md",
        "twin-\u00e9.md".encode(): "twin-\u00e9.md",
        "twin-e\u0301.md".encode(): "twin-e%CC%81.md",
        "lonely-e\u0301.md".encode(): "lonely-\u00e9.md",
        b"CASE.md": "CASE.md",
        b"case.md": "case.md",
        b"100%.md": "100%.md",
        b"n" * 252 + b".md": "n" * 252 + ".md",
    }
    for number, raw in enumerate(names):
        with open(os.path.join(os.fsencode(folder), raw), "wb") as file:
            file.write(b"# Lesson %d\n\nIts name is the trap.\n" % number)
    return dict.fromkeys(names.values(), "lesson")


def _sizes(folder: Path) -> dict[str, str]:
    deep = folder.joinpath(*["d"] * 200)
    deep.mkdir(parents=True)
    (deep / "deep.md").write_text("# Two hundred folders down\n")
    with open(folder / "large.md", "wb") as file:
        file.truncate(LIMIT + 1)
    return {"d/" * 200 + "deep.md": "lesson", "large.md": "unreadable: too-large"}


def _hidden(root: Path) -> dict[str, str]:
    for name in ("docs/.hidden.md", "node_modules/pkg/docs/x.md", ".git/x.md", ".github/x.md", "build/x.md"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"# {name}\n")
    folders = ("docs/.hidden.md", "node_modules/", ".github/", "build/")
    return dict.fromkeys(folders, "left out: not-a-lesson")
