"""Share of exact answer spans that lie whole in one chunk.

python -m benchmarks.chunking
"""

import json
from collections import defaultdict
from pathlib import Path

from benchmarks.sets import DATA
from bookwise.ingestion.chunk import ChunkOptions, chunk
from bookwise.ingestion.discover import discover, read_lesson
from bookwise.ingestion.parse import parse
from bookwise.ingestion.pipeline import utc_now


def squeezed(text: str) -> str:
    """Without white space: a span may be wrapped differently, not worded differently."""
    return "".join(text.split())


def chunks_by_file(root: Path) -> dict[str, list[str]]:
    found = {}
    for file in discover(root, book_id="chunking").files:
        lesson = parse(file, read_lesson(root, file))
        chunks = chunk(lesson, ChunkOptions(), revision="", now=utc_now())
        found[Path(file.source_file).stem] = [squeezed(c.text) for c in chunks]
    return found


def main() -> None:
    folder = DATA / "evaluation" / "chunking"
    if not folder.exists():
        print(f"left out: {folder} is not there")
        return
    chunks = chunks_by_file(folder / "corpora")
    whole: defaultdict[str, list[bool]] = defaultdict(list)
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        for span in question["references"]:
            text = squeezed(span["text"])
            whole[question["corpus"]].append(any(text in c for c in chunks[question["corpus"]]))
    for corpus, found in sorted(whole.items()):
        print(f"  {corpus:20} {sum(found) / len(found):.3f}  of {len(found)} spans, {len(chunks[corpus])} chunks")
    everything = [span for found in whole.values() for span in found]
    print(f"spans whole in one chunk {sum(everything) / len(everything):.3f}")


if __name__ == "__main__":
    main()
