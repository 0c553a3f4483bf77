"""Sentence → whether it says that there is no answer in the book."""

import re

_FEW_WORDS = r"(?:[\w'’]+\s+){0,4}?"
_NOT = r"(?:\w+(?:n['’]t|\s+not)|cannot|can['’]?t)"
_BOOK = (
    rf"(?:the|this|these|your|our)\s+{_FEW_WORDS}"
    r"(?:books?|text(?:book)?s?|passages?|content|context|materials?|documentation|documents?|sources?|excerpts?|"
    r"chapters?|lessons?|information|results)(?:\s+(?:provided|given|available|above))?"
)
_KNOWLEDGE = r"(?:information|details?|answers?|mention|references?|anything|access|knowledge|context)"
_COVER = r"(?:mention|cover|specify|discuss|address|answer|explain|describe|provide|say|state)"
_COVERED = r"(?:covered|mentioned|discussed|found|available|included|addressed|specified|answered|described|explained)"
_PATTERNS = (
    r"^\W*i\s+can\s+only\s+answer\b",
    r"^\W*(?:(?:i['’]m\s+|i\s+am\s+)?sorry\W+(?:but\s+)?)?i\s+(?:do\s+not|don['’]t)\s+know(?:\s+(?:if|whether|the\s+answer)\b|\W*$)",
    rf"\b(?:i|we)\s+{_NOT}\s+{_FEW_WORDS}(?:find|locate|answer|provide|know\s+the\s+answer)\b",
    rf"\b(?:i|we)\s+have\s+(?:no|not\s+enough)\s+{_FEW_WORDS}{_KNOWLEDGE}\b",
    rf"\b(?:i|we)\s+{_NOT}\s+{_FEW_WORDS}(?:have|see)\s+{_FEW_WORDS}{_KNOWLEDGE}\b",
    r"\b(?:i['’]m|i\s+am|we['’]re|we\s+are)\s+(?:unable|not\s+able)\s+to\b",
    rf"\b{_BOOK}\s+{_NOT}\s+{_FEW_WORDS}{_COVER}\b",
    rf"\b{_BOOK}\s+{_NOT}\s+{_FEW_WORDS}(?:contain|include|have|offer|give)\s+{_FEW_WORDS}{_KNOWLEDGE}\b",
    rf"\b{_BOOK}\s+(?:says?|contains?|mentions?|has|have)\s+nothing\b",
    rf"\bthere(?:\s+is|['’]s)\s+nothing\b.{{0,80}}?\bin\s+{_BOOK}\b",
    rf"(?:\bnot|n['’]t|\bcannot)\s+{_FEW_WORDS}{_COVERED}\s+(?:in|by|from|with)\s+{_BOOK}\b",
    rf"\b(?:this|that|it|answer)\s+(?:is|was)(?:\s+not|n['’]t)\s+(?:in|part\s+of)\s+{_BOOK}\b",
    rf"\b(?:no|not\s+enough|insufficient)\s+{_FEW_WORDS}{_KNOWLEDGE}\s.{{0,80}}?\b(?:in|by)\s+{_BOOK}\b",
)
_REFUSAL = re.compile("|".join(f"(?:{pattern})" for pattern in _PATTERNS), re.IGNORECASE)
_CONTRAST = re.compile(r"\b(?:but|however|although|though)\b", re.IGNORECASE)


def refuses(sentence: str) -> bool:
    """Returns whether a sentence refuses to answer and adds no claim ("…, but it says that …")."""
    refusal = _REFUSAL.search(sentence)
    return bool(refusal and not _CONTRAST.search(sentence, refusal.end()))
