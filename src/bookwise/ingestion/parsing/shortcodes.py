"""Text with shortcodes (Hugo, Quarto) → plain Markdown. A shortcode is rendered or dropped, never shown raw."""

import re
from collections.abc import Iterator
from dataclasses import dataclass

from bookwise.ingestion.parsing.callouts import lead_in

_REACH = 4_000  #: the longest shortcode in characters, so that an unclosed one costs no more
_OPENING = re.compile(r"\{\{[<%]")
_ARGUMENT = re.compile(r"(?:([\w.-]+)\s*=\s*)?(?:\"((?:\\.|[^\"\\])*)\"|`([^`]*)`|([^\s\"`=]+))")
_LANGUAGE = re.compile(r"[\w+#-]*")
_LINKS = frozenset(("ref", "relref"))
_BOXES = frozenset(("alert", "hint", "notice", "admonition", "callout"))
_TITLED = frozenset(("tab", "details", "expand", "expandable", "accordion", "card", "step", "collapse"))
_CODE = frozenset(("highlight", "code", "mermaid", "command", "terminal"))
_HIDDEN = frozenset(("comment", "script", "style"))
_BEFORE_TARGET = re.compile(r"(?:\]\(|\]:|=)[ \t]*[<\"']?[ \t]*\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Shortcode:
    """`{{< name "first" key="value" >}}`, or its closing form."""

    start: int
    end: int
    name: str
    is_closing: bool
    words: tuple[str, ...]
    options: dict[str, str]

    def option(self, *names: str) -> str:
        return next((self.options[name] for name in names if self.options.get(name)), "")

    @property
    def title(self) -> str:
        return self.option("title", "header", "heading", "summary", "name", "label") or " ".join(self.words)


def without_shortcodes(text: str) -> str:
    """The text with links, captions, titles and code of known shortcodes; other shortcodes disappear, and the text
    between their tags stays. An escaped shortcode, `{{</* x */>}}`, is text."""
    if "{{<" not in text and "{{%" not in text:
        return text
    output: list[str] = []
    copied = 0
    codes = list(_shortcodes(text))
    closings = _closings(codes)
    for index, code in enumerate(codes):
        if code.start < copied:
            continue  # inside a hidden block
        output.append(text[copied : code.start])
        copied = code.end
        closing = closings.get(index)
        if code.name in _HIDDEN and closing:
            copied = closing.end
        elif code.name in _LINKS and not is_link_target(text, code.start):
            continue  # the page shows an address; the title of a known page was inserted before
        else:
            output.append(_rendered(code, closing))
    return "".join((*output, text[copied:]))


def is_link_target(text: str, position: int) -> bool:
    """Whether what starts here is the address of a Markdown link, or the value of an attribute."""
    return _BEFORE_TARGET.search(text[max(position - 20, 0) : position]) is not None


def _shortcodes(text: str) -> Iterator[_Shortcode]:
    position = 0
    closes: dict[str, int] = {">}}": -1, "%}}": -1}
    while opening := _OPENING.search(text, position):
        start = opening.start()
        closer = ">}}" if text[start + 2] == "<" else "%}}"
        if closes[closer] < start + 3:
            found = text.find(closer, start + 3)  # remembered, so that each part of the text is searched once
            closes[closer] = len(text) + _REACH if found < 0 else found
        close = closes[closer] if closes[closer] < start + _REACH else -1
        position = start + 3 if close < 0 else close + 3
        inner = text[start + 3 : max(close, start + 3)].strip()
        if close < 0:
            continue
        if inner.startswith("/*"):
            yield _Shortcode(
                start=start, end=position, name="", is_closing=False, words=(_unescaped(inner),), options={}
            )
            continue
        name, _, arguments = inner.removeprefix("/").removesuffix("/").strip().partition(" ")
        words, options = shortcode_arguments(arguments)
        yield _Shortcode(
            start=start,
            end=position,
            name=name.lower().rpartition("/")[2],
            is_closing=inner.startswith("/"),
            words=words,
            options=options,
        )


def _unescaped(inner: str) -> str:
    return "{{< " + inner.removeprefix("/*").removesuffix("*/").strip() + " >}}"


def shortcode_arguments(text: str) -> tuple[tuple[str, ...], dict[str, str]]:
    """The positional and the named arguments of a shortcode."""
    words, options = [], {}
    for match in _ARGUMENT.finditer(text):
        value = next((group for group in match.groups()[1:] if group is not None), "").replace('\\"', '"')
        if match[1]:
            options[match[1].lower()] = value
        else:
            words.append(value)
    return tuple(words), options


def _closings(codes: list[_Shortcode]) -> dict[int, _Shortcode]:
    """The index of each opening tag → its closing tag."""
    open_codes: dict[str, list[int]] = {}
    closings: dict[int, _Shortcode] = {}
    for index, code in enumerate(codes):
        if not code.is_closing:
            open_codes.setdefault(code.name, []).append(index)
        elif open_codes.get(code.name):
            closings[open_codes[code.name].pop()] = code
    return closings


def _rendered(code: _Shortcode, closing: _Shortcode | None) -> str:
    if not code.name:
        return code.words[0]
    if code.is_closing:
        return "\n```\n" if code.name in _CODE else ""
    if code.name in _CODE and closing:
        language = code.name if code.name == "mermaid" else code.option("lang", "language") or "".join(code.words[:1])
        return f"\n```{language if _LANGUAGE.fullmatch(language) else ''}\n"
    return _visible_words(code, closing)


def _visible_words(code: _Shortcode, closing: _Shortcode | None) -> str:
    """What the published page shows in place of the opening tag."""
    name = code.name
    if name in _LINKS:
        return code.option("path") or "".join(code.words[:1])
    if name in ("figure", "img", "image"):
        return ". ".join(filter(None, (code.option("title"), code.option("caption", "alt"))))
    if name == "kbd":
        return "+".join(code.words)
    if closing is None:
        return code.option("text")
    if name in _BOXES:
        kind = code.option("type", "color") or "".join(code.words[:1])
        return _box(kind.lower(), code.option("title") or " ".join(code.words[1:]))
    if name in _TITLED:
        return f"\n\n{code.title}:\n\n" if code.title else ""
    return _box(name, code.title)


def _box(kind: str, title: str) -> str:
    """The line that introduces a note; unknown boxes show their title only when it is a sentence of their own."""
    line = lead_in(kind) and lead_in(kind, title)
    return f"\n\n{line or title}\n\n" if line else (f"\n\n{title}\n\n" if " " in title else "")
