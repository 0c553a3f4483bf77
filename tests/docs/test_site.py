"""The documentation site: it builds without a warning, loads nothing from other sites, and is a book that answers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from bookwise.domain.answers import Answered
from bookwise.evaluation.metrics import Verdict
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.operations.evaluate import ValidateBook
from bookwise.wiring import open_app
from tests.docs.pages import ROOT
from tests.support.embedders import shared_embedder
from tests.support.small_book import settings_for

DOCS = ROOT / "docs"
CONFIG = yaml.safe_load((ROOT / "mkdocs.yml").read_text(encoding="utf-8"))
LOADED = re.compile(r'<(?:script|link|img|iframe)\b[^>]*?\b(?:src|href)="(https?:)?//([^/"]+)')
PARTS = ["Home", "Tutorial", "How-to guides", "Reference", "Explanation"]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The built site. A warning, such as a link that leads nowhere or a page without a place, fails the build."""
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "mkdocs", "build", "--strict", "--quiet", "--site-dir", str(folder)]
    environment = {**os.environ, "NO_MKDOCS_2_WARNING": "1"}
    run = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    return folder


@pytest.mark.slow
def test_the_site_is_complete_and_loads_nothing_from_other_sites(site: Path) -> None:
    pages = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    lessons = [path.relative_to(DOCS).with_suffix("") for path in DOCS.rglob("*.md") if path.stem != "index"]
    assert [str(name) for name in lessons if site / name / "index.html" not in pages] == []
    canonical = CONFIG["site_url"].split("/")[2]
    foreign = {host for text in pages.values() for _, host in LOADED.findall(text)} - {canonical}
    assert foreign == set()
    assert not any("fonts.g" in path.read_text(encoding="utf-8") for path in site.rglob("*.css"))


@pytest.mark.slow
def test_the_site_has_the_files_that_pages_link_to_and_no_programs(site: Path) -> None:
    assert (site / "reference/openapi.json").read_bytes() == (DOCS / "reference/openapi.json").read_bytes()
    assert (site / "project/SECURITY/index.html").exists()
    assert (site / "project/examples/widget/docusaurus/src/theme/Root.js").exists()
    assert not list(site.rglob("*.py"))


def test_the_navigation_has_four_kinds_of_pages() -> None:
    assert [name for part in CONFIG["nav"] for name in part] == PARTS


@pytest.mark.slow
@pytest.mark.anyio
async def test_bookwise_answers_questions_about_itself_from_its_documentation(tmp_path: Path) -> None:
    settings = settings_for(tmp_path / "data")
    book = discover(ROOT)
    assert (book.site, book.title) == ("mkdocs", "Bookwise")
    async with open_app(settings, embedder=shared_embedder(settings)) as app:
        job = await ingest(book, ROOT, app.ingestion_kit)
        result = await ValidateBook(book=None, questions=None, engine=None).run(app)
    assert job.files_failed == 0
    assert [problem for verdict in result.verdicts for problem in problems(verdict)] == []
    assert sum(map(cites_first, result.verdicts)) >= 10


def problems(verdict: Verdict) -> list[str]:
    """What is wrong with an answer: the page is not cited, the question should be refused, or a fact is missing."""
    missing = verdict.usefulness is not None and not verdict.usefulness.complete
    found = [verdict.why] * bool(verdict.why) + ["a fact is missing"] * missing
    return [f"{verdict.question.text} {text}" for text in found]


def cites_first(verdict: Verdict) -> bool:
    """Whether the expected page is the first that the answer cites."""
    if not isinstance(verdict.answer, Answered):
        return False
    return verdict.answer.citations[0].passage.chunk.locator.source_file == verdict.question.lesson
