"""Text → whether it makes a claim, or is a refusal."""

import re

from bookwise.text.refusals import refuses
from bookwise.text.sentences import Unit, units
from bookwise.text.words import content_words

LIST_MARKER = re.compile(r"^\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+)+")
_MARKUP = re.compile(r"\[\d{1,3}\]|\*\*|__")
_LABEL = re.compile(r"^(?:\*\*|__)[^*_]+(?:\*\*|__):?$")
_COURTESIES = (
    r"^(?:i['’]m\s+sorry|sorry|i\s+apologi[sz]e|unfortunately)\b[^.]{0,20}$",
    r"^(?:sure|certainly|absolutely|of\s+course|yes|no|hello|hi|hey|thanks|thank\s+you|okay|ok|got\s+it)\W*$",
    r"^(?:(?:what\s+a\s+)?(?:great|good)\s+question|no\s+problem|my\s+pleasure|good\s+luck|stay\s+safe)\W*$",
    r"^you(?:['’]re|\s+are)\s+welcome\b",
    r"^(?:i\s+hope|let\s+me\s+know|feel\s+free|don['’]t\s+hesitate)\b",
    r"^(?:i['’]m|i\s+am|i['’]d\s+be|i\s+would\s+be)\s+(?:glad|happy)\b",
    r"^please\s+(?:feel|let|ask|try|rephrase|provide|consult|check|refer|clarify)\b",
    r"^(?:try|consider)\s+(?:asking|rephrasing|searching)\b",
    r"^if\s+you\s+(?:have|need|want|would|['’]d)\b.*\b(?:questions?|help|assistance|ask|know)\b",
    r"^you\s+(?:can|could|may|might)\s+(?:want\s+to\s+)?(?:try|ask|rephrase|consult)\b",
    r"^(?:here|below)\s+(?:is|are)\b[^,;]{0,80}$",
    r"^(?:in\s+summary|in\s+short|for\s+example|to\s+sum\s+up)\W*$",
)
_COURTESY = re.compile("|".join(f"(?:{pattern})" for pattern in _COURTESIES), re.IGNORECASE)


def claims_something(text: str) -> bool:
    """Returns whether a text says anything that could be wrong. Headings, courtesy, questions, transitions and
    refusals do not."""
    return any(_is_claim(unit) for unit in units(LIST_MARKER.sub("", text)))


def is_refusal(text: str) -> bool:
    """Returns whether a text says that the book has no answer, and nothing else."""
    return any(refuses(_plain(unit.text)) for unit in units(text)) and not claims_something(text)


def _is_claim(unit: Unit) -> bool:
    if unit.kind in ("code", "table"):
        return bool(content_words(unit.text))
    if unit.kind == "heading" or _LABEL.match(unit.text):
        return False
    plain = _plain(unit.text)
    return bool(content_words(plain)) and not (_is_transition(plain) or _COURTESY.search(plain) or refuses(plain))


def _plain(sentence: str) -> str:
    return _MARKUP.sub("", LIST_MARKER.sub("", sentence)).strip()


def _is_transition(plain: str) -> bool:
    """Returns whether a sentence is a question back, or the start of a list that states no figure."""
    return plain.endswith("?") or (plain.endswith(":") and not re.search(r"\d", plain))
