"""Message of a reader → its parts: the prose, the code, and the sentences that ask."""

import re
from dataclasses import dataclass

from bookwise.text.fences import CODE_BLOCK
from bookwise.text.sentences import split_sentences

LONG_WORDS = 40  #: from here on a question is a story with a question in it (docs/benchmarks.md, Long questions)

_CODE_BLOCK = re.compile(CODE_BLOCK, re.DOTALL)
_FENCES = re.compile(r"\A(?:```|~~~)[\w+-]*\n?|(?:```|~~~)\Z")
_INLINE = re.compile(r"`([^`\n]+)`")
_INLINE_WORDS = 4  #: of inline code that is still a name; a longer one is code
_CODE_LINE = re.compile(
    r"[{};]\s*$|^\s*(?:[$>#] |//|/\*|@\w|</?\w|import \w|from \w+ import|use \w+::|#include|def \w+\(|class \w+[(:]"
    r"|fn \w+|let (?:mut )?\w+|pub |const \w+ =|return\b|print(?:ln)?!?\()"
    r"|\w\s*(?:[-+*/]?=|:=|->|=>)\s*\S|\w\([^()]*\)\s*$"
)
_CODE_LINES = 2  #: lines in a row that look like code, from which they are code
_QUESTION_WORDS = (
    r"(?:what|how|why|when|where|which|who|whose|is|are|do|does|did|can|could|should|would|will|may|must|has|have)"
)
#: A sentence that asks and, as readers write, does not begin with a capital letter.
_LOWER_START = re.compile(rf"(?<=[.;!?])\s+(?={_QUESTION_WORDS}\b)", re.IGNORECASE)
_ASKS = re.compile(
    r"^\W*(?:(?:and|but|so|or|then|now|also|please|hi|hello|hey|ok|okay)\b[\s,]*)*"
    rf"(?:{_QUESTION_WORDS}|explain|describe|show|give|tell|list|name|compare|define|write)\b",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class QuestionParts:
    """What a reader wrote in words, and what is pasted code."""

    prose: str
    code: str  #: empty without code


def split_code(text: str) -> QuestionParts:
    """Returns prose and code: fences, long inline code, and lines in a row that look like code.

    Short inline code such as `cargo build` names what the question is about and stays in the prose. A message that is
    nothing but code is all prose: it is all there is to search for.
    """
    code: list[str] = []

    def cut(part: str) -> str:
        code.append(part.strip())
        return "\n"

    prose = _CODE_BLOCK.sub(lambda block: cut(_FENCES.sub("", block[0])), text)
    prose = _INLINE.sub(lambda inline: cut(inline[1]) if len(inline[1].split()) > _INLINE_WORDS else inline[0], prose)
    prose, lines = _without_code_lines(prose)
    code.extend(lines)
    if not any(map(str.isalpha, prose)):
        return QuestionParts(text.strip(), "")
    return QuestionParts(prose.strip(), "\n".join(filter(None, code)))


def _without_code_lines(text: str) -> tuple[str, list[str]]:
    prose: list[str] = []
    code: list[str] = []
    run: list[str] = []
    for line in [*text.split("\n"), ""]:
        if _CODE_LINE.search(line):
            run.append(line)
            continue
        (code if len(run) >= _CODE_LINES else prose).extend(run)
        run = []
        prose.append(line)
    return "\n".join(prose), code


def asking_sentences(prose: str) -> str:
    """Returns the sentences that ask, in order: those with a question mark, else those that begin like a question, else
    the last one, because readers describe first and ask then."""
    parts = (part.strip() for sentence in split_sentences(prose) for part in _LOWER_START.split(sentence))
    sentences = [part for part in parts if part]
    marked = [sentence for sentence in sentences if sentence.endswith("?")]
    return " ".join(marked or list(filter(_ASKS.search, sentences)) or sentences[-1:])


def focus(question: str) -> str:
    """Returns the sentences that ask, for a long question; every other question is returned unchanged.

    A question with code stays whole too: code says more about its subject than the prose around it.
    """
    parts = split_code(question)
    if parts.code or len(parts.prose.split()) < LONG_WORDS:
        return question
    return asking_sentences(parts.prose)
