"""Markdown → HTML. HTML in the Markdown is shown as text, and the result is sanitized."""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from html import escape
from itertools import pairwise
from typing import Any, TypeAlias
from urllib.parse import urlsplit

from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from mdit_py_plugins.dollarmath import dollarmath_plugin

from bookwise.answering.highlight_reader import HighlightReader
from bookwise.api.rendering.code import code_html
from bookwise.api.rendering.maths import maths_html
from bookwise.api.rendering.sanitize import sanitize
from bookwise.domain.answers import Highlight
from bookwise.ingestion.parsing.callouts import label_at_start
from bookwise.ingestion.parsing.fences import language_in

#: An address in the Markdown → the address to show, or None to show only the text of the link.
LinkResolver: TypeAlias = Callable[[str], str | None]

MARKDOWN_MAX = 200_000  #: characters; longer text is shown without formatting
_CITATION = re.compile(r"\[(\d{1,3}(?:,\s*\d{1,3})*)\](?!\()")
_LANGUAGE = re.compile(r"[\w+#.-]{1,30}")
_BOXES = {"[ ] ": "☐ ", "[x] ": "☑ "}
_ALIGNED = {"text-align:right": "bw-right", "text-align:center": "bw-center"}


def absolute_links_only(address: str) -> str | None:
    """The resolver for text that belongs to no page, such as an answer."""
    return address if urlsplit(address).scheme in ("http", "https") else None


def render(
    text: str,
    highlights: Sequence[Highlight] = (),
    *,
    cited: bool = False,
    resolve_link: LinkResolver = absolute_links_only,
    top_heading: int = 3,
) -> str:
    """Returns the Markdown as HTML, with `<mark>` around the highlights.

    `cited`: `[1]` outside code becomes `<sup data-cite="1">1</sup>`. `top_heading`: level of the highest heading, at
    least 2, because the page has a title. No input raises.
    """
    if len(text) > MARKDOWN_MAX:
        return sanitize(f"<p>{escape(text)}</p>")
    tokens = parse(text, cited=cited)
    reader = HighlightReader(text, highlights)
    _stress_labels(tokens)
    _prepare(tokens, reader, resolve_link)
    _draw_boxes(tokens)
    _lower_headings(tokens, top_heading)
    return sanitize(_PARSER.renderer.render(tokens, _PARSER.options, {}))


def parse(text: str, *, cited: bool) -> list[Token]:
    return _PARSER.parse(text, {"cited": cited})


def top_level(tokens: Iterable[Token]) -> list[Token]:
    """The first tokens of the blocks that are not inside another block: each becomes one element."""
    return [token for token in tokens if token.level == 0 and token.nesting >= 0]


def _prepare(tokens: Sequence[Token], reader: HighlightReader, resolve_link: LinkResolver) -> None:
    """Stores in the tokens what the renderer needs: highlighted parts and resolved links."""
    for token in tokens:
        if token.type in ("fence", "code_block"):
            token.meta["parts"] = list(_code_parts(token.content, reader))
        elif token.children:
            _resolve_links(token.children, resolve_link)
            token.children = [part for child in token.children for part in _with_marks(child, reader)]


def _stress_labels(tokens: Sequence[Token]) -> None:
    """Makes the label of a note bold: `Note:` on a line of its own or before a title."""
    for opening, token in pairwise(tokens):
        if opening.type != "paragraph_open" or not token.children:
            continue
        text = token.children[0]
        if text.type == "text" and (label := label_at_start(text.content)):
            bold = Token("strong_open", "strong", 1), text.copy(content=label), Token("strong_close", "strong", -1)
            token.children[:1] = [*bold, text.copy(content=text.content[len(label) :])]


def _draw_boxes(tokens: Sequence[Token]) -> None:
    """`[ ]` and `[x]` at the beginning of a list item become boxes."""
    for item, _, token in zip(tokens, tokens[1:], tokens[2:], strict=False):
        if item.type == "list_item_open" and token.children:
            text = next((child for child in token.children if child.type != "mark_open"), token)
            if text.type == "text" and (box := _BOXES.get(text.content[:4].lower())):
                text.content = box + text.content[4:]


def _lower_headings(tokens: Sequence[Token], top_heading: int) -> None:
    for token in tokens:
        if token.type in ("heading_open", "heading_close"):
            level = int(token.tag[1]) + top_heading - 1
            token.tag = f"h{min(6, max(2, level))}"


