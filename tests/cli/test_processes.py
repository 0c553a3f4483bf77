"""The program as a process: exit codes, Ctrl-C, pipes, a busy data folder, odd environments."""

import json
import os
import signal
import sqlite3
import subprocess
import sys
import time
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from uuid import uuid4

import anyio
import pytest

from tests.support.apps import hashing_app, write_book
from tests.support.program import PROGRAM

pytestmark = pytest.mark.slow

LESSONS = {
    f"lesson-{n}.md": f"# Lesson {n}\n\nThis lesson speaks of gear number {n} and its teeth.\n" for n in range(30)
}


def environment(data: Path, **more: str) -> dict[str, str]:
    return {**os.environ, "BOOKWISE_DATA_DIR": str(data), "BOOKWISE_EMBEDDER": "hashing", **more}


def bookwise(data: Path, *arguments: str, **more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [PROGRAM, *arguments], env=environment(data, **more), capture_output=True, text=True, timeout=60, check=False
    )


@pytest.fixture
def book(tmp_path: Path) -> Path:
    return write_book(tmp_path / "gears", LESSONS)


def until(is_so: object, seconds: float = 30) -> None:
    deadline = time.monotonic() + seconds
    while not is_so():  # type: ignore[operator]
        assert time.monotonic() < deadline, "it never happened"
        time.sleep(0.05)


def test_while_one_process_holds_the_folder_a_second_is_told_who_and_what_to_do(book: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    assert bookwise(data, "ingest", str(book)).returncode == 0
    hold = "import sys, time; from pathlib import Path; from bookwise.adapters.data_folder import lock_data_folder\n"
    hold += "with lock_data_folder(Path(sys.argv[1])): print('held', flush=True); time.sleep(60)"
    holder = subprocess.Popen([sys.executable, "-c", hold, str(data)], stdout=subprocess.PIPE, text=True)
    assert holder.stdout is not None
    holder.stdout.readline()
    second = bookwise(data, "search", "gear teeth")
    holder.kill()
    holder.communicate()
    assert second.returncode == 4
    assert f"process {holder.pid}" in second.stderr
    assert "BOOKWISE_DATA_DIR" in second.stderr
    assert "Traceback" not in second.stderr
    assert bookwise(data, "search", "gear teeth").returncode == 0, "a killed holder leaves no lock"


def test_a_reader_that_goes_away_is_no_error(book: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    bookwise(data, "ingest", str(book))
    piped = subprocess.run(
        f"{PROGRAM} search 'gear teeth' --limit 20 | head -1",
        shell=True,
        env=environment(data),
        capture_output=True,
        text=True,
        check=False,
    )
    assert piped.stdout.startswith("1. ")
    assert piped.stderr == ""


@pytest.mark.parametrize(
    "command", ["search 'gear teeth' --limit 20", "ask 'gear teeth'", "books --json", "export threads"]
)
def test_a_closed_pipe_ends_every_command_quietly(book: Path, tmp_path: Path, command: str) -> None:
    data = tmp_path / "data"
    bookwise(data, "ingest", str(book))

    async def add_threads() -> None:
        async with hashing_app(data) as app:
            for _ in range(3):
                course = {"course": "x" * 100_000}  # more than a pipe holds
                await app.threads.create(book_id="gears", owner="ann", thread_id=str(uuid4()), metadata=course)

    anyio.run(add_threads)
    piped = subprocess.run(
        ["bash", "-c", f"{PROGRAM} {command} | head -c 1; exit ${{PIPESTATUS[0]}}"],
        env=environment(data),
        capture_output=True,
        text=True,
        check=False,
    )
    assert (piped.returncode, piped.stderr, len(piped.stdout)) == (0, "", 1)


def test_ctrl_c_ends_a_watch_and_what_was_published_stays(book: Path, tmp_path: Path) -> None:
    data = tmp_path / "data"
    watching = subprocess.Popen(
        [PROGRAM, "ingest", str(book), "--watch"],
        env=environment(data),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )

    def jobs_done() -> int:
        if not (data / "bookwise.db").exists():
            return 0
        try:
            with sqlite3.connect(f"file:{data / 'bookwise.db'}?mode=ro", uri=True) as db:
                return int(db.execute("SELECT count(*) FROM jobs WHERE status = 'completed'").fetchone()[0])
        except sqlite3.OperationalError:
            return 0

    until(lambda: jobs_done() == 1)
    assert watching.stderr is not None
    until(lambda: "Watching" in watching.stderr.readline())  # type: ignore[union-attr]
    time.sleep(1)  # the watcher needs a moment to look at the folder before it can see a change
    (book / "lesson-3.md").write_text("# Lesson 3\n\nThis lesson now speaks of a flywheel.\n")
    until(lambda: jobs_done() == 2)
    time.sleep(0.5)
    watching.send_signal(signal.SIGINT)
    _, errors = watching.communicate(timeout=30)
    assert watching.returncode == 130, errors
    assert "Traceback" not in errors
    assert "flywheel" in bookwise(data, "search", "what is a flywheel").stdout


@pytest.mark.parametrize("more", [{"LC_ALL": "C"}, {"COLUMNS": "20"}, {"HOME": "", "TERM": "dumb"}])
def test_odd_environments_are_fine(book: Path, tmp_path: Path, more: dict[str, str]) -> None:
    data = tmp_path / "data"
    (book / "naïve.md").write_text("# Naïve\n\nA naïve gear – with ümlauts and 日本語.\n")
    assert bookwise(data, "ingest", str(book), **more).returncode == 0
    found = bookwise(data, "search", "naïve gear", "--json", **more)
    assert found.returncode == 0
    assert found.stdout.isascii()


def test_a_read_only_data_folder_is_named(book: Path) -> None:
    answer = bookwise(Path("/proc/bookwise"), "ingest", str(book))
    assert answer.returncode == 6
    assert "BOOKWISE_DATA_DIR" in answer.stderr


def test_closed_input_never_hangs(book: Path, tmp_path: Path) -> None:
    done = subprocess.run(
        [PROGRAM, "ingest", str(book)],
        env=environment(tmp_path / "data"),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 0


def test_a_live_site_is_ingested_by_its_sitemap_and_cites_its_own_headings(tmp_path: Path) -> None:
    site = tmp_path / "site"
    page = "<html><head><title>Gears</title></head><body><nav>Menu</nav><main><h1>Gears</h1><p>All about gears.</p>"
    page += '<h2 id="bevel">Bevel gears</h2><p>A bevel gear turns the axis of rotation by ninety degrees.</p></main>'
    write_book(site, {"gears.html": page, "robots.txt": "User-agent: *\nAllow: /\n"})
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(SimpleHTTPRequestHandler, directory=str(site)))
    Thread(target=server.serve_forever, daemon=True).start()
    base = f"http://127.0.0.1:{server.server_address[1]}/"
    (site / "sitemap.xml").write_text(f"<urlset><url><loc>{base}gears.html</loc></url></urlset>")
    data = tmp_path / "data"
    refused = bookwise(data, "ingest", base, "--book", "gears")
    taken = bookwise(data, "ingest", base, "--book", "gears", BOOKWISE_SITE_ALLOW_PRIVATE="true")
    server.shutdown()
    server.server_close()
    assert refused.returncode == 2, "a private address is only fetched when the operator allows it"
    assert taken.returncode == 0, taken.stderr
    (hit, *_) = json.loads(bookwise(data, "search", "what does a bevel gear turn", "--json").stdout)["results"]
    assert hit["url"] == f"{base}gears.html#bevel"
    assert "ninety degrees" in hit["text"]
    assert "Menu" not in hit["text"]
