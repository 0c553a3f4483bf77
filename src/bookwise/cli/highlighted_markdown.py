"""Markdown with highlights → what a terminal shows: the highlighted parts are bold. Loads rich."""

import re
from collections.abc import Iterator, Sequence
from typing import ClassVar

from markdown_it import MarkdownIt
from markdown_it.token import Token
from rich.console import Console, ConsoleOptions, RenderResult
from rich.markdown import CodeBlock, Markdown
from rich.syntax import Syntax

from bookwise.answering.highlight_reader import HighlightReader
from bookwise.domain.answers import Highlight

_LINE = re.compile(r"\S[^\n]*")


class HighlightedCode(CodeBlock):
    """Code whose highlighted lines are bold."""

    bold_lines: Sequence[int] = ()

    @classmethod
    def create(cls, markdown: Markdown, token: Token) -> CodeBlock:
        block = super().create(markdown, token)
        assert isinstance(block, cls)
        block.bold_lines = token.meta.get("bold_lines", ())
        return block

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        code = str(self.text).rstrip()
        syntax = Syntax(code, self.lexer_name, theme=self.theme, word_wrap=True, padding=1)
        for number in self.bold_lines:
            syntax.stylize_range("bold", (number, 0), (number + 1, 0))
        yield syntax


class HighlightedMarkdown(Markdown):
    """Markdown that shows link targets and HTML as text; by default rich hides both."""

    elements: ClassVar = {**Markdown.elements, "fence": HighlightedCode, "code_block": HighlightedCode}

    def __init__(self, text: str, highlights: Sequence[Highlight] = ()) -> None:
        super().__init__("", hyperlinks=False)
        self.parsed = MarkdownIt("commonmark", {"html": False}).enable(["table", "strikethrough"]).parse(text)
        if highlights:
            _emphasize(self.parsed, HighlightReader(text, highlights))


def _emphasize(tokens: Sequence[Token], source: HighlightReader) -> None:
    for token in tokens:
        if token.type in ("fence", "code_block"):
            token.meta["bold_lines"] = _bold_lines(token.content, source)
        elif token.children:
            token.children = [part for child in token.children for part in _with_bold(child, source)]


def _bold_lines(code: str, source: HighlightReader) -> list[int]:
    """The numbers of the highlighted lines, from 1."""
    lines = [(number, _LINE.search(line)) for number, line in enumerate(code.splitlines(), 1)]
    return [number for number, line in lines if line and any(bold for _, bold in source.parts(line[0]))]


def _with_bold(token: Token, source: HighlightReader) -> Iterator[Token]:
    """The token, or its parts with bold around the highlighted ones."""
    if token.type not in ("text", "code_inline"):
        yield token
        return
    for content, bold in source.parts(token.content):
        if bold:
            yield Token("strong_open", "strong", 1)
        yield token.copy(content=content)
        if bold:
            yield Token("strong_close", "strong", -1)
