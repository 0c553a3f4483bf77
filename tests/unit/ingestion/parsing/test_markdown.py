"""Markdown in its dialects → blocks: what readers see stays, as written; the rest goes."""

import contextlib
import time
from collections.abc import Callable

import pytest

from bookwise.domain.errors import BadLesson
from tests.support.parsed import anchors, blocks, lesson, paths, shown, texts


def test_paragraphs_lists_code_and_tables_keep_their_source() -> None:
    text = """
        Some *text* with a [link](a.md)
        over two lines.

        1. one
           - nested `code`
        2. two

        ```rust,ignore
        fn main() {

            body();
        }
        ```

        | a | b |
        |---|:-:|
        | 1 | `|` |
        """
    assert shown(text) == [
        ("text", "Some *text* with a [link](a.md)\nover two lines."),
        ("list", "1. one\n   - nested `code`\n2. two"),
        ("code", "```rust,ignore\nfn main() {\n\n    body();\n}\n```"),
        ("table", "| a | b |\n|---|:-:|\n| 1 | `|` |"),
    ]


@pytest.mark.parametrize(
    ("info", "language"),
    [
        ("rust,ignore", "rust"),
        ("js title='a' {1,3}", "js"),
        ("", ""),
        ("JSON", "json"),
        ("{ .py .annotate }", "py"),
        ("python {1-2}", "python"),
        ("c++", "c++"),
        ("js{2}", "js"),
    ],
)
def test_the_language_of_code_is_the_first_word(info: str, language: str) -> None:
    (block,) = blocks(f"```{info}\nx\n```\n")
    assert block.language == language
    assert block.text == f"```{info}\nx\n```"


def test_indented_code_gets_a_fence() -> None:
    assert shown("Text\n\n    x = 1\n\n    y = 2\n") == [("text", "Text"), ("code", "```\nx = 1\n\ny = 2\n```")]


def test_an_open_fence_runs_to_the_end_of_the_lesson() -> None:
    assert shown("A\n\n```py\nx\n\n# not a heading") == [("text", "A"), ("code", "```py\nx\n\n# not a heading\n```")]


def test_a_fence_inside_a_quote_or_list_loses_only_the_indentation_of_its_container() -> None:
    quoted = "> ~~~sh\n> a\n>   b\n> ~~~\n"
    assert shown(quoted) == [("code", "~~~sh\na\n  b\n~~~")]
    listed = "- item\n\n  ```sh\n  a\n    b\n  ```\n"
    assert shown(listed) == [("list", "- item\n\n  ```sh\n  a\n    b\n  ```")]


def test_long_code_in_a_list_becomes_a_block_of_its_own_between_two_lists() -> None:
    code = "".join(f"  line {n}\n" for n in range(200))
    found = shown(f"- before\n\n  ```py\n{code}  ```\n\n  after\n- next\n")
    assert [kind for kind, _ in found] == ["list", "code", "list"]
    assert found[0][1] == "- before"
    assert found[1][1].startswith("```py\nline 0\nline 1\n")
    assert found[2][1] == "  after\n- next"


def test_a_quote_is_text_without_its_marks() -> None:
    assert shown("> One\n> two\n>\n> - a\n") == [("text", "One\ntwo"), ("list", "- a")]


def test_a_heading_in_a_quote_is_text_but_takes_up_its_fragment() -> None:
    text = "# T\n\n> ### Note\n> quoted\n\n## Note\n"
    assert shown(text)[1:3] == [("text", "### Note"), ("text", "quoted")]
    assert anchors(text, site="mdbook") == ["t", "note-1"]


def test_github_alerts_are_notes() -> None:
    assert texts("> [!WARNING]\n> Mind the gap.\n") == ["Warning:", "Mind the gap."]


def test_link_definitions_stay() -> None:
    assert texts("See [a] and [b].\n\n[a]: http://a.example\n[b]: http://b.example 'B'\n") == [
        "See [a] and [b].",
        "[a]: http://a.example\n[b]: http://b.example 'B'",
    ]


