"""Text → its words, stemmed and without accents, and which of them are content words."""

import re
from functools import lru_cache
from unicodedata import combining, normalize

WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)?(?:[._/-][^\W_]+)*", re.UNICODE)
_PART = re.compile(r"[A-Z]+(?=[A-Z][a-z])|[A-Z]?[a-z]+|[A-Z]+|\d+")
_JOIN = re.compile(r"[._/-]")

_STOP = """
a about above after again against all also am an and any are as at be because been before being below between both
but by can could did do does doing don down during each either else ever few for from further had has have having he
her here hers herself him himself his how however i if in into is it its itself just let many may me might more most
much must my myself neither no nor not now of off on once one only onto or other others ought our ours ourselves out
over own per please same shall she should since so some such tell than that the their theirs them themselves then
there these they thing things this those though through thus to too under until unto up upon us use used using very
want was way we were what when where whether which while who whom whose why will with within without would yes yet
you your yours yourself yourselves explain describe give show mean means meaning know called name named define
definition difference example examples kind type exactly actually really get gets getting got make made does isn
doesn didn wasn weren aren won wouldn couldn shouldn ve ll re im today tomorrow yesterday someone somebody anyone
anybody everyone everybody nobody something anything everything nothing happen happens happened think thinks forget
forgot still already always often sometimes instead maybe perhaps able need needs wrong
"""
STOP_WORDS = frozenset(_STOP.split())

# Compared with snowballstemmer 3.1 (English). Both get 81 of the 85 questions of the sample book right and refuse 149
# of 152 off-topic questions. The balanced accuracy of grounding was .859, .888, .613 with snowballstemmer and .859,
# .893, .603 with this list. Importing snowballstemmer takes 1.8 times as long as importing numpy, because it loads all
# its languages, and a new word takes 7 times as long. So this list stays: docs/decisions/0006.
_ENDINGS = (
    ("ions", ""),
    ("ion", ""),
    ("izes", "ize"),
    ("ized", "ize"),
    ("izing", "ize"),
    ("ements", "e"),
    ("ement", "e"),
    ("ments", ""),
    ("ment", ""),
    ("ingly", ""),
    ("edly", ""),
    ("ings", ""),
    ("ing", ""),
    ("ies", "y"),
    ("ied", "y"),
    ("ers", ""),
    ("er", ""),
    ("ors", ""),
    ("or", ""),
    ("ed", ""),
    ("es", ""),
    ("ly", ""),
    ("s", ""),
    ("e", ""),
)
_SHORTEST_STEM = 3
_LONG_STEM = 6


@lru_cache(maxsize=65_536)
def stem(word: str) -> str:
    """Returns a word without its ending: `installing`, `installs` and `installed` all give `install`."""
    word = strip_possessive(word.lower())
    if not word.isalpha() or word.endswith("ss"):
        return word
    root = _root(word)
    if len(root) <= _SHORTEST_STEM and root in STOP_WORDS and word not in STOP_WORDS:
        return word.removesuffix("s")  # an `owner` is not `own`, a `note` not `not`
    return root


def _root(word: str) -> str:
    for ending, replacement in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= _SHORTEST_STEM:
            word = word[: len(word) - len(ending)] + replacement
            break
    if len(word) > _SHORTEST_STEM and word[-1] == word[-2] and word[-1] not in "aeiouls":
        word = word[:-1]  # `running` → `runn` → `run`
    word = word.removesuffix("e") if len(word) > _SHORTEST_STEM else word
    return word.removesuffix("at") if len(word) > _LONG_STEM else word  # `installation` → `installat` → `install`


def words(text: str) -> list[str]:
    """Returns every word in order, stemmed; a name such as `create_publisher` gives itself and its parts."""
    return [word for match in WORD.finditer(strip_accents(text)) for word in _spellings(match.group())]


def strip_possessive(word: str) -> str:
    """Returns `node` for `node's`."""
    return word.removesuffix("'s").removesuffix("’s")


def strip_accents(text: str) -> str:
    """Returns `Herve` for `Hervé`, so that a question without accents matches."""
    return text if text.isascii() else "".join(c for c in normalize("NFD", text) if not combining(c))


@lru_cache(maxsize=65_536)
def _spellings(token: str) -> tuple[str, ...]:
    pieces = _JOIN.split(token)
    parts = [part for piece in pieces for part in (_PART.findall(piece) if piece.isascii() else [piece])]
    if len(parts) < 2 or "'" in token or "’" in token:
        return (stem(token),)
    return (token.lower(), *map(stem, parts))


@lru_cache(maxsize=16_384)
def content_words(text: str) -> frozenset[str]:
    """Returns the distinct words of a text without stop words and single letters."""
    return frozenset(word for word in words(text) if is_content_word(word))


_STOP_STEMS = STOP_WORDS | frozenset(
    map(stem, STOP_WORDS - {"really"})
)  # `real` is a content word: a real robot, not a simulated one


def is_content_word(word: str) -> bool:
    """Returns whether a word, as `words` returns it, is neither a stop word nor a single letter."""
    return word not in _STOP_STEMS and (len(word) > 1 or word.isdigit())


NEGATIONS = ("not", "never", "no", "none", "without", "cannot", "neither", "nor")
_NOT = re.compile(rf"\b(?:{'|'.join(NEGATIONS)})\b|n['’]t\b", re.IGNORECASE)


def is_negated(text: str) -> bool:
    """Returns whether a text contains a negation."""
    return _NOT.search(text) is not None
