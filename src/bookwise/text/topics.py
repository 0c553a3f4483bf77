"""Text of a thread → the things it is about, as the reader or the book spelt them."""

import re
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache

from bookwise.text.words import WORD, is_content_word, stem

#: Words that say what is done with a thing or how it is, not which thing.
_DOINGS = """able access add again ahead allow almost already also alternatively apart apply ask available avoid away
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

#: Nouns that are always of something: alone they ask about the subject of the thread.
_RELATIONS = """advantage alternative amount answer aspect benefit bit case category change choice clarification code
    command comparison concept context default detail disadvantage distance downside effect explanation fact feature
    format goal guide idea information issue length level limit limitation lot maximum minimum minute month number
    option overview part point practice prerequisite price pricing problem procedure purpose question reason
    requirement result role rule sample scenario size solution sort speed stage step stuff subject summary support
    syntax technique time tip trick tutorial usage variant version way week year"""

_INTERJECTIONS = """ah alright anyway bye cool exactly hello hey hi hmm interesting nice nope oh ok okay please sorry
    thank thanks well wow yeah yep"""

_RELATION_STEMS = frozenset(map(stem, _RELATIONS.split()))
_VAGUE = frozenset(f"{_DOINGS} {_RELATIONS} {_INTERJECTIONS}".split())
_VAGUE_STEMS = frozenset(map(stem, _VAGUE))
_DOERS = ("er", "ers", "or", "ors")  # a `container` is a thing, whatever `contain` is

THE_BOOK = frozenset({"book", "course", "chapter", "lesson"})

TOKEN = re.compile(WORD.pattern + r"(?:\+\+|#)?")
_BETWEEN = frozenset(" \t'’\"“”‘`*_-")  # what may stand between two words of one phrase
_SENTENCE_START = re.compile(r"(?:[.!?:;]|\n|^)[\s\"'*_#>\d.)-]*$")
_SUBJECT = re.compile(r"\s+(?:is|are|was|were|has|have|can|uses|provides|lets|gives)\b")
_CAPITAL = r"[^\W\d_a-zß-ÿ]\w*(?:[./+-]\w+|\+\+)*"
_CAPITALS = re.compile(rf"(?<!\w){_CAPITAL}(?: (?:{_CAPITAL}|\d+(?!\w)))*")
_MARKUP = re.compile(r"```.*?(?:```|\Z)|\[\d+\]|\]\([^)]*\)|https?://\S+", re.DOTALL)
_ITEM = re.compile(r"^[ \t]*(?:[-*•]|\d+[.)])[ \t]+(.+)$", re.MULTILINE)
_ANSWER_READ = 800
_LIST_READ = 3000
_PHRASE_WORDS = 4
_ITEM_MAX = 80


def bare(token: str) -> str:
    """A token in small letters, without what hangs on its apostrophe."""
    return token.lower().replace("’", "'").partition("'")[0]


@lru_cache(maxsize=16_384)
def names_something(word: str) -> bool:
    """Whether a word can tell one subject from another."""
    root = stem(word)
    vague = word in _VAGUE or (root in _VAGUE_STEMS and not word.endswith(_DOERS))
    return is_content_word(word) and is_content_word(root) and not vague


@lru_cache(maxsize=1024)
def phrases(text: str) -> tuple[str, ...]:
    """The noun phrases in order, each once: runs of words that name something."""
    return tuple(dict.fromkeys(_runs(text)))


def names(answer: str) -> Counter[str]:
    """How often an answer says each proper name: runs of capitals, but not the word that only begins a sentence."""
    text = _MARKUP.sub(" ", answer[:_ANSWER_READ])
    found = (_proper(text, run) for run in _CAPITALS.finditer(text))
    return Counter(name for name in found if name)


def items(answer: str) -> list[str]:
    """The points of a list in an answer, each up to its colon."""
    return [
        point[:_ITEM_MAX].split(":")[0].strip("*_` ") for point in _ITEM.findall(_MARKUP.sub(" ", answer[:_LIST_READ]))
    ]


def _runs(text: str) -> Iterator[str]:
    run: list[re.Match[str]] = []
    for token in TOKEN.finditer(text):
        if run and not _BETWEEN.issuperset(text[run[-1].end() : token.start()]):
            yield _spelt(text, run)
            run = []
        if _belongs(bare(token.group()), goes_on=bool(run)):
            run.append(token)
        elif run:
            yield _spelt(text, run)
            run = []
    if run:
        yield _spelt(text, run)


def _spelt(text: str, run: list[re.Match[str]]) -> str:
    return text[run[0].start() : run[:_PHRASE_WORDS][-1].end()]


def _belongs(word: str, *, goes_on: bool) -> bool:
    return names_something(word) or (goes_on and stem(word) in _RELATION_STEMS and is_content_word(word))


def _proper(text: str, run: re.Match[str]) -> str:
    said = run.group().split()
    if not said[0][0].isupper() or (len(said) == 1 and _only_begins(text, run)):
        return ""
    while said and not names_something(bare(said[0])):
        said = said[1:]
    return " ".join(said[:_PHRASE_WORDS])


def _only_begins(text: str, run: re.Match[str]) -> bool:
    """Whether a word may owe its capital to its place alone; one that then `is` or `has` something is a subject."""
    if sum(map(str.isupper, run.group())) > 1 or _SUBJECT.match(text, run.end()):
        return False
    return _SENTENCE_START.search(text, max(0, run.start() - 12), run.start()) is not None
