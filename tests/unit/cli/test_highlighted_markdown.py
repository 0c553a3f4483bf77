"""On a terminal the highlighted parts are bold, whatever Markdown they stand in."""

import re
from io import StringIO

import pytest
from rich.console import Console

from bookwise.cli.highlighted_markdown import HighlightedMarkdown
from bookwise.domain.answers import Highlight

_STYLED = re.compile(r"\x1b\[([\d;]*)m([^\x1b]*)")


def bold_parts(text: str, *highlighted: str) -> list[str]:
    """What is shown in bold, one string for neighbours, without the padding of code."""
    ranges = [Highlight(text.index(part), text.index(part) + len(part)) for part in highlighted]
    out = StringIO()
    console = Console(file=out, force_terminal=True, width=200, color_system="truecolor", _environ={})
    console.print(HighlightedMarkdown(text, ranges))
    parts, was_bold = [""], False
    for style, shown in _STYLED.findall(out.getvalue()):
        is_bold = "1" in style.split(";")[:1]
        if not shown.strip() and not is_bold:
            continue
        if is_bold:
            parts[-1] += shown
        elif was_bold and parts[-1]:
            parts.append("")
        was_bold = is_bold
    return [part.strip() for part in parts if part.strip()]


def shown(text: str, *highlights: Highlight) -> str:
    out = StringIO()
    Console(file=out, width=200).print(HighlightedMarkdown(text, highlights))
    return out.getvalue()


def test_a_highlighted_sentence_is_bold() -> None:
    assert bold_parts("Bread needs time. Salt slows it. Bake it.", "Salt slows it.") == ["Salt slows it."]


def test_nothing_is_bold_without_highlights() -> None:
    assert bold_parts("Bread needs time. Salt slows it.") == []


@pytest.mark.parametrize(
    ("text", "part", "bold"),
    [
        ("A **node** is *one* `object`. More.", "A **node** is *one* `object`.", "A node is one object."),
        ("**One is. Two is.** More.", "Two is.** More.", "Two is. More."),
        ("- Open it.\n- Run `it`\n  now.\n", "Run `it`\n  now.", "Run it now."),
        ("| Dough | Minutes |\n|---|---|\n| Wheat | 10 |\n| Rye | 2 |\n", "Rye | 2", "Rye2"),
        ("> Quoted words. Other words.", "Other words.", "Other words."),
    ],
    ids=["inline", "across", "item", "row", "quote"],
)
def test_markdown_inside_a_highlight_is_still_markdown(text: str, part: str, bold: str) -> None:
    assert "".join("".join(bold_parts(text, part)).split()).endswith("".join(bold.split()))


def test_of_code_only_the_highlighted_line_is_bold() -> None:
    text = "Run it:\n\n```bash\nsudo apt update\nsudo apt install ros\n```\n"
    assert "".join(bold_parts(text, "sudo apt install ros")) == "sudo apt install ros"


@pytest.mark.parametrize(
    "text", ["A \\*star\\* is &amp; one. Two.", "# Title\n\nA.\n\n---\n\n1. B\n   - C", "", "```\n"]
)
def test_highlights_never_change_the_text(text: str) -> None:
    assert shown(text, Highlight(0, len(text))) == shown(text)
