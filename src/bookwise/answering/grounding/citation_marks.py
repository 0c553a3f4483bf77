"""Text → its citation marks: every notation a model uses to name a source, resolved to passages."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bookwise.domain.answers import Passage
from bookwise.text.words import content_words

_SPAN = r"\d{1,3}(?:\s*[-–—]\s*\d{1,3})?"
_NUMBERED = re.compile(
    rf"[\[【]\s*(?:(?:passages?|sources?|citations?)\s*:?\s*#?)?({_SPAN}(?:\s*(?:,|;|&|and)\s*{_SPAN})*)\s*(?:†[^\]】\n]*)?"
    r"[\]】](?!\(|:\s*\S+://)",
    re.IGNORECASE,
)
_TITLED = re.compile(r"\[\s*sources?\s*:\s*([^\[\]\n]{1,300})\](?!\()|\(\s*sources?\s*:\s*([^()\n]{1,300})\)", re.I)
_FROM = re.compile(r"\(\s*(?:from|see|source)\s+([^()\n]{1,300})\)", re.IGNORECASE)
_CODE_SPAN = re.compile(r"`[^`\n]*`")
_CHAPTER = re.compile(r"^(?:chapter|lesson|module|part|section)\s+\d[\d.]*\s*[:.–—-]?\s*", re.IGNORECASE)
_NUMBERED_PLACE = re.compile(r"(chapter|lesson)\s+(\d{1,3})", re.IGNORECASE)
_PLACE_WORD = r"(?:chapter|lesson|module|part|section|page)"
_PLACE_WORDS = re.compile(rf"^(?:the\s+)?{_PLACE_WORD}?\b\s*:?\s*|\s+{_PLACE_WORD}$", re.IGNORECASE)
_STEP = re.compile(r"\s*[›»>→/]\s*|\s+[-–—]\s+|\s+in\s+(?:the\s+)?", re.IGNORECASE)
_ROW_OF_NUMBERS = re.compile(
    r"\b(?:range|interval|list|array|vector|tensor|matrix|shape|slice|ind(?:ex|ices))\s+$", re.I
)
_PROSE_WORD = re.compile(r"(?:^|[^\w.])[^\W\d_]{2,}$")
_LINE_START = re.compile(r"\s*(?:(?:[-*+>]|#+|\d{1,3}[.)])\s+)*")
_MARK_MAX = 300  #: characters of a mark
_UNCLOSED = re.compile(rf"[\[【(][^\[\]【】()\n]{{0,{_MARK_MAX}}}$")


@dataclass(frozen=True, slots=True)
class CitationMark:
    """A citation in a text: its position and the passages it refers to."""

    start: int
    end: int
    numbers: tuple[int, ...]
    removed: int  #: number of passages it names that were not retrieved


def citation_marks(text: str, passages: Sequence[Passage]) -> list[CitationMark]:
    """Returns the citation marks of a text in order. Code, links and footnotes are not citations."""
    code = [match.span() for match in _CODE_SPAN.finditer(text)]
    marks = sorted([*_numbered(text, passages), *_titled(text, passages)], key=lambda mark: mark.start)
    return [mark for mark in marks if not any(begin <= mark.start < end for begin, end in code)]


def masked(text: str, passages: Sequence[Passage]) -> str:
    """Returns the text with each mark joined to the sentence before it; all characters keep their position."""
    parts, at = [], 0
    for mark in citation_marks(text, passages):
        is_line_start = _LINE_START.fullmatch(text[text.rfind("\n", 0, mark.start) + 1 : mark.start])
        begin = mark.start if is_line_start else at + len(text[at : mark.start].rstrip(" \t"))
        parts += [text[at:begin], ("X" if is_line_start else ")") * (mark.end - begin)]
        at = mark.end
    return "".join(parts) + text[at:]


def settled(text: str) -> str:
    """Returns a growing text without an incomplete mark at its end."""
    unclosed = _UNCLOSED.search(text, max(0, len(text) - _MARK_MAX - 1))
    return text[: unclosed.start()] if unclosed else text


def _numbered(text: str, passages: Sequence[Passage]) -> Iterator[CitationMark]:
    valid_numbers = {passage.number for passage in passages}
    for match in _NUMBERED.finditer(text):
        numbers = _numbers(match.group(1))
        if _is_citation(text, match, numbers, valid_numbers):
            valid = tuple(number for number in numbers if number in valid_numbers)
            yield CitationMark(match.start(), match.end(), valid, len(numbers) - len(valid))


def _is_citation(text: str, match: re.Match[str], numbers: Sequence[int], valid_numbers: set[int]) -> bool:
    """Returns whether a number in brackets is a citation, not an array index or a list of numbers."""
    before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 3]
    if 0 in numbers or (len(numbers) > 1 and _ROW_OF_NUMBERS.search(before)):
        return False
    if not re.search(r"\w$", before):
        return True
    is_index = re.match(r"\w|\.\w|\s*[=+*/<>]", after)
    return set(numbers) <= valid_numbers and bool(_PROSE_WORD.search(before)) and not is_index


def _numbers(spans: str) -> tuple[int, ...]:
    """Returns 1, 3, 4, 5 for `1, 3-5`."""
    numbers: dict[int, None] = {}
    for part in re.finditer(_SPAN, spans):
        ends = [int(number) for number in re.findall(r"\d+", part.group())]
        numbers.update(dict.fromkeys(range(min(ends), max(ends) + 1)))
    return tuple(numbers)


def _titled(text: str, passages: Sequence[Passage]) -> Iterator[CitationMark]:
    for match in _TITLED.finditer(text):
        titles = match.group(1) or match.group(2)
        if not _NUMBERED.match(match.group()):
            numbers, removed = _resolved(titles, text, passages)
            yield CitationMark(match.start(), match.end(), numbers, removed)
    for match in _FROM.finditer(text):
        numbers, removed = _resolved(match.group(1), text, passages)
        if numbers or _CHAPTER.match(match.group(1)):
            yield CitationMark(match.start(), match.end(), numbers, removed)


def _resolved(titles: str, sentence: str, passages: Sequence[Passage]) -> tuple[tuple[int, ...], int]:
    """Returns the passages that a list of titles refers to, and the number of titles that match none."""
    numbers: dict[int, None] = {}
    removed = 0
    for title in _split_titles(titles, passages):
        candidates = _passages_titled(title, passages)
        if candidates:
            numbers[_closest(sentence, candidates).number] = None
        else:
            removed += 1
    return tuple(numbers), removed


def _split_titles(titles: str, passages: Sequence[Passage]) -> Iterator[str]:
    """Yields the titles of a list. A title may itself contain commas: the longest known title wins."""
    for part in titles.split(";"):
        pieces = part.split(",")
        while pieces:
            lengths = range(len(pieces), 1, -1)
            length = next((n for n in lengths if _passages_titled(",".join(pieces[:n]), passages)), 1)
            title, pieces = ",".join(pieces[:length]), pieces[length:]
            if title.strip():
                yield title


def _passages_titled(title: str, passages: Sequence[Passage]) -> list[Passage]:
    """Returns the passages with this title; if none has it, those of the places it lists, step by step."""
    if exact := _with_title(title, passages):
        return exact
    matches: list[Passage] = []
    for step in _STEP.split(title.strip()):
        matches = _with_title(step, matches or passages) or matches
    return matches


def _with_title(title: str, passages: Sequence[Passage]) -> list[Passage]:
    """Returns the passages with this title of chapter, page or section, or with this number of chapter or lesson."""
    title = title.strip().strip("\"'“”‘’")
    if numbered := _NUMBERED_PLACE.fullmatch(title):
        kind, number = numbered.group(1).lower(), int(numbered.group(2))
        return [passage for passage in passages if getattr(passage.chunk.locator, kind) == number]
    for spelling in (title, _CHAPTER.sub("", title), _PLACE_WORDS.sub("", title)):
        plain = _plain(spelling)
        matches = [passage for passage in passages if plain and plain in _titles(passage)]
        if matches:
            return matches
    return []


def _titles(passage: Passage) -> set[str]:
    """Returns every title a model may use for a passage."""
    locator = passage.chunk.locator
    page = locator.page_title
    sections = [locator.section_title or "", *locator.heading_path, " ".join(locator.heading_path)]
    titles = [page, *locator.breadcrumb, *sections, *(f"{page} {section}" for section in sections)]
    return {plain for title in titles for plain in (_plain(title), _plain(_CHAPTER.sub("", title))) if plain}


def _plain(title: str) -> str:
    return " ".join(re.findall(r"\w+", title.casefold()))


def _closest(sentence: str, passages: Sequence[Passage]) -> Passage:
    terms = content_words(sentence)
    return max(passages, key=lambda passage: (len(terms & content_words(passage.chunk.text)), -passage.number))
