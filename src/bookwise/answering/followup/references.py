"""A question → whether it leans on what was said before."""

import re

from bookwise.text.topics import THE_BOOK, TOKEN, bare, names_something, phrases
from bookwise.text.words import is_content_word

_SHORT = 6  #: words of a remark or an ellipsis; a longer one says what it is about
_PLAIN = 9  #: words of a question in which a comparison or an `instead` has nothing of its own to stand beside
_LONG_BEFORE = 50  #: characters before a pronoun


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_ASKING = _words(
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
_EMPTY_IT = re.compile(
    r"\bit(?=\s+(?:is\s+)?(?:always\s+|also\s+)?(?:possible|necessary|true|safe|recommended|better|best|worth|okay|ok|common"
    r"|important|easy|hard|take|takes|mean|means|make\s+sense)\b.*?\b(?:to|that|if|when)\s+(.+))",
    re.IGNORECASE | re.DOTALL,
)
_CONTINUES = re.compile(
    r"^\s*(?:(?:and|but|so|ok|okay)\b[\s,]*)?(?:(?:what|but|and)\s+if|how\s+come|if\s+(?:so|not))\b", re.IGNORECASE
)
_LEANING = (
    re.compile(
        r"\b(?:instead|as\s+well|otherwise|what\s+else|(?:the\s+)?others|another(?:\s+one)?|too|also)\s*[?.!]*$"
        r"|^\s*(?:any\s+)?others\b",
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
_PLACES = {"first": 0, "former": 0, "second": 1, "third": 2, "fourth": 3, "fifth": 4, "last": -1, "latter": -1}
_THE_WORD_ITSELF = re.compile(
    r"^\s*(?:what(?:\s+is|['’]s)\s+an?|what\s+are|define|describe|explain|how\s+(?:do\s+i|can\s+i|do\s+you|to)\s+\w+\s+an?)"
    r"\s+(\w+)\W*$",
    re.IGNORECASE,
)
_TYPE_NAME = re.compile(r"(?<=\w )`?(?!I\b)[A-Z]\w")
_CODE = "```"
_CONNECTIVE = re.compile(r"^\s*(?:and|or)\b", re.IGNORECASE)


def is_followup(question: str) -> bool:
    """Whether a question leaves to the thread what it is about."""
    if _CODE in question:
        return False
    tokens = [bare(token.group()) for token in TOKEN.finditer(question)]
    if not any(map(names_something, tokens)):
        return not _means_the_word(question)
    if _CONTINUES.match(question) or ellipsis(question):
        return True
    if len(tokens) <= _PLAIN and any(pattern.search(question) for pattern in _LEANING):
        return True
    if len(tokens) <= _SHORT and _REMARK.match(question):
        return True
    example = _EXAMPLE_IN.match(question)
    return bool(example and not phrases(example[1])) or _refers(_EMPTY_IT.sub(_kept_it, question))


def is_fragment(question: str) -> bool:
    """Whether these are a few words that ask nothing by themselves but can answer a question."""
    said = [bare(token.group()) for token in TOKEN.finditer(question)]
    tells = any(map(names_something, said)) or ordinal(question) is not None
    return tells and len(said) <= _SHORT and _ASKING.isdisjoint(said)


def ordinal(question: str) -> int | None:
    """The place, from 0 or from -1 at the end, that `the second one` or `the latter` points at."""
    found = _ORDINAL.search(question)
    return _PLACES[found[1].lower()] if found else None


def ellipsis(question: str) -> tuple[str, str] | None:
    """(preposition or nothing, thing) of a question such as `and in Python?` or `what about Gazebo?`."""
    match = _ELLIPSIS.match(question)
    if not match or not (match["lead"] or match["preposition"] or _CONNECTIVE.match(question)):
        return None
    said = [bare(token.group()) for token in TOKEN.finditer(match["thing"])]
    if len(said) > _SHORT - 2 or not any(map(names_something, said)) or not _ASKING.isdisjoint(said):
        return None
    return (match["preposition"] or "").lower(), match["thing"]


def _means_the_word(question: str) -> bool:
    """`What is a goal?` and `how do I use Option?` ask for the word itself, `what is the goal?` for one thing's."""
    asked = _THE_WORD_ITSELF.match(question)
    return bool(asked and is_content_word(bare(asked[1]))) or _TYPE_NAME.search(question) is not None


def _kept_it(it: re.Match[str]) -> str:
    """`it` stays a pronoun unless what follows says what is possible, true or takes long."""
    return "" if phrases(it[1]) else it.group()


def _refers(question: str) -> bool:
    """Whether a pronoun has nothing in the question itself to stand for."""
    tokens = list(TOKEN.finditer(question))
    said = ["", *(bare(token.group()) for token in tokens), ""]
    return any(
        _points_back(*said[at : at + 3], rest=question[token.end() :])
        and not _named(question[: token.start()], said[at + 1])
        for at, token in enumerate(tokens)
    )


def _points_back(before: str, word: str, after: str, *, rest: str) -> bool:
    if word in _DEMONSTRATIVES and (after in THE_BOOK or _names_enough(rest)):
        return False
    if word == "that":
        return before in _BEFORE_THAT or not after or (not before and after in _ASKING)
    if word in ("one", "ones"):
        return before not in _BEFORE_A_NUMBER and (not after or after in _AFTER_ONE)
    if word == "those" and after in _AFTER_THOSE:
        return False
    return word in _OBJECTS or word in _SUBJECTS_AND_OWNERS


def _names_enough(rest: str) -> bool:
    """Whether `this` stands before a proper name, such as `this Nav2 planner server`."""
    found = phrases(rest)
    return bool(found) and rest.lstrip().startswith(found[0]) and not found[0].islower()


def _named(before: str, pronoun: str) -> bool:
    """`They` and `its` may stand for any name before them; `it` beside a name is something else, as in `does Nav2
    use it?`, unless an earlier clause has a name or the question is long."""
    if pronoun in _SUBJECTS_AND_OWNERS or len(before) > _LONG_BEFORE:
        return bool(phrases(before))
    return any(phrases(clause) for clause in _CLAUSE.split(before)[:-1])
