"""A sentence of a book → other sentences made by rules: edits that contradict it, and paraphrases that do not.

The word lists are written for these rules alone. They are not the lists of the check they measure.
"""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from random import Random

from bookwise.answering.grounding.claims import claims_something
from bookwise.domain.books import Chunk
from bookwise.text.sentences import units

_WORDS_MIN, _WORDS_MAX = 6, 35
_PLAIN = re.compile(r"[A-Z`“\"][^\n|$\[\]{}<>#]*[.]")
_CODE = re.compile(r"(?<![`\w])`(?=[^`\n]*[A-Za-z]{2})[^`\n]{2,40}`(?![`\w])")
_NAME = re.compile(r"(?<=[a-z,] )[A-Z][A-Za-z0-9]{2,}(?: [A-Z0-9][\w.]*)*(?=[ ,;]|\.$)")
_LIST_GAP = re.compile(r"[\s,]*(?:and|or|/|,)[\s,]*")

_ONES = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve")
_AUXILIARY = r"is|are|was|were|can|could|must|should|will|would|may|might"
_NEGATED_VERBS = (
    "uses|needs|contains|returns|sends|reads|runs|works|makes|gives|takes|starts|creates|requires|holds|means|calls"
)
_UNIT_CHANGES = {
    "ms": "s", "milliseconds": "seconds", "seconds": "minutes", "second": "minute", "minutes": "hours",
    "hours": "days", "days": "weeks", "Hz": "kHz", "kHz": "MHz", "GB": "MB", "MB": "GB", "KB": "MB",
    "bytes": "kilobytes", "mm": "cm", "cm": "m", "metres": "kilometres", "meters": "kilometers", "m": "km",
    "kg": "g", "percent": "degrees", "%": " degrees", "degrees": "radians", "V": "mV", "W": "kW",
    "weeks": "months", "years": "months",
}  # fmt: skip
_UNIT_NAMES = {
    "ms": "milliseconds", "s": "seconds", "GB": "gigabytes", "MB": "megabytes", "Hz": "hertz", "kg": "kilograms",
    "cm": "centimetres", "mm": "millimetres", "m": "metres",
}  # fmt: skip
_ORDERS = """
more/less less/more fewer/more most/least least/most before/after after/before faster/slower slower/faster
larger/smaller smaller/larger higher/lower lower/higher longer/shorter shorter/longer greater/smaller above/below
below/above earlier/later later/earlier better/worse worse/better bigger/smaller cheaper/dearer closer/farther
harder/easier easier/harder stronger/weaker weaker/stronger older/newer newer/older first/last last/first
maximum/minimum minimum/maximum at_least/at_most at_most/at_least up_to/at_least exceeds/undercuts simpler/harder
newest/oldest fastest/slowest largest/smallest smallest/largest highest/lowest lowest/highest longest/shortest
"""
_OPPOSITES = """
enable/disable enables/disables enabled/disabled always/never never/always start/stop starts/stops open/close
opens/closes increase/decrease increases/decreases input/output output/input send/receive sends/receives
client/server server/client read/write reads/writes true/false false/true accept/reject accepts/rejects
accepted/rejected add/remove adds/removes required/optional optional/required mutable/immutable immutable/mutable
local/global global/local static/dynamic dynamic/static public/private private/public synchronous/asynchronous
success/failure succeeds/fails fails/succeeds possible/impossible valid/invalid safe/unsafe unsafe/safe
reliable/unreliable same/different different/same similar/different easy/hard hard/easy simple/complicated
small/large large/small short/long long/short high/low low/high fast/slow slow/fast new/old old/new early/late
left/right right/left positive/negative negative/positive internal/external import/export include/exclude
includes/excludes publisher/subscriber subscriber/publisher publishes/subscribes allow/forbid allows/forbids
lower/raise raises/lowers strong/weak full/empty empty/full known/unknown linear/nonlinear continuous/discrete
online/offline connected/disconnected horizontal/vertical row/column rows/columns numerator/denominator
supply/demand rise/fall rises/falls rich/poor gains/losses buy/sell inside/outside visible/hidden parent/child
push/pull compile-time/run-time success/error many/few all/none everything/nothing useful/useless
"""
_SYNONYMS = {
    "use": "employ", "uses": "employs", "because": "since", "allows": "lets", "begin": "start", "begins": "starts",
    "for example": "for instance", "however": "but", "also": "additionally", "such as": "like",
    "in order to": "to", "need to": "have to", "needs to": "has to", "often": "frequently", "usually": "normally",
    "shows": "displays", "therefore": "thus", "get": "obtain", "help": "assist", "helps": "assists",
    "choose": "select", "about": "roughly", "entire": "whole", "build": "construct", "provides": "offers",
    "provide": "offer", "main": "principal", "must": "has to", "contains": "holds", "requires": "needs",
    "multiple": "several", "many": "numerous", "creates": "produces", "create": "produce", "runs": "executes",
    "run": "execute", "quickly": "rapidly", "just": "only", "error": "fault", "method": "procedure",
    "changes": "alters", "change": "alter", "means": "implies", "makes": "renders", "keep": "retain",
    "keeps": "retains", "gives": "yields", "problem": "issue", "important": "essential",
}  # fmt: skip
_ARTICLES = {" the ": " a ", " a ": " the ", "The ": "A ", "A ": "The "}
_CONTRACTIONS = {
    "is not": "isn't", "are not": "aren't", "does not": "doesn't", "do not": "don't", "cannot": "can't",
    "will not": "won't", "isn’t": "is not", "aren’t": "are not", "doesn’t": "does not", "don’t": "do not",
    "can’t": "cannot", "won’t": "will not", "it’s": "it is", "we’ll": "we will",
}  # fmt: skip
_INVERSE = {
    "faster": "slower", "slower": "faster", "larger": "smaller", "smaller": "larger", "higher": "lower",
    "lower": "higher", "longer": "shorter", "shorter": "longer", "bigger": "smaller", "cheaper": "more expensive",
    "easier": "harder", "harder": "easier", "older": "newer", "newer": "older", "greater": "smaller",
}  # fmt: skip
_REGULAR_VERBS = """
creates defines produces replaces uses receives publishes stores provides requires describes measures computes
updates handles moves declares executes combines includes removes changes translates generates represents returns
contains calls implements needs accepts loads converts owns renders reads turns adds checks prints passes starts
maps joins performs lists keeps detects selects fills allows follows expects supports
"""
_PARTICIPLES = {verb: verb[:-1] + ("d" if verb.endswith("es") else "ed") for verb in _REGULAR_VERBS.split()} | {
    "publishes": "published", "passes": "passed", "maps": "mapped", "controls": "controlled", "reads": "read",
    "keeps": "kept", "drives": "driven", "gives": "given", "takes": "taken", "writes": "written", "holds": "held",
    "sends": "sent", "builds": "built", "makes": "made", "runs": "run", "sets": "set", "finds": "found",
    "shows": "shown",
}  # fmt: skip
_SUBJECT = r"(?:The|A|An|Each|This|Our) (?:`[^`]+` )?(?:[\w-]+ ){0,2}?[\w-]+|`[^`]+`|[A-Z]\w+"
_OBJECT = r"(?:the|a|an|its|each|every) (?:`[^`]+` )?(?:[\w-]+ ){0,2}?[\w-]+?|`[^`]+`"
_REST = r"(?:,? (?:of|in|on|to|from|for|with|at|and|that|which|when|so|as|into|between|because|if)\b.*)?"
_LEAD_INS = ("According to the book, ", "In short, ", "As the passage explains, ", "In other words, ")