def _code_parts(code: str, reader: HighlightReader) -> Iterator[tuple[str, bool]]:
    """The lines, and whether each is highlighted. A line is highlighted as a whole: code in a list is indented in the
    source."""
    for line in code.splitlines(keepends=True):
        words = line.strip()
        yield line, bool(words) and any(marked for _, marked in reader.parts(words))


def _with_marks(token: Token, reader: HighlightReader) -> Iterator[Token]:
    """The token, or its parts with a mark around the highlighted ones."""
    if token.type not in ("text", "code_inline"):
        yield token
        return
    for content, marked in reader.parts(token.content):
        part = token.copy(content=content)
        if marked and content.strip():
            yield Token("mark_open", "mark", 1)
            yield part
            yield Token("mark_close", "mark", -1)
        else:
            yield part


def _resolve_links(tokens: Sequence[Token], resolve_link: LinkResolver) -> None:
    """Sets the address of each link; a link without one keeps only its text."""
    hidden: list[bool] = []
    for token in tokens:
        if token.type == "link_open":
            address = resolve_link(str(token.attrGet("href") or ""))
            hidden.append(address is None)
            token.attrs = {} if address is None else {"href": address}
            token.hidden = address is None
        elif token.type == "link_close" and hidden:
            token.hidden = hidden.pop()


def _citation(state: StateInline, silent: bool) -> bool:
    """The inline rule for `[1]` and `[1, 2]`. Code spans are read before it."""
    found = _CITATION.match(state.src, state.pos) if state.env.get("cited") else None
    if not found or found.end() > state.posMax:
        return False
    if not silent:
        for number in re.findall(r"\d+", found[1]):
            state.push("citation", "sup", 0).content = number
    state.pos = found.end()
    return True


class _BookRenderer(RendererHTML):
    """HTML for the tokens whose default HTML does not fit."""

    def citation(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        number = int(tokens[idx].content)
        return f'<sup data-cite="{number}">{number}</sup>'

    def fence(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _code_block(tokens[idx], language_in(tokens[idx].info))

    def code_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _code_block(tokens[idx], "")

    def table_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return '<div class="bw-table" tabindex="0" role="region" aria-label="Table"><table>\n'

    def table_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</table></div>\n"

    def th_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[idx])

    def td_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _cell(tokens[idx])

    def image(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        """Pictures are not loaded: the text that stands for one is shown."""
        children = tokens[idx].children or []
        return f"<em>{escape(self.renderInlineAsText(children, options, env))}</em>"

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "" if tokens[idx].hidden else self.renderToken(tokens, idx, options, env)

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "" if tokens[idx].hidden else "</a>"

    def math_inline(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return maths_html(tokens[idx].content, block=False)

    def math_inline_double(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return maths_html(tokens[idx].content, block=True)

    def math_block(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _formula(tokens[idx], "")

    def math_block_label(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return _formula(tokens[idx], f'<span class="bw-equation">({escape(tokens[idx].info)})</span>')


def _code_block(token: Token, language: str) -> str:
    name = language if _LANGUAGE.fullmatch(language) else ""
    code = code_html(token.content, name.lower(), token.meta.get("parts", ()))
    return f'<div class="bw-code" data-language="{escape(name)}"><pre tabindex="0"><code>{code}</code></pre></div>\n'


def _formula(token: Token, number: str) -> str:
    maths = maths_html(token.content.strip(), block=True)
    return f'<div class="bw-maths" tabindex="0" role="region" aria-label="Formula">{maths}{number}</div>\n'


def _cell(token: Token) -> str:
    css = _ALIGNED.get(str(token.attrGet("style") or ""))
    return f'<{token.tag} class="{css}">' if css else f"<{token.tag}>"


def _parser() -> MarkdownIt:
    options: Any = {"html": False, "linkify": False, "maxNesting": 40}
    parser = MarkdownIt("commonmark", options, renderer_cls=_BookRenderer).enable(["table", "strikethrough"])
    parser.disable("reference")  # a definition far away must not turn [1] into a link
    parser.inline.ruler.before("link", "citation", _citation)
    dollarmath_plugin(parser, allow_blank_lines=False, double_inline=True)
    for kind in ("math_inline", "math_inline_double", "math_block", "math_block_label"):  # the plugin sets its own
        parser.renderer.rules[kind] = getattr(parser.renderer, kind)  # type: ignore[attr-defined]
    return parser


_PARSER = _parser()
