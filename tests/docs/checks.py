"""What can be said about a command or a configuration in a page without the foreign program that it is for."""

import re
import shlex
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import click
import typer
import yaml

from bookwise.cli.main import program
from bookwise.settings import FIELDS, env_name
from tests.docs.pages import GUIDES, OTHER_PAGES, ROOT, code_blocks, shell_lines

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
SETTINGS = {env_name(field) for field in FIELDS}
ASSIGNMENT = re.compile(r"([A-Z][A-Z_]+)=(.*)")
WIDGET_PAGE = (ROOT / "docs/service/widget.md").read_text(encoding="utf-8")
WIDGET_ATTRIBUTES = set(re.findall(r"`(data-[a-z-]+)`", WIDGET_PAGE))

VARIABLES = {"PATH", "BOOKWISE", "KEY", "BOOK"}  #: of the shell, and of the examples for the service

#: Programs that the tests do not run, each with the reason. Their lines are checked as far as the repository allows.
NOT_RUN = {
    "git": "needs GitHub",
    "npm": "needs Node.js and its registry",
    "ollama": "needs Ollama",
    "podman": "needs a container engine; the named file must exist and the command in the container is parsed",
    "python3": "creates an environment, or serves until it is stopped",
    "systemctl": "needs systemd; the unit must exist",
    "systemd-run": "needs systemd; the command of Bookwise in it is parsed",
    "claude": "needs Claude Code; the command of Bookwise in it is parsed",
    "mkdocs": "serves until it is stopped; its own parser reads the line",
    "make": "installs or builds; the target must exist",
    "pip": "installs; the extras must exist",
}
#: Commands of Bookwise that run until they are stopped, or need servers: tests/docs/test_long_commands.py runs them.
LONG_COMMANDS = {"serve", "worker", "move"}


def split(line: str) -> tuple[dict[str, str], list[str]]:
    """The settings before a command, and its words."""
    words = shlex.split(line, comments=True)
    settings = {}
    while words and (found := ASSIGNMENT.fullmatch(words[0])):
        settings[found[1]] = found[2]
        words = words[1:]
    return settings, words


def parse_bookwise(words: Sequence[str]) -> str:
    """The name of the command that these words run. Fails when the program does not accept them."""
    group: Any = typer.main.get_command(program(list(words)))
    parse(group, "bookwise", list(words), None)
    return next(word for word in words if word in group.commands)


def parse(command: Any, name: str, words: list[str], parent: Any) -> None:
    """Parses the words of a command, and those of the command below it if they name one."""
    with command.make_context(name, words, parent=parent) as context:
        rest = [*context._protected_args, *context.args]
        if rest and hasattr(command, "commands"):
            inner_name, inner, inner_words = command.resolve_command(context, rest)
            parse(inner, inner_name, inner_words, context)


def check_bookwise(words: Sequence[str]) -> None:
    parse_bookwise(words[1:])


def check_make(words: Sequence[str]) -> None:
    assert all(re.search(rf"^{target}:", MAKEFILE, re.MULTILINE) for target in words[1:])


def check_pip(words: Sequence[str]) -> None:
    assert words[1:4] == ["install", "--find-links", "dist"], "Bookwise is not on PyPI: point pip to the wheels."
    for wanted in words[4:]:
        found = re.fullmatch(r"bookwise(?:\[([a-z,]+)\])?", wanted)
        assert found
        extras = (found[1] or "").split(",") if found[1] else []
        assert all(re.search(rf"^{extra} = \[", PROJECT, re.MULTILINE) for extra in extras)


def check_podman(words: Sequence[str]) -> None:
    if "-f" in words:
        file = ROOT / words[words.index("-f") + 1]
        assert file.exists()
        assert file.suffix != ".yaml" or yaml.safe_load(file.read_text(encoding="utf-8"))["services"]
    else:
        assert words[1] == "run"
        inside = words[words.index("bookwise") + 1 :]  # the image has the name of the program
        assert not inside or parse_bookwise(inside[1:])


def check_systemctl(words: Sequence[str]) -> None:
    assert (ROOT / "deploy" / f"{words[-1]}.service").exists()