@dataclass(frozen=True)
class BookSentence:
    """A sentence, the sentence after it, and what the same lesson offers as a replacement."""

    text: str
    following: str
    code: tuple[str, ...]  #: code spans of the lesson
    numbers: tuple[str, ...]  #: numbers of the passage
    random: Random


Rule = Callable[[BookSentence], str | None]


def plain_sentences(chunk: Chunk, lesson: Sequence[Chunk]) -> Iterator[BookSentence]:
    """The sentences of a passage that are prose, claim something, and are neither short nor long."""
    prose = [unit.text for unit in units(chunk.text) if unit.kind == "sentence"]
    code = tuple(sorted({span for c in lesson for span in _CODE.findall(c.text)}))
    numbers = tuple(sorted(set(re.findall(r"(?<![\w.])\d+(?![\w.])", chunk.text))))
    for text, following in zip(prose, [*prose[1:], ""], strict=False):
        if is_plain(text):
            yield BookSentence(text, following if is_plain(following) else "", code, numbers, Random(text))


def is_plain(text: str) -> bool:
    size = len(text.split())
    return bool(_PLAIN.fullmatch(text)) and _WORDS_MIN <= size <= _WORDS_MAX and claims_something(text)


def rewrites(sentence: BookSentence, rules: Mapping[str, Rule]) -> Iterator[tuple[str, str]]:
    """(name of the rule, new sentence) for each rule that applies."""
    for name, rule in rules.items():
        text = rule(sentence)
        if text and text != sentence.text:
            yield name, text[0].upper() + text[1:]


