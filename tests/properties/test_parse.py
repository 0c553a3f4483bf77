"""Laws of the parser: nothing but `BadLesson` is raised, order is kept, nothing is lost."""

import json
import re
import string

import pytest
from hypothesis import given
from hypothesis import strategies as st

from bookwise.domain.books import Block, Lesson, LessonFormat, SiteKind
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parse import parse
from bookwise.ingestion.parsing.front_matter import split_front_matter
from tests.support.builders import lesson_file

SITES: tuple[SiteKind, ...] = ("docusaurus", "mdbook", "mkdocs", "jupyter-book", "sphinx", "folder")
REASONS = ("encoding", "front-matter", "too-deep", "too-large", "notebook")

MARKDOWN_PARTS = [
    "# ",
    "## a",
    "- ",
    "1. ",
    "> ",
    "    ",
    "\t",
    "```",
    "```{note}",
    "```py",
    "~~~",
    "$$",
    "$",
    "|a|b|\n|-|-|\n",
    "<!--",
    "-->",
    "<div>",
    "</div>",
    "<pre>",
    "<script>",
    "</script>",
    "<h2 id=x>",
    "</h2>",
    "<td>",
    "<T>",
    "<b",
    "{",
    "}",
    "{/*",
    "*/}",
    "{#id}",
    "{'a'}",
    "import a from 'b'",
    "export const a = {",
    "<Tab label='x'>",
    "<>",
    "[a]: b",
    "[^1]: x",
    "[a](b)",
    "![i](j)",
    "`",
    "``",
    "*",
    "_",
    "\\",
    "&amp;",
    "<a href='",
    ":opt: v",
    "---",
    ":::",
    ":::note T",
    ":::{code}",
    '=== "T"',
    "!!! note",
    "/// x | y",
    "///",
    "(l)=",
    "% c",
    "+++",
    "[!NOTE]",
    "{{#include x}}",
    "{* x *}",
    "===",
    "<?",
    "?>",
    "<![CDATA[",
    "é",
    "\u2028",
    "\x0b",
    "\x1f",
    "\ufeff",
    "😀",
]
RST_PARTS = [
    "====",
    "----",
    "~~~~",
    "   ",
    ".. ",
    ".. note::",
    ".. code-block:: py",
    ".. tab:: L",
    ".. _l:",
    ".. [1] x",
    ".. |s| replace:: |s|",
    ".. |u| unicode:: 0xD800 0x0",
    "|s|",
    "|u|",
    "`",
    "``",
    "*",
    "**",
    ":ref:`a <b>`",
    "a_",
    ":math:`a`",
    "`a <http://x>`_",
    "__",
    "- ",
    "1. ",
    "#. ",
    ":f: v",
    "-o  opt",
    "| line",
    "::",
    ">>> x",
    "..",
    "+--+\n|a |\n+--+",
    "== ==\na  b\n== ==",
    ".. list-table::\n\n   * - a",
    ".. csv-table::\n   :file: x",
    ".. include:: x",
    ".. raw:: html",
    ".. math::",
    ".. table:: t",
    ".. figure:: x",
    "T\n=\n",
    "[1]_",
    "\\",
    "\t",
]
HTML_PARTS = [
    "<div>",
    "</div>",
    "<p>",
    "</p>",
    "<ul>",
    "<li>",
    "</ul>",
    "<ol start=x>",
    "<table>",
    "<tr>",
    "<td>",
    "<th>",
    "</table>",
    "<pre>",
    "<code class='language-x'>",
    "</code>",
    "</pre>",
    "<br>",
    "<img alt=a>",
    "<a href=x>",
    "</a>",
    "<h1>",
    "</h1>",
    "<h2 id=i>",
    "<main>",
    "<article>",
    "<nav>",
    "<script>",
    "</script>",
    "<!--",
    "-->",
    "&lt;",
    "&#xD800;",
    "&#0;",
    "<b>",
    "</b>",
    "<svg>",
    "<math>",
    "<template>",
    "<select>",
    "<title>t</title>",
]


def made_of(parts: list[str]) -> st.SearchStrategy[str]:
    piece = st.one_of(st.sampled_from(parts), st.text(max_size=8), st.sampled_from(["\n", "\n\n", " ", "word"]))
    return st.lists(piece, max_size=40).map("".join)


def parsed(raw: bytes, format: LessonFormat, site: SiteKind) -> Lesson | None:
    try:
        return parse(lesson_file(format=format, site=site), raw)
    except BadLesson as error:
        refusal = error
    assert refusal.reason in REASONS
    assert refusal.message
    return None


def check(lesson: Lesson | None) -> None:
    """What holds for every lesson."""
    for section in lesson.sections if lesson else ():
        assert section.blocks
        assert all(section.heading_path)
        for block in section.blocks:
            assert block.text.strip()
            assert "\0" not in block.text
            block.text.encode()
            if block.kind == "code":
                opening, closing = block.text.split("\n")[0], block.text.split("\n")[-1]
                assert closing.strip()
                assert opening.startswith(closing)


def blocks_of(text: str, **facts: object) -> list[Block]:
    lesson = parse(lesson_file(**facts), text.encode())  # type: ignore[arg-type]
    return [block for section in lesson.sections for block in section.blocks]


