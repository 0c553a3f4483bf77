"""Paths that lead out of a book or out of the routes: nothing behind them may be read."""

import asyncio
import os
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TypeAlias

from tests.support.apps import found, ingested, write_book

from benchmarks.trust.real_service import RealService, running
from bookwise.domain.errors import BookwiseError
from bookwise.settings import Settings
from bookwise.wiring import open_app

CANARY = "quicksilver-path-canary"
OUTSIDE = f"# Quicksilver\n\nThe {CANARY} lies outside of every book.\n"
PLAIN = {"index.md": "# Inside\n\nThis lesson is inside of the book.\n"}

MKDOCS = "docs"  #: where MkDocs keeps the lessons

Prepare: TypeAlias = Callable[[Path], None]


def link(name: str, target: str) -> Prepare:
    return lambda root: os.symlink(root / target, root / name)


def files(more: Mapping[str, str]) -> Prepare:
    return lambda root: void(write_book(root, more))


def void(_: object) -> None:
    return None


#: Books that point outside of themselves. OUT is the folder with the canary, as an absolute path.
BOOKS: tuple[Prepare, ...] = (
    link("secret.md", "../outside/secret.md"),
    link("outside", "../outside"),
    files({"a.md": "# A\n\n{{#include ../outside/secret.md}}\n"}),
    files({"book.toml": '[book]\nsrc = "../outside"\n', "src/SUMMARY.md": "# Summary\n\n- [S](secret.md)\n"}),
    files({"book.toml": "[book]\n", "src/SUMMARY.md": "# Summary\n\n- [S](../../outside/secret.md)\n"}),
    files({"mkdocs.yml": "site_name: x\ndocs_dir: ../outside\n"}),
    files(
        {"mkdocs.yml": "site_name: x\nnav:\n  - S: ../../outside/secret.md\n", f"{MKDOCS}/index.md": "# I\n\nInside.\n"}
    ),
    files({"conf.py": "", "index.rst": "Inside\n======\n\n.. include:: ../outside/secret.md\n"}),
    files({"conf.py": "", "index.rst": "Inside\n======\n\n.. literalinclude:: ../outside/secret.md\n"}),
    files(
        {
            "_config.yml": "title: x\n",
            "_toc.yml": "format: jb-book\nroot: index\nchapters:\n- file: ../outside/secret\n",
        }
    ),
    files({"a.md": "# A\n\n```{include} ../outside/secret.md\n```\n"}),
    files({"a.mdx": "import Secret from '../outside/secret.md';\n\n# A\n\n<Secret />\n"}),
    files({"bookwise.toml": '[book]\nid = "x"\ninclude = ["../outside/*.md"]\n'}),
    files({"bookwise.toml": '[book]\nid = "x"\ndocs = "../outside"\n'}),
    files(
        {"a.md": "---\nfile: ../outside/secret.md\nslug: ../../outside/secret\n---\n# A\n\n![](../outside/secret.md)\n"}
    ),
)
#: Targets of requests, sent as they are.
TARGETS = (
    "/../outside/secret.md",
    "/..%2foutside%2fsecret.md",
    "/%2e%2e/outside/secret.md",
    "/%2e%2e%2foutside%2fsecret.md",
    "/..%5coutside%5csecret.md",
    "/....//outside/secret.md",
    "/%252e%252e%252foutside%252fsecret.md",
    "/..%c0%afoutside%c0%afsecret.md",
    "//outside/secret.md",
    "/widget.js/../../outside/secret.md",
    "/widget.js%00.md",
    "/web/../bookwise.db",
    "/static/../../data/bookwise.db",
    "/lesson/..%2f..%2foutside%2fsecret.md",
    "/context/..%2f..%2foutside%2fsecret.md",
    "/session/..%2f..%2fdata%2fbookwise.db",
    "/session/..%2f..%2fdata%2flock/history",
    "/v1/models/..%2f..%2foutside%2fsecret.md",
    "/ingestion/status/..%2f..%2foutside%2fsecret.md",
    "/lesson/OUT/secret.md",
    "/context/file:%2f%2fOUT%2fsecret.md",
    "/search?text=quicksilver&book_id=..%2foutside",
    "/insights?book_id=..%2f..%2foutside",
    "/ingestion/changes?book_id=..%2foutside",
    "/ingestion/jobs?book_id=%2e%2e%2foutside",
)
PATHS = len(BOOKS) + len(TARGETS)


async def run_paths(folder: Path, count: int) -> list[str]:
    """What went wrong with `count` paths, books and requests alike."""
    outside = write_book(folder / "outside", {"secret.md": OUTSIDE, "index.md": OUTSIDE, "SUMMARY.md": OUTSIDE})
    books, targets = BOOKS[: max(1, count * len(BOOKS) // PATHS)], TARGETS[: max(1, count * len(TARGETS) // PATHS)]
    bad = await _in_books(folder, books)
    async with running(folder, BOOKWISE_EMBEDDER="hashing") as service:
        for target in targets:
            answer = await _get(service, target.replace("OUT", str(outside)))
            if CANARY in answer or "SQLite" in answer or not answer.startswith("HTTP/1.1 4"):
                bad.append(f"path {target}: {answer[:100]!r}")
        bad += ["path: the canary is in the log"] * (CANARY in service.log)
    return bad


async def _in_books(folder: Path, books: tuple[Prepare, ...]) -> list[str]:
    """Ingests every book, and looks for what is outside of it."""
    bad = []
    async with open_app(Settings(data_dir=folder / "data", embedder="hashing")) as app:
        for number, prepare in enumerate(books):
            root, book_id = write_book(folder / f"book-{number}", PLAIN), f"book-{number}"
            prepare(root)
            try:
                await ingested(app, root, book_id=book_id)
                hits = (await found(app, f"What is {CANARY}?", book_id=book_id)).hits
            except BookwiseError:
                continue  # refused as a whole, which is as good
            if any(CANARY in hit.chunk.text for hit in hits):
                bad.append(f"path: book {number} contains what is outside of it")
    return bad


async def _get(service: RealService, target: str) -> str:
    reader, writer = await service.connect()
    writer.write(f"GET {target} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
    async with asyncio.timeout(60):
        answer = await reader.read()
    writer.close()
    return answer.decode(errors="replace")
