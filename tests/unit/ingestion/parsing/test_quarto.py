"""Quarto's own syntax becomes what readers of the web page see."""

import json

import pytest

from bookwise.ingestion.parsing.quarto import plain_markdown
from tests.support.parsed import paths, shown, texts

QMD = {"source_file": "a.qmd", "site": "quarto"}


def test_chunks_are_code_without_their_options() -> None:
    text = """
        ```{python}
        #| label: fig-x
        #| fig-cap: "The sine"
        x = 1  # @fig-x
        ```

        ```{r, echo=FALSE}
        y <- 2
        ```

        ```{=latex}
        \\clearpage
        ```
        """
    assert shown(text, **QMD) == [
        ("code", "```python\nx = 1  # @fig-x\n```"),
        ("text", "The sine"),
        ("code", "```r\ny <- 2\n```"),
    ]


def test_callouts_have_their_title_before_their_text() -> None:
    text = """
        ::: {.callout-note collapse="true"}
        ## Mind the gap

        Body
        :::

        ::: {.callout-tip title="Try it"}
        Text
        :::

        ::: {.callout-warning}
        Hot
        :::

        ::: callout-caution
        ## Cold
        Ice
        :::
        """
    expected = ["Note: Mind the gap", "Body", "Tip: Try it", "Text", "Warning:", "Hot", "Caution: Cold", "Ice"]
    assert texts(text, **QMD) == expected
    assert paths(text, **QMD) == [()]


@pytest.mark.parametrize(
    ("line", "visible"),
    [
        ("See @sec-here.", "See “This place”."),
        ("See @fig-arm and @sec-elsewhere.", "See “An arm” and the section."),
        ("Known [@knuth84; @lamport94].", "Known."),
        ("Known \\cite{knuth84} from \\ref{sec:x} on.", "Known  from  on."),
        ("It is `{python} x + 1` here.", "It is `x + 1` here."),
        ("$x = 1$ {#eq-one}", "$x = 1$"),
        ("Known [see @fig-arm].", "Known (see “An arm”)."),
        ("Mail me@fig-tree.example, or use `@sec-x`", "Mail me@fig-tree.example, or use `@sec-x`"),
        ("An arm\\index{arm!robot@\\textit{robot}} moves.\\newpage", "An arm moves."),
        ("A [word]{.smallcaps} in `code`{.python}", "A word in `code`"),
        ("{{< pagebreak >}}Next {{< kbd Ctrl C >}}", "Next Ctrl+C"),
    ],
)
def test_references_and_commands_for_print_are_never_shown_raw(line: str, visible: str) -> None:
    text = f"# This place {{#sec-here}}\n\n![An arm](a.png){{#fig-arm width=50%}}\n\n{line}\n"
    assert texts(text, **QMD) == ["# This place", "![An arm](a.png)", visible]


def test_what_only_the_printed_book_shows_is_dropped() -> None:
    text = '::: {.content-visible when-format="pdf"}\nInk\n\n::: {.x}\nInk\n:::\n:::\n\nText\n'
    assert texts(text, **QMD) == ["Text"]
    assert texts('::: {.content-visible when-format="html"}\nWeb\n:::\n', **QMD) == ["Web"]


def test_cells_of_a_notebook_lose_their_options_too() -> None:
    cells = [
        {"cell_type": "markdown", "source": "See @fig-x.\\newpage"},
        {"cell_type": "code", "source": "#| echo: false\nx = 1"},
    ]
    text = json.dumps({"cells": cells})
    assert texts(text, source_file="a.ipynb", format="notebook", site="quarto") == [
        "See the figure.",
        "```python\nx = 1\n```",
    ]


@pytest.mark.parametrize("line", ["::: {.hidden}", "```{python}", "[@a", "\\index{" * 50, "::: {.callout-note}"])
def test_hostile_texts_are_read_once(line: str) -> None:
    text = f"{line}\n" * 3_000
    assert len(plain_markdown(text)) <= len(text) + 1
