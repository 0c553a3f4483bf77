"""A question with words the book does not know, and the passages found for it → the question as the book spells it.

The vector of a question survives a slip of the finger, its words do not. Passages close in meaning that hold a word
spelt almost like the strange one tell what was meant: `Celeron` is `Céloron`, `protain` is `protein`.
"""

from collections.abc import Collection, Iterable

from bookwise.text.words import WORD, strip_accents, strip_possessive

SHORTEST = 5  #: letters; of shorter words too many are alike


def correct_spelling(question: str, strange: Collection[str], texts: Iterable[str]) -> str:
    """The question with each strange word in the spelling of the texts, where they have one that begins alike."""
    known = {_plain(match.group()): match.group() for text in texts for match in WORD.finditer(text)}
    meant = {word: known[near] for word in strange if (near := _nearest(_plain(word), known))}
    return WORD.sub(lambda match: _as_meant(match.group(), meant), question) if meant else question


def _nearest(word: str, known: Iterable[str]) -> str | None:
    if len(word) < SHORTEST or not word.isalpha():
        return None
    return next((other for other in known if other[0] == word[0] and _is_one_slip(word, other)), None)


def _is_one_slip(one: str, other: str) -> bool:
    """Whether two words differ by one letter that is wrong, missing or too many, or by two that are swapped."""
    if abs(len(one) - len(other)) > 1:
        return False
    one, other = _from_the_first_difference(one, other)
    one, other = _from_the_first_difference(one[::-1], other[::-1])
    return max(len(one), len(other)) <= 1 or (len(one) == 2 and one == other[::-1])


def _from_the_first_difference(one: str, other: str) -> tuple[str, str]:
    shorter = min(len(one), len(other))
    start = next((place for place in range(shorter) if one[place] != other[place]), shorter)
    return one[start:], other[start:]


def _as_meant(token: str, meant: dict[str, str]) -> str:
    """The word as it is meant; of `Celeron's` the ending stays."""
    word = strip_possessive(token)
    return meant.get(word, word) + token[len(word) :]


def _plain(word: str) -> str:
    return strip_accents(word).lower()
