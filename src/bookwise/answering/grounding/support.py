"""Sentence + passages → how well they support it; checked segments of an answer → its grounding."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from statistics import fmean

from bookwise.answering.grounding.claims import LIST_MARKER, claims_something, is_refusal
from bookwise.answering.grounding.contradictions import contradicts
from bookwise.answering.grounding.statements import NAME, Statement, identifiers, statement
from bookwise.domain.answers import Grounding, Passage
from bookwise.text.sentences import Unit, units
from bookwise.text.words import content_words, is_content_word, stem, words

# All values were chosen with `benchmarks.grounding` (docs/benchmarks.md, Grounding; docs/decisions/0008).
LEAST_SUPPORT = 0.5  #: least support of a supported sentence
DOUBTFUL = 0.4  #: most support of a sentence with an unknown name, or one that contradicts the passages
GROUNDED = 0.44  #: least support of a grounded answer, which is the sum of the next three
_MEAN_SHARE, _WEAKEST_SHARE, _OVERLAP_SHARE = 0.5, 0.2, 0.3
_WINDOW = 50  #: consecutive words of a passage that may support a sentence together
_GRAM = 4  #: consecutive words that a sentence and a passage have in common

_NUMBER = re.compile(r"\d+(?:[.,]\d+)*")
_INNER_NUMBER = re.compile(r"(?<=[^\W\d_])\d+(?:\.\d+)*")
_CITED = re.compile(r"\s*\[\d{1,3}\]")
_LABEL = re.compile(r"\*\*.+?\*\*|__.+?__|^[^.:]{1,60}:\s")
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
    statements: tuple[Statement, ...]  #: of each sentence, list item and row of a table
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


def overlap(text: str, passages: Sequence[Passage]) -> float:
    """Returns the share of the word 4-grams of a text that occur in a passage."""
    known = {gram for passage in passages for gram in _grams(passage.text)}
    return fmean(gram in known for gram in _grams(_CITED.sub("", text)))


def best_passage(sentence: str, passages: Sequence[Passage]) -> Passage | None:
    """Returns the passage that supports the sentence best on its own; None without passages."""
    return max(passages, key=lambda passage: support(sentence, [passage]), default=None)


def grounding_of(checked: Sequence[CheckedSegment], removed: int) -> Grounding:
    """Returns the share of claims that the passages support, and the claims they do not."""
    claims = [segment for segment in checked if segment.claims]
    unsupported = tuple(segment.text.strip() for segment in claims if not segment.supported)
    share = 1 - len(unsupported) / len(claims) if claims else 1.0
    return Grounding(supported=share, unsupported=unsupported, unsupported_citations=removed)


def is_grounded(checked: Sequence[CheckedSegment], passages: Sequence[Passage]) -> bool:
    """Returns whether the passages support the answer as a whole."""
    return answer_support(checked, passages) >= GROUNDED


def answer_support(checked: Sequence[CheckedSegment], passages: Sequence[Passage]) -> float:
    """Returns how well the passages support an answer, between 0 and 1: the mean support of its claims, the support of
    the weakest one, and the overlap, weighted. A refusal has 1, another answer without claims 0."""
    text = "".join(segment.text for segment in checked)
    scores = [support(segment.text, passages) for segment in checked if segment.claims]
    if not scores:
        return float(is_refusal(text))
    return _MEAN_SHARE * fmean(scores) + _WEAKEST_SHARE * min(scores) + _OVERLAP_SHARE * overlap(text, passages)


def _support(unit: Unit, passages: Sequence[_SupportText]) -> float:
    if not passages:
        return 0.0
    if unit.kind == "code":
        return _code_support(unit.text, passages)
    if unit.kind == "table":
        return _table_support(_CITED.sub("", unit.text), passages)
    return _sentence_support(_CITED.sub("", unit.text), passages)


def _sentence_support(sentence: str, passages: Sequence[_SupportText]) -> float:
    share = _common_share(sentence, passages)
    return min(share, DOUBTFUL) if share > DOUBTFUL and _is_doubtful(sentence, passages) else share


def _common_share(sentence: str, passages: Sequence[_SupportText]) -> float:
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
    return (in_window + anywhere + paired) / 3


def _is_doubtful(sentence: str, passages: Sequence[_SupportText]) -> bool:
    """Returns whether the sentence has a name that no passage contains, or contradicts them."""
    if _has_unknown_name(sentence, passages):
        return True
    return contradicts(statement(sentence), [known for passage in passages for known in passage.statements])


def _has_unknown_name(sentence: str, passages: Sequence[_SupportText]) -> bool:
    """Returns whether the sentence contains a name or identifier that no passage contains, or one with a number in it
    that none contains. `contradicts` compares other numbers."""
    if any(all(number not in passage.numbers for passage in passages) for number in _INNER_NUMBER.findall(sentence)):
        return True
    names = [name for name in NAME.findall(_LABEL.sub(" ", sentence)) if is_content_word(stem(name))]
    if any(all(not _knows(passage, name) for passage in passages) for name in names):
        return True
    return any(all(word not in passage.spellings for passage in passages) for word in identifiers(sentence))


def _knows(passage: _SupportText, name: str) -> bool:
    return name.lower() in passage.spellings or stem(name) in passage.words


def _table_support(table: str, passages: Sequence[_SupportText]) -> float:
    """Returns the mean of the rows. One doubtful row makes the table doubtful."""
    rows = [row.replace("|", " ") for row in table.splitlines() if content_words(row)]
    if not rows:
        return 1.0
    share = fmean(_common_share(row, passages) for row in rows)
    return min(share, DOUBTFUL) if any(_is_doubtful(row, passages) for row in rows) else share


def _code_support(code: str, passages: Sequence[_SupportText]) -> float:
    """Returns the share of lines that a passage contains, ignoring white space and comments."""
    lines = [
        _compact(_COMMENT.sub("", line)) for line in code.splitlines() if not line.strip().startswith(("```", "~~~"))
    ]
    lines = [line for line in lines if re.search(r"\w", line)]
    return sum(any(line in passage.compact for passage in passages) for line in lines) / len(lines) if lines else 1.0


def _compact(text: str) -> str:
    return "".join(text.split())


def _grams(text: str) -> list[tuple[str, ...]]:
    spellings = re.findall(r"\w+", text.lower())
    return [tuple(spellings[at : at + _GRAM]) for at in range(max(1, len(spellings) - _GRAM + 1))]


def _prepared(passage: Passage) -> _SupportText:
    locator = passage.chunk.locator
    return _support_text(passage.text, " ".join((locator.page_title, *locator.heading_path)))


@lru_cache(maxsize=128)  # of about 100 kB each; an answer reads at most some twenty passages
def _support_text(text: str, heading: str) -> _SupportText:
    heading_words = frozenset(words(heading))
    sequence = words(text)
    starts = range(0, max(1, len(sequence) - _WINDOW // 2), _WINDOW // 2)
    return _SupportText(
        windows=tuple(heading_words.union(sequence[at : at + _WINDOW]) for at in starts),
        statements=tuple(map(statement, [heading, *_sentences(text)])),
        words=heading_words.union(sequence),
        pairs=frozenset(pairwise(sequence)),
        spellings=frozenset(re.findall(r"\w+", f"{heading} {text}".lower())),
        numbers=frozenset(_NUMBER.findall(f"{heading} {text}")),
        compact=_compact(text),
    )


def _sentences(text: str) -> Iterator[str]:
    """Yields each sentence of a passage, also those of list items, and each row of a table."""
    for unit in units(text):
        if unit.kind == "table":
            yield from unit.text.splitlines()
        elif unit.kind == "item":
            yield from (part.text for part in units(LIST_MARKER.sub("", unit.text)))
        else:
            yield unit.text
