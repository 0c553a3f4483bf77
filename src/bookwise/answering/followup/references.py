"""Question → whether it refers to the messages before it."""

import re

from bookwise.text.topics import THE_BOOK, TOKEN, bare, names_something, phrases
from bookwise.text.words import is_content_word

# Limits chosen with `benchmarks.followups` (docs/benchmarks.md, Follow-ups).
_FRAGMENT_WORDS = 6  #: of a remark or an ellipsis; a longer one names its subject
_COMPARISON_WORDS = 9  #: of a question that ends in a comparison or `instead`; a longer one names both sides
_CONTINUATION_WORDS = 15  #: of a question that opens like a continuation; a longer one names its subject
_LONE_WORDS = 1  #: of a message that only names a thing; a longer name is complete
_LONG_PREFIX = 50  #: characters before a pronoun from which a name before it counts as its referent


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_QUESTION_WORDS = _words(
    """what who whom whose which when where why how is are was were do does did can could should would will has have had
    may must"""
)
_OBJECTS = frozenset({"it", "them", "him", "this", "these", "those"})
_SUBJECTS_AND_OWNERS = frozenset({"they", "he", "she", "its", "their", "theirs", "his", "her"})
_AFTER_ONE = _words(
    """in on for with from to at by without using is are do does can should would will and or instead that has have"""
)
_AFTER_THOSE = frozenset({"who", "that", "which", "whose", "with", "of", "in"})
_DEMONSTRATIVES = frozenset({"this", "that", "these", "those"})
_BEFORE_THAT = _words(
    """is was does do did can could will would should about of for with in on like to from by than why and isn doesn
    fix solve avoid use run install create change stop"""
)
_BEFORE_A_NUMBER = frozenset({"than", "only", "just", "least", "exactly"})