def test_footnotes_stay_where_they_stand() -> None:
    text = "Text[^1].\n\n[^1]: The note\n    goes on.\n\n    Second paragraph.\n\nAfter\n"
    assert texts(text) == ["Text[^1].", "[^1]: The note\n    goes on.\n\n    Second paragraph.", "After"]


@pytest.mark.parametrize(
    ("source", "kept"),
    [
        ("$$\nx^2\n$$\n", "$$\nx^2\n$$"),
        ("$$x < y$$\n", "$$x < y$$"),
        ("$$\na\n$$ (eq1)\n", "$$\na\n$$ (1)"),
        ("\\begin{align}\na &= b\n\\end{align}\n", "\\begin{align}\na &= b\n\\end{align}"),
    ],
)
def test_display_mathematics_is_a_block(source: str, kept: str) -> None:
    assert shown(source) == [("math", kept)]


def test_inline_mathematics_keeps_its_angle_brackets_and_money_is_not_mathematics() -> None:
    assert texts("If $a <b and c> d$ it costs $5 or <b>$6</b>.\n") == ["If $a <b and c> d$ it costs $5 or $6."]


class TestComments:
    def test_comments_go_also_over_many_lines_and_with_code_inside(self) -> None:
        text = "A\n\n<!-- one\n\n```py\nx = 1\n```\n\n# Not a heading\n-->\n\nB <!-- two --> C\n"
        assert texts(text) == ["A", "B  C"]

    def test_a_comment_inside_code_stays(self) -> None:
        assert texts("```html\n<!-- kept -->\n```\n\n`<!-- kept too -->`\n") == [
            "```html\n<!-- kept -->\n```",
            "`<!-- kept too -->`",
        ]

    def test_words_after_the_end_of_a_comment_stay(self) -> None:
        assert texts("<!-- a\n\nb --> kept\n") == ["kept"]

    def test_a_comment_without_an_end_is_text(self) -> None:
        assert paths("<!-- open\n\n# Heading\n\ntext\n") == [(), ()]
        assert texts("<!-- open\n\ntext\n") == ["<!-- open", "text"]

    def test_comments_in_lists_and_tables_go(self) -> None:
        assert shown("- a <!-- x -->\n  <!--\n  y\n  -->\n- b\n") == [("list", "- a \n- b".replace(" \n", "\n"))]
        assert shown("|a|\n|-|\n|b <!-- x -->|\n") == [("table", "|a|\n|-|\n|b |")]


class TestHtml:
    def test_tags_go_and_their_text_stays(self) -> None:
        text = "<details>\n<summary>More &amp; more</summary>\n\nInside **it**.\n\n</details>\n"
        assert texts(text) == ["More & more", "Inside **it**."]

    def test_inline_tags_go_but_what_only_looks_like_one_stays(self) -> None:
        text = "Press <kbd>Ctrl</kbd>: `Vec<T>` is Vec<T> for <your-name>, see <https://a.example>.<br>Next\n"
        assert texts(text) == ["Press Ctrl: `Vec<T>` is Vec<T> for <your-name>, see <https://a.example>. Next"]

    def test_raw_html_inside_a_list_is_read_as_text(self) -> None:
        assert texts("- a\n\n  <div>b\n  <b>c</b></div>\n- d\n") == ["- a\n\n  b\n  c\n- d"]

    def test_a_link_address_in_angle_brackets_is_not_a_tag(self) -> None:
        assert texts("[x](<a b.md>) <b>y</b>\n") == ["[x](<a b.md>) y"]

    def test_a_table_becomes_rows(self) -> None:
        text = "<table>\n<tr>\n<th>A</th>\n<th>B</th>\n</tr>\n<tr><td>1</td><td>2 &lt; 3</td></tr>\n</table>\n"
        assert shown(text) == [("table", "| A | B\n| 1 | 2 < 3")]

    def test_preformatted_text_is_code(self) -> None:
        text = '<pre><code class="language-rust">let <em>x</em> = 1;\n\nlet y;</code></pre>\n'
        (block,) = blocks(text)
        assert (block.kind, block.language) == ("code", "rust")
        assert block.text == "```rust\nlet x = 1;\n\nlet y;\n```"

    def test_scripts_and_styles_go(self) -> None:
        assert texts("<style>\n.a { color: red }\n\n.b {}\n</style>\n\nA\n\n<script>alert(1)</script> B\n") == [
            "A",
            "B",
        ]

    def test_a_script_without_an_end_does_not_swallow_the_lesson(self) -> None:
        assert paths("<script>\n\n# A\n\n## B\n") == [(), ("B",)]

    def test_a_script_never_reaches_over_a_heading(self) -> None:
        assert paths("<script>\na()\n\n# A\n\ntext </script>\n\n## B\n") == [(), (), ("B",)]

    def test_headings_written_as_html_begin_sections(self) -> None:
        text = '<div align="center">\n<h1>Title</h1>\nwords\n</div>\n\n<h2 id="own">Part <b>one</b></h2>\n\ntext\n'
        found = lesson(text)
        assert found.title == "Title"
        assert [(s.heading_path, s.anchor) for s in found.sections] == [((), "title"), (("Part one",), "own")]

    def test_the_description_of_a_picture_stays(self) -> None:
        assert texts('<img src="a.svg"\nalt="Two boxes\nand an arrow" />\n') == ["Two boxes and an arrow"]

    def test_an_mdbook_listing_keeps_its_caption(self) -> None:
        text = '<Listing number="5-1" file-name="src/main.rs" caption="A struct">\n\n```rust\nx\n```\n\n</Listing>\n'
        assert texts(text, site="mdbook") == ["Listing 5-1: A struct (src/main.rs)", "```rust\nx\n```"]


