"""Quarto Markdown → plain Markdown: chunks, callouts, cross references and commands for print are translated."""

import re
from collections.abc import Iterator

from bookwise.ingestion.parsing.fences import FENCE, fence_end
from bookwise.ingestion.parsing.references import KINDS
from bookwise.ingestion.parsing.shortcodes import without_shortcodes

_HIDDEN_LINES = 500

_CHUNK = re.compile(r"\{+\s*\.?([A-Za-z][\w+#-]*)[^}]*\}+\s*")
_OPTION = re.compile(r"\s*(?:#|//|--|%%|%|\*)\|\s?(.*)")
_CAPTION = re.compile(r"(?:fig|tbl|lst)-cap:\s*[\"']?(.*?)[\"']?\s*")
_CALLOUT = re.compile(r"\s*:{3,}\s*(?:\{[^}]*\.)?callout-(note|tip|warning|caution|important)\b(?!-)([^}]*)\}?[\s:]*")
_TITLE = re.compile(r"title=\"([^\"]*)\"")
_HEADING = re.compile(r"\s*#{1,6}\s+(.*?)\s*(?:\{[^{}]*\})?\s*")
_HIDDEN_DIV = re.compile(
    r"\s*(:{3,})\s*\{[^}]*(?:\.content-visible[^}]*when-format=\"(?!html)|\.content-hidden(?![^}]*when-format=\"(?!html))|"
    r"\.hidden\b)[^}]*\}\s*"
)
_DIV = re.compile(r"\s*(:{3,})\s*(\S.*)?")
_LABELLED = re.compile(r"\{[^{}]*#((?:sec|fig|tbl|eq|lst)-[\w-]+)[^{}]*\}")
_CAPTIONED = re.compile(r"!\[([^\]]*)\]\([^)]*\)\{[^{}]*#(fig-[\w-]+)")
_TABLE_CAPTION = re.compile(r":\s+(.*?)\s*\{[^{}]*#(tbl-[\w-]+)[^{}]*\}\s*")
_REFERENCE = re.compile(rf"(?<![\w/`])-?@((?:{'|'.join(KINDS)})-[\w-]*\w)")
_BRACKETED = re.compile(r"[ \t]?\[([^\[\]]*@[\w-][^\[\]]*)\](?![(\[{])")
_CITATION = re.compile(r"-?@[\w:.#$%&+?<>~/-]+")
_PRINT = re.compile(
    r"\\(?:index|label|cite[pt]?|ref|autoref|eqref|pageref|nocite|vspace|hspace|pagestyle|thispagestyle|setcounter|addcontentsline|markboth)\*?"
    r"(?:\{(?:[^{}]|\{[^{}]*\})*\})+"
    r"|\\(?:newpage|pagebreak|clearpage|cleardoublepage|noindent|bigskip|medskip|smallskip|appendix|mainmatter|"
    r"frontmatter|backmatter|printindex|tableofcontents|listoffigures|listoftables|centering|vfill|hfill)\b(?:\[\d\])?"
)
_SPAN = re.compile(r"(?<!!)\[([^\[\]@]*)\]\{(?:[.#][\w-]|[\w-]+=)[^{}\n]*\}")
_INLINE_CODE = re.compile(r"`\{(?:python|r|julia|ojs)\}\s*([^`\n]+)`")
_ATTRIBUTES = re.compile(r"(?<=[\])`$])[ \t]?\{(?:[.#][\w-]|[\w-]+=)[^{}\n]*\}")


def plain_markdown(text: str) -> str:
    """The text as readers of the web page see it. Code stays; its options are dropped."""
    text = without_shortcodes(text)
    return "\n".join(_Translator(_labels(text)).lines(text.split("\n")))


def without_options(code: str) -> str:
    """The code of a cell without the `#|` lines at its top."""
    lines = code.split("\n")
    while lines and _OPTION.fullmatch(lines[0]):
        lines.pop(0)
    return "\n".join(lines)


