"""The command line of a benchmark on evaluation sets: which sets to run, and where to store their index."""

import argparse
import tempfile
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

import anyio

from benchmarks.sets import DATA
from bookwise.settings import load_settings
from bookwise.wiring import App, open_app

Measure = Callable[[App, str], Awaitable[None]]


def measure_sets(description: str | None, sets: Sequence[str], measure: Measure, *, heading: str = "") -> None:
    """Measures the sets named on the command line, by default all. Reports the missing ones."""
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("sets", nargs="*", default=sets)
    parser.add_argument("--data-dir", type=Path, help="store the index here and reuse it")
    options = parser.parse_args()
    if heading:
        print(heading)
    with tempfile.TemporaryDirectory() as scratch:
        anyio.run(_run, options.sets, measure, options.data_dir or Path(scratch))


async def _run(names: Sequence[str], measure: Measure, data: Path) -> None:
    async with open_app(load_settings(data_dir=data)) as app:
        for name in names:
            if (DATA / "evaluation" / name).exists():
                await measure(app, name)
            else:
                print(f"{name}: skipped, {DATA / 'evaluation' / name} does not exist")
