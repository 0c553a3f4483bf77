"""Sentence + passages → how well they support it; checked segments of an answer → its grounding."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from bookwise.answering.grounding.claims import LIST_MARKER, claims_something, is_refusal
from bookwise.domain.answers import Grounding, Passage
from bookwise.text.sentences import Unit, units
from bookwise.text.words import content_words, is_content_word, is_negated, stem, words

# All values were chosen with `benchmarks.grounding` (docs/benchmarks.md, Grounding; docs/decisions/0008).
LEAST_SUPPORT = 0.5  #: least support of a supported sentence
GROUNDED = 0.6  #: least share of supported sentences in a grounded answer
DOUBT_FACTOR = 0.5  #: for a number or name that no passage contains, or a negation the passages do not share
_WINDOW = 50  #: consecutive words of a passage that may support a sentence together
_SAME_SHARE = 0.8  #: share of common terms from which a unit and a sentence say the same

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_NUMERALS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_NUMBER_WORDS = {word: str(number) for number, word in enumerate(_NUMERALS)}
_CITED = re.compile(r"\s*\[\d{1,3}\]")
_LABEL = re.compile(r"\*\*.+?\*\*|__.+?__|^[^.:]{1,60}:\s")
_NAME = re.compile(r"(?<![.!?:] )(?<!^)(?<![\"“‘(])\b[A-Z]\w+|\b\w*[A-Z]\w*[A-Z]\w*\b")
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_IDENTIFIER = re.compile(r"\b[^\W\d]\w*_\w+\b|\b[a-z]+[A-Z]\w*\b")
_COMMENT = re.compile(r"(?:^|\s)(?:#\s|//|--\s).*$")


@dataclass(frozen=True, slots=True, kw_only=True)
class CheckedSegment:
    """A segment of an answer after its check against the passages."""

    text: str  #: with its citations as [n] and the white space after it
    supported: bool
    numbers: tuple[int, ...]
    claims: bool


@dataclass(frozen=True, slots=True)
class _SupportText:
    """A passage prepared for the check."""

    windows: tuple[frozenset[str], ...]
    sentences: tuple[tuple[frozenset[str], bool], ...]  #: terms of each unit, and whether it is negated
    words: frozenset[str]
    pairs: frozenset[tuple[str, str]]
    spellings: frozenset[str]
    numbers: frozenset[str]
    compact: str  #: without white space


def supported(sentence: str, passages: Sequence[Passage]) -> bool:
    """Returns whether the passages support the sentence."""
    return support(sentence, passages) >= LEAST_SUPPORT


def support(sentence: str, passages: Sequence[Passage]) -> float:
    """Returns how well the passages support a text, between 0 and 1: the support of its weakest claim."""
    prepared = [_prepared(passage) for passage in passages]
    claims = [unit for unit in units(LIST_MARKER.sub("", sentence)) if claims_something(unit.text)]
    return min((_support(unit, prepared) for unit in claims), default=1.0)


def best_passage(sentence: str, passages: Sequence[Passage]) -> Passage | None:
    """Returns the passage that supports the sentence best on its own; None without passages."""
    return max(passages, key=lambda passage: support(sentence, [passage]), default=None)


def grounding_of(checked: Sequence[CheckedSegment], removed: int) -> Grounding:
    """Returns the share of claims that the passages support, and the claims they do not."""
    claims = [segment for segment in checked if segment.claims]
    unsupported = tuple(segment.text.strip() for segment in claims if not segment.supported)
    share = 1 - len(unsupported) / len(claims) if claims else 1.0
    return Grounding(supported=share, unsupported=unsupported, unsupported_citations=removed)


def is_grounded(checked: Sequence[CheckedSegment]) -> bool:
    """Returns whether most claims of the answer are supported, or the answer is a refusal."""
    if not any(segment.claims for segment in checked):
        return is_refusal("".join(segment.text for segment in checked))
    return grounding_of(checked, 0).supported >= GROUNDED


def _support(unit: Unit, passages: Sequence[_SupportText]) -> float:
    if not passages:
        return 0.0
    if unit.kind == "code":
        return _code_support(unit.text, passages)
    if unit.kind == "table":
        return _table_support(_CITED.sub("", unit.text), passages)
    return _sentence_support(_CITED.sub("", unit.text), passages)


def _sentence_support(sentence: str, passages: Sequence[_SupportText]) -> float:
    """Returns the mean of three shares: terms in one window, terms anywhere, and neighbouring words that are neighbours
    in a passage too."""
    terms = content_words(sentence)
    if not terms:
        return 1.0
    in_window = max(len(terms & window) for passage in passages for window in passage.windows) / len(terms)
    anywhere = len(terms & frozenset().union(*(passage.words for passage in passages))) / len(terms)
    pairs = list(pairwise(words(sentence)))
    paired = (
        sum(any(pair in passage.pairs for passage in passages) for pair in pairs) / len(pairs) if pairs else in_window
    )
    is_doubtful = _has_unknown_name(sentence, passages) or _is_contradicted(sentence, terms, passages)
    return (in_window + anywhere + paired) / 3 * (DOUBT_FACTOR if is_doubtful else 1.0)


def _has_unknown_name(sentence: str, passages: Sequence[_SupportText]) -> bool:
    """Returns whether the sentence contains a number, name or identifier that no passage contains."""
    if any(all(number not in passage.numbers for passage in passages) for number in _numbers(sentence)):
        return True
    names = [name for name in _NAME.findall(_LABEL.sub(" ", sentence)) if is_content_word(stem(name))]
    if any(all(not _knows(passage, name) for passage in passages) for name in names):
        return True
    return any(all(word not in passage.spellings for passage in passages) for word in _identifiers(sentence))


def _knows(passage: _SupportText, name: str) -> bool:
    return name.lower() in passage.spellings or stem(name) in passage.words


def _is_contradicted(sentence: str, terms: frozenset[str], passages: Sequence[_SupportText]) -> bool:
    """Returns whether every passage that says the same does so with one "not" more or less."""
    negations = [
        negated for passage in passages for unit_terms, negated in passage.sentences if _is_same(terms, unit_terms)
    ]
    return bool(negations) and is_negated(sentence) not in negations


def _is_same(terms: frozenset[str], unit_terms: frozenset[str]) -> bool:
    return len(terms & unit_terms) >= _SAME_SHARE * len(terms) and len(unit_terms) <= 2 * len(terms)


def _table_support(table: str, passages: Sequence[_SupportText]) -> float:
    rows = [row.replace("|", " ") for row in table.splitlines()]
    scores = [_sentence_support(row, passages) for row in rows if content_words(row)]
    return sum(scores) / len(scores) if scores else 1.0


def _code_support(code: str, passages: Sequence[_SupportText]) -> float:
    """Returns the share of lines that a passage contains, ignoring white space and comments."""
    lines = [
        _compact(_COMMENT.sub("", line)) for line in code.splitlines() if not line.strip().startswith(("```", "~~~"))
    ]
    lines = [line for line in lines if re.search(r"\w", line)]
    return sum(any(line in passage.compact for passage in passages) for line in lines) / len(lines) if lines else 1.0


def _compact(text: str) -> str:
    return "".join(text.split())


def _numbers(text: str) -> set[str]:
    return {number.replace(",", "") for number in _NUMBER.findall(text)}


def _identifiers(sentence: str) -> set[str]:
    code = " ".join(_CODE_SPAN.findall(sentence))
    return {word.lower() for word in [*re.findall(r"[^\W\d]\w+", code), *_IDENTIFIER.findall(sentence)]}


def _prepared(passage: Passage) -> _SupportText:
    locator = passage.chunk.locator
    return _support_text(passage.text, " ".join((locator.page_title, *locator.heading_path)))


@lru_cache(maxsize=256)
def _support_text(text: str, heading: str) -> _SupportText:
    heading_words = frozenset(words(heading))
    sequence = words(text)
    starts = range(0, max(1, len(sequence) - _WINDOW // 2), _WINDOW // 2)
    spellings = frozenset(re.findall(r"\w+", f"{heading} {text}".lower()))
    return _SupportText(
        windows=tuple(heading_words.union(sequence[at : at + _WINDOW]) for at in starts),
        sentences=tuple((content_words(unit.text), is_negated(unit.text)) for unit in units(text)),
        words=heading_words.union(sequence),
        pairs=frozenset(pairwise(sequence)),
        spellings=spellings,
        numbers=frozenset(_numbers(f"{heading} {text}")) | {_NUMBER_WORDS[w] for w in spellings & _NUMBER_WORDS.keys()},
        compact=_compact(text),
    )
