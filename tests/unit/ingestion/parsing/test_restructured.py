"""reStructuredText as Sphinx reads it → the same sections and blocks as Markdown."""

import time
from pathlib import Path

import pytest
from docutils.parsers.rst import directives, roles, states

from bookwise.domain.errors import BadLesson
from tests.support.parsed import anchors, blocks, lesson, paths, shown, texts

RST = {"format": "rst", "site": "sphinx"}


def test_sections_have_paths_and_markdown_headings() -> None:
    text = """
        Intro text.

        Title
        =====

        A

        Part *one*
        ----------

        Deep
        ^^^^

        B

        Next
        ----
        """
    assert paths(text, **RST) == [(), (), ("Part one",), ("Part one", "Deep"), ("Next",)]
    assert texts(text, **RST) == ["Intro text.", "# Title", "A", "## Part one", "### Deep", "B", "## Next"]
    assert lesson(text, **RST).title == "Title"


def test_fragments_are_those_of_sphinx_and_labels_win() -> None:
    text = """
        .. _The Start:

        Title
        =====

        Setup
        -----

        Setup
        -----

        .. _one:
        .. _two:

        Other
        -----

        .. _elsewhere: http://a.example

        Last
        ----
        """
    assert anchors(text, **RST) == ["the-start", "setup", "id1", "two", "last"]


def test_inline_markup_becomes_markdown() -> None:
    text = """
        Use ``code``, *this* and **that**, see `the site <http://a.example>`_ and Docs_ or `Docs`_, H\\ :sub:`2`\\ O.

        .. _Docs: http://docs.example
        """
    assert texts(text, **RST) == [
        "Use `code`, *this* and **that**, see [the site](http://a.example) and [Docs](http://docs.example) "
        "or [Docs](http://docs.example), H2O."
    ]


def test_roles_are_reduced_to_their_text() -> None:
    text = """
        :ref:`The guide <guide>`, :doc:`/a/b`, :doc:`Install <../Installation>`, :term:`node`,
        :py:class:`~rclpy.node.Node`, :func:`!spin`, :kbd:`Ctrl`, :unknown:`x y`, :math:`a < b`, `default`.
        """
    assert texts(text, **RST) == ["The guide, /a/b, Install, node,\n`Node`, `spin`, `Ctrl`, x y, $a < b$, default."]


def test_code_blocks_keep_their_lines_and_language() -> None:
    text = """
        .. code-block:: python
           :caption: main.py
           :emphasize-lines: 2

           def f():

               return 1

        .. code:: bash

           ls

        Literal::

           as is

        >>> 1 + 1
        2

        .. parsed-literal::

           a b
        """
    assert [(b.kind, b.text, b.language) for b in blocks(text, **RST)] == [
        ("text", "main.py", ""),
        ("code", "```python\ndef f():\n\n    return 1\n```", "python"),
        ("code", "```bash\nls\n```", "bash"),
        ("text", "Literal:", ""),
        ("code", "```\nas is\n```", ""),
        ("code", "```python\n>>> 1 + 1\n2\n```", "python"),
        ("code", "```\na b\n```", ""),
    ]


def test_notes_and_tabs_lead_in_with_their_name() -> None:
    text = """
        .. note:: Mind the *gap*,
           please.

        .. warning::

           Hot

           - a

        .. admonition:: My *title*

           Text

        .. tabs::

          .. group-tab:: Linux

            .. code-block:: bash

              apt

          .. tab:: macOS

            brew

          .. code-tab:: py Python

            x = 1

        .. versionadded:: 1.2
           The option.

        .. my-own-directive:: Argument
           :option: value

           Content
        """
    assert texts(text, **RST) == [
        "Note:",
        "Mind the *gap*,\nplease.",
        "Warning:",
        "Hot",
        "- a",
        "My *title*",
        "Text",
        "Linux:",
        "```bash\napt\n```",
        "macOS:",
        "brew",
        "Python",
        "```py\nx = 1\n```",
        "New in version: 1.2\nThe option.",
        "Argument",
        "Content",
    ]


def test_what_readers_do_not_see_goes() -> None:
    text = """
        .. contents:: Table of Contents
           :local:

        .. toctree::
           :hidden:

           a
           b

        .. literalinclude:: main.py

        .. raw:: html

           <b>raw</b>

        .. image:: a.png

        .. a comment

        .. _target:

        .. meta::
           :keywords: a

        .. |sub| replace:: words

        Text with |sub| and |Unknown|.

        ----

        .. figure:: a.png
           :alt: nothing

           The caption.
        """
    assert texts(text, **RST) == ["Text with words and Unknown.", "The caption."]


def test_no_other_file_is_opened(tmp_path: Path) -> None:
    secret = tmp_path / "secret.txt"
    secret.write_text("the secret")
    text = f"""
        .. include:: {secret}

        .. literalinclude:: {secret}

        .. raw:: html
           :file: {secret}

        .. csv-table:: T
           :file: {secret}

        .. csv-table:: T
           :url: file://{secret}

        End
        """
    assert texts(text, **RST) == ["End"]


def test_lists_nest_and_count() -> None:
    text = """
        * one

          * inner

        * two

          .. code-block:: sh

             ls

        3. three
        4. four

        term
          The definition

        | line one
        | line two
        """
    assert shown(text, **RST) == [
        ("list", "- one\n  - inner\n- two\n\n  ```sh\n  ls\n  ```"),
        ("list", "3. three\n4. four"),
        ("text", "term"),
        ("text", "The definition"),
        ("text", "line one\nline two"),
    ]


