"""Question with words the book does not contain + the passages found for it → the question in the book's spelling.

The vector of a question tolerates a typo, its words do not. A passage close in meaning that contains a word spelled
almost like the unknown one shows what was meant: `Celeron` is `Céloron`, `protain` is `protein`.
"""

from collections.abc import Collection, Iterable

from bookwise.text.words import WORD, strip_accents, strip_possessive

SHORTEST = 5  #: letters of a word that is corrected; too many shorter words differ by one letter (docs/decisions/0007)


def correct_spelling(question: str, unknown_words: Collection[str], texts: Iterable[str]) -> str:
    """Returns the question with each unknown word replaced by a word of the texts that starts with the same letter and
    differs by one typo; unchanged if there is none."""
    spellings = {_plain(match.group()): match.group() for text in texts for match in WORD.finditer(text)}
    corrections = {word: spellings[near] for word in unknown_words if (near := _nearest(_plain(word), spellings))}
    return WORD.sub(lambda match: _corrected(match.group(), corrections), question) if corrections else question


def _nearest(word: str, candidates: Iterable[str]) -> str | None:
    if len(word) < SHORTEST or not word.isalpha():
        return None
    return next((other for other in candidates if other[0] == word[0] and _is_one_typo(word, other)), None)


def _is_one_typo(one: str, other: str) -> bool:
    """Returns whether two words differ by one wrong, missing or extra letter, or by two swapped letters."""
    if abs(len(one) - len(other)) > 1:
        return False
    one, other = _without_common_start(one, other)
    one, other = _without_common_start(one[::-1], other[::-1])
    return max(len(one), len(other)) <= 1 or (len(one) == 2 and one == other[::-1])


def _without_common_start(one: str, other: str) -> tuple[str, str]:
    shorter = min(len(one), len(other))
    start = next((index for index in range(shorter) if one[index] != other[index]), shorter)
    return one[start:], other[start:]


def _corrected(token: str, corrections: dict[str, str]) -> str:
    """Returns the corrected token; the ending of `Celeron's` stays."""
    word = strip_possessive(token)
    return corrections.get(word, word) + token[len(word) :]


def _plain(word: str) -> str:
    return strip_accents(word).lower()
