"""Figure 11: what scripts, orders, addresses and paths in books, questions and answers can do."""

import asyncio
import os
from pathlib import Path

from tests.support.scripted_model import KEY

from benchmarks.served import PROGRAM
from benchmarks.trust.figure import Figure, Measured
from benchmarks.trust.hostile_paths import PATHS, run_paths
from benchmarks.trust.injections import INJECTIONS, run_injections
from benchmarks.trust.outside_requests import ADDRESSES, run_requests
from benchmarks.trust.real_service import scratch
from benchmarks.trust.xss import PAYLOADS, run_scripts

CASES = PAYLOADS + INJECTIONS + len(ADDRESSES) + PATHS


async def on_command_line(folder: Path, *arguments: str, **settings: str) -> str:
    """What a command prints, on both outputs."""
    environment = {**os.environ, "BOOKWISE_DATA_DIR": str(folder / "data"), **settings}
    process = await asyncio.create_subprocess_exec(
        PROGRAM,
        *arguments,
        env=environment,
        cwd=folder,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    return printed.decode(errors="replace")


async def measure(cases: int, broken: bool) -> Measured:
    """The control shows scripts only: nothing else can run them."""

    def part(count: int) -> int:
        return max(1, count * cases // CASES)

    async with scratch() as folder:
        bad, log = await run_scripts(folder, cases if broken else part(PAYLOADS), broken=broken)
        bad += ["the key is in the log"] * (KEY in log)
    if not broken:
        async with scratch() as folder:
            bad += await run_injections(folder, part(INJECTIONS), on_command_line)
        async with scratch() as folder:
            bad += await run_requests(folder, part(len(ADDRESSES)))
        async with scratch() as folder:
            bad += await run_paths(folder, part(PATHS))
    return Measured(cases=cases, bad=len(bad), examples=tuple(bad[:10]))


FIGURE = Figure(
    number=11,
    name="hostile content",
    counts=f"{PAYLOADS} scripts in a real browser, {INJECTIONS} orders for a model that obeys, {len(ADDRESSES)} "
    f"addresses and {PATHS} paths; bad: a script or request that runs, or a secret, another book or the model's own "
    "words in a response, a page, a command or the log",
    cases=CASES,
    control="the page takes text for HTML",
    control_cases=10,
    measure=measure,
)
