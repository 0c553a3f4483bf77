"""Text → its citation marks: every way a model writes "this is from there", tied to passages."""

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
_LONGEST = 300  #: letters of a mark
_UNCLOSED = re.compile(rf"[\[【(][^\[\]【】()\n]{{0,{_LONGEST}}}$")


@dataclass(frozen=True, slots=True)
class CitationMark:
    """One mark in a text: where it stands and which passages it means."""

    start: int
    end: int
    numbers: tuple[int, ...]
    removed: int  #: how many passages it names that were not retrieved


def citation_marks(text: str, passages: Sequence[Passage]) -> list[CitationMark]:
    """The marks of a text in order. Code, links and footnotes are none."""
    code = [match.span() for match in _CODE_SPAN.finditer(text)]
    found = sorted([*_numbered(text, passages), *_titled(text, passages)], key=lambda mark: mark.start)
    return [mark for mark in found if not any(begin <= mark.start < end for begin, end in code)]


def masked(text: str, passages: Sequence[Passage]) -> str:
    """The text with its marks made part of the sentence they follow; every letter keeps its place."""
    pieces, at = [], 0
    for mark in citation_marks(text, passages):
        opens = _LINE_START.fullmatch(text[text.rfind("\n", 0, mark.start) + 1 : mark.start])
        begin = mark.start if opens else at + len(text[at : mark.start].rstrip(" \t"))
        pieces += [text[at:begin], ("X" if opens else ")") * (mark.end - begin)]
        at = mark.end
    return "".join(pieces) + text[at:]


def settled(text: str) -> str:
    """The part of a growing text that holds no half-written mark."""
    unclosed = _UNCLOSED.search(text, max(0, len(text) - _LONGEST - 1))
    return text[: unclosed.start()] if unclosed else text


def _numbered(text: str, passages: Sequence[Passage]) -> Iterator[CitationMark]:
    known = {passage.number for passage in passages}
    for match in _NUMBERED.finditer(text):
        numbers = _expanded(match.group(1))
        if _is_citation(text, match, numbers, known):
            kept = tuple(number for number in numbers if number in known)
            yield CitationMark(match.start(), match.end(), kept, len(numbers) - len(kept))


def _is_citation(text: str, match: re.Match[str], numbers: Sequence[int], known: set[int]) -> bool:
    """Neither an index into an array nor a row of numbers."""
    before, after = text[max(0, match.start() - 40) : match.start()], text[match.end() : match.end() + 3]
    if 0 in numbers or (len(numbers) > 1 and _ROW_OF_NUMBERS.search(before)):
        return False
    if not re.search(r"\w$", before):
        return True
    indexes = re.match(r"\w|\.\w|\s*[=+*/<>]", after)
    return set(numbers) <= known and bool(_PROSE_WORD.search(before)) and not indexes


def _expanded(listed: str) -> tuple[int, ...]:
    """`1, 3-5` → 1, 3, 4, 5."""
    found: dict[int, None] = {}
    for part in re.finditer(_SPAN, listed):
        ends = [int(number) for number in re.findall(r"\d+", part.group())]
        found.update(dict.fromkeys(range(min(ends), max(ends) + 1)))
    return tuple(found)


def _titled(text: str, passages: Sequence[Passage]) -> Iterator[CitationMark]:
    for match in _TITLED.finditer(text):
        listed = match.group(1) or match.group(2)
        if not _NUMBERED.match(match.group()):
            numbers, removed = _resolved(listed, text, passages)
            yield CitationMark(match.start(), match.end(), numbers, removed)
    for match in _FROM.finditer(text):
        numbers, removed = _resolved(match.group(1), text, passages)
        if numbers or _CHAPTER.match(match.group(1)):
            yield CitationMark(match.start(), match.end(), numbers, removed)


def _resolved(listed: str, sentence: str, passages: Sequence[Passage]) -> tuple[tuple[int, ...], int]:
    """The passages behind a list of titles, and how many titles name none."""
    found: dict[int, None] = {}
    removed = 0
    for title in _titles(listed, passages):
        named = _named(title, passages)
        if named:
            found[_closest(sentence, named).number] = None
        else:
            removed += 1
    return tuple(found), removed


def _titles(listed: str, passages: Sequence[Passage]) -> Iterator[str]:
    """Titles are separated by semicolons or commas, yet a title may hold commas itself: the longest known one wins."""
    for part in listed.split(";"):
        words = part.split(",")
        while words:
            length = next((n for n in range(len(words), 1, -1) if _named(",".join(words[:n]), passages)), 1)
            title, words = ",".join(words[:length]), words[length:]
            if title.strip():
                yield title


def _named(title: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages a title may mean: those with that name, else those of the places it lists, as narrow as it can."""
    if whole := _with_name(title, passages):
        return whole
    matches: list[Passage] = []
    for step in _STEP.split(title.strip()):
        found = _with_name(step, matches or passages)
        matches = found or matches
    return matches


def _with_name(title: str, passages: Sequence[Passage]) -> list[Passage]:
    """The passages whose chapter, page or section has this name, or whose chapter or lesson has this number."""
    title = title.strip().strip("\"'“”‘’")
    if numbered := _NUMBERED_PLACE.fullmatch(title):
        kind, number = numbered.group(1).lower(), int(numbered.group(2))
        return [passage for passage in passages if getattr(passage.chunk.locator, kind) == number]
    for spelling in (title, _CHAPTER.sub("", title), _PLACE_WORDS.sub("", title)):
        name = _plain(spelling)
        named = [passage for passage in passages if name and name in _names(passage)]
        if named:
            return named
    return []


def _names(passage: Passage) -> set[str]:
    place = passage.chunk.locator
    page = place.page_title
    sections = [place.section_title or "", *place.heading_path, " ".join(place.heading_path)]
    names = [page, *place.breadcrumb, *sections, *(f"{page} {section}" for section in sections)]
    return {_plain(spelling) for name in names for spelling in (name, _CHAPTER.sub("", name))} - {""}


def _plain(title: str) -> str:
    return " ".join(re.findall(r"\w+", title.casefold()))


def _closest(sentence: str, passages: Sequence[Passage]) -> Passage:
    said = content_words(sentence)
    return max(passages, key=lambda passage: (len(said & content_words(passage.chunk.text)), -passage.number))