# --- edits


def negate(s: BookSentence) -> str | None:
    if re.search(r"\b(?:not|never|no|without|cannot|none|nothing|neither|nor|only)\b|n['’]t\b", s.text):
        return None
    return _first(rf"(?<=[\w`] )({_AUXILIARY}) (?=[a-z`])", lambda m: f"{m.group(1)} not ", s.text)


def negate_verb(s: BookSentence) -> str | None:
    if re.search(r"\b(?:not|never|no|without|cannot|none|nothing|neither|nor|only)\b|n['’]t\b", s.text):
        return None
    return _first(rf"\b({_NEGATED_VERBS}) ", lambda m: f"does not {_base(m.group(1))} ", s.text)


def affirm(s: BookSentence) -> str | None:
    for pattern, replacement in (
        (r"\b(is|are|was|were|can|must|should|will|would|may) not\b", r"\1"),
        (r"\b(do|does|did) not ", ""),
        (r"\bcannot\b", "can"),
        (r"\bnever\b", "always"),
        (r"\bwithout\b", "with"),
        (r"\b(is|are|does|do|should|would|has)n['’]t\b", r"\1"),
    ):
        if re.search(pattern, s.text) and len(re.findall(r"\b(?:not|never|without|no|cannot)\b|n['’]t\b", s.text)) == 1:
            return re.sub(pattern, replacement, s.text, count=1)
    return None


def change_number(s: BookSentence) -> str | None:
    def other(match: re.Match[str]) -> str:
        number = match.group()
        return str(int(number) + s.random.choice((1, 2, 5, 10))) if number.isdigit() else str(float(number) * 2)

    return _first(r"(?<![\w.`:/-])\d+(?:\.\d+)?(?![\w:/]|\.\d|-\w)", other, s.text)


def borrow_number(s: BookSentence) -> str | None:
    """Replaces a number by another one that the same passage contains."""
    used = set(re.findall(r"\d+", s.text))
    others = [number for number in s.numbers if number not in used]
    if not others:
        return None
    return _first(r"(?<![\w.`:/-])\d+(?![\w:/]|\.\d|-\w)", lambda m: s.random.choice(others), s.text)


def change_numeral(s: BookSentence) -> str | None:
    def other(match: re.Match[str]) -> str:
        word = _ONES[_ONES.index(match.group().lower()) % 10 + 2]
        return word.capitalize() if match.group()[0].isupper() else word

    return _first(rf"\b(?i:{'|'.join(_ONES[2:])})\b(?=[ -])", other, s.text)


def change_unit(s: BookSentence) -> str | None:
    names = "|".join(sorted(map(re.escape, _UNIT_CHANGES), key=len, reverse=True))
    return _first(rf"(?<=\d)( ?)({names})(?![\w/])", lambda m: m.group(1) + _UNIT_CHANGES[m.group(2)], s.text)


def invent_identifier(s: BookSentence) -> str | None:
    """Replaces one part of an identifier."""

    def other(match: re.Match[str]) -> str:
        parts = re.findall(r"[a-zA-Z][a-z]{2,}", match.group())
        return match.group().replace(parts[-1], "Proxy" if parts[-1][0].isupper() else "proxy")

    return _first(r"`[^`\n ]*[A-Za-z][a-z]{2,}[^`\n ]*`", other, s.text)


def borrow_identifier(s: BookSentence) -> str | None:
    """Replaces a code span by another one of the same lesson."""
    others = [span for span in s.code if span not in s.text]
    return _first(_CODE.pattern, lambda m: s.random.choice(others), s.text) if others else None


def swap_identifiers(s: BookSentence) -> str | None:
    return _swap([match.span() for match in _CODE.finditer(s.text)], s.text)


def swap_names(s: BookSentence) -> str | None:
    return _swap([match.span() for match in _NAME.finditer(s.text)], s.text)


def swap_nouns(s: BookSentence) -> str | None:
    verb = r"(?:(?:is|are|has|can \w+|must \w+|\w+[^s\W]s) (?:\w+ ){0,2}?)"
    end = r"(?= (?:of|in|on|to|with|for|from|by|that|which|when|at)\b|[.,;])"
    match = re.match(rf"(?:The|A|An|Each|Every) ([a-z]+) {verb}(?:the|a|an|its) ([a-z]+){end}", s.text)
    return _swap([match.span(1), match.span(2)], s.text) if match and match.group(1) != match.group(2) else None