class TestContainers:
    def test_docusaurus_admonitions_lead_in_with_their_name(self) -> None:
        text = """
            :::note Mind the gap

            Text

            - a
            :::

            :::tip[Use *this*]{.wide}
            More
            :::

            :::danger

            Bare
            :::
            """
        expected = ["Note: Mind the gap", "Text", "- a", "Tip: Use *this*", "More", "Danger:", "Bare"]
        assert texts(text, site="docusaurus") == expected
        assert texts(text) == expected

    def test_containers_nest_and_may_stay_open(self) -> None:
        assert texts("::::info A\n\n:::note B\nx\n:::\n\ny\n::::\n\nz\n\n:::tip C\nlast\n") == [
            "Info: A",
            "Note: B",
            "x",
            "y",
            "z",
            "Tip: C",
            "last",
        ]

    def test_headings_inside_containers_begin_sections(self) -> None:
        assert paths("# T\n\n:::note\n\n## A\n\nx\n\n:::\n", site="docusaurus") == [(), ("A",)]

    def test_myst_colon_fences_hold_text_or_code(self) -> None:
        text = ":::{note} Read this\n:class: wide\nText\n:::\n\n:::{code-block} python\n:linenos:\nx = 1\n:::\n"
        assert shown(text, site="jupyter-book") == [
            ("text", "Note: Read this"),
            ("text", "Text"),
            ("code", "```python\nx = 1\n```"),
        ]

    def test_quarto_callouts_are_notes(self) -> None:
        assert texts('::: {.callout-warning title="Hot"}\nText\n:::\n') == ["Warning: Hot", "Text"]

    def test_mkdocs_admonitions_and_tabs_lose_their_indentation(self) -> None:
        text = """
            !!! note "Mind the gap"
                First

                ```py
                x = 1
                ```

            ??? tip
                Folded

            ???+ danger inline end "Hot"
                Open

            === "Linux"

                apt

            === "macOS"

                1. brew

            After
            """
        assert shown(text, site="mkdocs") == [
            ("text", "Note: Mind the gap"),
            ("text", "First"),
            ("code", "```py\nx = 1\n```"),
            ("text", "Tip:"),
            ("text", "Folded"),
            ("text", "Danger: Hot"),
            ("text", "Open"),
            ("text", "Linux:"),
            ("text", "apt"),
            ("text", "macOS:"),
            ("list", "1. brew"),
            ("text", "After"),
        ]

    def test_mkdocs_blocks_lead_in_with_their_name(self) -> None:
        text = "/// note | Mind\n    open: true\n\nText\n\n//// tab | Python 3.10+\n\nA\n\n////\n\n///\n"
        assert texts(text, site="mkdocs") == ["Note: Mind", "Text", "Python 3.10+:", "A"]

    def test_words_that_only_look_like_options_or_styles_stay(self) -> None:
        assert texts(":::note\n    Example: run it\n:::\n", site="docusaurus") == ["Note:", "Example: run it"]
        assert texts("!!! tip remember this\n    Text\n", site="mkdocs") == ["Tip: remember this", "Text"]
        long = "word " * 200
        assert texts(f":::note {long}\n", site="docusaurus") == [f":::note {long}".strip()]
        assert texts(f'!!! note "{long}"\n', site="mkdocs") == [f'!!! note "{long}"']

    def test_an_object_documented_by_mkdocstrings_keeps_its_name(self) -> None:
        assert texts("::: package.Module\n    options:\n      - a\n\nText\n", site="mkdocs") == [
            "package.Module",
            "Text",
        ]

    def test_an_admonition_inside_a_list_stays_in_the_list(self) -> None:
        assert shown("- a\n\n  :::note T\n  b\n  :::\n- c\n", site="docusaurus") == [
            ("list", "- a\n\n  Note: T\n  b\n- c")
        ]


