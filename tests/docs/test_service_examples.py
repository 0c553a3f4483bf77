"""The examples on the service's pages run unchanged against a real service."""

import os
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from bookwise.wiring import open_app
from tests.docs.pages import SERVICE_PAGES, code_blocks
from tests.support.copies import copy_folder
from tests.support.serve_process import serving
from tests.support.small_book import BOOK, settings_for

pytestmark = pytest.mark.anyio

LANGUAGES = ("sh", "python")


def examples(page: Path) -> list[tuple[str, str]]:
    return [(language, text) for language, text in code_blocks(page) if language in LANGUAGES]


def script_of(page: Path, folder: Path) -> str:
    """All examples of a page in order, in one shell, so that a later one can use what an earlier one sets."""
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
    """A service that requires a key, and the variables that the pages use."""
    data = tmp_path / "data"
    copy_folder(small_book, data)
    async with open_app(settings_for(data)) as app:
        _, secret = await app.keys.create("an admin", "admin")
    async with serving(data) as served:
        path = f"{Path(sys.executable).parent}:{os.environ['PATH']}"
        yield {**os.environ, "PATH": path, "BOOKWISE": served.url, "KEY": secret, "BOOK": BOOK}


@pytest.fixture
def curl() -> None:
    """Without the program: fails in CI, skips elsewhere."""
    if shutil.which("curl") is None:
        if os.environ.get("CI"):
            pytest.fail("curl is not installed")
        pytest.skip("curl is not installed")


@pytest.mark.slow
@pytest.mark.usefixtures("curl")
async def test_every_example_on_the_service_pages_works(tmp_path: Path, small_book: Path) -> None:
    async with environment(tmp_path, small_book) as variables:
        for page in SERVICE_PAGES:
            command = ["bash", "-c", script_of(page, tmp_path)]
            with anyio.fail_after(120):
                run = await anyio.run_process(command, env=variables, cwd=tmp_path, check=False)
            output = f"{page.name}\n{run.stderr.decode()}\n{run.stdout.decode()}"
            assert run.returncode == 0, output
            assert run.stdout.strip(), output


def test_every_page_has_a_command_and_a_program_and_curl_fails_on_an_error_status() -> None:
    assert len(SERVICE_PAGES) >= 8
    for page in SERVICE_PAGES:
        blocks = examples(page)
        assert {language for language, _ in blocks} == set(LANGUAGES), page.name
        for _, text in blocks:
            assert text.count("curl ") == text.count("curl --fail-with-body "), page.name


def test_an_example_that_fails_fails_the_script(tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text("```sh\ncurl --fail-with-body -sS http://127.0.0.1:9/ | cat\n```\n")
    run = subprocess.run(["bash", "-c", script_of(page, tmp_path)], capture_output=True, check=False)
    assert run.returncode != 0
