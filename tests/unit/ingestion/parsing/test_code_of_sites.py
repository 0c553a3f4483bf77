"""Code of Docusaurus and MkDocs is what readers of the page see."""

import pytest

from tests.support.parsed import texts

FENCE = "```"


@pytest.mark.parametrize(
    ("language", "comment"),
    [
        ("js", "// highlight-next-line"),
        ("jsx", "  {/* highlight-start */}"),
        ("css", "/* highlight-end */"),
        ("bash title='a'", "# highlight-next-line"),
        ("html", "<!-- highlight-start -->"),
        ("sql", "-- highlight-end"),
        ("md", "# highlight-next-line"),
    ],
)
def test_comments_that_only_highlight_lines_are_not_code(language: str, comment: str) -> None:
    text = f"{FENCE}{language}\nfirst\n{comment}\nsecond\n{FENCE}\n"
    assert texts(text, site="docusaurus") == [f"{FENCE}{language}\nfirst\nsecond\n{FENCE}"]
    assert comment in texts(text, site="mkdocs")[0]


def test_other_comments_stay() -> None:
    text = f"{FENCE}js\n// highlight-next-line of the book\nx // highlight-next-line\n{FENCE}"
    assert texts(text, site="docusaurus") == [text]
    nested = "````md\n```js\n// highlight-next-line\n```\n````"
    assert texts(nested, site="docusaurus") == [nested]


def test_terminals_have_no_tags_for_colours() -> None:
    text = (
        f'<div class="termy">\n\n{FENCE}console\n$ <font color="#4E9A06">fastapi</font> dev\n\n'
        f'<span style="color: green;">INFO</span>: <b>Started</b> &lt;app&gt;\n{FENCE}\n\n</div>\n'
    )
    assert texts(text, site="mkdocs") == [f"{FENCE}console\n$ fastapi dev\n\nINFO: Started <app>\n{FENCE}"]


def test_tags_in_other_code_stay() -> None:
    for code in (f'{FENCE}html\n<font color="red">x</font>\n{FENCE}', f"{FENCE}console\n$ echo '<b>&lt;</b>'\n{FENCE}"):
        assert texts(f'<span style="a">x</span>\n\n{code}', site="mkdocs")[-1] == code
