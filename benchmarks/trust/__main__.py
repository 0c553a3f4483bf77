"""The twelve figures of trust: counts and ratios, each with its smallest sample and a control that must turn red.

python -m benchmarks.trust [--only 1 9] [--share 0.1]
python -m benchmarks.trust --write docs/trust.md

`--share` measures a part of each sample, to try a change; nothing counts as passed then.
"""

import argparse
import asyncio
import sys
import time
import traceback
from pathlib import Path

from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.figures import FIGURES
from benchmarks.trust.report import Line, occasion, table, write_table


def measured(figure: Figure, cases: int, *, broken: bool) -> Measured | None:
    """The result, or None when the measurement itself has failed: that is never a pass."""
    try:
        return asyncio.run(_measure(figure, cases, broken))
    except Exception:  # noqa: BLE001 - the other figures are still measured
        traceback.print_exc()
        return None


async def _measure(figure: Figure, cases: int, broken: bool) -> Measured:
    return await figure.measure(cases, broken)


def line(figure: Figure, share: float) -> Line:
    began = time.monotonic()
    result = measured(figure, max(1, round(figure.cases * share)), broken=False)
    control = measured(figure, figure.control_cases, broken=True)
    return Line(figure=figure, measured=result, control=control, seconds=time.monotonic() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", type=int, nargs="*", default=[], help="numbers of figures")
    parser.add_argument("--share", type=float, default=1.0, help="part of each sample")
    parser.add_argument("--write", type=Path, help="put the table into this page")
    options = parser.parse_args()
    if options.write and (options.only or options.share != 1):
        parser.error("--write needs all figures and whole samples: leave out --only and --share")
    heading = occasion()
    chosen = [figure for figure in FIGURES if not options.only or figure.number in options.only]
    lines: list[Line] = []
    for figure in chosen:
        lines.append(line(figure, options.share))
        print(lines[-1], flush=True)
        for example in lines[-1].examples:
            print(f"    {example}", flush=True)
    print(f"\n{heading}\n\n{table(lines)}")
    if options.write:
        write_table(options.write, lines, heading)
    sys.exit(0 if all(each.is_proven for each in lines) else 1)


if __name__ == "__main__":
    main()
