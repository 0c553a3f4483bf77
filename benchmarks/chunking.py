"""The share of expected answers that are complete in one chunk.

python -m benchmarks.chunking
"""

import json
from collections import defaultdict
from pathlib import Path

from benchmarks.sets import DATA
from bookwise.ingestion.chunk import ChunkOptions, chunk
from bookwise.ingestion.discover import discover, read_lesson
from bookwise.ingestion.parse import parse
from bookwise.ingestion.stages import utc_now


def squeezed(text: str) -> str:
    """The text without white space, because a span may be wrapped differently."""
    return "".join(text.split())


def chunks_by_file(root: Path) -> dict[str, list[str]]:
    chunks_of_file = {}
    for file in discover(root, book_id="chunking").files:
        lesson = parse(file, read_lesson(root, file))
        chunks = chunk(lesson, ChunkOptions(), revision="", now=utc_now())
        chunks_of_file[Path(file.source_file).stem] = [squeezed(c.text) for c in chunks]
    return chunks_of_file


def main() -> None:
    folder = DATA / "evaluation" / "chunking"
    if not folder.exists():
        print(f"skipped: {folder} does not exist")
        return
    chunks = chunks_by_file(folder / "corpora")
    whole: defaultdict[str, list[bool]] = defaultdict(list)
    for line in (folder / "queries.jsonl").read_text(encoding="utf-8").splitlines():
        question = json.loads(line)
        for span in question["references"]:
            text = squeezed(span["text"])
            whole[question["corpus"]].append(any(text in c for c in chunks[question["corpus"]]))
    for corpus, spans in sorted(whole.items()):
        print(f"  {corpus:20} {sum(spans) / len(spans):.3f}  of {len(spans)} spans, {len(chunks[corpus])} chunks")
    all_spans = [span for spans in whole.values() for span in spans]
    print(f"spans complete in one chunk {sum(all_spans) / len(all_spans):.3f}")


if __name__ == "__main__":
    main()