@pytest.mark.parametrize("site", SITES)
@given(text=made_of(MARKDOWN_PARTS))
def test_any_markdown_is_parsed_or_refused(site: SiteKind, text: str) -> None:
    check(parsed(text.encode("utf-8", "replace"), "markdown", site))


@given(text=made_of(MARKDOWN_PARTS))
def test_any_mdx_is_parsed_or_refused(text: str) -> None:
    check(parsed(text.encode("utf-8", "replace"), "mdx", "docusaurus"))


@given(text=made_of(RST_PARTS))
def test_any_restructured_text_is_parsed_or_refused(text: str) -> None:
    check(parsed(text.encode("utf-8", "replace"), "rst", "sphinx"))


@given(text=made_of(HTML_PARTS))
def test_any_page_is_parsed_or_refused(text: str) -> None:
    check(parsed(text.encode("utf-8", "replace"), "html", "site"))


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=20),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(st.sampled_from(["cells", "cell_type", "source", "metadata", "worksheets", "level"]), inner)
    ),
    max_leaves=20,
)
CELL = st.fixed_dictionaries(
    {"cell_type": st.sampled_from(["markdown", "code", "raw", "heading"]), "source": made_of(MARKDOWN_PARTS)}
)


@given(notebook=JSON | st.fixed_dictionaries({"cells": st.lists(CELL | JSON, max_size=4), "metadata": JSON}))
def test_any_notebook_is_parsed_or_refused(notebook: object) -> None:
    check(parsed(json.dumps(notebook).encode(), "notebook", "jupyter-book"))


@given(raw=st.binary(max_size=200), format=st.sampled_from(["markdown", "mdx", "rst", "html", "notebook"]))
def test_any_bytes_are_parsed_or_refused(raw: bytes, format: LessonFormat) -> None:
    check(parsed(raw, format, "folder"))


YAML_PARTS = [
    "a: ",
    "b",
    "- ",
    "[",
    "]",
    "{",
    "}",
    "&x ",
    "*x",
    "<<: ",
    "!!int ",
    "? ",
    ": ",
    "'",
    '"',
    "|\n",
    "2024-01-01",
]


@given(text=made_of(YAML_PARTS), marker=st.sampled_from(["---", "+++"]))
def test_front_matter_and_body_make_up_the_text(text: str, marker: str) -> None:
    whole = f"{marker}\n{text}\n{marker}\nbody"
    try:
        facts, body, taken = split_front_matter(whole)
    except BadLesson:
        return
    assert all(isinstance(key, str) for key in facts)
    assert whole.endswith(body)
    assert whole[: len(whole) - len(body)].count("\n") == taken


WORD = st.text(string.ascii_letters + "äöü中", min_size=1, max_size=8)
SENTENCE = st.lists(WORD, min_size=1, max_size=8).map(" ".join)


@given(titles=st.lists(st.tuples(st.integers(1, 6), SENTENCE), min_size=1, max_size=12))
def test_headings_are_found_in_order(titles: list[tuple[int, str]]) -> None:
    text = "\n\n".join(f"{'#' * level} {title}\n\ntext" for level, title in titles)
    headings = [block.text for block in blocks_of(text) if block.kind == "heading"]
    assert headings == [f"{'#' * level} {title}" for level, title in titles]


CODE = st.lists(st.text(st.characters(blacklist_categories=("Cs", "Cc")) | st.just("\t"), max_size=20), max_size=8)


@pytest.mark.parametrize("site", ["docusaurus", "jupyter-book", "sphinx"])
@given(lines=CODE, before=SENTENCE)
def test_code_between_fences_is_kept_character_for_character(site: SiteKind, lines: list[str], before: str) -> None:
    content = "".join(f"{line}\n" for line in lines)
    source = f"``````py\n{content}``````"
    blocks = blocks_of(f"{before}\n\n{source}\n\nafter\n", site=site)
    if not any(line.lstrip(" ").startswith("``````") for line in lines):
        assert [block.text for block in blocks] == [before, source, "after"]


@pytest.mark.parametrize("site", SITES)
@given(paragraphs=st.lists(st.lists(SENTENCE, min_size=1, max_size=4), min_size=1, max_size=8))
def test_plain_paragraphs_lose_no_word_and_keep_their_order(site: SiteKind, paragraphs: list[list[str]]) -> None:
    text = "\n\n".join("\n".join(lines) for lines in paragraphs)
    found = [word for block in blocks_of(text, site=site) for word in block.text.split()]
    if not re.search(r"^(?:import|export)\s", text, re.MULTILINE):
        assert found == text.split()


LIST_ITEM = st.tuples(st.integers(0, 2), SENTENCE)


@given(items=st.lists(LIST_ITEM, min_size=1, max_size=8), quoted=st.booleans())
def test_lists_lose_no_word(items: list[tuple[int, str]], quoted: bool) -> None:
    prefix = "> " if quoted else ""
    text = "\n".join(f"{prefix}{'  ' * level}- {sentence}" for level, sentence in items)
    found = [word for block in blocks_of(text) for word in block.text.split()]
    # Four blanks at the start make code of an item.
    found = [word for word in found if word not in ("-", "```")]
    assert found == [word for _, sentence in items for word in sentence.split()]
