"""The table of the figures, on a terminal and in the documentation."""

import os
import re
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from benchmarks.trust.figure import Figure, Measured, Verdict, has_turned_red

BEGIN, END = "<!-- figures -->", "<!-- end of figures -->"


@dataclass(frozen=True, slots=True, kw_only=True)
class Line:
    """A figure with its result and that of its control."""

    figure: Figure
    measured: Measured | None
    control: Measured | None
    seconds: float = 0.0

    @property
    def verdict(self) -> Verdict:
        return self.figure.verdict(self.measured)

    @property
    def is_proven(self) -> bool:
        """Whether the figure has passed, and could have failed."""
        return self.verdict == "passed" and has_turned_red(self.control)

    @property
    def result(self) -> str:
        if self.measured is None:
            return "the measurement failed"
        counted = f"{self.measured.bad} of {self.measured.cases:,}"
        return ", ".join([counted, *map(str, self.measured.ratios)])

    @property
    def examples(self) -> tuple[str, ...]:
        return self.measured.examples if self.measured else ()

    @property
    def control_result(self) -> str:
        if self.control is None:
            return "the measurement failed"
        return "red" if has_turned_red(self.control) else "STAYED GREEN"

    def __str__(self) -> str:
        return (
            f"{self.figure.number:2} {self.figure.name:24} {self.verdict:13} {self.result}; "
            f"control ({self.figure.control}): {self.control_result}; {self.seconds:.0f} s"
        )


def table(lines: Sequence[Line]) -> str:
    """The results as a Markdown table."""
    rows = [
        f"| {line.figure.number} | {line.figure.name}: {line.figure.counts} | {line.verdict} | {line.result} "
        f"| {line.figure.control}: {line.control_result} |"
        for line in lines
    ]
    return "\n".join(["| | figure | verdict | bad, of cases | control |", "|---|---|---|---|---|", *rows])


def occasion() -> str:
    """When and on what a run measures, for the line above its table. Taken when the run begins."""
    changed = " with local changes" if _git("status", "--porcelain", "--untracked-files=no") else ""
    return (
        f"Measured on {datetime.now(UTC):%Y-%m-%d} at commit `{_git('rev-parse', '--short', 'HEAD')}`{changed}, "
        f"on {os.cpu_count()} cores with a load average of {os.getloadavg()[0]:.1f} at the start."
    )


def _git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], capture_output=True, text=True, check=True).stdout.strip()


def write_table(page: Path, lines: Sequence[Line], heading: str) -> None:
    """Puts the table between the marks of the page, below the heading."""
    text = f"{BEGIN}\n{heading}\n\n{table(lines)}\n{END}"
    before = page.read_text(encoding="utf-8")
    after, count = re.subn(f"{re.escape(BEGIN)}.*{re.escape(END)}", lambda _: text, before, flags=re.DOTALL)
    if count != 1:
        raise SystemExit(f"{page} has no place for the figures: {BEGIN} … {END}")
    page.write_text(after, encoding="utf-8")
