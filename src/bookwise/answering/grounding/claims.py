"""Sentence → whether it claims something; text → whether it is a refusal."""

import re

from bookwise.text.sentences import Unit, units
from bookwise.text.words import content_words

LIST_MARKER = re.compile(r"^\s*(?:(?:[-*+>]|\d{1,3}[.)])\s+)+")
_MARKUP = re.compile(r"\[\d{1,3}\]|\*\*|__")
_LABEL = re.compile(r"^(?:\*\*|__)[^*_]+(?:\*\*|__):?$")
_TURN = re.compile(r"\b(?:but|however|although|though)\b", re.IGNORECASE)


def _any_of(*patterns: str) -> re.Pattern[str]:
    return re.compile("|".join(f"(?:{pattern})" for pattern in patterns), re.IGNORECASE)


_FEW = r"(?:[\w'’]+\s+){0,4}?"
_NOT = r"(?:\w+(?:n['’]t|\s+not)|cannot|can['’]?t)"
_BOOK = (
    rf"(?:the|this|these|your|our)\s+{_FEW}"
    r"(?:books?|text(?:book)?s?|passages?|content|context|materials?|documentation|documents?|sources?|excerpts?|"
    r"chapters?|lessons?|information|results)(?:\s+(?:provided|given|available|above))?"
)
_KNOWLEDGE = r"(?:information|details?|answers?|mention|references?|anything|access|knowledge|context)"
_REFUSAL = _any_of(
    rf"\b(?:i|we)\s+{_NOT}\s+{_FEW}(?:find|locate|answer|provide|know\s+the\s+answer)\b",
    rf"\b(?:i|we)\s+{_NOT}\s+{_FEW}(?:have|see)\s+{_FEW}{_KNOWLEDGE}\b",
    r"\b(?:i['’]m|i\s+am|we['’]re|we\s+are)\s+(?:unable|not\s+able)\s+to\b",
    rf"\b{_BOOK}\s+{_NOT}\s+{_FEW}(?:mention|cover|specify|discuss|address|answer|explain|describe|provide|say|state)\b",
    rf"\b{_BOOK}\s+{_NOT}\s+{_FEW}(?:contain|include|have|offer|give)\s+{_FEW}{_KNOWLEDGE}\b",
    rf"(?:\bnot|n['’]t)\s+{_FEW}(?:covered|mentioned|discussed|found|available|included|addressed)\s+(?:in|by)\s+{_BOOK}\b",
    rf"\b(?:no|not\s+enough|insufficient)\s+{_FEW}{_KNOWLEDGE}\s.{{0,80}}?\b(?:in|by)\s+{_BOOK}\b",
)
_COURTESY = _any_of(
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


def claims_something(text: str) -> bool:
    """Whether a text says anything that could be wrong: no heading, courtesy, question, transition or refusal."""
    return any(_claims(unit) for unit in units(LIST_MARKER.sub("", text)))


def is_refusal(text: str) -> bool:
    """Whether a text says that the book has no answer, and nothing else."""
    return any(_refuses(_plain(unit.text)) for unit in units(text)) and not claims_something(text)


def _claims(unit: Unit) -> bool:
    if unit.kind in ("code", "table"):
        return bool(content_words(unit.text))
    if unit.kind == "heading" or _LABEL.match(unit.text):
        return False
    plain = _plain(unit.text)
    return bool(content_words(plain)) and not (_leads_on(plain) or _COURTESY.search(plain) or _refuses(plain))


def _plain(sentence: str) -> str:
    return _MARKUP.sub("", LIST_MARKER.sub("", sentence)).strip()


def _refuses(plain: str) -> bool:
    """Says that the book has no answer, and does not turn ("…, but it says that") to claim something after all."""
    refusal = _REFUSAL.search(plain)
    return bool(refusal and not _TURN.search(plain, refusal.end()))


def _leads_on(plain: str) -> bool:
    """A question back, or the opening of a list that states no figure."""
    return plain.endswith("?") or (plain.endswith(":") and not re.search(r"\d", plain))
