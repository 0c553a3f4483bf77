"""An answer and the facts it must contain → how useful it is to its reader. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from bookwise.domain.answers import Answer, Answered

USEFUL_SHARE = 0.5  #: of the facts that a useful answer contains


@dataclass(frozen=True, slots=True, kw_only=True)
class Usefulness:
    """Which facts an answer contains, and which unwanted texts. A refusal contains nothing."""

    facts: int  #: number of facts that a complete answer contains
    missing: tuple[str, ...]  #: facts that the answer does not contain, each in its first wording
    unwanted: tuple[str, ...] = ()  #: texts that the answer should not contain

    @property
    def share(self) -> float:
        """The share of the facts that the answer contains; 0 without facts."""
        return 1 - len(self.missing) / self.facts if self.facts else 0.0

    @property
    def useful(self) -> bool:
        return self.share >= USEFUL_SHARE and not self.unwanted

    @property
    def complete(self) -> bool:
        return self.share == 1.0 and not self.unwanted


def usefulness_of(answer: Answer, facts: Sequence[Sequence[str]], avoid: Sequence[str] = ()) -> Usefulness:
    """Looks for each fact, in any of its wordings, and for each text to avoid."""
    text = flat(answer.text) if isinstance(answer, Answered) else ""
    return Usefulness(
        facts=len(facts),
        missing=tuple(fact[0] for fact in facts if not any(flat(wording) in text for wording in fact)),
        unwanted=tuple(words for words in avoid if flat(words) in text),
    )


def flat(text: str) -> str:
    """The text for comparison: without case, line breaks and emphasis (`*`, `_`, backticks)."""
    return re.sub(r"\s+", " ", re.sub(r"[*_`]", "", text)).lower()
