"""Markdown in the dialects of site generators → headings and blocks in reading order."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence

from markdown_it.token import Token
from markdown_it.utils import EnvType

from bookwise.domain.books import Block, BlockKind
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.callouts import lead_in
from bookwise.ingestion.parsing.dialects import Dialect
from bookwise.ingestion.parsing.directives import language_of, reading_of, title_of
from bookwise.ingestion.parsing.fences import LONG_CODE, code_block
from bookwise.ingestion.parsing.front_matter import split_front_matter
from bookwise.ingestion.parsing.markdown_lists import ListLines
from bookwise.ingestion.parsing.markdown_rules import parser
from bookwise.ingestion.parsing.references import References
from bookwise.ingestion.parsing.sections import Heading, LessonPart
from bookwise.ingestion.parsing.tags import fragments, html_rows, html_text, readable, without_scripts
from bookwise.text.formulas import plain_formula

MAX_DIRECTIVE_DEPTH = 20
_TITLE_LENGTH = 1000
_QUOTES = {"blockquote_open": 1, "blockquote_close": -1, "alert_open": 1, "alert_close": -1}
_LISTS = frozenset(("bullet_list_open", "ordered_list_open", "footnote_reference_open"))
_DIRECTIVE = re.compile(r"\{([A-Za-z][\w:+-]*)\}\s*(.*)", re.DOTALL)
_OPTION = re.compile(r"[ \t]*:([\w-]+):(?:[ \t]+(.*))?(?:\n|\Z)")
_COMMENT_ID = re.compile(r"\{/\*\s*#([^\s*}]+)\s*\*/\s*\}")
_ATTRIBUTES = re.compile(r"\{:?\s*((?:[#.][^\s{}]+|[\w-]+=[^\s{}]+|-)(?:\s[^{}]*)?)\}")
_HASH = re.compile(r"(?:^|\s)#([^\s}]+)")
_INLINE_MARKS = re.compile(r"[\\`*_\[\]<>&!$~^]")
_PRE = re.compile(r"\s*<pre\b[^>]*>(?:\s*<code\b([^>]*)>)?", re.IGNORECASE)
_CODE_CLASS = re.compile(r"lang(?:uage)?-([\w+#-]+)")
_TABLE_TAG = re.compile(r"<(?:table|tbody|thead|tr|td|th)\b", re.IGNORECASE)


def markdown_parts(text: str, dialect: Dialect) -> list[LessonPart]:
    """Headings and blocks of a Markdown text.

    A list with its contents is one block, divided only by long code. Quotes, notes, tabs and components contain
    ordinary blocks. Indented code gets a fence.
    """
    text = dialect.translate(text)
    return list(_MarkdownReader(dialect, References(text if dialect.roles else "")).parts(text))


class _MarkdownReader:
    """Reads the tokens of a text."""

    def __init__(self, dialect: Dialect, references: References, depth: int = 0) -> None:
        if depth > MAX_DIRECTIVE_DEPTH:
            raise BadLesson("too-deep", f"Directives are nested more than {MAX_DIRECTIVE_DEPTH} levels deep.")
        self._dialect = dialect
        self._references = references
        self._depth = depth
        self._parser = parser(jsx=dialect.jsx)
        self._env: EnvType = {}
        self._quotes = 0
        self._readers: dict[str, Callable[[Token], Iterator[LessonPart]]] = {
            "inline": self._paragraph,
            "fence": self._fence,
            "code_block": self._indented_code,
            "html_block": self._html,
            "rows": self._rows,
            "math_block": self._math,
            "math_block_label": self._math,
            "visible_text": self._visible_text,
        }

    def parts(self, text: str) -> Iterator[LessonPart]:
        tokens = self._parser.parse(text, self._env)
        index = 0
        while index < len(tokens):
            count, parts = self._next(tokens, index)
            yield from parts
            index += count

    def _next(self, tokens: Sequence[Token], index: int) -> tuple[int, Iterator[LessonPart]]:
        """The number of tokens of the parts that start here, and the parts."""
        token = tokens[index]
        match token.type:
            case kind if kind in _LISTS:
                length = _length(tokens, index)
                return length, self._list(tokens[index : index + length])
            case "heading_open":
                return 3, self._heading(token, tokens[index + 1])
            case "alert_title_open":
                return 3, _text([lead_in(tokens[index + 1].content)])
            case "definition":
                length = _run(tokens, index)
                return length, _text(t.content for t in tokens[index : index + length])
        self._quotes += _QUOTES.get(token.type, 0)
        reader = self._readers.get(token.type)
        return 1, reader(token) if reader else iter(())

    def _heading(self, token: Token, inline: Token) -> Iterator[LessonPart]:
        source, anchor = _without_id(inline.content)
        title = " ".join(self._plain(" ".join(self._clean(source))).split())
        if title:
            yield Heading(level=int(token.tag[1]), title=title, anchor=anchor, quoted=self._quotes > 0)

    def _plain(self, source: str) -> str:
        """The words without inline markup. A very long title is not changed."""
        if len(source) > _TITLE_LENGTH or not _INLINE_MARKS.search(source):
            return source
        tokens: list[Token] = []
        self._parser.inline.parse(source, self._parser, self._env, tokens)
        return "".join(_words(token) for token in tokens)

    def _clean(self, text: str) -> list[str]:
        """The visible text, line by line; a line without visible text is empty."""
        dialect = self._dialect
        text = self._references.replace(text) if dialect.roles else text
        lines = [dialect.invisible.sub("", dialect.includes.sub("", line)) for line in text.split("\n")]
        return readable("\n".join(lines), jsx=dialect.jsx).split("\n")

    def _paragraph(self, token: Token) -> Iterator[LessonPart]:
        text = token.content
        if text.startswith(("$$", "\\begin{", "\\[")) and text.endswith(("$$", "}", "\\]")):
            return _text(self._clean(text), "math")
        return _text(line.lstrip() for line in self._clean(text))

    def _rows(self, token: Token) -> Iterator[LessonPart]:
        return _text(self._clean(token.content), "table")

    def _visible_text(self, token: Token) -> Iterator[LessonPart]:
        return _text([token.content])

    def _math(self, token: Token) -> Iterator[LessonPart]:
        yield self._equation(token.content, token.info)

    def _equation(self, content: str, label: str) -> Block:
        number = f" ({self._references.number(label)})" if label else ""
        return Block(kind="math", text=f"$${content}$${number}")

    def _indented_code(self, token: Token) -> Iterator[LessonPart]:
        yield from self._code(token.content)

    def _code(self, content: str, info: str = "", fence: str = "", language: str | None = None) -> Iterator[LessonPart]:
        """A code block without lines that include other files; nothing if no other line has text."""
        lines = content.split("\n")
        own_lines = [line for line in lines if not self._dialect.includes.search(line)]
        if len(own_lines) == len(lines) or any(map(str.strip, own_lines)):
            yield code_block("\n".join(own_lines), info=info, fence=fence, language=language)

    def _fence(self, token: Token) -> Iterator[LessonPart]:
        info = token.info.strip()
        directive = _DIRECTIVE.match(info) if self._dialect.directives or token.markup[0] == ":" else None
        if info == "mdx-code-block" and self._dialect.jsx:
            # Docusaurus unwraps this fence; it protects MDX from tools that know only Markdown.
            yield from self._nested().parts(token.content)
        elif directive is None:
            yield from self._code(token.content, info, token.markup)
        else:
            yield from self._directive(directive[1], directive[2], token)

    def _nested(self) -> "_MarkdownReader":
        return _MarkdownReader(self._dialect, self._references, self._depth + 1)

    def _directive(self, name: str, argument: str, token: Token) -> Iterator[LessonPart]:
        options, body = _without_options(token.content)
        match reading_of(name):
            case "code":
                language = language_of(name.lower(), argument)
                yield from self._code(body, language, token.markup, language)
                yield from _text(self._clean(_caption(options)))
            case "math":
                yield self._equation(f"\n{body.strip()}\n", str(options.get("label") or ""))
            case "text":
                yield from _text([title_of(name, argument)])
                yield from self._nested().parts(body)

    def _html(self, token: Token) -> Iterator[LessonPart]:
        source = without_scripts("\n".join(self._without_includes(token.content)))
        if pre := _PRE.match(source):
            language = _CODE_CLASS.search(pre[1] or "")
            code, _, source = source[pre.end() :].partition("</pre>")
            yield code_block(html_text(code).strip("\n"), info=language[1] if language else "")
        for level, anchor, title, before in fragments(source):
            kind: BlockKind = "table" if _TABLE_TAG.search(before) else "text"
            text = html_rows(before) if kind == "table" else html_text(before)
            yield from _text((" ".join(line.split()) for line in text.split("\n")), kind)
            if title:
                yield Heading(level=level, title=title, anchor=anchor or None, quoted=self._quotes > 0)

    def _without_includes(self, text: str) -> Iterator[str]:
        return (self._dialect.includes.sub("", line) for line in text.split("\n"))

    def _list(self, tokens: Sequence[Token]) -> Iterator[LessonPart]:
        """The source lines of a list or footnote, without invisible parts."""
        kind: BlockKind = "text" if tokens[0].type == "footnote_reference_open" else "list"
        lines = ListLines(tokens[0])
        done = 0
        for token in tokens[1:-1]:
            if token.type == "fence" and len(token.content) > LONG_CODE:
                start, end = lines.span(token)
                yield from lines.block(kind, done, start)
                yield from self._code(token.content, token.info.strip(), token.markup)
                done = end
            else:
                self._edit(lines, token)
        yield from lines.block(kind, done, None)

    def _edit(self, lines: ListLines, token: Token) -> None:
        match token.type:
            case "inline" | "rows":
                lines.replace(token, token.content.split("\n"), self._clean(token.content))
            case "html_block":
                lines.replace(token, token.content.split("\n"), html_text(token.content).split("\n"))
            case "visible_text":
                lines.replace(token, [token.info], [token.content])
                lines.drop(token, from_line=1)
            case "fence" if self._dialect.includes.search(token.content):
                if list(self._code(token.content)):
                    lines.drop(token, matching=self._dialect.includes)
                else:
                    lines.drop(token)


def _text(lines: "Iterator[str] | Sequence[str]", kind: BlockKind = "text") -> Iterator[LessonPart]:
    """A block with the lines that are not blank, if there are any."""
    text = "\n".join(line.rstrip() for line in lines if line.strip())
    if text:
        yield Block(kind=kind, text=text.lstrip())


def _length(tokens: Sequence[Token], start: int) -> int:
    level = tokens[start].level
    closing = (i for i in range(start + 1, len(tokens)) if tokens[i].level == level and tokens[i].nesting < 0)
    return next(closing) - start + 1


def _run(tokens: Sequence[Token], start: int) -> int:
    end = start
    while end < len(tokens) and tokens[end].type == "definition":
        end += 1
    return end - start


def _words(token: Token) -> str:
    if token.type in ("softbreak", "hardbreak"):
        return " "
    if token.type == "image":
        return "".join(map(_words, token.children or ()))
    if token.type == "math_inline":
        return plain_formula(token.content)
    return token.content


def _without_id(title: str) -> tuple[str, str | None]:
    """The title without trailing attributes, and the id in them."""
    title = title.rstrip()
    start = title.rfind("{")
    if start < 0 or not title.endswith("}"):
        return title, None
    if comment := _COMMENT_ID.fullmatch(title, start):
        return title[:start], comment[1]
    attributes = _ATTRIBUTES.fullmatch(title, start)
    if attributes is None:
        return title, None
    match = _HASH.search(attributes[1])
    return title[:start], match[1] if match else None


def _without_options(body: str) -> tuple[Mapping[str, object], str]:
    """The options and the body of a directive: `:name: value` lines, or YAML between `---` lines."""
    if body.startswith("---\n"):
        try:
            facts, body, _ = split_front_matter(body)
        except BadLesson:
            return {}, body[body.index("\n---", 3) + 1 :].partition("\n")[2]
        return facts, body
    options: dict[str, object] = {}
    while option := _OPTION.match(body):
        options[option[1]] = (option[2] or "").strip()
        body = body[option.end() :]
    return options, body


def _caption(options: Mapping[str, object]) -> str:
    """The caption of the figure of a cell, or of the directive."""
    for key in ("mystnb", "figure"):
        inner = options.get(key)
        options = inner if isinstance(inner, dict) else options
    caption = options.get("caption")
    return " ".join(caption.split()) if isinstance(caption, str) else ""
