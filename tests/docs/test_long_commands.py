"""Commands of the pages that run until they are stopped, or that need servers: run as they are written."""

from collections.abc import Iterator
from pathlib import Path

import anyio
import anyio.to_thread
import pytest

from tests.docs.checks import LONG_COMMANDS, parse_bookwise, script_lines, split
from tests.docs.pages import ROOT
from tests.docs.test_guides import exports
from tests.support.databases import migrated_postgres, postgres
from tests.support.postgres import Postgres
from tests.support.program import environment, run_program, running_program
from tests.support.qdrant_process import qdrant_process
from tests.support.serve_process import listening
from tests.support.small_books import shelve

__all__ = ["migrated_postgres", "postgres"]

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

SERVERS_GUIDE = ROOT / "docs/guides/servers.md"
OTHER_SERVER_LINES = ROOT / "docs/operating.md"
TEST_EMBEDDER = {"BOOKWISE_EMBEDDER": "hashing"}


def lines_with(command: str) -> Iterator[tuple[Path, str]]:
    for page, line in script_lines():
        _, words = split(line.partition(" && ")[0])
        if words and words[0] == "bookwise" and parse_bookwise(words[1:]) == command:
            yield page, line


async def test_every_service_of_the_pages_listens(tmp_path: Path) -> None:
    data = tmp_path / "data"
    await shelve(data, tmp_path / "book")
    shown = {line: page for page, line in lines_with("serve")}
    assert len(shown) > 2
    for line, page in shown.items():
        settings, words = split(line)
        env = environment(data, **TEST_EMBEDDER, **(exports(page) if page != SERVERS_GUIDE else {}), **settings)
        with running_program(*words[1:], "--port", "0", folder=tmp_path, env=env) as service:
            assert (await listening(service)).startswith("http://127.0.0.1:"), line


@pytest.fixture
def addresses(postgres: Postgres, migrated_postgres: str) -> Iterator[dict[str, str]]:
    """The addresses in the pages, and real ones instead of them."""
    with postgres.new_database(like=migrated_postgres) as database, qdrant_process() as index:
        yield {"postgresql://bookwise@db.example/bookwise": database, "https://qdrant.example:6333": index}


async def test_the_guide_to_servers_leads_to_a_service_and_a_worker(tmp_path: Path, addresses: dict[str, str]) -> None:
    data = tmp_path / "data"
    await shelve(data, tmp_path / "book")
    env = environment(data, **TEST_EMBEDDER)
    lines = [line for page, line in script_lines() if page == SERVERS_GUIDE]
    start = next(number for number, line in enumerate(lines) if line.startswith("bookwise"))
    for line in lines[start:]:
        _, words = split(line)
        words = [addresses.get(word, word) for word in words]
        if words[0] == "export":
            name, _, shown = words[1].partition("=")
            env[name] = addresses[shown]
        elif words[:2] == ["bookwise", "serve"]:
            with running_program(*words[1:], "--port", "0", folder=tmp_path, env=env) as service:
                await listening(service)
        elif words[:2] == ["bookwise", "worker"]:
            with running_program(*words[1:], folder=tmp_path, env=env) as worker, anyio.fail_after(60):
                while "takes jobs" not in worker.err():
                    assert worker.returncode is None, worker.err()
                    await anyio.sleep(0.05)
        elif words[0] == "bookwise":
            done = await anyio.to_thread.run_sync(lambda words=words: run_program(*words[1:], folder=tmp_path, env=env))
            assert done.returncode == 0, f"{line}\n{done.stderr}{done.stdout}"
    assert env.keys() >= {"DATABASE_URL", "QDRANT_URL"}


def test_the_other_lines_for_servers_are_those_of_the_guide() -> None:
    for command in LONG_COMMANDS - {"serve"}:
        shown = {
            page: [line for there, line in lines_with(command) if there == page] for page, _ in lines_with(command)
        }
        assert shown.keys() == {SERVERS_GUIDE, OTHER_SERVER_LINES}
        assert shown[SERVERS_GUIDE] == shown[OTHER_SERVER_LINES]
