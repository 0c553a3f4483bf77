"""May we answer this? May we say this? Orders are blocked before a search, our own instructions before they leak."""

import re

from bookwise.answering.prompts import AGENT_INSTRUCTIONS
from bookwise.text.words import WORD

_GAP = r"[^.?!\n]{0,40}"
_OURS = r"\b(?:system|hidden|initial|developer|secret) (?:prompt|instructions?|message|rules)\b"
_ORDERS = (
    r"(?<!\bI )(?<!\bwe )\b(?:ignore|disregard|forget|override|bypass)\b"
    + _GAP
    + r"\b(?:previous|prior|above|earlier|all|any|your|the|these)\b"
    + _GAP
    + r"\b(?:instructions?|rules?|prompts?|guidelines?|directions?|constraints?|guardrails?)\b",
    r"\b(?:reveal|print|show|repeat|output|display|leak|tell me|give me|write out)\b"
    + _GAP
    + r"\b(?:your|the)\b"
    + _GAP
    + _OURS,
    r"\bwhat (?:is|are) (?:your|the)\b" + _GAP + _OURS + r"(?! (?:of|for|in) an?\b)",
    r"\b(?:you are|you're) (?:now|no longer)\b"
    + _GAP
    + r"\b(?:unrestricted|jailbroken|dan|developer mode|not bound|an? ai)\b",
    r"\bpretend (?:to be|that you|you are|you're)\b"
    + _GAP
    + r"\b(?:no|without|not)\b"
    + _GAP
    + r"\b(?:rules?|restrictions?|limits?|filters?)\b",
    r"\b(?:enable|enter|activate|switch to)\b" + _GAP + r"\b(?:developer|jailbreak|dan|god|debug) mode\b",
    r"\b(?:do not|don't|never) (?:use|follow|obey|rely on)\b"
    + _GAP
    + r"\b(?:the book|your (?:rules|instructions)|the context)\b",
    r"\banswer (?:from|with|using) (?:your own|general|outside|external) (?:knowledge|memory|training)\b",
    r"<\|?(?:system|im_start|assistant|endoftext)\|?>|\[/?INST\]|^\s*(?:system|assistant)\s*:",
)
_ORDER = re.compile("|".join(f"(?:{order})" for order in _ORDERS), re.IGNORECASE | re.MULTILINE)
_ASKING = re.compile(
    r"^\s*(?:what|why|how|when|where|which|who|is|are|does|do|can|could|should|explain)\b", re.IGNORECASE
)
_ABOUT = re.compile(
    r"\b(?:prompt injection|jailbreak(?:ing)?|attack|attacker|mean|phrase|called|example)\b", re.IGNORECASE
)


def injection(text: str) -> str | None:
    """Why this message is no question, as a stable slug; None when it may be answered.

    A question *about* such orders ("what is prompt injection?", "why would an attacker write …") is a question.
    """
    if not _ORDER.search(text):
        return None
    asked_about = _ASKING.match(text) and _ABOUT.search(text)
    return None if asked_about else "injection"


LEAK_WORDS = 12  #: so many words of our instructions in a row are no accident


def leak(answer: str) -> str | None:
    """Why this answer may not be said, as a stable slug: it recites our own instructions."""
    said = _spoken(answer)
    ours = _spoken(AGENT_INSTRUCTIONS)
    runs = {tuple(ours[at : at + LEAK_WORDS]) for at in range(len(ours) - LEAK_WORDS + 1)}
    leaks = any(tuple(said[at : at + LEAK_WORDS]) in runs for at in range(len(said) - LEAK_WORDS + 1))
    return "instructions-leaked" if leaks else None


def _spoken(text: str) -> list[str]:
    return [word.lower() for word in WORD.findall(text)]
