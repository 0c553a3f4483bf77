"""What can be said about a command or a configuration in a page without the foreign program that it is for."""

import re
import shlex
from collections.abc import Callable, Sequence
from typing import Any

import click
import typer
import yaml

from bookwise.cli.main import program
from bookwise.settings import FIELDS, env_name
from tests.docs.pages import ROOT

MAKEFILE = (ROOT / "Makefile").read_text(encoding="utf-8")
PROJECT = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
SETTINGS = {env_name(field) for field in FIELDS}
ASSIGNMENT = re.compile(r"([A-Z][A-Z_]+)=(.*)")
WIDGET_PAGE = (ROOT / "docs/service/widget.md").read_text(encoding="utf-8")
WIDGET_ATTRIBUTES = set(re.findall(r"`(data-[a-z-]+)`", WIDGET_PAGE))

#: Programs that the tests do not run, each with the reason. Their lines are checked as far as the repository allows.
NOT_RUN = {
    "git": "needs GitHub",
    "npm": "needs Node.js and its registry",
    "ollama": "needs Ollama",
    "podman": "needs a container engine; the named file is parsed",
    "claude": "needs Claude Code; the command of Bookwise in it is parsed",
    "mkdocs": "serves until it is stopped; its own parser reads the line",
    "make": "installs or builds; the target must exist",
    "pip": "installs; the extras must exist",
}
#: Commands of Bookwise that the tests of the pages do not run. All of them are parsed.
NOT_RUN_COMMANDS = {
    "serve": "runs until it is stopped; the service answers in the process of the tests instead",
    "worker": "needs PostgreSQL and Qdrant: tests/cli/test_worker.py",
    "move": "needs PostgreSQL or Qdrant: tests/cli/test_move.py",
}


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
    assert words[1:3] == ["compose", "-f"]
    assert yaml.safe_load((ROOT / words[3]).read_text(encoding="utf-8"))["services"]


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
    assert all(name in SETTINGS or name == "PATH" or f"${{{name}:" in compose for name in names), names


def check_copy(words: Sequence[str]) -> None:
    assert (ROOT / words[-2]).exists()


def accept(words: Sequence[str]) -> None:
    """Nothing to check."""


CHECKS: dict[str, Callable[[Sequence[str]], None]] = {
    "bookwise": check_bookwise,
    "make": check_make,
    "pip": check_pip,
    "podman": check_podman,
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
            assert words[0] in CHECKS, f"Say how `{words[0]}` is tested: tests/docs/checks.py"
            CHECKS[words[0]](words)


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