def test_long_code_in_a_list_becomes_a_block_of_its_own() -> None:
    code = "\n".join(["     x = 1"] * 300)
    assert [k for k, _ in shown(f"* a\n\n  ::\n\n{code}\n\n* b\n", **RST)] == ["list", "code", "list"]


def test_tables_become_pipe_tables() -> None:
    text = """
        ===== =====
        A     B
        ===== =====
        1     ``|``
        2     b
        ===== =====

        +---+---+
        | x | y |
        +---+---+

        .. list-table:: Sizes
           :header-rows: 1

           * - Name
             - `Link <http://a.example>`__
           * - one
             - two

        .. csv-table::

           "a", "b"
        """
    assert shown(text, **RST) == [
        ("table", "| A | B |\n| --- | --- |\n| 1 | `\\|` |\n| 2 | b |"),
        ("table", "| x | y |"),
        ("text", "Sizes"),
        ("table", "| Name | [Link](http://a.example) |\n| --- | --- |\n| one | two |"),
        ("table", "| a | b |"),
    ]


def test_mathematics_fields_options_footnotes_and_quotes_stay() -> None:
    text = """
        :orphan:
        :author: Me
        :parts:
           - one

        .. math:: a = b

           c = d

        Text [1]_ and [Ref]_.

          A quote

        -v, --verbose  Says more

        .. [1] The note
        .. [Ref] A book
        """
    assert shown(text, **RST) == [
        ("text", "author: Me"),
        ("text", "parts:"),
        ("list", "- one"),
        ("math", "$$\na = b\nc = d\n$$"),
        ("text", "Text [1] and [Ref]."),
        ("text", "A quote"),
        ("text", "-v, --verbose"),
        ("text", "Says more"),
        ("text", "[1] The note"),
        ("text", "[Ref] A book"),
    ]


def test_broken_markup_keeps_its_words_and_prints_nothing(capfd: pytest.CaptureFixture[str]) -> None:
    text = """
        Title
        ===

        An *open emphasis, an ``open literal, a missing_ target.

        .. list-table::

           words that are no list

        .. note::

           Inner title
           ===========

        Sub
        ~~~~

        Skipped
        -------
        """
    words = " ".join(texts(text, **RST))
    for kept in ("*open emphasis", "``open literal", "missing", "words that are no list", "Inner title", "Skipped"):
        assert kept in words
    captured = capfd.readouterr()
    assert (captured.out, captured.err) == ("", "")


def test_substitutions_that_stand_for_each_other_end() -> None:
    assert texts(".. |a| replace:: x |b|\n.. |b| replace:: y |a|\n\n|a|\n", **RST) == ["x y a"]
    bomb = "".join(f".. |a{n}| replace:: |a{n + 1}| |a{n + 1}|\n" for n in range(40))
    assert len(texts(f"{bomb}\n|a0|\n", **RST)[0]) < 10_000


def test_a_code_point_that_is_no_character_is_not_stored() -> None:
    assert texts(".. |x| unicode:: 0xD800\n\nBad |x| point\n", **RST) == ["Bad ? point"]


def test_the_registries_of_docutils_stay_as_they_were() -> None:
    lesson(".. note:: warm up\n\n.. table::\n\n   == ==\n   a  b\n   == ==\n", **RST)
    before = dict(directives._directives), dict(roles._roles), states.Body.explicit.constructs[:]
    text = ".. role:: own(raw)\n.. default-role:: math\n\n.. tabs::\n\n   .. tab:: A\n\n:own:`x` :doc:`y` `z`\n"
    assert texts(text, **RST) == ["A:", "x y z"]
    assert (dict(directives._directives), dict(roles._roles), states.Body.explicit.constructs) == before


def test_a_comment_that_looks_like_the_end_of_an_include_is_a_comment() -> None:
    assert texts('.. end of inclusion from "x"\n\nText\n', **RST) == ["Text"]


@pytest.mark.parametrize(
    "text",
    ["- " * 5000, "".join(f"{'  ' * n}- a\n\n" for n in range(300)), "".join(f"{' ' * n}a\n\n" for n in range(300))],
    ids=["one line", "list levels", "quote levels"],
)
def test_a_lesson_nested_without_end_is_refused(text: str) -> None:
    with pytest.raises(BadLesson) as caught:
        lesson(text, **RST)
    assert caught.value.reason == "too-deep"


def test_an_endless_line_is_refused() -> None:
    with pytest.raises(BadLesson) as caught:
        lesson("word " * 10_000, **RST)
    assert caught.value.reason == "too-large"


@pytest.mark.slow
@pytest.mark.parametrize(
    "part", ["*a\n", "`a\n", "|a\n", "a_ b_\n", ".. c\n\na\n\n", ".. _l:\n\n", "*a `b |c\n" * 50 + "\n"]
)
@pytest.mark.usefixtures("without_collector")
def test_hostile_text_costs_no_more_than_its_length(part: str) -> None:
    def cost(length: int) -> float:
        began = time.thread_time()
        lesson(part * (length // len(part)), **RST)
        return time.thread_time() - began

    lesson("warm up", **RST)
    once, twice = cost(25_000), cost(50_000)
    for _ in range(3):
        if twice <= 3 * once or twice < 0.3:
            break  # otherwise a neighbour may have taken the processor
        once, twice = cost(25_000), min(twice, cost(50_000))
    assert twice < 5
    assert twice <= 3 * once or twice < 0.3
