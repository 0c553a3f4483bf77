"""Roles of MyST and d2lbook become the words that readers see."""

import pytest

from bookwise.ingestion.parsing.references import References
from tests.support.parsed import paths, shown, texts

BOOK = {"site": "jupyter-book"}


def read(text: str, lesson: str = "") -> str:
    return References(lesson).replace(text)


@pytest.mark.parametrize(
    ("source", "seen"),
    [
        ("the {ref}`stated condition <mc_eg1>`.", "the stated condition."),
        ("{doc}`the law of\nlarge numbers <lln_clt>` holds", "the law of\nlarge numbers holds"),
        ("see {doc}`/lectures/markov_chains_I.md`", "see “markov chains I”"),
        (
            "as in {cite}`deaton1992on` and {cite}`Radford.Wu.ea.2019,Cagan`",
            "as in (Deaton 1992) and (Radford 2019; Cagan)",
        ),
        ("{cite:t}`benhabib_wealth_2019` shows", "Benhabib 2019 shows"),
        ("from equation {eq}`far` and {eq}`far`", "from equation and the equation"),
        ("see {numref}`fig_gpt` and {numref}`tab_sizes`", "see the figure and the table"),
        ("In {ref}`sec_kaggle_house` we", "In the section “kaggle house” we"),
        ("{math}`x^2` and {kbd}`Ctrl` and {py:func}`~os.path.join`", "$x^2$ and `Ctrl` and `join`"),
        ("{cite}`ab2020x,\ncd2021y` so", "(Ab 2020; Cd 2021)\n so"),
        ("{index}`Vectors <single: Vectors>`", "Vectors"),
        (
            "In :numref:`chap_intro` :cite:`brown2020language`.\n:label:`sec_a`",
            "In the chapter “intro” (Brown 2020).\n",
        ),
        (":width:`400px`", ""),
    ],
)
def test_a_role_has_the_words_that_readers_see(source: str, seen: str) -> None:
    assert read(source) == seen


@pytest.mark.parametrize(
    "source",
    [
        "`/items/{id}` and `/users/{id}`",
        "Type ``{ref}`label` `` to refer.",
        "`{eq}` is a role.",
        "{unknown}`x` and a:cite:`x` stay",
        "the set {ref} of `x`",
        "{ref}``",
    ],
)
def test_code_and_unknown_roles_stay(source: str) -> None:
    assert read(source) == source


def test_a_reference_has_the_title_of_its_section() -> None:
    text = "(my-label)=\n\n## Steady states\n\nx\n\n## Tensors\n:label:`sec_tensors`\n"
    assert read("See {ref}`my-label` and :numref:`sec_tensors`.", text) == "See “Steady states” and “Tensors”."


def test_equations_with_a_label_have_numbers_that_references_use() -> None:
    text = """
        From {eq}`budget` and [](price), not {eq}`elsewhere` or [](elsewhere):

        $$
        a = b
        $$ (price)

        $$
        c
        $$

        ```{note}
        ```{math}
        :label: budget
        d = e
        ```
        """
    assert shown(text, **BOOK) == [
        ("text", "From (2) and (1), not the equation or [](elsewhere):"),
        ("math", "$$\na = b\n$$ (1)"),
        ("math", "$$\nc\n$$"),
        ("text", "Note:"),
        ("math", "$$\nd = e\n$$ (2)"),
    ]


def test_roles_are_read_in_headings_lists_tables_notes_and_captions_but_not_in_code() -> None:
    text = """
        # The {term}`node` of {cite}`deaton1992on`

        - Read {doc}`solow`.
          More of {ref}`it <x>`.

        | a |
        |---|
        | {term}`b` |

        ```{note}
        See {numref}`f`.
        ```

        ```{code-block} python
        :caption: From {cite}`cagan1956`
        "{ref}`x`"
        ```
        """
    assert paths(text, **BOOK) == [()]
    assert texts(text, **BOOK)[:4] == [
        "# The node of (Deaton 1992)",
        "- Read “solow”.\n  More of it.",
        "| a |\n|---|\n| b |",
        "Note:",
    ]
    assert texts(text, **BOOK)[4:] == ["See the figure.", '```python\n"{ref}`x`"\n```', "From (Cagan 1956)"]


def test_a_formula_in_a_heading_is_plain_text() -> None:
    assert paths("# Norms\n\n## The $\\ell_2$ norm\n\nText", **BOOK)[-1] == ("The ℓ_2 norm",)


def test_in_other_dialects_braces_before_code_stay() -> None:
    assert texts("Use {ref}`x` here.", site="mkdocs") == ["Use {ref}`x` here."]


def test_a_million_marks_are_read_at_once() -> None:
    for text in ("{ref}`" * 100_000, "`" * 1_000_000, ":label:`x" * 100_000, "(a)=\n" * 100_000, "$$ (" * 100_000):
        assert len(References(text).replace(text)) <= len(text)
