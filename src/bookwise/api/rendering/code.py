"""Source code → HTML with a few CSS classes for its words."""

from collections.abc import Iterator, Sequence
from html import escape
from itertools import groupby
from typing import Any

from pygments.lexer import Lexer
from pygments.lexers import get_lexer_by_name
from pygments.token import Token
from pygments.util import ClassNotFound

COLOURED_MAX = 20_000  #: characters; longer code is shown without colours, because some lexers are slow

#: (kind of a word, CSS class); the first match counts. Everything else has no class.
_CLASSES: tuple[tuple[Any, str], ...] = (
    (Token.Comment, "c"),
    (Token.Keyword, "k"),
    (Token.Operator.Word, "k"),
    (Token.Literal.String, "s"),
    (Token.Literal.Number, "m"),
    (Token.Name.Function, "n"),
    (Token.Name.Class, "n"),
    (Token.Name.Decorator, "n"),
    (Token.Name.Tag, "n"),
    (Token.Name.Attribute, "o"),
    (Token.Name.Builtin, "o"),
    (Token.Generic.Prompt, "c"),
    (Token.Generic.Output, "c"),
)


def code_html(code: str, language: str, highlighted: Sequence[tuple[str, bool]]) -> str:
    """Returns the code as HTML. `highlighted` holds its parts in order, and whether each is highlighted."""
    out: list[str] = []
    cut = _cut(list(_words(code, language)), highlighted)
    for marked, words in groupby(cut, key=lambda word: word[2]):
        html = "".join(_word(text, css) for text, css, _ in words)
        out.append(f"<mark>{html}</mark>" if marked else html)
    return "".join(out)


def _word(text: str, css: str) -> str:
    html = escape(text, quote=False)
    return f'<span class="{css}">{html}</span>' if css else html


def _words(code: str, language: str) -> Iterator[tuple[str, str]]:
    """The words of the code with their CSS class. Joined, they are the code."""
    lexer = _lexer(language) if len(code) <= COLOURED_MAX else None
    words = [(text, _css(kind)) for kind, text in lexer.get_tokens(code)] if lexer else []
    if "".join(text for text, _ in words) == code:
        return iter(words)
    return iter([(code, "")])  # a lexer that changes the code would make it wrong to copy


def _lexer(language: str) -> Lexer | None:
    try:
        return get_lexer_by_name(language, stripnl=False, ensurenl=False) if language else None
    except ClassNotFound:
        return None


def _css(kind: Any) -> str:
    return next((css for parent, css in _CLASSES if kind in parent), "")


def _cut(words: Sequence[tuple[str, str]], highlighted: Sequence[tuple[str, bool]]) -> Iterator[tuple[str, str, bool]]:
    """The words, cut where a highlight begins or ends: text, CSS class, and whether it is highlighted."""
    rest = [part for part in reversed(highlighted) if part[0]]
    for text, css in words:
        at = 0
        while at < len(text) and rest:
            part, marked = rest.pop()
            length = min(len(part), len(text) - at)
            yield text[at : at + length], css, marked
            at += length
            if part[length:]:
                rest.append((part[length:], marked))
        if text[at:]:
            yield text[at:], css, False
