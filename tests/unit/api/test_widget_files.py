"""The files of the widget: small, complete, and the same texts in every language."""

import re
import shutil
import subprocess

import pytest

from bookwise.api.web_files import web_file
from tests.architecture.source_code import ROOT, SOURCE

WEB = SOURCE / "api" / "web"
LOADER_MAX = 6_000  #: bytes, compressed: what every reader of the site loads
WIDGET_MAX = 30_000  #: with everything that a reader of the chat loads
LANGUAGES = ("de", "es", "fr")
IMPORT = re.compile(r"""(?:\bfrom\s+|\bimport\()["'](\.[^"']+)["']""")
TEXT_KEY = re.compile(r"^  (\w+):", re.MULTILINE)


def compressed(name: str) -> int:
    file = web_file(name)
    assert file is not None
    return len(file.compressed)


def with_imports(name: str, found: set[str]) -> set[str]:
    """The module and everything it imports, by path below the web folder."""
    if name not in found:
        found.add(name)
        folder = (WEB / name).parent
        for target in IMPORT.findall((WEB / name).read_text(encoding="utf-8")):
            with_imports(str((folder / target).resolve().relative_to(WEB)), found)
    return found


def test_the_widget_is_small_in_every_language() -> None:
    modules = with_imports("widget/panel.js", {"widget.js", "widget/selection.js"})
    assert "chat/style.js" in modules
    sizes = {name: compressed(name) for name in sorted(modules)}
    assert sizes["widget.js"] <= LOADER_MAX
    largest_language = max(compressed(f"widget/{language}.js") for language in LANGUAGES)
    assert sum(sizes.values()) + largest_language < WIDGET_MAX, sizes


def test_only_indents_and_lines_that_are_comments_are_left_out() -> None:
    for path in [WEB / "widget.js", *(WEB / "widget").glob("*.js"), *(WEB / "chat").glob("*.js")]:
        file = web_file(str(path.relative_to(WEB)))
        assert file is not None
        code = [line.lstrip() for line in path.read_text(encoding="utf-8").splitlines() if not _is_comment(line)]
        sent = file.body.decode().splitlines()
        assert [line for line in sent if not _is_comment(line)] == code
        assert not [line for line in sent if line.startswith(("//", " "))]


def test_a_text_over_several_lines_is_a_style() -> None:
    """Indents matter in no style. In any other text they would be missing."""
    lines = [line for path in WEB.rglob("*.js") for line in path.read_text(encoding="utf-8").splitlines()]
    found = [re.search(r"(\S+)(?: =)?[ (,]`[^`]*$", line) for line in lines if line.count("`") % 2]
    assert {opening[1] for opening in found if opening} == {"LIGHT", "DARK", "TEXT", "STYLE", "return"}


def _is_comment(line: str) -> bool:
    """Whether a line is a comment or the end of one that began in the line before."""
    return line.strip().startswith(("//", "/**")) or line.strip().endswith("*/")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_translation_has_every_text_of_the_chat(language: str) -> None:
    english = set(TEXT_KEY.findall((WEB / "chat" / "strings.js").read_text(encoding="utf-8")))
    translated = set(TEXT_KEY.findall((WEB / "widget" / f"{language}.js").read_text(encoding="utf-8")))
    assert len(english) > 50
    assert english == translated


@pytest.mark.parametrize(
    "path", ["widget.js", "widget/panel.js", "widget/selection.js", *(f"widget/{x}.js" for x in LANGUAGES)]
)
def test_the_served_scripts_are_valid(path: str) -> None:
    file = web_file(path)
    assert file is not None
    _check_syntax(file.body, "commonjs" if path == "widget.js" else "module")


def test_the_docusaurus_recipe_is_valid() -> None:
    root = (ROOT / "examples/widget/docusaurus/src/theme/Root.js").read_bytes()
    _check_syntax(root, "module")
    _check_syntax((ROOT / "examples/widget/docusaurus/docusaurus.config.js").read_bytes(), "module")


def _check_syntax(script: bytes, kind: str) -> None:
    node = shutil.which("node")
    if node is None:
        pytest.skip("node is not installed")
    check = subprocess.run(
        [node, f"--input-type={kind}", "--check", "-"], input=script, capture_output=True, check=False, timeout=60
    )
    assert check.returncode == 0, check.stderr.decode()
