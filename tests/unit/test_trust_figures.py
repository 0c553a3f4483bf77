"""A figure of trust claims nothing that was not measured, and nothing that could not have failed."""

from pathlib import Path

import pytest
from benchmarks.trust.figure import Figure, Measured, Ratio
from benchmarks.trust.report import BEGIN, END, Line, table, write_table

GOOD = Measured(cases=200, bad=0)
BAD = Measured(cases=10, bad=10)


async def no_measurement(cases: int, broken: bool) -> Measured:
    raise AssertionError


FIGURE = Figure(
    number=1,
    name="losses",
    counts="kills; bad: an acknowledged answer that is gone",
    cases=200,
    control="nothing is stored",
    control_cases=10,
    measure=no_measurement,
)


@pytest.mark.parametrize(
    ("measured", "verdict"),
    [
        (GOOD, "passed"),
        (Measured(cases=200, bad=1), "failed"),
        (Measured(cases=199, bad=0), "not measured"),
        (Measured(cases=199, bad=1), "not measured"),
        (None, "not measured"),
        (Measured(cases=200, bad=0, ratios=(Ratio(name="p95", value=3.1, at_most=3.0),)), "failed"),
        (Measured(cases=200, bad=0, ratios=(Ratio(name="p95", value=3.0, at_most=3.0),)), "passed"),
        (Measured(cases=200, bad=0, ratios=(Ratio(name="goodput", value=0.79, at_least=0.8),)), "failed"),
    ],
)
def test_only_a_whole_sample_counts(measured: Measured | None, verdict: str) -> None:
    assert FIGURE.verdict(measured) == verdict


@pytest.mark.parametrize("control", [GOOD, None])
def test_a_figure_whose_control_stays_green_proves_nothing(control: Measured | None) -> None:
    line = Line(figure=FIGURE, measured=GOOD, control=control)
    assert line.verdict == "passed"
    assert not line.is_proven
    assert ("STAYED GREEN" if control else "nothing is stored: the measurement failed") in table([line])
    assert Line(figure=FIGURE, measured=GOOD, control=BAD).is_proven


def test_the_table_replaces_the_one_of_the_page(tmp_path: Path) -> None:
    page = tmp_path / "trust.md"
    page.write_text(f"# Trust\n\n{BEGIN}\nold\n{END}\n\nThe end.\n")
    write_table(page, [Line(figure=FIGURE, measured=GOOD, control=BAD)], "Measured today.")
    text = page.read_text()
    assert "Measured today." in text
    assert "| 1 | losses: kills; bad: an acknowledged answer that is gone | passed | 0 of 200 |" in text
    assert "old" not in text
    assert text.endswith("The end.\n")
    page.write_text("# Another page\n")
    with pytest.raises(SystemExit, match="no place"):
        write_table(page, [], "")
