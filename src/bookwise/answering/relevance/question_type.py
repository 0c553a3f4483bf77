"""A question → what kind of answer it wants, and the words the answer must be about."""

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
_ALL_KINDS = tuple((kind, re.compile(pattern, re.IGNORECASE)) for kind, pattern in _KINDS)
_WANTED: tuple[tuple[ValueKind, str], ...] = (
    ("number", r"\bhow (?:many|much|long|far|fast|large|big|old|tall|high|often|quickly)\b"),
    ("number", r"\bwhat (?:percentage|percent|number|amount|share|rate|size|port|version)\b"),
    (
        "time",
        r"\bwhen (?:did|was|were|is|does|do|will|has)\b|\b(?:what|which) (?:year|century|date|day|month|decade)\b",
    ),
    ("person", r"^\W*(?:who|whom|whose)\b|\b(?:what|which) (?:person|king|queen|author|scientist)\b"),
    ("place", r"\bwhere (?:is|are|was|were|did|do|does|can)\b|\b(?:what|which) (?:country|city|state|place|region)\b"),
)
_SUBJECT = re.compile(
    r"\b(?:what|who)(?:'s| is| are| was| were| does) (?:meant by )?(?:an? |the )?(.+?)"
    r"(?: (?:in|of|for|on|at|with|to|from|used|called|mean|stand|do)\b|[?.,;(]|$)",
    re.IGNORECASE,
)
_ALL_WANTED = tuple((wanted, re.compile(pattern, re.IGNORECASE)) for wanted, pattern in _WANTED)


@dataclass(frozen=True, slots=True)
class QuestionType:
    """What a question wants."""

    text: str
    kind: QuestionKind
    wanted: ValueKind
    terms: frozenset[str]  #: the words that carry meaning
    pairs: frozenset[tuple[str, str]]  #: those that stand side by side
    subject: str = ""  #: the word for what is to be defined: of "What is a ROS 2 node?", `node`


def classify_question(text: str) -> QuestionType:
    """The question understood, as far as its own words go."""
    plain = text.strip()
    kind: QuestionKind = next((kind for kind, pattern in _ALL_KINDS if pattern.search(plain)), "fact")
    wanted: ValueKind = next((wanted for wanted, pattern in _ALL_WANTED if pattern.search(plain)), "any")
    if wanted != "any" and kind in ("definition", "list"):
        kind = "fact"
    sequence = [word for word in words(plain) if is_content_word(word)]
    subject = _subject(plain) if kind == "definition" else ""
    return QuestionType(plain, kind, wanted, frozenset(sequence), frozenset(pairwise(sequence)), subject)


def _subject(question: str) -> str:
    found = _SUBJECT.search(question)
    spellings = [words(name)[:1] for name in reversed(found[1].split())] if found else []
    return next((word for spelling in spellings for word in spelling if is_content_word(word)), "")
