"""The tutorial and the guides: what they show is run on a real small book, or checked as far as a test can."""

import json
import os
import re
import shlex
from pathlib import Path

import anyio
import pytest
import yaml

from bookwise.settings import load_settings
from tests.docs.checks import (
    LONG_COMMANDS,
    NOT_RUN,
    check_assistant,
    check_line,
    check_script_tag,
    guide_lines,
    parse_bookwise,
    plain_lines,
    program_of,
    script_lines,
    split,
)
from tests.docs.pages import GUIDES, OTHER_PAGES, ROOT, SERVICE_PAGES, code_blocks, introduced_blocks, shell_lines
from tests.docs.test_transcript import COMMAND, TOLERANCE, normalised, scores
from tests.support.command_line import CommandLine
from tests.support.copies import copy_folder
from tests.support.http_service import http_service
from tests.support.scripted_http import scripted
from tests.support.scripted_model import says
from tests.support.served import served
from tests.support.small_book import BOOK, answer_of, asking_app, settings_for
from tests.support.small_books import shelve

TUTORIAL = ROOT / "docs/tutorial.md"
GUIDE = {page.stem: page for page in GUIDES}
LANGUAGES = {"sh", "console", "markdown", "toml", "html", "js", "yaml"}
CRONTAB = ["back-up"]  #: the only page with a block in no language: a line for cron


def script(page: Path) -> str:
    """The block of a page that sends a request."""
    [text] = [text for language, text in code_blocks(page) if language == "sh" and "curl " in text]
    return text


def exports(page: Path) -> dict[str, str]:
    settings = [line.removeprefix("export ") for line in guide_lines(page) if line.startswith("export ")]
    return dict(setting.split("=", 1) for setting in settings)


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_every_command_can_be_right(page: Path) -> None:
    for line in guide_lines(page):
        check_line(line)


@pytest.mark.parametrize("page", OTHER_PAGES, ids=lambda page: page.stem)
def test_every_command_of_the_other_pages_can_be_right(page: Path) -> None:
    for line in plain_lines(page):
        check_line(line)


def test_the_probes_in_the_pages_are_routes_of_the_service() -> None:
    [text] = [text for language, text in code_blocks(ROOT / "docs/operating.md") if language == "yaml"]
    probes = [probe["httpGet"]["path"] for name, probe in yaml.safe_load(text).items() if name.endswith("Probe")]
    assert len(probes) == 2
    assert set(probes) <= json.loads((ROOT / "docs/reference/openapi.json").read_text(encoding="utf-8"))["paths"].keys()


@pytest.mark.parametrize("page", GUIDES, ids=lambda page: page.stem)
def test_every_block_is_of_a_kind_that_is_tested(page: Path) -> None:
    plain = {""} if page.stem in CRONTAB else set()
    assert {language for language, _ in code_blocks(page)} <= LANGUAGES | plain


def test_what_is_not_run_is_on_the_list_and_the_list_is_not_longer() -> None:
    words = [split(part)[1] for _, line in script_lines() for part in line.split(" && ")]
    programs = {program_of(word) for word in words if word}
    assert programs - {"bookwise", "export", "cp", "cd", "curl"} == NOT_RUN.keys()
    commands = {parse_bookwise(word[1:]) for word in words if word and word[0] == "bookwise"}
    assert commands > LONG_COMMANDS


def claude_lines() -> list[str]:
    texts = [text for language, text in code_blocks(ROOT / "docs/service/mcp.md") if language == ""]
    return [line for text in texts for line in shell_lines(text)]


def test_the_assistants_are_configured_for_this_program() -> None:
    configurations = [text for language, text in code_blocks(ROOT / "docs/service/mcp.md") if language == "json"]
    assert len(configurations) == 3
    for text in configurations:
        check_assistant(json.loads(text))
    for line in claude_lines():
        check_line(line)


@pytest.mark.parametrize("page", [*GUIDES, *SERVICE_PAGES], ids=lambda page: page.stem)
def test_script_tags_have_attributes_that_the_widget_knows(page: Path) -> None:
    for language, text in code_blocks(page):
        if language == "html" and "<script" in text:
            check_script_tag(text)


def test_the_code_for_docusaurus_is_that_of_the_example() -> None:
    example = ROOT / "examples/widget/docusaurus"
    files = [(example / name).read_text(encoding="utf-8") for name in ("src/theme/Root.js", "docusaurus.config.js")]
    blocks = [text for language, text in code_blocks(GUIDE["docusaurus"]) if language == "js"]
    assert [text in file for text, file in zip(blocks, files, strict=True)] == [True, True]


class Reader:
    """Follows the tutorial in its folder: console blocks must print what the page shows."""

    def __init__(self, bookwise: CommandLine, folder: Path) -> None:
        self.bookwise, self.folder = bookwise, folder

    def run(self, line: str) -> None:
        _, words = split(line)
        if words[0] == "bookwise" and parse_bookwise(words[1:]) not in LONG_COMMANDS:
            assert self.bookwise(*words[1:]) == 0, self.bookwise.err or self.bookwise.out

    def follow(self, before: str, language: str, text: str) -> None:
        if name := re.match(r"Save this as `([^`]+)`", before):
            (self.folder / name[1]).write_text(text, encoding="utf-8")
        elif name := re.match(r"Add .* at the end of `([^`]+)`", before):
            with (self.folder / name[1]).open("a", encoding="utf-8") as file:
                file.write(f"\n{text}")
        elif language == "console":
            for arguments, expected in COMMAND.findall(text):
                assert self.bookwise(*shlex.split(arguments)) == 0, self.bookwise.err
                assert normalised(self.bookwise.out) == normalised(expected), f"{TUTORIAL.name}:\n{self.bookwise.out}"
                assert scores(self.bookwise.out) == pytest.approx(scores(expected), abs=TOLERANCE)
        elif language == "sh":
            for line in shell_lines(text):
                self.run(line)


