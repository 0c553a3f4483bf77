"""Sentence → what it states, in a form that can be compared: words, numbers, names, identifiers."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from bookwise.text.quantities import Quantity, in_figures, quantities, unit
from bookwise.text.words import NEGATIONS, WORD, content_words, stem, strip_accents, words

NOT = "¬"  #: any negation in a sequence
UNIT = "°"  #: before the size of a unit in a sequence
_ENOUGH = 3  #: content words of a clause that show what it is about; chosen, not fitted

_NEGATIONS = frozenset([*NEGATIONS, "nothing", "nobody", "hardly", "barely"])
_SHORTENED = {"ca": "can", "wo": "will", "sha": "shall"}  # can't, won't, shan't
_NO_NEGATION = re.compile(
    r"\bnot (?:only|just|merely|necessarily)\b|\bno (?:matter|doubt)\b|\bor not\b"
    r"|^\W*(?:no|not (?:really|exactly|quite))[.,]",
    re.IGNORECASE,
)
_ARTICLES = frozenset(("a", "an", "the", "this", "that", "these", "those", "its", "their", "your", "our", "his", "her"))
_CLAUSE_END = re.compile(
    r"[,;:.!?()\[\]—–]+(?=\s|$)|(?<=\s)[-–—(]|\s(?=(?:and|but|while|whereas|because|which|that|who|if|when|unless|"
    r"although|though|so|since|until|where)\s)",
    re.IGNORECASE,
)
_CODE_SPAN = re.compile(r"`([^`\n]+)`")
_IDENTIFIER = re.compile(r"\b[^\W\d]\w*_\w+\b|\b[a-z]+[A-Z]\w*\b|\b[^\W\d]\w+(?=-\d)")
NAME = re.compile(r"(?<![.!?:] )(?<!^)(?<![\"“‘(])\b[A-Z]\w+|\b\w*[A-Z]\w*[A-Z]\w*\b")


@dataclass(frozen=True, slots=True)
class Statement:
    """What one sentence states. Words are stemmed."""

    text: str
    sequence: tuple[str, ...]  #: its words without articles, each negation as NOT
    terms: frozenset[str]  #: its content words
    quantities: tuple[Quantity, ...]
    names: frozenset[str]  #: words with a capital letter that do not begin the sentence
    identifiers: frozenset[str]  #: names of code, in lower case
    spellings: frozenset[str]  #: every word in lower case

    def is_code(self, word: str) -> bool:
        """Returns whether a word of the sequence is, or consists of, identifiers."""
        parts = re.findall(r"[^\W\d]\w+", word)
        return bool(parts) and self.identifiers.issuperset(parts)

    def around(self, start: int) -> frozenset[str]:
        """Returns the content words of the clause at a place, or of the sentence if the clause has few."""
        ends = [0, *(match.end() for match in _CLAUSE_END.finditer(self.text)), len(self.text)]
        terms = next(content_words(self.text[a:b]) for a, b in pairwise(ends) if a <= start < b)
        return terms if len(terms) >= _ENOUGH else self.terms


@lru_cache(maxsize=256)
def statement(sentence: str) -> Statement:
    """Returns what a sentence states."""
    plain = _NO_NEGATION.sub(lambda match: " " * len(match.group()), strip_accents(sentence))
    return Statement(
        text=plain,
        sequence=tuple(_sequence(plain)),
        terms=content_words(sentence),
        quantities=tuple(quantities(plain)),
        names=frozenset(words(match.group())[0] for match in NAME.finditer(plain)),
        identifiers=frozenset(identifiers(sentence)),
        spellings=frozenset(re.findall(r"\w+", sentence.lower())),
    )


def identifiers(text: str) -> set[str]:
    """Returns the names of code in a text, in lower case: the words of code spans, and words such as `create_node` and
    `sensor-4`, of which only `sensor` counts."""
    code = " ".join(_CODE_SPAN.findall(text))
    return {word.lower() for word in [*re.findall(r"[^\W\d]\w+", code), *_IDENTIFIER.findall(text)]}


def _sequence(plain: str) -> Iterator[str]:
    previous = ""
    for match in WORD.finditer(plain):
        for word in _spellings(match.group(), previous):
            yield word
            previous = word


def _spellings(token: str, previous: str) -> Iterator[str]:
    """Yields a word so that all its spellings are the same: three and 3, ms and milliseconds, isn't and is not."""
    word = token.lower()
    if word in _ARTICLES:
        return
    if word in _NEGATIONS - {"cannot"}:
        yield NOT
    elif _is_negation(word):
        yield from (stem(_SHORTENED.get(word[:-3], word[:-3])), NOT)
    elif previous[:1].isdigit() and (size := unit(token)):
        yield UNIT + str(size)
    else:
        yield in_figures(word) or words(token)[0]


def _is_negation(word: str) -> bool:
    return word in _NEGATIONS or word.endswith(("n't", "n’t"))
