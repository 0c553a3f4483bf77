"""Figure 5: what an outage of the language model costs, and whether its end is noticed."""

import asyncio
import time
from dataclasses import dataclass, field

from tests.support.scripted_http import Reply, Request, answering
from tests.support.scripted_model import KEY, says

from benchmarks.trust.figure import Figure, Measured, Ratio
from benchmarks.trust.model_faults import MORE, QUESTION, TRUE, ask, judged
from benchmarks.trust.real_service import RealService, ingest_small_book, new_session, running, scratch
from bookwise.adapters.openai.breaker import COOL_DOWN, FAILURES
from bookwise.adapters.openai.client import ATTEMPTS

QUESTIONS = 300
OUTAGE_SECONDS = COOL_DOWN + 5  #: with at least one probe of a model that is still down
AT_ONCE = 4
RECOVERED = 10  #: questions after the outage, all of them answered by the model
NOTICE_SECONDS = COOL_DOWN + 10  #: within which the end of the outage has to be noticed


@dataclass
class Model:
    """A model that is down until it is up."""

    is_up: bool = False
    attempts: int = field(default=0)

    def reply(self, request: Request) -> Reply:
        self.attempts += 1
        return says(TRUE, MORE) if self.is_up else Reply(status=503, body=b"down")


async def question(service: RealService, ends: str) -> str:
    ended = await ask(service, QUESTION, new_session(), "json")
    return judged(ended, ends)  # type: ignore[arg-type]


async def outage(service: RealService, cases: int) -> list[str]:
    """Questions while the circuit is open, spread over the outage."""
    bad: list[str] = []
    began, pause = time.monotonic(), OUTAGE_SECONDS / QUESTIONS

    async def reader(numbers: range) -> None:
        for number in numbers:
            await asyncio.sleep(max(0.0, began + number * pause - time.monotonic()))
            bad.extend(filter(None, [await question(service, "quoted")]))

    await asyncio.gather(*(reader(range(start, cases, AT_ONCE)) for start in range(AT_ONCE)))
    return bad


async def recovery(service: RealService) -> list[str]:
    """What went wrong after the outage; the first question that reaches the model shows that its end was noticed."""
    until = time.monotonic() + NOTICE_SECONDS
    while time.monotonic() < until and await question(service, "written"):  # noqa: ASYNC110 - each turn asks
        await asyncio.sleep(1)
    return list(filter(None, [await question(service, "written") for _ in range(RECOVERED)]))


async def measure(cases: int, broken: bool) -> Measured:
    state = Model()
    async with scratch() as folder, answering(state.reply) as model:
        model.keeps_requests = False
        await ingest_small_book(folder)
        settings = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": f"{model.url}/v1"}
        async with running(folder, control="no-breaker" if broken else "", **settings) as service:
            bad = list(filter(None, [await question(service, "quoted") for _ in range(FAILURES)]))
            before = state.attempts
            bad += await outage(service, cases)
            attempts, state.is_up = state.attempts - before, True
            bad += [] if broken else await recovery(service)
    if before != FAILURES * ATTEMPTS:
        bad.append(f"{before} attempts opened the circuit")
    share = Ratio(name="upstream attempts per question while the circuit is open", value=attempts / cases, at_most=0.05)
    return Measured(cases=cases, bad=len(bad), ratios=(share,), examples=tuple(bad[:5]))


FIGURE = Figure(
    number=5,
    name="outage cost",
    counts=f"questions while the model is down for {OUTAGE_SECONDS:.0f} s; bad: one that is not answered by quotes, "
    f"or one of {RECOVERED} after the outage that the model does not answer",
    cases=QUESTIONS,
    control="the circuit never opens",
    control_cases=20,
    measure=measure,
)