@pytest.mark.slow
def test_the_tutorial_and_the_guide_to_tuning_work(
    capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    folder = tmp_path / "sundials"
    copy_folder(ROOT / "examples/widget/mkdocs", folder)
    monkeypatch.chdir(folder)
    reader = Reader(CommandLine(capfd, folder / ".bookwise"), folder)
    for block in introduced_blocks(TUTORIAL):
        reader.follow(*block)
    assert reader.bookwise.json("keys", "list")["keys"][0]["origins"] == ["https://sundials.example"]
    for line in guide_lines(GUIDE["tuning"]):
        reader.bookwise(*split(line)[1][1:])
        assert "Error" not in reader.bookwise.err
    assert (folder / "report.html").exists()


@pytest.mark.anyio
async def test_the_site_of_the_tutorial_may_call_the_service(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    [line] = [line for line in guide_lines(TUTORIAL) if line.endswith("bookwise serve")]
    [(name, origin)] = split(line)[0].items()
    monkeypatch.setenv(name, origin)
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "hashing")
    preflight = {"Origin": origin, "Access-Control-Request-Method": "POST"}
    async with http_service(load_settings(data_dir=tmp_path / "data")) as opened:
        script = await opened.client.get("/widget.js")
        allowed = await opened.client.options("/chat/stream", headers=preflight)
    assert script.status_code == 200
    assert allowed.headers["Access-Control-Allow-Origin"] == origin


RUN = ("back-up", "docusaurus", "github-webhook", "servers")


@pytest.mark.parametrize("name", RUN)
def test_the_commands_of_a_guide_work(
    name: str, capfd: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("BOOKWISE_EMBEDDER", "hashing")
    anyio.run(lambda: shelve(tmp_path / ".bookwise", tmp_path / "book"))
    copy_folder(ROOT / "examples/widget/docusaurus", tmp_path / "my-site", without="bookwise.toml")
    bookwise = CommandLine(capfd, tmp_path / ".bookwise")
    for line in guide_lines(GUIDE[name]):
        _, words = split(line.partition(" && ")[0])
        if words and words[0] == "bookwise" and parse_bookwise(words[1:]) not in LONG_COMMANDS:
            assert bookwise(*words[1:]) == 0, bookwise.err or bookwise.out


@pytest.mark.anyio
async def test_the_requests_of_the_guides_reach_a_service(tmp_path: Path, small_book: Path) -> None:
    """The webhook, the workflow and the health check, in a shell, against a service that requires a key."""
    webhook = exports(GUIDE["github-webhook"])
    settings = settings_for(tmp_path / "data", **{name.lower(): value for name, value in webhook.items()})
    [text] = [text for language, text in code_blocks(GUIDE["github-webhook"]) if language == "yaml"]
    [step] = yaml.safe_load(text)["jobs"]["ingest"]["steps"]
    assert step["env"].keys() == {"BOOKWISE", "KEY", "BOOK"}
    async with served(settings, small_book, own_index=True) as service:
        _, secret = await service.service.keys.create("an admin", "admin")
        variables = {**os.environ, **webhook, "BOOKWISE": service.url, "BOOK": BOOK, "KEY": secret}
        for commands, expected in (
            (script(GUIDE["github-webhook"]), '"accepted"'),
            (script(GUIDE["github-webhook"]), '"duplicate"'),
            (step["run"], '"job_id"'),
            (script(GUIDE["servers"]), '"latency_ms"'),
        ):
            while service.service.runner.is_busy:  # noqa: ASYNC110 - a second job of the book would be refused
                await anyio.sleep(0.01)
            run = await anyio.run_process(["bash", "-euo", "pipefail", "-c", commands], env=variables, check=False)
            assert run.returncode == 0, run.stderr.decode() + run.stdout.decode()
            assert expected in run.stdout.decode()


@pytest.mark.anyio
async def test_the_settings_for_ollama_reach_a_model(
    tmp_path: Path, small_book: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    named = exports(GUIDE["local-models"])
    for name, value in named.items():
        monkeypatch.setenv(name, value)
    settings = load_settings(data_dir=tmp_path / "other")
    assert (settings.openai_base_url, settings.embedder, settings.embedding_size) == (
        "http://localhost:11434/v1",
        "openai",
        768,
    )
    assert settings.answer_timeout_seconds == 300
    [question, _] = [
        split(line)[1][2] for line in guide_lines(GUIDE["local-models"]) if line.startswith("bookwise ask")
    ]
    sentence = "The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. [1]"
    async with scripted(says(sentence)) as server:
        address = settings.openai_base_url.replace("localhost:11434", f"127.0.0.1:{server.port}")
        model = {"openai_api_key": settings.openai_api_key, "openai_model": settings.openai_model}
        asked = settings_for(tmp_path / "data", openai_base_url=address, **model)
        async with asking_app(asked, small_book) as (_, kit):
            answer = await answer_of(kit, question)
    assert answer.meta.engine == "direct"
    assert server.requests[0].json["model"] == named["OPENAI_MODEL"]
    assert server.requests[0].target == "/v1/chat/completions"
