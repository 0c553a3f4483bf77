"""JavaScript or TypeScript configuration → its literal values. No code is executed."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

MAX_TOKENS = 200_000
MAX_DEPTH = 64

_TOKEN = re.compile(
    r"""(?P<space>\s+|//[^\n]*|/\*.*?(?:\*/|\Z))
      | (?P<string>'(?:\\.|[^'\\\n])*'|"(?:\\.|[^"\\\n])*"|`(?:\\.|[^`\\])*`)
      | (?P<word>[A-Za-z_$][\w$]*)
      | (?P<other>.)""",
    re.VERBOSE | re.DOTALL,
)
_ESCAPE = re.compile(r"\\(u\{[0-9a-fA-F]{1,6}\}|u[0-9a-fA-F]{4}|x[0-9a-fA-F]{2}|.)", re.DOTALL)
_CONTROLS = {"n": "\n", "t": "\t", "r": "\r", "b": "\b", "f": "\f", "v": "\v", "0": "", "\n": ""}


@dataclass(frozen=True, slots=True)
class Token:
    kind: str  #: "string", "word" or "other"
    text: str  #: the value of a string, the characters of anything else


@dataclass(slots=True)
class JsObject:
    """A `{…}` or `[…]` with its key and the literal values directly in it."""

    key: str
    parents: tuple[str, ...]  #: keys of the enclosing objects, outermost first
    values: dict[str, str] = field(default_factory=dict)


def tokens(source: str) -> list[Token]:
    """Strings, words and single characters, without comments and white space."""
    result: list[Token] = []
    for match in _TOKEN.finditer(source):
        kind = match.lastgroup or "other"
        if kind == "space":
            continue
        text = _unquote(match[0]) if kind == "string" else match[0]
        # A template with a placeholder has no literal value.
        result.append(Token(kind if text is not None else "other", text or ""))
        if len(result) >= MAX_TOKENS:
            break
    return result


def _unquote(literal: str) -> str | None:
    if literal[0] == "`" and "${" in literal:
        return None
    return _ESCAPE.sub(_unescape, literal[1:-1])


def _unescape(match: re.Match[str]) -> str:
    code = match[1]
    if code[0] in "ux" and len(code) > 1:
        number = int(code[1:].strip("{}"), 16)
        return chr(number) if number < 0x110000 and not 0xD800 <= number < 0xE000 else "\ufffd"
    return _CONTROLS.get(code, code)


def objects(source: str) -> list[JsObject]:
    """All objects and arrays in source order."""
    result: list[JsObject] = []
    stack: list[JsObject] = []
    for key, value, following in _entries(tokens(source)):
        if value.text in ("{", "[") and value.kind == "other":
            if len(stack) == MAX_DEPTH:
                break
            parents = (*stack[-1].parents, stack[-1].key) if stack else ()
            stack.append(JsObject(key, parents))
            result.append(stack[-1])
        elif value.text in ("}", "]") and value.kind == "other":
            stack = stack[:-1]
        elif key and stack and _is_literal(value, following):
            stack[-1].values.setdefault(key, value.text)
    return result


def _entries(source: list[Token]) -> Iterator[tuple[str, Token, Token | None]]:
    """Every token that can be a value, with the key before it (`key: value`) and the token after it."""
    for i, token in enumerate(source):
        keyed = i >= 2 and source[i - 1] == Token("other", ":") and source[i - 2].kind in ("string", "word")
        key = source[i - 2].text if keyed and _starts_entry(source, i - 2) else ""
        yield key, token, source[i + 1] if i + 1 < len(source) else None


def _starts_entry(source: list[Token], at: int) -> bool:
    """A key follows `{` or `,`; the word before the colon of `a ? b : c` does not."""
    return at > 0 and source[at - 1].kind == "other" and source[at - 1].text in ("{", ",")


def _is_literal(value: Token, following: Token | None) -> bool:
    """Whether the literal is the whole value, not the first operand of an expression."""
    if value.kind == "word" and value.text not in ("true", "false"):
        return False
    if value.kind == "other":
        return False
    return following is None or following.text in (",", "}", "as", "satisfies")
