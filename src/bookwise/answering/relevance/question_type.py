"""Question → the kind of answer it asks for, and the terms the answer must contain."""

import re
from dataclasses import dataclass
from itertools import pairwise
from typing import Literal, TypeAlias

from bookwise.text.words import is_content_word, words

QuestionKind: TypeAlias = Literal["definition", "procedure", "comparison", "list", "reason", "fact"]
ValueKind: TypeAlias = Literal["number", "time", "person", "place", "any"]

#: A word that looks like a plural noun: `which attributes …`, not `what happens …`.
_PLURAL = (
    r"(?!(?:is|was|does|has|this|these|those|happens|means|makes|causes|counts|always|us|its|as|thus)\b)\w{2,}[^sui\W]s"
)

_KINDS: tuple[tuple[QuestionKind, str], ...] = (
    ("reason", r"^(?:so |and |but )?why\b"),
    (
        "comparison",
        r"\bdifferen(?:ce|t|ces|tiate)\b|\bdiffers?\b|\bcompar(?:e|ed|ing|ison)\b|\bversus\b|\bvs\b|\bbetter than\b"
        r"|\b(?:rather than|instead of)\b|^(?:when|which|what).{0,60}\bor\b",
    ),
    (
        "procedure",
        r"\bhow (?:do|can|should|would|could|must) (?:i|we|you|one)\b|\bhow to\b|\bsteps?\b|\b(?:command|commands)\b"
        r"|\bprocedure\b|\bwhat (?:do|must|should|can) (?:i|we|you) (?:(?:have|need) to )?"
        r"(?:do|type|run|put|write|add|set|change|install)\b"
        r"|^(?:install|set up|configure|create|build|run)\b",
    ),
    ("definition", r"^(?:so |and |but )?what are (?!the |some |all |its |their )(?:[^\s,]+ ?){1,4}\??$"),
    (
        "list",
        r"\b(?:what|which) (?:are|were)\b|^(?:please |can you |could you )*(?:list|enumerate)\b"
        r"|\bname (?:the|all|some|two|three|four|five|\d)\b"
        r"|\b(?:what|which) (?:\w+ ){0,2}(?:types|kinds|ways|options|methods|parts|components|steps|reasons|advantages"
        r"|disadvantages|benefits|features|levels|layers|modes|stages|rules|tools|formats)\b"
        rf"|^(?:\w+ ){{0,2}}(?:what|which)(?: \w+){{0,3}}? {_PLURAL}\b",
    ),
    (
        "reason",
        r"\bwhy(?:\?|$)|\bwhy (?:do|does|is|are|should|would|did|was|were|can)\b|\bwhat (?:is the reason|causes?)\b",
    ),
    (
        "definition",
        r"^(?:so |and |but |ok |okay )?(?:what|who)(?:'s| is| are| was| were) (?:an? |the )?(?:\S+ ?){1,4}\??$"
        r"|\bdefin(?:e|ition)\b|\bwhat does .{1,60} (?:mean|stand for|do)\b|\bmeaning of\b|^(?:explain|describe)\b"
        r"|\bwhat is meant by\b|^tell me about\b",
    ),
)
_KIND_PATTERNS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_VALUES: tuple[tuple[ValueKind, str], ...] = (
    ("number", r"\bhow (?:many|much|long|far|fast|large|big|old|tall|high|often|quickly)\b"),
    ("number", r"\bwhat (?:percentage|percent|number|amount|share|rate|size|port|version)\b"),
    (
        "time",
        r"\bwhen (?:did|was|were|is|does|do|will|has)\b|\b(?:what|which) (?:year|century|date|day|month|decade)\b",
    ),
    ("person", r"^\W*(?:who|whom|whose)\b|\b(?:what|which) (?:person|king|queen|author|scientist)\b"),
    ("place", r"\bwhere (?:is|are|was|were|did|do|does|can)\b|\b(?:what|which) (?:country|city|state|place|region)\b"),
)
_VALUE_PATTERNS = tuple((value, re.compile(pattern, re.IGNORECASE)) for value, pattern in _VALUES)


@dataclass(frozen=True, slots=True)
class QuestionType:
    """What a question asks for."""

    text: str
    kind: QuestionKind
    value: ValueKind
    terms: frozenset[str]  #: the content words
    pairs: frozenset[tuple[str, str]]  #: of neighbouring content words


def classify_question(text: str) -> QuestionType:
    """Returns the type of a question, judged by its words alone."""
    plain = text.strip()
    kind: QuestionKind = next((kind for kind, pattern in _KIND_PATTERNS if pattern.search(plain)), "fact")
    value: ValueKind = next((value for value, pattern in _VALUE_PATTERNS if pattern.search(plain)), "any")
    if value != "any" and kind in ("definition", "list"):
        kind = "fact"
    sequence = [word for word in words(plain) if is_content_word(word)]
    return QuestionType(plain, kind, value, frozenset(sequence), frozenset(pairwise(sequence)))