def swap_than(s: BookSentence) -> str | None:
    verb, end = r"(?:is|are|has|have|can|gives?|takes?|needs?|uses?)", r"(?=[.,;]| (?:in|on|for|at)\b)"
    match = re.match(rf"(?:The |A |An )?([A-Z]?[a-z]+) {verb} [^,;]*? than (?:the |a |an )?([a-z]+){end}", s.text)
    return _swap([match.span(1), match.span(2)], s.text) if match else None


def swap_ends(s: BookSentence) -> str | None:
    thing = r"((?:the |a |an )?(?:`[^`]+`|[A-Za-z]+))"
    match = re.search(rf"\bfrom {thing} (?:in)?to {thing}(?=[ .,;])", s.text)
    return _swap([match.span(1), match.span(2)], s.text) if match else None


def reverse_order(s: BookSentence) -> str | None:
    return _replace_pair(_ORDERS, s)


def replace_by_opposite(s: BookSentence) -> str | None:
    return _replace_pair(_OPPOSITES, s)


_SINGLE_EDITS = (
    negate, negate_verb, affirm, change_number, borrow_number, change_numeral, change_unit, invent_identifier,
    borrow_identifier, swap_identifiers, swap_names, swap_nouns, swap_than, swap_ends, reverse_order,
    replace_by_opposite,
)  # fmt: skip


def edit_and_join(s: BookSentence) -> str | None:
    """Joins an edited sentence with the next one, or the next one with it."""
    edited = [text for rule in _SINGLE_EDITS if (text := rule(s))]
    if not edited or not s.following:
        return None
    first, second = s.random.sample([s.random.choice(edited), s.following], 2)
    return f"{first[:-1]}, and {_lower(second)}"


EDITS: Mapping[str, Rule] = {rule.__name__.replace("_", " "): rule for rule in (*_SINGLE_EDITS, edit_and_join)}


# --- paraphrases


def use_synonyms(s: BookSentence) -> str | None:
    prose, *code = re.split(r"(`.*`)", s.text, maxsplit=1)  # code keeps its words
    for word, other in _SYNONYMS.items():
        prose = re.sub(rf"(?<![\w/.-]){word}(?![\w/-])", other, prose, count=1)
    return prose + "".join(code)


def change_articles(s: BookSentence) -> str | None:
    text = s.text
    for article, other in list(_ARTICLES.items())[s.random.randrange(2) :: 2]:
        text = text.replace(article, other, 1)
    return text


def move_clause(s: BookSentence) -> str | None:
    """`When X, Y.` → `Y when X.`, and the other way round."""
    if match := re.fullmatch(r"(When|If|Because|Before|After|Once|While|Since) ([^,;:]+), ([^,;:]+)\.", s.text):
        return f"{match.group(3)} {match.group(1).lower()} {match.group(2)}."
    if match := re.fullmatch(r"([^,;:]+?),? (when|if|because|once|while) ([^,;:]+)\.", s.text):
        return f"{match.group(2).capitalize()} {match.group(3)}, {_lower(match.group(1))}."
    return None


def move_adjunct(s: BookSentence) -> str | None:
    """`In X, Y.` → `Y in X.`"""
    if match := re.fullmatch(r"(In|On|At|For|With|By|During|Without) ([^,;:]{3,40}), ([^,;:]+)\.", s.text):
        return f"{match.group(3)} {match.group(1).lower()} {match.group(2)}."
    if match := re.fullmatch(r"([^,;:]+) (in|on|at|during|with|without) ((?:the|a|an|each|every) [\w-]+)\.", s.text):
        return f"{match.group(2).capitalize()} {match.group(3)}, {_lower(match.group(1))}."
    return None


def make_passive(s: BookSentence) -> str | None:
    match = re.fullmatch(rf"({_SUBJECT}) ({'|'.join(_PARTICIPLES)}) ({_OBJECT})({_REST})\.", s.text)
    if not match:
        return None
    subject, verb, thing, rest = match.groups()
    return f"{thing} is {_PARTICIPLES[verb]} by {_lower(subject)}{rest}."


def make_active(s: BookSentence) -> str | None:
    verbs = {participle: verb for verb, participle in _PARTICIPLES.items()}
    match = re.fullmatch(rf"({_SUBJECT}) is ({'|'.join(verbs)}) by ({_OBJECT})({_REST})\.", s.text)
    return f"{match.group(3)} {verbs[match.group(2)]} {_lower(match.group(1))}{match.group(4)}." if match else None


def join_next(s: BookSentence) -> str | None:
    if not s.following:
        return None
    return f"{s.text[:-1]}{s.random.choice((', and ', '; ', ', while '))}{_lower(s.following)}"


