"""Markdown → HTML that a page can show: structure, highlights, citations, code, maths, links."""

import pytest

from bookwise.api.rendering.code import COLOURED_MAX
from bookwise.api.rendering.markdown import MARKDOWN_MAX, render
from bookwise.domain.answers import Highlight

MIXED = """🧂🧂 **Salt. Yeast `is`** slow.

1. Mix <b>it</b>
   well. [1]
   - twice

```sh
knead
  bake
```

| a | b |
|---|--:|
| c | d |"""


def marked(text: str, *parts: str, cited: bool = False) -> str:
    return render(text, [Highlight(text.index(part), text.index(part) + len(part)) for part in parts], cited=cited)


def test_highlights_in_every_kind_of_block_never_break_its_markup() -> None:
    html = marked(MIXED, "Yeast `is`** slow.", "Mix <b>it</b>\n   well.", "bake", "c | d", cited=True)
    assert "<strong>Salt. <mark>Yeast </mark><mark><code>is</code></mark></strong><mark> slow.</mark>" in html
    assert "<li><mark>Mix &lt;b&gt;it&lt;/b&gt;</mark>\n<mark>well.</mark> <sup" in html
    assert "knead\n<mark>  bake\n</mark>" in html
    assert '<td><mark>c</mark></td>\n<td class="bw-right"><mark>d</mark></td>' in html
    assert html.count("<ul>") == 1


@pytest.mark.parametrize("edges", [(0, 3), (2, 5), (3, 12), (0, 10_000), (5, 5), (9, 4)])
def test_a_highlight_with_odd_edges_changes_no_text(edges: tuple[int, int]) -> None:
    text = "- **a** `b`\n- [c](https://d.example)"
    html = render(text, [Highlight(*edges)])
    assert html.replace("<mark>", "").replace("</mark>", "") == render(text)


def test_a_number_in_brackets_is_a_citation_outside_code_only() -> None:
    html = render(
        "See [1, 2] and `a[1]`, not [3](https://x.example).\n\n    b[4]\n\n[1]: https://evil.example", cited=True
    )
    assert 'See <sup data-cite="1">1</sup><sup data-cite="2">2</sup>' in html
    assert "<code>a[1]</code>" in html
    assert "b[4]" in html
    assert 'href="https://x.example"' in html
    assert 'href="https://evil.example"' not in html
    assert "data-cite" not in render("See [1].")


def test_code_has_classes_for_its_words_and_stays_the_same_text() -> None:
    html = render("```python\nif x:\n    return 'a'  # b\n```")
    assert '<span class="k">if</span>' in html
    assert '<span class="c"># b</span>' in html
    assert 'data-language="python"' in html
    assert "<span" not in render(f"```python\n{'x = 1 ' * COLOURED_MAX}\n```")
    assert "<pre" in render("```no-such-language\nx\n```")


def test_maths_is_mathml_and_a_formula_that_cannot_be_read_is_code() -> None:
    html = render("An area $a \\le b^2$ and\n\n$$\n\\frac{a}{b}\n$$")
    assert '<math display="inline">' in html
    assert '<math display="block"><mrow><mfrac>' in html
    assert "<code>\\left(</code>" in render("$\\left($")


def test_a_wide_table_can_be_scrolled_with_the_keyboard() -> None:
    assert '<div class="bw-table" tabindex="0" role="region" aria-label="Table"><table>' in render(MIXED)


@pytest.mark.parametrize(
    "link",
    ["javascript:alert(1)", "data:text/html,x", "JaVaScRiPt:x", "mailto:a@b.example", "../other.md", "#part", ""],
)
def test_a_link_that_is_not_http_is_shown_as_text(link: str) -> None:
    assert "<a" not in render(f"[label]({link})")
    assert "label" in render(f"[label]({link})")


def test_a_resolver_decides_where_a_link_goes_and_the_result_is_still_checked() -> None:
    assert 'href="https://b.example/x"' in render("[x](x.md)", resolve_link=lambda _: "https://b.example/x")
    assert "javascript" not in render("[x](x.md)", resolve_link=lambda _: "javascript:alert(1)")


def test_a_picture_is_not_loaded() -> None:
    assert render("![A **robot**](https://x.example/a.png)") == "<p><em>A robot</em></p>\n"


def test_the_label_of_a_note_is_bold() -> None:
    text = "Note:\n\nSee also: Mind the **gap**\n\nResult: 5\n\n| Tip: |\n|---|"
    html = marked(text, "Note:", "also: Mind")
    assert "<p><strong><mark>Note:</mark></strong></p>" in html
    assert "<p><strong>See <mark>also:</mark></strong><mark> Mind</mark> the <strong>gap</strong></p>" in html
    assert html.count("<strong>") == 3


def test_the_language_of_code_is_the_first_word_after_the_fence() -> None:
    for info in ("rust,ignore", "{.python .input  n=2}", "Python title='a.py'", "{code-cell} ipython3"):
        html = render(f"```{info}\nlet x = 1\n```")
        name = {"r": "rust", "{": "python", "P": "python"}[info[0]] if "cell" not in info else "code-cell"
        assert f'data-language="{name}"' in html
        assert ('<span class="m">1</span>' in html) == ("cell" not in info)


def test_an_equation_has_its_number() -> None:
    html = render("$$\na = b\n$$ (3)")
    assert '<span class="bw-equation">(3)</span></div>' in html
    assert "bw-equation" not in render("$$\na = b\n$$")
    assert "<script>" not in render("$$\na\n$$ (<script>)")


def test_a_task_list_has_boxes() -> None:
    html = marked("- [ ] Install it\n- [x] Build it\n\n1. [X] Test\n\n[ ] no item\n\n- [ ]", "Build it")
    assert "<li>☐ Install it</li>" in html
    assert "<li>☑ <mark>Build it</mark></li>" in html
    assert "☑ Test" in html
    assert "<li><mark>☐ Install it</mark></li>" in marked("- [ ] Install it", "[ ] Install it")
    assert "<p>[ ] no item</p>" in html
    assert "<li>[ ]</li>" in html


def test_unequal_is_one_sign() -> None:
    assert "&#x02260;" in render(r"$a \not= b$") or "≠" in render(r"$a \not= b$")
    assert "⧸" not in render(r"$a \not = b$")


def test_headings_are_below_those_of_the_page() -> None:
    assert render("# a\n\n###### b") == "<h3>a</h3>\n<h6>b</h6>\n"


def test_very_long_text_is_shown_without_formatting() -> None:
    assert render("*a*" * MARKDOWN_MAX).startswith("<p>*a*")


def test_names_that_the_converter_does_not_know_are_shown_without_a_backslash() -> None:
    html = render(r"$$T = \arg\min_T f(T) \label{eq:pose}$$", [], cited=False)
    assert "<mo>arg</mo>" in html
    assert "\\" not in html
    assert "pose" not in html