_CLAUSE = re.compile(r"[,;:.?!]|\b(?:and|but|or|when|if|while|because|that|then|so|before|after|once)\b", re.IGNORECASE)
_IMPERSONAL_IT = re.compile(
    r"\bit(?=\s+(?:is\s+)?(?:always\s+|also\s+)?(?:possible|necessary|true|safe|recommended|better|best|worth|okay|ok|common"
    r"|important|easy|hard|take|takes|mean|means|make\s+sense)\b.*?\b(?:to|that|if|when)\s+(.+))",
    re.IGNORECASE | re.DOTALL,
)
_CONDITIONS = re.compile(
    r"^\s*(?:(?:and|but|so|ok|okay)\b[\s,]*)?(?:(?:what|but|and)\s+if|how\s+come|if\s+(?:so|not))\b", re.IGNORECASE
)
_OPEN_ENDINGS = (
    re.compile(
        r"\b(?:instead|as\s+well|otherwise|what\s+else|(?:the\s+)?others|another(?:\s+one)?|too|also)\s*[?.!]*$"
        r"|^\s*(?:any\s+)?others\b",
        re.IGNORECASE,
    ),
    re.compile(
        r"\b(?:listed|mentioned|named|shown|described|given|written|defined|stated|used)\s+(?:there|above)\s*[?.!]*$",
        re.IGNORECASE,
    ),
    re.compile(r"\b(?:the|a)\s+\w+\s+ones?\s*[?.!]*$|\bthe\s+(?:former|latter)(?:\s+one)?\W*$", re.IGNORECASE),
    re.compile(
        r"^(?!.*\b(?:there|than)\b).*\b(?:better|worse|faster|slower|cheaper|easier|harder|simpler|safer|bigger|smaller"
        r"|larger|newer|older|lighter|heavier|stronger|(?:more|less)\s+\w+)\s*[?.!]*$",
        re.IGNORECASE | re.DOTALL,
    ),
)
_REMARK = re.compile(r"^\s*(?:i\s+am|i['’]m|i\s+have|i\s+know|we\s+are|we\s+have|not)\b[^?]*$", re.IGNORECASE)
_EXAMPLE_IN = re.compile(
    r"^(.*\b(?:examples?|code|sample|install|installation|steps?))\s+(?:in|on|using)\s", re.IGNORECASE | re.DOTALL
)
_ELLIPSIS = re.compile(
    r"^\s*(?:(?:and|or|but|ok|okay|so)\b[\s,]*)?(?P<lead>(?:what|how)\s+about\s|(?:the\s+)?same\s+(?:for|with)\s|)\s*"
    r"(?:(?P<preposition>in|on|with|without|for|from|using|by|at|under|inside|via)\s+)?(?P<thing>\S.*?)[\s?.!]*$",
    re.IGNORECASE | re.DOTALL,
)
_ORDINAL = re.compile(
    r"\b(first|second|third|fourth|fifth|last|former|latter)(?:\s+(?:one|option|choice|point|step))?\s*[?.!]*$",
    re.IGNORECASE,
)
_NUMBER = re.compile(r"^\W*([1-9])\W*$")  #: a message that is only the number of a choice
_POSITIONS = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "latter": -1}
_WORD_QUESTION = re.compile(
    r"^\s*(?:what(?:\s+is|['’]s)\s+an?|what\s+are|define|describe|explain|how\s+(?:do\s+i|can\s+i|do\s+you|to)\s+\w+\s+an?)"
    r"\s+(\w+)\W*$",
    re.IGNORECASE,
)
_TYPE_NAME = re.compile(r"(?<=\w )`?(?!I\b)[A-Z]\w")
_CONTINUATION = re.compile(
    r"^\W*(?:and|but|so|then|also|or|ok|okay|oh|no|yes|not|what\s+if|any|anything)\b"
    r"|^\W*(?:do|would|will|should|must)\s+(?:i|we)\s+(?:also\s+|still\s+)?(?:need|have\s+to)\b",
    re.IGNORECASE,
)
_NEW_SUBJECT = re.compile(
    r"\bby the way\b|\bspeaking (?:about|of)\b|\bchang\w+ (?:\w+ ){0,4}(?:subject|topic)\b|\bon another note\b"
    r"|\b(?:another|one (?:last|more)|different) (?:question|topic|thing)\b|\bnew (?:question|topic)\b",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"^\W*(?:(?:oh|ah|no|nope|sorry|oops|well|actually|wait)\b[\s,.!]*)*"
    r"(?:not (?:(?:an?|the) )?(?P<not>[^,;.]+?)(?:[,;.]\s*|\s+but\s+))?"
    r"(?:i\s+(?:meant|mean|was\s+asking\s+(?:for|about)|am\s+asking\s+(?:for|about))|make\s+that|rather)\s+(?:(?:an?|the)\s+)?"
    r"(?P<right>\S.*?)(?:(?:,?\s+not|\s+instead\s+of|\s+rather\s+than)\s+(?:(?:an?|the)\s+)?(?P<wrong>\S.*?))?[\s?.!]*$",
    re.IGNORECASE | re.DOTALL,
)
_CODE = "```"
_CONNECTIVE = re.compile(r"^\s*(?:and|or)\b", re.IGNORECASE)


def is_followup(question: str) -> bool:
    """Returns whether a question can only be understood with the thread."""
    if _CODE in question:
        return False
    tokens = [bare(token.group()) for token in TOKEN.finditer(question)]
    if not any(map(names_something, tokens)):
        return not _asks_for_word(question)
    if _CONDITIONS.match(question) or ellipsis(question) or correction(question):
        return True
    if len(tokens) <= _COMPARISON_WORDS and any(pattern.search(question) for pattern in _OPEN_ENDINGS):
        return True
    if len(tokens) <= _FRAGMENT_WORDS and _REMARK.match(question):
        return True
    example = _EXAMPLE_IN.match(question)
    return bool(example and not phrases(example[1])) or _has_open_pronoun(_IMPERSONAL_IT.sub(_pronoun_it, question))


def may_continue(question: str) -> bool:
    """Returns whether the topic of the thread is probably missing from a question that can be understood without it:
    `do I need any equipment?`, `anything for veterans?`, `pollution`. Not if the reader says that the subject changes.
    """
    if _CODE in question or _NEW_SUBJECT.search(question):
        return False
    tokens = [bare(token.group()) for token in TOKEN.finditer(question)]
    if len(tokens) <= _LONE_WORDS:
        return _QUESTION_WORDS.isdisjoint(tokens)
    return len(tokens) <= _CONTINUATION_WORDS and _CONTINUATION.match(question) is not None


