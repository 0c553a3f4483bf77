"""A short form of the figures of trust that kill, wear down and surprise the service. `make trust` runs all of it."""

from importlib import import_module
from pathlib import Path

import pytest

pytestmark = [pytest.mark.anyio, pytest.mark.slow]


def loaded(name: str) -> object:
    """Imported late: it makes the server that forks children load the whole service, which other tests do not need."""
    return import_module(f"benchmarks.trust.{name}")


@pytest.mark.parametrize(("name", "cases"), [("losses", 4), ("atomicity", 20), ("soak", 100)])
async def test_a_part_of_the_sample_has_no_bad_case(name: str, cases: int) -> None:
    measured = await loaded(name).FIGURE.measure(cases, False)  # type: ignore[attr-defined]
    assert (measured.bad, measured.examples) == (0, ())
    assert measured.cases >= cases


@pytest.mark.parametrize("group", ["state_sequences", "command_lines"])
async def test_nothing_surprises(group: str, tmp_path: Path) -> None:
    assert await getattr(loaded("surprises"), group)(tmp_path, 16, False) == (16, [])
