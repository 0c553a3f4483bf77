"""A question of a reader → a `[[questions]]` entry for the book's profile, to copy."""

import hashlib
import json
import re
from typing import Literal, TypeAlias

EntryKind: TypeAlias = Literal["answerable", "near-miss"]

_WORDS_MAX = 6


def validation_entry(
    question: str,
    kind: EntryKind,
    *,
    searched: str | None = None,
    lesson: str | None = None,
    section: str | None = None,
) -> str:
    """Returns the entry as TOML, with the reader's words. A comment has the stand-alone form of a follow-up: validation
    asks each question without a conversation. The kind `answerable` needs the source file of the lesson."""
    text = " ".join(question.split())
    fields = {"id": _entry_id(text), "kind": kind, "text": text, "lesson": lesson, "section": section}
    lines = ["[[questions]]", *(f"{name} = {_quoted(value)}" for name, value in fields.items() if value)]
    if searched:
        lines.insert(1, f"# searched for: {_quoted(' '.join(searched.split()))}")
    return "\n".join(lines) + "\n"


def _entry_id(text: str) -> str:
    """Returns a readable id that differs for different questions."""
    words = re.findall(r"[a-z0-9]+", text.lower())[:_WORDS_MAX]
    return "-".join([*words, hashlib.sha256(text.encode()).hexdigest()[:6]])[:128]


def _quoted(value: str) -> str:
    """Returns a TOML string. JSON escapes the same characters, except DEL."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")