class TestDirectives:
    def test_text_directives_are_read_as_markdown(self) -> None:
        text = """
            ```{note}
            :class: dropdown
            Some *text*

            - a
            ```

            ````{admonition} My title
            ```{code-cell} ipython3
            ---
            tags: [hide]
            mystnb:
              figure:
                caption: A plot
            ---
            x = 1
            ```
            ````

            ```{figure} img/a.png
            :name: fig-a

            The caption.
            ```
            """
        assert shown(text, site="jupyter-book") == [
            ("text", "Note:"),
            ("text", "Some *text*"),
            ("list", "- a"),
            ("text", "My title"),
            ("code", "```python\nx = 1\n```"),
            ("text", "A plot"),
            ("text", "The caption."),
        ]

    def test_the_options_of_a_cell_go_even_when_they_are_not_yaml(self) -> None:
        text = "```{code-cell} python\n---\ntags: [\n---\nx = 1\n```\n"
        assert texts(text, site="jupyter-book") == ["```python\nx = 1\n```"]

    def test_mathematics_contents_and_raw_parts(self) -> None:
        text = "```{math}\n:label: eq\nx^2\n```\n\n```{toctree}\na\nb\n```\n\n```{raw} html\n<b>x</b>\n```\n"
        assert shown(text, site="sphinx") == [("math", "$$\nx^2\n$$ (1)")]

    def test_exercises_and_their_solutions_are_named(self) -> None:
        text = (
            "```{exercise-start} Warm up\n:label: ex1\n```\n\nAsk\n\n```{exercise-end}\n```\n\n"
            "```{solution-start} ex1\n:class: dropdown\n```\n\nAnswer\n\n```{solution-end}\n```\n\n"
            "```{prf:theorem} Bayes\nText\n```\n\n````{grid} 1 2\n```{grid-item-card} Card\nx\n```\n````\n"
        )
        assert texts(text, site="jupyter-book") == [
            "Exercise: Warm up",
            "Ask",
            "Solution:",
            "Answer",
            "Theorem: Bayes",
            "Text",
            "Card",
            "x",
        ]

    def test_a_language_in_braces_is_code(self) -> None:
        (block,) = blocks("```{python}\n#| echo: false\nx = 1\n```\n")
        assert (block.language, block.text) == ("python", "```python\n#| echo: false\nx = 1\n```")

    def test_elsewhere_braces_after_a_fence_are_no_directive(self) -> None:
        assert texts("```{note}\n*a*\n```\n", site="mkdocs") == ["```{note}\n*a*\n```"]

    def test_marks_of_myst_go(self) -> None:
        text = "(a-label)=\n# Title\n\n% a comment\n\nText\n\n+++\n\n(b)=\nMore\n"
        assert texts(text, site="jupyter-book") == ["# Title", "Text", "More"]

    def test_directives_nested_without_end_are_too_deep(self) -> None:
        text = "\n".join("`" * n + "{note}" for n in range(60, 2, -1))
        with pytest.raises(BadLesson) as caught:
            blocks(text, site="jupyter-book")
        assert caught.value.reason == "too-deep"


