"""A published page → blocks: its main content, in Markdown's form."""

import time

import pytest

from bookwise.domain.errors import BadLesson
from tests.support.parsed import anchors, blocks, lesson, shown, texts

PAGE = {"format": "html", "site": "site"}


def test_only_the_main_content_is_read() -> None:
    text = """
        <html><head><title>Loops | The Book</title><style>a{}</style></head><body>
        <nav>Menu</nav><header>Site</header>
        <main><article>
          <nav class="theme-doc-breadcrumbs">Home</nav>
          <header><h1>Loops</h1></header>
          <div class="toc">Contents</div>
          <p>Text</p><script>track()</script>
          <aside>Ads</aside><footer>Edit this page</footer>
        </article></main><footer>Copyright</footer></body></html>
        """
    assert texts(text, **PAGE) == ["# Loops", "Text"]


@pytest.mark.parametrize(
    "body",
    [
        "<main><p>no</p><article><p>yes</p></article></main>",
        "<p>no</p><article><p>yes</p></article>",
        "<p>no</p><main><p>yes</p></main>",
        "<p>no</p><div role=main><p>yes</p></div>",
        "<p>yes</p>",
        "yes",
    ],
)
def test_the_narrowest_known_container_is_the_main_content(body: str) -> None:
    assert texts(f"<body>{body}</body>", **PAGE) == ["yes"]


def test_headings_take_their_ids_from_where_the_page_puts_them() -> None:
    text = """
        <main><h1 id="t">T</h1>
        <h2 id="own">A<a class="hash-link" href="#own">#</a></h2>
        <h2><a class="header" id="inner" href="#inner">B</a></h2>
        <section id="around"><h2>C<a class="headerlink">¶</a></h2></section>
        <h2>D</h2></main>
        """
    found = lesson(text, **PAGE)
    assert [(s.heading_path, s.anchor) for s in found.sections] == [
        ((), "t"),
        (("A",), "own"),
        (("B",), "inner"),
        (("C",), "around"),
        (("D",), ""),
    ]
    assert [b.text for b in blocks(text, **PAGE)] == ["# T", "## A", "## B", "## C", "## D"]


def test_inline_markup_becomes_markdown() -> None:
    text = """<p>See <a href="/a">the <em>guide</em></a>, <b>bold</b> <code>x &lt; y</code>,<br>
        a <a href=" javascript:alert(1)">script</a> <img src="i.png" alt="A robot"><img src="j.png">.</p>"""
    assert texts(text, **PAGE) == ["See [the *guide*](/a), **bold** `x < y`,\na script ![A robot](i.png)."]


def test_code_is_fenced_with_the_language_of_its_class() -> None:
    text = """
        <pre class="language-bash"><code><span class="token-line">apt<br></span><span>get</span></code></pre>
        <div class="highlight-python notranslate"><div class="highlight"><pre><span>x</span> = 1
          y
        </pre></div></div>
        <pre>plain ``` fence</pre><pre> </pre>
        """
    assert [(b.text, b.language) for b in blocks(text, **PAGE)] == [
        ("```bash\napt\nget\n```", "bash"),
        ("```python\nx = 1\n  y\n```", "python"),
        ("````\nplain ``` fence\n````", ""),
    ]


def test_code_next_to_line_numbers_is_code() -> None:
    text = """<table class="highlighttable"><tr><td class="linenos"><pre>1</pre></td>
        <td class="code"><div class="language-py"><pre>x = 1</pre></div></td></tr></table>"""
    assert shown(text, **PAGE) == [("code", "```py\nx = 1\n```")]


def test_lists_nest_and_count() -> None:
    text = """<ol start="3"><li>three<ul><li>inner</li><li><p>second</p></li></ul></li>
        <li><p>four</p><pre>code</pre></li></ol>"""
    assert shown(text, **PAGE) == [("list", "3. three\n   - inner\n   - second\n4. four\n\n   ```\n   code\n   ```")]


def test_long_code_in_a_list_becomes_a_block_of_its_own() -> None:
    code = "x = 1\n" * 300
    found = shown(f"<ul><li>a<pre>{code}</pre>b</li><li><pre>{code}</pre></li><li>c</li></ul>", **PAGE)
    assert [kind for kind, _ in found] == ["list", "code", "list", "code", "list"]
    assert [text for kind, text in found if kind == "list"] == ["- a", "  b\n-", "- c"]


def test_words_in_a_list_that_are_no_item_stay() -> None:
    assert shown("<ul>loose<li>a</li><ul><li>b</li></ul><!-- c --></ul>", **PAGE) == [("list", "- loose\n- a\n- - b")]


def test_tables_become_pipe_tables() -> None:
    text = """<table><caption>Sizes</caption><thead><tr><th>A</th><th>B</th></tr></thead>
        <tbody><tr><td>1|2</td><td><p>x</p><p>y</p></td></tr></tbody></table>
        <table><tr><td>no</td><td>head</td></tr></table><table><tr><td></td></tr></table>"""
    assert shown(text, **PAGE) == [
        ("text", "Sizes"),
        ("table", "| A | B |\n| --- | --- |\n| 1\\|2 | x y |"),
        ("table", "| no | head |"),
    ]


def test_a_table_inside_a_cell_is_read_once() -> None:
    text = "<table><tr><th>a</th></tr><tr><td><table><tr><td>b</td></tr></table></td></tr></table>"
    assert shown(text, **PAGE) == [("table", "| a |\n| --- |\n| \\| b \\| |")]


def test_quotes_definitions_and_loose_words_are_text() -> None:
    text = "<main>loose <i>words</i><blockquote><p>q</p></blockquote><dl><dt>t</dt><dd>d</dd></dl>tail</main>"
    assert texts(text, **PAGE) == ["loose *words*", "q", "t", "d", "tail"]


def test_a_formula_is_shown_as_its_source() -> None:
    text = """<p>so <span class="katex"><span class="katex-mathml"><math><semantics><mrow>x</mrow>
        <annotation encoding="application/x-tex">x^2</annotation></semantics></math></span>
        <span class="katex-html" aria-hidden="true">x2</span></span></p>"""
    assert texts(text, **PAGE) == ["so $x^2$"]


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("<title>A | B</title><h1>C</h1>", "C"),
        ("<title> A  page | Site</title><p>x</p>", "A page"),
        ("<title>well-known — Site</title>", "well-known"),
        ("<p>x</p>", "Loops"),
    ],
)
def test_the_title_is_the_first_heading_or_the_title_of_the_page(text: str, title: str) -> None:
    assert lesson(text, **PAGE).title == title


@pytest.mark.parametrize("text", ["", "<html></html>", "<frameset></frameset>", "<!doctype html>"])
def test_a_page_without_content_has_no_sections(text: str) -> None:
    assert lesson(text, **PAGE).sections == ()


@pytest.mark.parametrize("text", ["<div>" * 100_000, "<b>" * 50_000, "<ul><li>" * 1500, "<span>" * 1900 + "x"])
def test_a_page_nested_without_end_is_refused_at_once(text: str) -> None:
    began = time.thread_time()
    with pytest.raises(BadLesson) as caught:
        lesson(text, **PAGE)
    assert caught.value.reason == "too-deep"
    assert time.thread_time() - began < 2


def test_tags_named_in_scripts_do_not_count_as_nesting() -> None:
    assert texts(f"<script>var a = '{'<div>' * 5000}';</script><p>x</p>", **PAGE) == ["x"]


def test_fragments_are_never_made_up_for_a_page() -> None:
    assert anchors("<h2>Same</h2><p>a</p><h2>Same</h2>", **PAGE) == ["", ""]
