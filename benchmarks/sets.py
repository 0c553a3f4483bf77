"""Evaluation sets on disk → questions, each with the sections that answer it."""

import csv
import json
import re
from dataclasses import dataclass
from pathlib import Path

DATA = Path("../shared/data")


@dataclass(frozen=True)
class Question:
    id: str
    text: str
    places: frozenset[tuple[str, str]]  #: (source file, anchor)
    pages: frozenset[str]


@dataclass(frozen=True)
class EvaluationSet:
    name: str
    book: Path
    questions: tuple[Question, ...]


def plain(anchor: str) -> str:
    """The letters and digits of an anchor: the sets use simpler slugs than the sites."""
    return re.sub(r"[^a-z0-9]", "", anchor.lower())


def _rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8") as handle:
        return list(csv.DictReader(handle, delimiter="\t"))


def _lines(path: Path) -> list[dict[str, object]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def _places(folder: Path, name: str) -> dict[str, tuple[str, str]]:
    if (folder / "map.tsv").exists():
        return {row["corpus-id"]: (row["file"], plain(row["anchor"])) for row in _rows(folder / "map.tsv")}
    places = {}
    for row in _lines(folder / "corpus.jsonl"):
        page, _, anchor = str(row["id"]).partition("#")
        file = f"src/{page}.md" if name == "rust-book" else page.partition("/")[2]
        places[str(row["id"])] = (file, plain(anchor))
    return places


def load(name: str, data: Path = DATA, *, queries: str = "queries.jsonl") -> EvaluationSet:
    folder = data / "evaluation" / name
    places = _places(folder, name)
    gold: dict[str, set[tuple[str, str]]] = {}
    for row in _rows(folder / "qrels.tsv"):
        gold.setdefault(row["query-id"], set()).add(places[row["corpus-id"]])
    pages = {query: {file for file, _ in sections} for query, sections in gold.items()}
    if (folder / "qrels_page.tsv").exists():
        pages = {}
        for row in _rows(folder / "qrels_page.tsv"):
            pages.setdefault(row["query-id"], set()).add(f"src/{row['corpus-id']}.md")
    questions = tuple(
        Question(
            id=str(row["id"]),
            text=str(row["text"]),
            places=frozenset(gold.get(str(row["id"]), ())),
            pages=frozenset(pages.get(str(row["id"]), ())),
        )
        for row in _lines(folder / queries)
        if str(row["id"]) in gold or str(row["id"]) in pages
    )
    return EvaluationSet(name=name, book=folder / "book", questions=questions)
