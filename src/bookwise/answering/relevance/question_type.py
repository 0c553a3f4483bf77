"""Question → the kind of answer it asks for, and the terms the answer must contain."""

from dataclasses import dataclass
from itertools import pairwise

from bookwise.answering.relevance.question_patterns import (
    CODE_LANGUAGE,
    CODE_LANGUAGES,
    KIND_PATTERNS,
    VALUE_PATTERNS,
    QuestionKind,
    ValueKind,
)
from bookwise.text.blocks import MarkdownBlock, MarkdownKind
from bookwise.text.question_parts import asking_sentences, split_code
from bookwise.text.words import content_words, is_content_word, words

#: The kinds of block that can answer a question of this kind; all of them for the kinds that are not here.
WANTED: dict[QuestionKind, frozenset[MarkdownKind]] = {
    "definition": frozenset({"paragraph"}),
    "why": frozenset({"paragraph"}),
    "yes-no": frozenset({"paragraph"}),
    "how-to": frozenset({"list", "code"}),
    "steps": frozenset({"list", "code"}),
    "command": frozenset({"code"}),
    "code": frozenset({"code"}),
    "list": frozenset({"list", "table"}),
    "table": frozenset({"table", "list"}),
    "difference": frozenset({"paragraph", "table", "list"}),
    "value": frozenset({"paragraph", "table", "list"}),
}
_ANY_BLOCK: frozenset[MarkdownKind] = frozenset({"paragraph", "list", "code", "table"})


@dataclass(frozen=True, slots=True)
class QuestionType:
    """What a question asks for."""

    text: str
    kind: QuestionKind
    value: ValueKind
    language: str  #: of the code asked for, as in the info line of a code block; empty if the question names none
    terms: frozenset[str]  #: the content words
    pairs: frozenset[tuple[str, str]]  #: of neighbouring content words

    @property
    def wanted(self) -> frozenset[MarkdownKind]:
        """The kinds of block that can answer."""
        return WANTED.get(self.kind, _ANY_BLOCK)

    def wants(self, block: MarkdownBlock) -> bool:
        """Whether a block is of a kind that can answer; code has to be in the language asked for."""
        if block.kind not in self.wanted:
            return False
        return block.kind != "code" or not self.language or self.language in block.text.partition("\n")[0].lower()


def classify_question(text: str) -> QuestionType:
    """Returns the type of a question, judged by its words alone."""
    plain = text.strip()
    kind, value = _kind_and_value(split_code(plain).prose)
    language = _code_language(plain) if "code" in WANTED.get(kind, ()) else ""
    sequence = [word for word in words(plain) if is_content_word(word)]
    return QuestionType(plain, kind, value, language, frozenset(sequence), frozenset(pairwise(sequence)))


def _kind_and_value(prose: str) -> tuple[QuestionKind, ValueKind]:
    """The sentences that ask decide; what a reader writes around them decides only if they say nothing."""
    asking = asking_sentences(prose)
    kind, value = _judge(asking)
    return (kind, value) if kind != "other" and content_words(asking) else _judge(prose)


def _judge(text: str) -> tuple[QuestionKind, ValueKind]:
    kind: QuestionKind = next((kind for kind, pattern in KIND_PATTERNS if pattern.search(text)), "other")
    value: ValueKind = next((value for value, pattern in VALUE_PATTERNS if pattern.search(text)), "any")
    if value != "any" and kind in ("definition", "list", "yes-no", "other"):
        kind = "value"
    return kind, value


def _code_language(text: str) -> str:
    match = CODE_LANGUAGE.search(text)
    return CODE_LANGUAGES[match[match.lastgroup or 0].lower()] if match else ""