class TestIncludes:
    def test_mdbook_includes_that_were_not_replaced_go_with_their_fence(self) -> None:
        text = """
            {{#title A page}}
            Text {{#include ../a.md}} goes on.

            {{#include ../secret.md}}

            ```rust
            {{#rustdoc_include ../listings/main.rs:here}}
            ```

            ```toml
            [package]
            {{#include ../Cargo.toml}}
            ```

            - item

              ```rust
              {{#playground a.rs}}
              ```
            """
        assert texts(text, site="mdbook") == [
            "Text  goes on.",
            "```toml\n[package]\n```",
            "- item",
        ]

    def test_mkdocs_includes_go(self) -> None:
        text = 'A\n\n{* ../src/a.py hl[2] *}\n\n--8<-- "b.md"\n\n```py\n{!../c.py!}\n```\n'
        assert texts(text, site="mkdocs") == ["A"]

    def test_braces_of_other_template_languages_stay(self) -> None:
        text = "```hbs\n{{#if a}}x{{/if}}\n```\n\n{{ site.title }}\n"
        assert texts(text, site="mdbook") == ["```hbs\n{{#if a}}x{{/if}}\n```", "{{ site.title }}"]

    def test_inside_a_list_only_the_including_lines_go(self) -> None:
        text = "- a\n\n  ```toml\n  [p]\n  {{#include x}}\n  ```\n- b {{#include y}}\n"
        assert texts(text, site="mdbook") == ["- a\n\n  ```toml\n  [p]\n  ```\n- b"]


class TestHiddenLines:
    CODE = """
        ```rust,ignore
        # use std::io;
        #
        #[derive(Debug)]
        #![allow(x)]
        let a = "
        ## text";
            # hidden();
        ```
        """

    def test_readers_of_an_mdbook_see_only_the_visible_lines(self) -> None:
        visible = '```rust,ignore\n#[derive(Debug)]\n#![allow(x)]\nlet a = "\n# text";\n```'
        assert texts(self.CODE, site="mdbook") == [visible]

    def test_other_sites_and_languages_hide_nothing(self) -> None:
        assert "# use std::io;" in texts(self.CODE, site="folder")[0]
        shell = "```console\n# apt install\n```\n\n- a\n\n  ```rust\n  # b\n  c\n  ```\n\n```\n# d\n```\n"
        assert texts(shell, site="mdbook") == [
            "```console\n# apt install\n```",
            "- a\n\n  ```rust\n  c\n  ```",
            "```\n# d\n```",
        ]

    def test_inline_code_at_the_start_of_a_line_opens_no_fence(self) -> None:
        text = "```rust``` is code\n\n# Title\n"
        assert texts(text, site="mdbook") == ["```rust``` is code", "# Title"]


class TestHeadings:
    def test_a_heading_over_two_lines_is_one_title(self) -> None:
        assert texts("Two *words*\nand more\n===\n") == ["# Two words and more"]

    def test_both_forms_begin_sections_in_order(self) -> None:
        text = "Intro\n\n# Title\n\nA\n\nPart\n----\n\nB\n\n### Deep ###\n\n## Next\n"
        assert paths(text) == [(), (), ("Part",), ("Part", "Deep"), ("Next",)]
        assert [b.text for b in blocks(text) if b.kind == "heading"] == [
            "# Title",
            "## Part",
            "### Deep",
            "## Next",
        ]

    @pytest.mark.parametrize(
        ("source", "title", "anchor"),
        [
            ("## A {#own-id}", "A", "own-id"),
            ("## A {/* #own-id */}", "A", "own-id"),
            ("## A {: #own-id }", "A", "own-id"),
            ("## A { #own-id .wide }", "A", "own-id"),
            ("## A {.wide}", "A", "a"),
            ("## A {-}", "A", "a"),
            ("## Use {braces}", "Use {braces}", "use-braces"),
            ("## `Vec<T>` & *more* [here](x.md)", "Vec<T> & more here", "vect--more-here"),
            ("## ![logo](a.png) Name", "logo Name", "logo-name"),
            ("## A <a id='x'></a><b>B</b>", "A B", "a-b"),
            ("## A \\* B &amp; C", "A * B & C", "a--b--c"),
            ("## The [Book][ref]", "The Book", "the-book"),
        ],
    )
    def test_titles_are_plain_and_ids_written_by_hand_win(self, source: str, title: str, anchor: str) -> None:
        found = lesson(f"{source}\n\n[ref]: a.md\n").sections[0]
        assert (found.heading_path, found.anchor) == ((title,), anchor)

    def test_a_heading_without_words_is_none(self) -> None:
        assert shown("#\n\n## <!-- x -->\n\nText\n") == [("text", "Text")]