_DROPPED = (
    r" \([^()]*\)",
    r", (?:which|who|where|such as|so that|for example|including)\b[^,;:]*(?=[.,;])",
    r" (?:because|so that|since)\b [^;:]*(?=\.$)",
    r"; [^;]*(?=\.$)",
    r"^(?:However|Therefore|Note that|Instead|Thus|So|Also|Now),? ",
)


def drop_clause(s: BookSentence) -> str | None:
    for pattern in _DROPPED:
        shorter = re.sub(pattern, "", s.text, count=1)
        if shorter != s.text and len(shorter.split()) >= _WORDS_MIN - 1:
            return shorter
    return None


def respell_number(s: BookSentence) -> str | None:
    if re.search(r"(?<=[a-z] )(?:[2-9]|1[0-2]) (?=[a-z])", s.text):
        return _first(r"(?<=[a-z] )(?:[2-9]|1[0-2])(?= [a-z])", lambda m: _ONES[int(m.group())], s.text)
    return _first(rf"\b(?:{'|'.join(_ONES[2:])})\b(?= )", lambda m: str(_ONES.index(m.group())), s.text)


def respell_unit(s: BookSentence) -> str | None:
    names = "|".join(_UNIT_NAMES)
    return _first(rf"(?<=\d)( )({names})(?![\w/])", lambda m: m.group(1) + _UNIT_NAMES[m.group(2)], s.text)


def respell_negation(s: BookSentence) -> str | None:
    for spelling, other in _CONTRACTIONS.items():
        if f" {spelling} " in s.text:
            return s.text.replace(f" {spelling} ", f" {other} ", 1)
    return None


def invert_comparison(s: BookSentence) -> str | None:
    """`X is faster than Y.` → `Y is slower than X.`"""
    match = re.fullmatch(
        rf"([^,;:]{{3,60}}) (is|are) ({'|'.join(_INVERSE)}) than ((?:(?!\band\b)[^,;:]){{3,60}})\.", s.text
    )
    if not match:
        return None
    return f"{match.group(4)} {match.group(2)} {_INVERSE[match.group(3)]} than {_lower(match.group(1))}."


def lead_in(s: BookSentence) -> str | None:
    return s.random.choice(_LEAD_INS) + _lower(s.text)


def strip_markup(s: BookSentence) -> str | None:
    return re.sub(r"\*\*|[`“”]", "", s.text)


def combine(s: BookSentence) -> str | None:
    """Several small changes at once."""
    text = s.text
    for rule in (respell_negation, use_synonyms, change_articles, move_adjunct, move_clause, drop_clause):
        text = rule(BookSentence(text, "", (), (), s.random)) or text
    return text


PARAPHRASES: Mapping[str, Rule] = {
    rule.__name__.replace("_", " "): rule
    for rule in (
        use_synonyms, change_articles, move_clause, move_adjunct, make_passive, make_active, join_next, drop_clause,
        respell_number, respell_unit, respell_negation, invert_comparison, lead_in, strip_markup, combine,
    )
}  # fmt: skip


def _first(pattern: str, replacement: Callable[[re.Match[str]], str], text: str) -> str | None:
    changed, count = re.subn(pattern, replacement, text, count=1)
    return changed if count else None


def _swap(spans: Sequence[tuple[int, int]], text: str) -> str | None:
    """Exchanges the first two different spans that are not two items of one list."""
    for (a, b), (c, d) in pairwise(spans):
        if (
            text[a:b].lower() != text[c:d].lower()
            and not _LIST_GAP.fullmatch(text[b:c])
            and re.search(r"[a-z]", text[b:c])
        ):
            first, second = text[c:d], text[a:b]
            second = second if second.isupper() or "`" in second or a else _lower(second)
            return text[:a] + first + text[b:c] + second + text[d:]
    return None


def _replace_pair(pairs: str, s: BookSentence) -> str | None:
    table = [pair.replace("_", " ").split("/") for pair in pairs.split()]
    s.random.shuffle(table)
    for word, other in table:
        if re.search(rf"\b{other}\b", s.text, re.IGNORECASE):
            continue
        if changed := _first(rf"(?<![\w`.-]){word}(?![\w`-])", lambda m, o=other: o, s.text):  # type: ignore[misc]
            return changed
    return None


def _lower(text: str) -> str:
    return text[0].lower() + text[1:] if re.match(r"[A-Z][a-z']* |[A-Z][a-z]+\b", text) else text


def _base(verb: str) -> str:
    return {"does": "do"}.get(verb, verb.removesuffix("s"))
