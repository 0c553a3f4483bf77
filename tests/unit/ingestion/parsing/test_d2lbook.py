"""The marks of d2lbook for tabs, slides and equations are not text of the book."""

from bookwise.ingestion.parsing.d2lbook import without_marks
from tests.support.parsed import shown, texts

LESSON = """
    # Broadcasting
    :label:`sec_broadcasting`

    We can [**perform elementwise operations by the *broadcasting mechanism*.**] (**It works**) with `a[0]`.
    [~~Only on a slide~~]

    ```{.python .input  n=2}
    %load_ext d2lbook.tab
    tab.interact_select('mxnet', 'pytorch')
    ```

    :begin_tab:`mxnet`
    Use `np`.
    :end_tab:

    ```{.python .input}
    %%tab pytorch
    a + b
    ```

    ```{.python .input}
    %%tab all
    c
    ```

    By :eqref:`eq_sum`:

    $$a + b.$$
    :eqlabel:`eq_sum`
    """


def test_a_lesson_of_d2lbook_is_what_its_page_shows() -> None:
    assert shown(LESSON) == [
        ("heading", "# Broadcasting"),
        (
            "text",
            "We can **perform elementwise operations by the *broadcasting mechanism*.** **It works** with `a[0]`.",
        ),
        ("text", "mxnet:"),
        ("text", "Use `np`."),
        ("text", "pytorch:"),
        ("code", "```{.python .input}\na + b\n```"),
        ("code", "```{.python .input}\nc\n```"),
        ("text", "By (1):"),
        ("math", "$$a + b.$$ (1)"),
    ]


def test_other_markdown_stays() -> None:
    text = "A [**link**](x.md), [**bold**], ~~gone~~ [~~x~~] and\n\n```python\n%%tab a\n```\n"
    assert without_marks(text) == text


def test_links_stay_in_a_lesson_of_d2lbook() -> None:
    text = ":label:`a`\n\nA [**link**](x.md) and [**another**][1]."
    assert texts(text) == ["A [**link**](x.md) and [**another**][1]."]


def test_long_marks_are_read_at_once() -> None:
    for mark in ("[**", "[~~", "$$\n\n", "```{.python .input\n"):
        text = ":label:`a`\n" + mark * 20_000
        assert len(without_marks(text)) <= len(text)
