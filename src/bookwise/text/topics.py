"""Text of a thread → its topics, in their original spelling."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from bookwise.text.fences import CODE_BLOCK
from bookwise.text.words import WORD, is_content_word, stem

#: Words for actions and properties: they do not identify a topic.
_ACTIONS = """able access add again ahead allow almost already also alternatively apart apply ask available avoid away
    back bad basically become begin best better big bigger break bring build buy cause certain cheap cheaper check
    choose clarify clear come common compare compatible complete confirm contain continue convert correct cost create
    currently deal decide delete depend different difficult disable do easier easy edit elaborate enable end enough
    ensure exist expand expensive fail fast faster feel find fine finish first fit fix follow forget former free full
    general generate go good great guess happen hard harder hear help helpful here hope identify implement important
    improve include install instead interested involve keep large larger last later latter least less like likely
    little long longer look lose main matter maybe mention modify necessary need new newer next often old older open
    optional perform perhaps possible prefer pretty prevent proceed provide put quick quickly read recognize recommend
    remember remove replace require reset responsible restart rid right run safe safer save say second see seem select
    separate similar simple simpler simply slow slower small smaller solve sometimes soon sound speak specific start
    stay stick still stop suggest suitable suppose sure take talk tell there think third true try turn understand
    update useful usually verify whole wonder work worse worth write wrong"""

#: Nouns that need a subject: alone they refer to the topic of the thread.
_RELATIONS = """advantage alternative amount answer aspect benefit bit case category change choice clarification code
    command comparison concept context default detail disadvantage distance downside effect explanation fact feature
    format goal guide idea information issue length level limit limitation lot maximum minimum minute month number
    option overview part point practice prerequisite price pricing problem procedure purpose question reason
    requirement result role rule sample scenario size solution sort speed stage step stuff subject summary support
    syntax technique time tip trick tutorial usage variant version way week year"""

_INTERJECTIONS = """ah alright anyway bye cool exactly hello hey hi hmm interesting nice nope oh ok okay please sorry
    thank thanks well wow yeah yep"""

_RELATION_STEMS = frozenset(map(stem, _RELATIONS.split()))
_VAGUE = frozenset(f"{_ACTIONS} {_RELATIONS} {_INTERJECTIONS}".split())
_VAGUE_STEMS = frozenset(map(stem, _VAGUE))
_AGENT_SUFFIXES = ("er", "ers", "or", "ors")  # `container` is a topic although `contain` is an action

THE_BOOK = frozenset({"book", "course", "chapter", "lesson"})

TOKEN = re.compile(WORD.pattern + r"(?:\+\+|#)?")
_SEPARATORS = frozenset(" \t'’\"“”‘`*_-")  # allowed between two words of one phrase
_SENTENCE_START = re.compile(r"(?:[.!?:;]|\n|^)[\s\"'*_#>\d.)-]*$")
_SUBJECT = re.compile(r"\s+(?:is|are|was|were|has|have|can|uses|provides|lets|gives)\b")
_CAPITAL = r"[^\W\d_a-zß-ÿ]\w*(?:[./+-]\w+|\+\+)*"
_CAPITALS = re.compile(rf"(?<!\w){_CAPITAL}(?: (?:{_CAPITAL}|\d+(?!\w)))*")
_MARKUP = re.compile(rf"{CODE_BLOCK}|\[\d+\]|\]\([^)]*\)|https?://\S+", re.DOTALL)
_ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+(.+)$", re.MULTILINE)
# Characters read of an answer, and sizes of what is taken from it; chosen with `benchmarks.followups`.
_NAMES_READ = 800
_LIST_READ = 3000
_PHRASE_WORDS = 4
_ITEM_MAX = 80


def bare(token: str) -> str:
    """Returns a token in lower case, up to its apostrophe."""
    return token.lower().replace("’", "'").partition("'")[0]


@lru_cache(maxsize=16_384)
def names_something(word: str) -> bool:
    """Returns whether a word can identify a topic."""
    root = stem(word)
    vague = word in _VAGUE or (root in _VAGUE_STEMS and not word.endswith(_AGENT_SUFFIXES))
    return is_content_word(word) and is_content_word(root) and not vague


@lru_cache(maxsize=1024)
def phrases(text: str) -> tuple[str, ...]:
    """Returns the noun phrases in order, each once: runs of words that can identify a topic."""
    return tuple(dict.fromkeys(_runs(text)))


def names(answer: str) -> Counter[str]:
    """Returns how often an answer mentions each proper name: runs of capitalized words, except a word that is only
    capitalized because it starts a sentence."""
    text = _MARKUP.sub(" ", answer[:_NAMES_READ])
    candidates = (_proper_name(text, run) for run in _CAPITALS.finditer(text))
    return Counter(name for name in candidates if name)


def items(answer: str) -> list[str]:
    """Returns the items of a list in an answer, each up to its colon."""
    return [
        item[:_ITEM_MAX].split(":")[0].strip("*_` ") for item in _ITEM.findall(_MARKUP.sub(" ", answer[:_LIST_READ]))
    ]


def _runs(text: str) -> Iterator[str]:
    run: list[re.Match[str]] = []
    for token in TOKEN.finditer(text):
        if run and not _SEPARATORS.issuperset(text[run[-1].end() : token.start()]):
            yield _phrase(text, run)
            run = []
        if _is_part(bare(token.group()), in_phrase=bool(run)):
            run.append(token)
        elif run:
            yield _phrase(text, run)
            run = []
    if run:
        yield _phrase(text, run)


def _phrase(text: str, run: list[re.Match[str]]) -> str:
    return text[run[0].start() : run[:_PHRASE_WORDS][-1].end()]


def _is_part(word: str, *, in_phrase: bool) -> bool:
    """Returns whether a word belongs to a phrase; `problem` or `level` only after another word."""
    return names_something(word) or (in_phrase and stem(word) in _RELATION_STEMS and is_content_word(word))


def _proper_name(text: str, run: re.Match[str]) -> str:
    """Returns the name in a run of capitalized words; empty if there is none."""
    tokens = run.group().split()
    if not tokens[0][0].isupper() or (len(tokens) == 1 and _only_starts_sentence(text, run)):
        return ""
    while tokens and not names_something(bare(tokens[0])):
        tokens = tokens[1:]
    return " ".join(tokens[:_PHRASE_WORDS])


def _only_starts_sentence(text: str, run: re.Match[str]) -> bool:
    """Returns whether a word may be capitalized only because it starts a sentence. A word before `is` or `has` counts
    as a name."""
    if sum(map(str.isupper, run.group())) > 1 or _SUBJECT.match(text, run.end()):
        return False
    return _SENTENCE_START.search(text, max(0, run.start() - 12), run.start()) is not None