def _lines_indented(count: int) -> str:
    return "".join(f"{'  ' * n}- a\n" for n in range(count))


HOSTILE: dict[str, Callable[[int], str]] = {
    "quotes": lambda n: ">" * n,
    "quotes by line": lambda n: f"{'> ' * 45}a\n" * (n // 92),
    "brackets": lambda n: "[" * n,
    "links": lambda n: "[a](" * (n // 4),
    "bullets": lambda n: "- " * (n // 2),
    "list levels": lambda n: _lines_indented(int(n**0.5)),
    "back-ticks": lambda n: "".join(f"{'`' * k} " for k in range(1, int((2 * n) ** 0.5))),
    "back-ticks in html": lambda n: "<b>" + "".join(f"{'`' * k} " for k in range(1, int((2 * n) ** 0.5))),
    "definitions": lambda n: "".join(f"[l{k}]: u\n" for k in range(n // 10)),
    "open definitions": lambda n: '[a]: b "t\n' * (n // 10),
    "emphasis in a heading": lambda n: "# " + "*a **b " * (n // 7),
    "open tags": lambda n: "<a " * (n // 3),
    "open attributes": lambda n: "<a {" * (n // 4),
    "open comments": lambda n: "<!--\n" * (n // 5),
    "comments that wait": lambda n: "> <!--\n" * (n // 7) + "\n-->",
    "open processing instructions": lambda n: "<?\n\n" * (n // 4),
    "open html headings": lambda n: "<div><h1>\n" * (n // 10),
    "braces": lambda n: "{\n\n" * (n // 3),
    "exports": lambda n: "export const a = {\n\n" * (n // 20),
    "dollars": lambda n: "$$ a\n\n" * (n // 6),
    "containers": lambda n: ":::note\n" * (n // 8),
    "admonitions": lambda n: "".join(f"{'    ' * k}!!! note\n" for k in range(int((n / 2) ** 0.5))),
    "wide table": lambda n: f"|{'a|' * (n // 4)}\n|{'-|' * (n // 4)}\n",
    "long table": lambda n: "|a|b|\n|-|-|\n" + "|c|d|\n" * (n // 6),
    "equal headings": lambda n: "# a\n" * (n // 4),
    "footnotes": lambda n: "[^a]:" * (n // 5),
    "attributes of a heading": lambda n: "# a {" + "#a " * (n // 3) + "}",
    "blanks": lambda n: f"# a{' ' * n}b",
}


SHORT = 0.05  #: seconds; too short to compare


def _cost(text: str, **facts: object) -> float:
    began = time.thread_time()
    with contextlib.suppress(BadLesson):
        lesson(text, **facts)
    return time.thread_time() - began


@pytest.mark.slow
@pytest.mark.parametrize("facts", [{"site": "folder"}, {"site": "docusaurus", "format": "mdx"}], ids=["md", "mdx"])
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.usefixtures("without_collector")
def test_hostile_text_costs_no_more_than_its_length(name: str, facts: dict[str, object]) -> None:
    lesson("warm *up*\n", **facts)
    half, whole = HOSTILE[name](25_000), HOSTILE[name](50_000)
    once, twice = _cost(half, **facts), _cost(whole, **facts)
    for _ in range(3):
        if twice <= 3 * once or twice < SHORT:
            break  # otherwise a neighbour may have taken the processor
        once, twice = _cost(half, **facts), min(twice, _cost(whole, **facts))
    assert twice < 2
    # Times too short to compare are short enough.
    assert twice <= 3 * once or twice < SHORT
