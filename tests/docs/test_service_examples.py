"""The examples of the service's pages run as they stand, against a real service."""

import os
import re
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from bookwise.wiring import open_app
from tests.support.copies import copy_folder
from tests.support.serve_process import serving
from tests.support.small_book import BOOK, settings_for

pytestmark = pytest.mark.anyio

PAGES = sorted((Path(__file__).parents[2] / "docs" / "service").glob("*.md"))
FENCE = re.compile(r"^```(sh|python)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def examples(page: Path) -> list[tuple[str, str]]:
    return FENCE.findall(page.read_text(encoding="utf-8"))


def script_of(page: Path, folder: Path) -> str:
    """All examples of a page in their order, in one shell: what one sets, the next one uses."""
    lines = ["set -euo pipefail"]
    for number, (language, text) in enumerate(examples(page)):
        lines.append(f"echo '--- example {number + 1} ({language})' >&2")
        if language == "python":
            program = folder / f"{page.stem}-{number}.py"
            program.write_text(text, encoding="utf-8")
            lines.append(f"python3 '{program}'")
        else:
            lines.append(text)
    return "\n".join(lines)


@asynccontextmanager
async def environment(tmp_path: Path, small_book: Path) -> AsyncIterator[dict[str, str]]:
    """A service that wants a key, and the variables the pages name."""
    data = tmp_path / "data"
    copy_folder(small_book, data)
    async with open_app(settings_for(data)) as app:
        _, secret = await app.keys.create("an admin", "admin")
    async with serving(data) as served:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        yield {**os.environ, "PATH": path, "BOOKWISE": served.url, "KEY": secret, "BOOK": BOOK}


@pytest.fixture
def curl() -> None:
    """Fails in CI and skips at a desk where the program is missing."""
    if shutil.which("curl") is None:
        if os.environ.get("CI"):
            pytest.fail("curl is not installed")
        pytest.skip("curl is not installed")


@pytest.mark.slow
@pytest.mark.usefixtures("curl")
async def test_every_example_of_the_service_works_as_it_stands(tmp_path: Path, small_book: Path) -> None:
    async with environment(tmp_path, small_book) as variables:
        for page in PAGES:
            command = ["bash", "-c", script_of(page, tmp_path)]
            with anyio.fail_after(120):
                done = await anyio.run_process(command, env=variables, cwd=tmp_path, check=False)
            told = f"{page.name}\n{done.stderr.decode()}\n{done.stdout.decode()}"
            assert done.returncode == 0, told
            assert done.stdout.strip(), told


def test_every_page_shows_a_command_and_a_program_that_fail_when_the_service_refuses() -> None:
    assert len(PAGES) >= 8
    for page in PAGES:
        found = examples(page)
        assert {language for language, _ in found} == {"sh", "python"}, page.name
        for _, text in found:
            assert text.count("curl ") == text.count("curl --fail-with-body "), page.name


def test_an_example_that_is_refused_is_noticed(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\ncurl --fail-with-body -sS http://127.0.0.1:9/ | cat\n```\n")
    done = subprocess.run(["bash", "-c", script_of(page, tmp_path)], capture_output=True, check=False)
    assert done.returncode != 0
