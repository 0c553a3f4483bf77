"""Any text renders to harmless HTML, and a stream of deltas shows the same as the whole text."""

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from selectolax.lexbor import LexborHTMLParser

from bookwise.api.rendering.markdown import render
from bookwise.api.rendering.stream import StreamRenderer
from bookwise.domain.answers import Highlight

MARKUP = """
<script>x</script> <img/src=x/onerror=x> <svg/onload=x> <style>*{}</style> </code> <a/href='javascript:x'>
[a](javascript:x) [a](data:text/html,x) ![a](https://x.example) [1] [1]:x <https://x.example> <javascript:x>
** * _ ` ``` ```python ~~~ $ $$ \\frac{ \\text{<b/onclick=x>} \\left( &lt; &#60; &colon; \\ --- === word 𝕊 ' "
( ) [ ] ~~ a.b {#id} :::note |
"""
BLANKS = ("\n", "\n\n", "\t", " ", "    ", "- ", "1. ", "> ", "# ", "\r", "\x00", "\u202e", "\ufdd0")
PIECES = (*MARKUP.split(), *BLANKS, "| a | b |\n|---|---|\n| c | d |")
TEXTS = st.lists(st.sampled_from(PIECES) | st.text(max_size=6), max_size=30).map("".join)
FORBIDDEN = {"script", "style", "img", "svg", "iframe", "object", "embed", "form", "input", "link", "meta", "base"}


@given(TEXTS, st.lists(st.tuples(st.integers(0, 120), st.integers(0, 120)), max_size=3), st.booleans())
def test_no_text_renders_to_a_script_a_style_or_a_bad_address(
    text: str, edges: list[tuple[int, int]], cited: bool
) -> None:
    html = render(text, [Highlight(start, end) for start, end in edges], cited=cited)
    for node in LexborHTMLParser(f"<main>{html}</main>").css("main *"):
        assert node.tag not in FORBIDDEN
        for name, value in node.attributes.items():
            assert not name.startswith("on")
            assert name not in ("style", "src", "srcdoc", "srcset", "action", "formaction", "id", "name")
            assert name != "href" or (value or "").startswith(("http://", "https://"))


@given(TEXTS, st.lists(st.integers(0, 200), max_size=5))
def test_deltas_show_the_same_as_the_whole_text(text: str, cuts: list[int]) -> None:
    stream, shown = StreamRenderer(), list[str]()
    edges = sorted({0, len(text), *(cut for cut in cuts if cut < len(text))})
    for start, end in pairwise(edges):
        change = stream.add(text[start:end])
        shown = shown[: change.keep] + elements(change.html)
    assert shown == elements(render(text, cited=True))


def elements(html: str) -> list[str]:
    body = LexborHTMLParser(f"<main>{html}</main>").css_first("main")
    return [node.html or "" for node in body.iter()]