def is_fragment(question: str) -> bool:
    """Returns whether a message is no question, but can be the reply to one: a few words with a name or an ordinal."""
    tokens = [bare(token.group()) for token in TOKEN.finditer(question)]
    is_reply = any(map(names_something, tokens)) or ordinal(question) is not None
    return is_reply and len(tokens) <= _FRAGMENT_WORDS and _QUESTION_WORDS.isdisjoint(tokens)


def ordinal(question: str) -> int | None:
    """Returns the list index that `the second one` (1), `2` (1) or `the latter` (-1) refers to; None without one."""
    if number := _NUMBER.match(question):
        return int(number[1]) - 1
    match = _ORDINAL.search(question)
    return _POSITIONS[match[1].lower()] if match else None


def ellipsis(question: str) -> tuple[str, str] | None:
    """Returns (preposition or "", thing) of a question such as `and in Python?` or `what about Gazebo?`."""
    match = _ELLIPSIS.match(question)
    if not match or not (match["lead"] or match["preposition"] or _CONNECTIVE.match(question)):
        return None
    tokens = [bare(token.group()) for token in TOKEN.finditer(match["thing"])]
    if len(tokens) > _FRAGMENT_WORDS - 2 or not any(map(names_something, tokens)):
        return None
    if not _QUESTION_WORDS.isdisjoint(tokens):
        return None
    return (match["preposition"] or "").lower(), match["thing"]


def correction(question: str) -> tuple[str, str] | None:
    """Returns (right, wrong or "") of a message such as `oh I meant Saturn` or `not documents, I mean attachments`."""
    match = _CORRECTION.match(question)
    if not match or len(TOKEN.findall(match["right"])) > _FRAGMENT_WORDS - 2:
        return None
    return match["right"], match["wrong"] or match["not"] or ""


def _asks_for_word(question: str) -> bool:
    """Returns True for `What is a goal?` and `how do I use Option?`, False for `what is the goal?`, which needs to know
    whose goal."""
    match = _WORD_QUESTION.match(question)
    return bool(match and is_content_word(bare(match[1]))) or _TYPE_NAME.search(question) is not None


def _pronoun_it(it: re.Match[str]) -> str:
    """Returns `it` if it is a pronoun, and nothing for an impersonal one (`is it possible to …`)."""
    return "" if phrases(it[1]) else it.group()


def _has_open_pronoun(question: str) -> bool:
    """Returns whether a pronoun has no referent in the question itself."""
    tokens = list(TOKEN.finditer(question))
    spellings = ["", *(bare(token.group()) for token in tokens), ""]
    return any(
        _is_reference(*spellings[at : at + 3], rest=question[token.end() :])
        and not _has_referent(question[: token.start()], spellings[at + 1])
        for at, token in enumerate(tokens)
    )


def _is_reference(before: str, word: str, after: str, *, rest: str) -> bool:
    if word in _DEMONSTRATIVES and (after in THE_BOOK or _starts_with_name(rest)):
        return False
    if word == "that":
        return before in _BEFORE_THAT or not after or (not before and after in _QUESTION_WORDS)
    if word in ("one", "ones"):
        return before not in _BEFORE_A_NUMBER and (not after or after in _AFTER_ONE)
    if word == "those" and after in _AFTER_THOSE:
        return False
    return word in _OBJECTS or word in _SUBJECTS_AND_OWNERS


def _starts_with_name(rest: str) -> bool:
    """Returns whether a proper name follows, as in `this Nav2 planner server`."""
    names = phrases(rest)
    return bool(names) and rest.lstrip().startswith(names[0]) and not names[0].islower()


def _has_referent(before: str, pronoun: str) -> bool:
    """Returns whether a name before the pronoun can be its referent.

    `They` and `its` can refer to any name before them. `it` after a name in the same clause is something else, as in
    `does Nav2 use it?`, unless an earlier clause has a name or the question is long.
    """
    if pronoun in _SUBJECTS_AND_OWNERS or len(before) > _LONG_PREFIX:
        return bool(phrases(before))
    return any(phrases(clause) for clause in _CLAUSE.split(before)[:-1])
