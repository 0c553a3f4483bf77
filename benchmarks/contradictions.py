"""The share of contradicting sentences that the check rejects, and of paraphrases that it accepts, both made by rules.

python -m benchmarks.contradictions
"""

import argparse
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from random import Random

from benchmarks.rewrites import EDITS, PARAPHRASES, plain_sentences, rewrites
from benchmarks.sets import DATA
from bookwise.answering.grounding.support import supported
from bookwise.domain.answers import Passage
from bookwise.domain.books import Chunk
from bookwise.domain.errors import BookwiseError
from bookwise.ingestion.chunk import ChunkOptions, chunk
from bookwise.ingestion.discover import discover, read_lesson
from bookwise.ingestion.parse import parse
from bookwise.ingestion.stages import utc_now

SAMPLE_BOOK = Path("examples/physical-ai")
PASSAGES = 5  #: what a model reads: the passage of the sentence, its neighbours, and others of the book
PER_RULE = 40  #: sentences of one book and one rule


@dataclass(frozen=True)
class Case:
    """A sentence made by a rule, and the passages that it is checked against."""

    rule: str
    original: str
    text: str
    passages: tuple[Passage, ...]


def lessons(root: Path) -> list[tuple[Chunk, ...]]:
    """The chunks of each lesson of a book."""
    found = []
    for file in discover(root, book_id=root.name.replace("_", "-")).files:
        try:
            lesson = parse(file, read_lesson(root, file))
        except BookwiseError:
            continue  # `benchmarks.books` reports the broken ones
        found.append(chunk(lesson, ChunkOptions(), revision="", now=utc_now()))
    return [chunks for chunks in found if chunks]


def cases(root: Path, per_rule: int = PER_RULE) -> tuple[list[Case], list[Case]]:
    """(edits, paraphrases) of a book, at most `per_rule` of each rule, always the same ones."""
    book = lessons(root)
    places = [(lesson, at) for lesson in book for at in range(len(lesson))]
    Random(root.name).shuffle(places)
    edits: dict[str, list[Case]] = {rule: [] for rule in EDITS}
    paraphrases: dict[str, list[Case]] = {rule: [] for rule in PARAPHRASES}
    for lesson, at in places:
        passages = _passages(lesson, at, book)
        for sentence in plain_sentences(lesson[at], lesson):
            for rules, groups in ((EDITS, edits), (PARAPHRASES, paraphrases)):
                open_rules = {name: rule for name, rule in rules.items() if len(groups[name]) < per_rule}
                for name, text in rewrites(sentence, open_rules):
                    groups[name].append(Case(name, sentence.text, text, passages))
    return [case for group in edits.values() for case in group], [c for group in paraphrases.values() for c in group]


def _passages(lesson: Sequence[Chunk], at: int, book: Sequence[Sequence[Chunk]]) -> tuple[Passage, ...]:
    near = [lesson[i] for i in (at, at + 1, at - 1) if 0 <= i < len(lesson)]
    random = Random(lesson[at].id)
    others = [random.choice(random.choice(book)) for _ in range(PASSAGES - len(near))]
    return tuple(Passage(number=number, chunk=c, score=1.0) for number, c in enumerate([*near, *others], 1))


def share(verdicts: Sequence[bool]) -> float:
    return sum(verdicts) / len(verdicts) if verdicts else 1.0


def by_rule(judged: Sequence[tuple[Case, bool]]) -> Iterator[str]:
    groups: defaultdict[str, list[bool]] = defaultdict(list)
    for case, verdict in judged:
        groups[case.rule].append(verdict)
    for rule, verdicts in groups.items():
        yield f"  {rule:22} {share(verdicts):.3f}  of {len(verdicts)}"


def books() -> list[Path]:
    others = sorted((DATA / "books").iterdir()) if (DATA / "books").exists() else []
    if not others:
        print(f"{DATA / 'books'} does not exist: only the sample book is measured")
    return [SAMPLE_BOOK, *others]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("books", nargs="*", type=Path, help="folders of books; by default all that are there")
    parser.add_argument("--failures", action="store_true", help="print the sentences that got the wrong verdict")
    options = parser.parse_args()
    all_edits: list[tuple[Case, bool]] = []
    all_paraphrases: list[tuple[Case, bool]] = []
    for root in options.books or books():
        edits, paraphrases = cases(root)
        rejected = [(case, not supported(case.text, case.passages)) for case in edits]
        passed = [(case, supported(case.text, case.passages)) for case in paraphrases]
        print(
            f"{root.name:20} rejected {share([v for _, v in rejected]):.3f} of {len(edits):4} edits, "
            f"passed {share([v for _, v in passed]):.3f} of {len(paraphrases):4} paraphrases",
            flush=True,
        )
        all_edits += rejected
        all_paraphrases += passed
    for title, judged in (("edits rejected", all_edits), ("paraphrases passed", all_paraphrases)):
        print(f"{title} {share([v for _, v in judged]):.3f} of {len(judged)}")
        print("\n".join(by_rule(judged)))
        if options.failures:
            for case, verdict in judged:
                if not verdict:
                    print(f"  {case.rule}\n    book {case.original}\n    made {case.text}")


if __name__ == "__main__":
    main()