def _labels(text: str) -> dict[str, str]:
    """The labels of this lesson → what they name. Labels of other lessons are unknown here."""
    labels = {match[2]: match[1] for match in _CAPTIONED.finditer(text)}
    for line in text.split("\n"):
        label = _LABELLED.search(line) if line.lstrip().startswith("#") else None
        heading = _HEADING.fullmatch(line) if label else None
        if label and heading:
            labels[label[1]] = heading[1]
        elif caption := _TABLE_CAPTION.fullmatch(line):
            labels[caption[2]] = caption[1]
    return {label: name for label, name in labels.items() if name and "@" not in name}


class _Translator:
    """Translates line by line. Inside code, only the options of a chunk are dropped."""

    def __init__(self, labels: dict[str, str]) -> None:
        self._labels = labels

    def lines(self, lines: list[str]) -> Iterator[str]:
        index = 0
        while index < len(lines):
            fence = FENCE.fullmatch(lines[index])
            if fence:
                end = fence_end(lines, index, fence[2])
                yield from _code(fence, lines[index + 1 : end], lines[end : end + 1])
                index = end + 1
            elif _HIDDEN_DIV.fullmatch(lines[index]):
                index = _div_end(lines, index)
            elif callout := _CALLOUT.fullmatch(lines[index]):
                index, title = _callout_title(lines, index, callout)
                yield f":::{callout[1]} {title}".rstrip()
            else:
                yield self._line(lines[index])
                index += 1

    def _line(self, line: str) -> str:
        if not any(mark in line for mark in "@\\{"):
            return line
        line = _INLINE_CODE.sub(r"`\1`", _SPAN.sub(r"\1", line))
        line = _ATTRIBUTES.sub("", _PRINT.sub("", line))
        line = _TABLE_CAPTION.sub(r"\1", line)
        line = _BRACKETED.sub(self._bracketed, line)
        return _REFERENCE.sub(self._reference, line)

    def _bracketed(self, match: re.Match[str]) -> str:
        """`[see @fig-a; @fig-b]` → the text in parentheses; citations of the bibliography disappear."""
        inner = _REFERENCE.sub(self._reference, match[1])
        words = _CITATION.sub("", inner) if inner == match[1] else inner
        words = " ".join(words.strip(" ;,").split())
        space = match[0][: match[0].index("[")]
        return f"{space}({words})" if any(map(str.isalpha, words)) and inner != match[1] else ""

    def _reference(self, match: re.Match[str]) -> str:
        label = match[1]
        name = self._labels.get(label, "")
        return f"“{name}”" if name else f"the {KINDS[label.partition('-')[0]]}"


def _code(fence: re.Match[str], body: list[str], closing: list[str]) -> Iterator[str]:
    """A code block with its language and without its options; raw blocks for other formats disappear."""
    indent, marks, info = fence[1], fence[2], fence[3].strip()
    if info.startswith("{="):
        return
    chunk = _CHUNK.fullmatch(info)
    options = []
    while chunk and body and (option := _OPTION.fullmatch(body[0])):
        options.append(option[1])
        body = body[1:]
    yield f"{indent}{marks}{chunk[1].lower() if chunk else fence[3]}"
    yield from body
    yield from closing
    for option_text in options:
        if caption := _CAPTION.fullmatch(option_text):
            yield from ("", f"{indent}{caption[1]}", "")


def _div_end(lines: list[str], start: int) -> int:
    """The index after the line that closes the div. An unclosed or very long div hides only its opening line."""
    depth = 0
    for index in range(start, min(len(lines), start + _HIDDEN_LINES)):
        div = _DIV.fullmatch(lines[index])
        depth += (1 if div[2] else -1) if div else 0
        if depth == 0:
            return index + 1
    return start + 1


def _callout_title(lines: list[str], index: int, callout: re.Match[str]) -> tuple[int, str]:
    """The index after the opening lines of a callout, and its title: an attribute, or a heading in the first line."""
    index += 1
    if title := _TITLE.search(callout[2]):
        return index, title[1]
    first = index
    while first < len(lines) and not lines[first].strip():
        first += 1
    heading = _HEADING.fullmatch(lines[first]) if first < len(lines) else None
    return (first + 1, heading[1]) if heading else (index, "")
