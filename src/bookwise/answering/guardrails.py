"""Message → whether it is an injection attempt; answer → whether it leaks the system instructions."""

import re

from bookwise.answering.prompts import AGENT_INSTRUCTIONS
from bookwise.text.words import WORD

_GAP = r"[^.?!\n]{0,40}"
_SYSTEM_PROMPT = r"\b(?:system|hidden|initial|developer|secret) (?:prompt|instructions?|message|rules)\b"
_INJECTIONS = (
    r"(?<!\bI )(?<!\bwe )\b(?:ignore|disregard|forget|override|bypass)\b"
    + _GAP
    + r"\b(?:previous|prior|above|earlier|all|any|your|the|these)\b"
    + _GAP
    + r"\b(?:instructions?|rules?|prompts?|guidelines?|directions?|constraints?|guardrails?)\b",
    r"\b(?:reveal|print|show|repeat|output|display|leak|tell me|give me|write out)\b"
    + _GAP
    + r"\b(?:your|the)\b"
    + _GAP
    + _SYSTEM_PROMPT,
    r"\bwhat (?:is|are) (?:your|the)\b" + _GAP + _SYSTEM_PROMPT + r"(?! (?:of|for|in) an?\b)",
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
_INJECTION = re.compile("|".join(f"(?:{pattern})" for pattern in _INJECTIONS), re.IGNORECASE | re.MULTILINE)
_QUESTION_START = re.compile(
    r"^\s*(?:what|why|how|when|where|which|who|is|are|does|do|can|could|should|explain)\b", re.IGNORECASE
)
_ABOUT_INJECTION = re.compile(
    r"\b(?:prompt injection|jailbreak(?:ing)?|attack|attacker|mean|phrase|called|example)\b", re.IGNORECASE
)


def injection(text: str) -> str | None:
    """Returns a stable slug if a message tries to give instructions to the model; None if it may be answered.

    A question *about* injection ("what is prompt injection?", "why would an attacker write …") may be answered.
    """
    if not _INJECTION.search(text):
        return None
    is_question = _QUESTION_START.match(text) and _ABOUT_INJECTION.search(text)
    return None if is_question else "injection"


LEAK_WORDS = 12  #: consecutive words of the instructions from which an answer counts as a leak; chosen, not fitted


def leak(answer: str) -> str | None:
    """Returns a stable slug if an answer repeats the system instructions; None otherwise."""
    return "instructions-leaked" if _word_runs(answer) & _word_runs(AGENT_INSTRUCTIONS) else None


def _word_runs(text: str) -> set[tuple[str, ...]]:
    """Returns every run of `LEAK_WORDS` consecutive words."""
    sequence = [word.lower() for word in WORD.findall(text)]
    return {tuple(sequence[at : at + LEAK_WORDS]) for at in range(len(sequence) - LEAK_WORDS + 1)}