def check_systemd_run(words: Sequence[str]) -> None:
    program = next(number for number, word in enumerate(words) if word.endswith("/bookwise"))
    check_bookwise(words[program:])


def check_claude(words: Sequence[str]) -> None:
    assert words[1:3] == ["mcp", "add"]
    if "--" in words:
        check_bookwise(words[words.index("--") + 1 :])
        assert split(words[words.index("--env") + 1])[0].keys() <= SETTINGS
    else:
        assert next(word for word in words if "://" in word).endswith("/mcp")


def check_mkdocs(words: Sequence[str]) -> None:
    from mkdocs.__main__ import cli

    command = cli.commands[words[1]]
    assert isinstance(command, click.Command)
    command.make_context(words[1], list(words[2:]))


def check_export(words: Sequence[str]) -> None:
    compose = (ROOT / "deploy/compose.yaml").read_text(encoding="utf-8")
    names = [word.partition("=")[0] for word in words[1:]]
    known = SETTINGS | VARIABLES
    assert all(name in known or name.startswith("OTEL_") or f"${{{name}:" in compose for name in names), names


def check_copy(words: Sequence[str]) -> None:
    assert (ROOT / words[-2]).exists()


def accept(words: Sequence[str]) -> None:
    """Nothing to check."""


CHECKS: dict[str, Callable[[Sequence[str]], None]] = {
    "bookwise": check_bookwise,
    "make": check_make,
    "pip": check_pip,
    "podman": check_podman,
    "python3": accept,
    "systemctl": check_systemctl,
    "systemd-run": check_systemd_run,
    "claude": check_claude,
    "mkdocs": check_mkdocs,
    "export": check_export,
    "cp": check_copy,
    "cd": accept,
    "git": accept,
    "npm": accept,
    "ollama": accept,
    "curl": accept,  # run against a service
}


def check_line(line: str) -> None:
    """Fails when a command of a page cannot be right."""
    for part in line.split(" && "):
        settings, words = split(part)
        assert settings.keys() - {"BODY", "SIGNATURE"} <= SETTINGS, f"There is no such setting: {part}"
        if words:
            assert program_of(words) in CHECKS, f"Say how `{words[0]}` is tested: tests/docs/checks.py"
            CHECKS[program_of(words)](words)


def program_of(words: Sequence[str]) -> str:
    return words[0].rpartition("/")[2]


def is_script(text: str) -> bool:
    """Whether a block without a language contains commands, and not a drawing."""
    return bool(words := re.match(r"\$? ?(?:[A-Z_]+=\S+ )*(\S+)", text)) and words[1].rpartition("/")[2] in CHECKS


def check_assistant(config: dict[str, Any]) -> None:
    """The configuration of an MCP client: it starts `bookwise mcp`, or calls a service with a key."""
    servers = config.get("mcpServers") or config["servers"]
    for server in servers.values():
        if "command" in server:
            assert server["command"] == "bookwise"
            assert parse_bookwise(server["args"]) == "mcp"
        else:
            assert server["url"].endswith("/mcp")
            assert server["headers"]["Authorization"].startswith("Bearer ")


def check_script_tag(html: str) -> None:
    """The script tag of the widget has only attributes that the widget knows."""
    assert re.search(r'src="https?://[^"]+/widget\.js"', html)
    assert set(re.findall(r"\b(data-[a-z-]+)=", html)) <= WIDGET_ATTRIBUTES


def guide_lines(page: Path) -> list[str]:
    """The commands of a guide that a shell reads, without scripts for `curl`."""
    scripts = [text for language, text in code_blocks(page) if language in ("sh", "console") and "curl" not in text]
    return [line for text in scripts for line in shell_lines(text)]


def plain_lines(page: Path) -> list[str]:
    """The commands of another page, in blocks that name no language."""
    scripts = [text for language, text in code_blocks(page) if not language and is_script(text)]
    return [line for text in scripts for line in shell_lines(text)]


def script_lines() -> Iterator[tuple[Path, str]]:
    """Every command of the documentation, with its page."""
    for page in [*GUIDES, *OTHER_PAGES]:
        for line in guide_lines(page) if page in GUIDES else plain_lines(page):
            yield page, line
