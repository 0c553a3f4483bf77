"""A title or heading → a question that a reader could ask about it. English only: other titles give no question."""

import re
from itertools import pairwise


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


#: Titles that name a part of any book, not a subject.
GENERAL_TITLES = frozenset(
    """about|acknowledgements|acknowledgments|additional reading|appendix|appendices|basics|bibliography|changelog
    conclusion|conclusions|contents|contributing|contributors|credits|documentation|example|examples|exercises
    external links|faq|features|foreword|further reading|fundamentals|getting started|glossary|guide|help|history|home
    how it works|index|introduction|learning objectives|license|links|next steps|notation|notes|objectives|overview
    preface|preliminaries|prerequisites|quick start|quickstart|quiz|readme|recap|references|release notes|requirements
    resources|see also|setup|summary|table of contents|the basics|troubleshooting|tutorial|user guide
    welcome|what you will learn|what's next|where to go next""".replace("\n    ", "|").split("|")
)
_NUMBERING = re.compile(
    r"^(?:[^\w`]+|\d+(?:\.\d+)*[.:)]?\s+"
    r"|(?:(?:chapter|part|module|lesson|unit|section|step|weeks?|day)\b[\s\d.–-]*)+(?:[:.–—-]\s+|$))",
    re.IGNORECASE,
)
_GENERAL_START = re.compile(
    r"(?:appendix|chapter|foreword|preface|exercises?|solutions?|more about|these|this)\b", re.IGNORECASE
)
_FRAME_START = re.compile(
    r"^(?:(?:an? )?(?:short |quick |brief )?introduction to|introducing|understanding|overview of|about|basics of"
    r"|what (?:is|are))\s+",
    re.IGNORECASE,
)
_FRAME_END = re.compile(r"\s+(?:fundamentals|basics|overview|explained|introduction)$", re.IGNORECASE)

#: Verbs that a heading of instructions begins with: "Install X", "Installing X".
_VERBS = _words(
    """add apply avoid build calculate change check choose clean clone combine compile compute configure connect
    construct control convert create customize debug declare define delete deploy disable download draw enable
    estimate evaluate extend fit forbid generate get handle implement import improve initialize inspect install
    instantiate integrate launch load make manage measure migrate monitor optimize organize package parse plot
    prepare publish read reduce remove rename replace return save scale secure select send serve set share
    simulate solve store submit train translate update upgrade use validate verify visualize work wrap write"""
)
#: Also nouns or adjectives ("test coverage", "running time"): a heading with one is an instruction before "a", "the", …
_AMBIGUOUS = _words(
    """build change check clean clone control debug design draw get import launch learn load make measure monitor
    package plan plot program read return run save scale serve set share start store test train update upgrade
    use work wrap"""
)
_AMBIGUOUS_GERUNDS = _words("programming testing training running learning starting designing planning")
_BASES = {
    form: verb
    for verb in sorted(_VERBS | _AMBIGUOUS)
    for form in (f"{verb}ing", f"{verb.removesuffix('e')}ing", f"{verb}{verb[-1]}ing")
}
_DETERMINERS = _words("a an the your my with up")
_SMALL_WORDS = _words("a about an and as at by for from in into of on or out the to up with your")
_NEVER_FIRST = _words(
    """additional advanced alternative another at basic behind between beyond common concise custom external final
    first for from further general how in inside more my no on other our second some to towards when where why
    with without your"""
)
_ABSTRACT = re.compile(
    r"(?:tion|sion|ment|ity|ing|ism|ance|ence|ics|ship|ness|sis|acy|ncy|logy|graphy|ware|ulus|gebra|decay)$"
)
_SINGULAR_S = re.compile(
    r"(?:ss|us|is|(?<!top)(?<!metr)(?<!gener)(?<!terist)ics|series|kubernetes|pandas|postgres|jenkins)$"
)
_WORD = re.compile(r"[A-Za-z][\w+#.'’-]*|\d+")
_NOUN_WORDS_MAX = 5


def subject_of(title: str) -> str:
    """The title without its number, and without words such as "Introduction to"; empty if it names no subject."""
    subject = " ".join(title.split())
    while (shorter := _NUMBERING.sub("", subject)) != subject:
        subject = shorter
    if _GENERAL_START.match(subject):
        return ""
    whole = subject.rstrip("?!.:")
    subject = _FRAME_END.sub("", _FRAME_START.sub("", whole))
    return "" if {whole.casefold(), subject.casefold()} & GENERAL_TITLES or _GENERAL_START.match(subject) else subject


def question_about(title: str) -> str | None:
    """A question that reads well, by the form of the title; None if there is none, or the title names no subject."""
    subject = subject_of(title)
    if not subject:
        return None
    if title.rstrip().endswith("?"):
        return title.strip()
    return _instruction(subject) or _definition(subject)


def _instruction(subject: str) -> str | None:
    """ "Installing X", "Install X" and "How to install X" → "How do I install X?" """
    first, _, rest = subject.removeprefix("How to ").removeprefix("How To ").partition(" ")
    verb, is_how_to = first.casefold(), subject.casefold().startswith("how to ")
    if not rest or " - " in subject or subject.casefold() == "building blocks":
        return None
    before_object = rest.split()[0].casefold() in _DETERMINERS or is_how_to
    if verb in _BASES and (verb not in _AMBIGUOUS_GERUNDS or before_object):
        verb = _BASES[verb]
    elif not is_how_to and (verb not in _VERBS | _AMBIGUOUS or (verb in _AMBIGUOUS and not before_object)):
        return None
    words = [_in_sentence(word, before) for before, word in pairwise([verb, *rest.split()])]
    return None if None in words else f"How do I {' '.join([verb, *filter(None, words)])}?"


def _in_sentence(word: str, before: str) -> str | None:
    """A word of a title inside a question; None if the sentence would break: an unknown second verb."""
    if before.casefold() in ("and", "or") and word.casefold().endswith("ing"):
        return _BASES.get(word.casefold())
    if word.casefold() == "your":
        return "my"
    return word.casefold() if word != "A" and word.casefold() in _SMALL_WORDS else word  # "A" may be a name


def _definition(subject: str) -> str | None:
    """A noun → "What is X?" or "What are Xs?"; None for other forms, such as two subjects."""
    article, _, noun = subject.partition(" ")
    if article.casefold() not in ("a", "an", "the"):
        article, noun = "", subject
    words = noun.split()
    if not 1 <= len(words) <= _NOUN_WORDS_MAX or not all(_WORD.fullmatch(word) for word in words):
        return None
    folded = [word.casefold() for word in words]
    if folded[0] in _NEVER_FIRST or folded[0].endswith("ing") or folded[0] in _BASES.values():
        return None
    if any(word in _SMALL_WORDS - {"of"} or word.endswith("ly") for word in folded):
        return None
    head = folded.index("of") - 1 if "of" in folded[1:] else len(words) - 1
    if folded[head].endswith("ics") and head < len(words) - 1:
        return None  # "Mechanics of X" is plural, "Physics" is not
    is_name = any(sign.isupper() or sign.isdigit() for sign in words[head][1:]) or words[head].isdigit()
    if folded[head].endswith("s") and not _SINGULAR_S.search(folded[head]) and not words[head].isupper():
        return f"What are {' '.join([article.casefold(), *words]).strip()}?"
    if article or is_name or _ABSTRACT.search(folded[head]):
        return f"What is {' '.join([article.casefold(), *words]).strip()}?"
    return None
