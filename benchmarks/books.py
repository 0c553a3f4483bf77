"""Real books, unchanged: each one is ingested, and each skipped or failed file has a reason.

python -m benchmarks.books
"""

import tempfile
from collections import Counter
from pathlib import Path

import anyio

from benchmarks.sets import DATA
from bookwise.domain.jobs import LessonOutcome
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.settings import load_settings
from bookwise.wiring import App, open_app


async def measure(app: App, root: Path) -> None:
    discovery = discover(root, book_id=root.name.replace("_", "-"))
    outcomes: list[LessonOutcome] = []
    job = await ingest(discovery, root, app.ingestion_kit, report=outcomes.append)
    rules = Counter(left.rule for left in discovery.left_out)
    reasons = Counter(outcome.reason for outcome in outcomes if outcome.status == "failed")
    assert all([*rules, *reasons])
    print(
        f"{root.name:20} {discovery.site:13} {job.files_processed:4} lessons {job.chunks_created:5} chunks, "
        f"skipped {dict(rules)}, failed {dict(reasons)}",
        flush=True,
    )


async def run(data: Path) -> None:
    # Only files and reasons are counted, so the test embedder is enough.
    async with open_app(load_settings(data_dir=data, embedder="hashing")) as app:
        for root in sorted((DATA / "books").iterdir()):
            await measure(app, root)


def main() -> None:
    if not (DATA / "books").exists():
        print(f"skipped: {DATA / 'books'} does not exist")
        return
    with tempfile.TemporaryDirectory() as scratch:
        anyio.run(run, Path(scratch))


if __name__ == "__main__":
    main()
