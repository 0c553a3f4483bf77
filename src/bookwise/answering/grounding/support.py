"""Sentence + passages → how well they carry it; the checked pieces of an answer → its grounding."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from bookwise.answering.grounding.claims import LIST_MARKER, claims_something, is_refusal
from bookwise.domain.answers import Grounding, Passage
from bookwise.text.sentences import Unit, units
from bookwise.text.words import content_words, is_content_word, is_negated, stem, words

CARRIED = 0.5  #: least support of a sentence that is called supported
GROUNDED = 0.6  #: least share of supported sentences in an answer that is called grounded
STRANGE = 0.5  #: what a number or name that no passage holds, or a turned-around "not", leaves of the support
_WINDOW = 50  #: words of a passage that may carry a sentence together
_SAME = 0.8  #: share of its words from which a unit says the same as a sentence

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_COUNTED = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_COUNTED)}
_CITED = re.compile(r"\s*\[\d{1,3}\]")
_LABEL = re.compile(r"\*\*.+?\*\*|__.+?__|^[^.:]{1,60}:\s")
_NAME = re.compile(r"(?<![.!?:] )(?<!^)(?<![\"“‘(])\b[A-Z]\w+|\b\w*[A-Z]\w*[A-Z]\w*\b")
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_IDENTIFIER = re.compile(r"\b[^\W\d]\w*_\w+\b|\b[a-z]+[A-Z]\w*\b")
_COMMENT = re.compile(r"(?:^|\s)(?:#\s|//|--\s).*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSegment:
    """A piece of an answer that was held against the passages."""

    text: str  #: with its citations as [n] and the white space after it
    supported: bool
    numbers: tuple[int, ...]
    claims: bool


@dataclass(frozen=True, slots=True)
class _SupportText:
    """A passage as the check sees it."""

    windows: tuple[frozenset[str], ...]
    sentences: tuple[tuple[frozenset[str], bool], ...]  #: words of each unit, and whether it says "not"
    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    spellings: frozenset[str]
    numbers: frozenset[str]
    squeezed: str


def supported(sentence: str, passages: Sequence[Passage]) -> bool:
    """Whether the passages carry the sentence."""
    return support(sentence, passages) >= CARRIED


def support(sentence: str, passages: Sequence[Passage]) -> float:
    """How well the passages carry a piece of text, 0–1: as well as the least supported thing it claims."""
    return _weakest(sentence, [_read(passage) for passage in passages])


def best_passage(sentence: str, passages: Sequence[Passage]) -> Passage | None:
    """The passage that carries the sentence best by itself; the first of equals."""
    return max(passages, key=lambda passage: support(sentence, [passage]), default=None)


def grounding_of(checked: Sequence[CheckedSegment], removed: int) -> Grounding:
    """How much of the answer its passages carry."""
    claiming = [piece for piece in checked if piece.claims]
    unsupported = tuple(piece.text.strip() for piece in claiming if not piece.supported)
    share = 1 - len(unsupported) / len(claiming) if claiming else 1.0
    return Grounding(supported=share, unsupported=unsupported, unsupported_citations=removed)


def is_grounded(checked: Sequence[CheckedSegment]) -> bool:
    """Whether the answer as a whole rests on the book: most of what it claims is there, or it refuses."""
    if not any(piece.claims for piece in checked):
        return is_refusal("".join(piece.text for piece in checked))
    return grounding_of(checked, 0).supported >= GROUNDED


def _weakest(text: str, reads: Sequence[_SupportText]) -> float:
    found = units(LIST_MARKER.sub("", text))
    return min((_support(unit, reads) for unit in found if claims_something(unit.text)), default=1.0)


def _support(unit: Unit, reads: Sequence[_SupportText]) -> float:
    if not reads:
        return 0.0
    if unit.kind == "code":
        return _code_support(unit.text, reads)
    if unit.kind == "table":
        return _table_support(_CITED.sub("", unit.text), reads)
    return _sentence_support(_CITED.sub("", unit.text), reads)


def _sentence_support(sentence: str, reads: Sequence[_SupportText]) -> float:
    """Mean of three shares: content words in one place, content words anywhere, neighbouring words that are neighbours
    there too. Few parameters on purpose: each was chosen by `benchmarks.grounding`."""
    said = content_words(sentence)
    if not said:
        return 1.0
    together = max(len(said & window) for read in reads for window in read.windows) / len(said)
    anywhere = len(said & frozenset().union(*(read.words for read in reads))) / len(said)
    ordered = words(sentence)
    pairs = list(pairwise(ordered))
    paired = sum(any(pair in read.pairs for read in reads) for pair in pairs) / len(pairs) if pairs else together
    doubt = _is_strange(sentence, reads) or _is_turned_around(sentence, said, reads)
    return (together + anywhere + paired) / 3 * (STRANGE if doubt else 1.0)


def _is_strange(sentence: str, reads: Sequence[_SupportText]) -> bool:
    """Whether it holds a number, a name or an identifier that no passage does."""
    if any(all(number not in read.numbers for read in reads) for number in _numbers(sentence)):
        return True
    names = [name for name in _NAME.findall(_LABEL.sub(" ", sentence)) if is_content_word(stem(name))]
    if any(all(not _knows(read, name) for read in reads) for name in names):
        return True
    return any(all(word not in read.spellings for read in reads) for word in _identifiers(sentence))


def _knows(read: _SupportText, name: str) -> bool:
    return name.lower() in read.spellings or stem(name) in read.words


def _is_turned_around(sentence: str, said: frozenset[str], reads: Sequence[_SupportText]) -> bool:
    """Whether the book says the same words with a "not" more or less."""
    denies = is_negated(sentence)
    same = [is_negated for read in reads for there, is_negated in read.sentences if _says_the_same(said, there)]
    return bool(same) and denies not in same


def _says_the_same(said: frozenset[str], there: frozenset[str]) -> bool:
    return len(said & there) >= _SAME * len(said) and len(there) <= 2 * len(said)


def _table_support(table: str, reads: Sequence[_SupportText]) -> float:
    rows = [row.replace("|", " ") for row in table.splitlines()]
    scores = [_sentence_support(row, reads) for row in rows if content_words(row)]
    return sum(scores) / len(scores) if scores else 1.0


def _code_support(code: str, reads: Sequence[_SupportText]) -> float:
    """Share of its lines that a passage holds, white space and comments aside."""
    lines = [
        _squeezed(_COMMENT.sub("", line)) for line in code.splitlines() if not line.strip().startswith(("```", "~~~"))
    ]
    lines = [line for line in lines if re.search(r"\w", line)]
    return sum(any(line in read.squeezed for read in reads) for line in lines) / len(lines) if lines else 1.0


def _squeezed(text: str) -> str:
    return "".join(text.split())


def _numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def _identifiers(sentence: str) -> set[str]:
    code = " ".join(_CODE_SPAN.findall(sentence))
    return {word.lower() for word in [*re.findall(r"[^\W\d]\w+", code), *_IDENTIFIER.findall(sentence)]}


def _read(passage: Passage) -> _SupportText:
    place = passage.chunk.locator
    return _read_text(passage.chunk.text, " ".join((place.page_title, *place.heading_path)))


@lru_cache(maxsize=256)
def _read_text(text: str, heading: str) -> _SupportText:
    found = units(text)
    above = frozenset(words(heading))
    ordered = words(text)
    starts = range(0, max(1, len(ordered) - _WINDOW // 2), _WINDOW // 2)
    spellings = frozenset(re.findall(r"\w+", f"{heading} {text}".lower()))
    return _SupportText(
        windows=tuple(above.union(ordered[at : at + _WINDOW]) for at in starts),
        sentences=tuple((content_words(unit.text), is_negated(unit.text)) for unit in found),
        words=above.union(ordered),
        pairs=frozenset(pairwise(ordered)),
        spellings=spellings,
        numbers=frozenset(_numbers(f"{heading} {text}")) | {_NUMBER_WORDS[w] for w in spellings & _NUMBER_WORDS.keys()},
        squeezed=_squeezed(text),
    )
