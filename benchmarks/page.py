"""The chat page on the sample book: its weight, and when a reader sees the first words of an answer.

Five ways take turns, with quotes of the book and with a scripted language model:

- `whole`: the API from Python, `POST /chat/run`, until the whole answer has arrived;
- `program`: the API from Python, until the first event `content` has arrived;
- `fetch`: the request of the page as a bare `fetch` in the browser, until the same event has arrived;
- `smallest`: the smallest page that a reader could use: a box, that `fetch`, and the words as plain text;
- `page`: the chat page.

The clock of both pages starts when Enter is pressed, and stops when the browser has rendered the frame in which the
first words are visible (`IntersectionObserver`). The screen shows this frame with its next refresh. The key is held
until then, as a finger would, and nothing is asked of the browser: that would take a core from what is measured.

python -m benchmarks.page [--rounds N]
"""

import argparse
import asyncio
import gzip
import json
import re
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from statistics import median
from uuid import uuid4

import anyio
import httpx2
from anyio.streams.text import TextReceiveStream
from playwright.async_api import Page, async_playwright
from tests.browser.conftest import CHROMIUM
from tests.support.program import PROGRAM, environment
from tests.support.serve_process import serving

SAMPLE = Path("examples/physical-ai")
WEB = Path("src/bookwise/api/web")
WEIGHT_MAX = 60_000  #: bytes, compressed
RATIO_MAX = 1.3
#: What the first words on the page are compared with.
GOALS = {"whole": "the API's answer", "program": "the API's first words", "smallest": "the smallest page"}
QUESTIONS = (
    "What is a node in ROS 2?",
    "How do I create a workspace?",
    "What is a URDF file for?",
    "How do nodes communicate?",
)
MODEL_QUESTIONS = QUESTIONS[:1]  #: the scripted model has an answer to this one
WARM_UP = 4  #: answers that are not measured
PAUSE_SECONDS = 0.05  #: before each question, so that nothing of the last answer is still going on
#: The milliseconds from the next Enter until a frame is rendered in which a matching element is visible.
WATCH = """selector => new Promise((resolve) => {
  document.addEventListener("keydown", (event) => {
    const frames = new IntersectionObserver((entries) => {
      const seen = entries.find((entry) => entry.isIntersecting);
      if (!seen) return; // replaced before it was drawn
      resolve(seen.time - event.timeStamp);
      changes.disconnect();
      frames.disconnect();
    });
    const changes = new MutationObserver(() => {
      const found = [...document.querySelectorAll(selector)].filter((element) => element.textContent);
      for (const element of found) frames.observe(element);
    });
    changes.observe(document.body, { childList: true, subtree: true });
  }, { capture: true, once: true });
})"""
WORDS = ".bw-exchange:last-child .bw-text > *"
#: Reads an answer, and calls `first` with the first event `content`.
READ = """async (message, first) => {
  const body = JSON.stringify({ message, html: true, book_id: "physical-ai-robotics" });
  const headers = { "Content-Type": "application/json" };
  const { body: stream } = await fetch("chat/stream", { method: "POST", headers, body });
  const reader = stream.getReader(), decoder = new TextDecoder();
  for (let text = "", isFirst = true; ;) {
    const { value, done } = await reader.read();
    if (done) return;
    text += decoder.decode(value, { stream: true });
    const content = isFirst && /event: content\\ndata: (.*)\\n\\n/.exec(text);
    if (content) first(JSON.parse(content[1]));
    if (content) isFirst = false;
  }
}"""
FETCH = f"""async question => {{
  const started = performance.now();
  let ended;
  await ({READ})(question, () => {{ ended = performance.now(); }});
  return ended - started;
}}"""
SMALLEST = f"""() => {{
  const box = document.createElement("input");
  document.body.replaceChildren(box);
  box.addEventListener("keydown", (event) => {{
    if (event.key !== "Enter") return;
    const words = document.createElement("p");
    window.ended = ({READ})(box.value, ({{ delta }}) => {{ words.textContent = delta; box.after(words); }});
  }});
}}"""


def weight() -> int:
    """All files that the page loads, each compressed as the service sends it."""
    html = (WEB / "page.html").read_text(encoding="utf-8")
    names = {"page.html", *re.findall(r'(?:src|href)="([\w/]+\.(?:js|css))"', html)}
    return sum(len(gzip.compress((WEB / name).read_bytes())) for name in names)


async def whole_answer(client: httpx2.AsyncClient, question: str) -> float:
    started = time.perf_counter()
    (await client.post("/chat/run", json=_body(question))).raise_for_status()
    return (time.perf_counter() - started) * 1000


async def in_program(client: httpx2.AsyncClient, question: str) -> float:
    started, ended = time.perf_counter(), 0.0
    async with client.stream("POST", "/chat/stream", json=_body(question)) as answer:
        async for line in answer.aiter_lines():
            if line == "event: content" and not ended:
                ended = time.perf_counter()
    return (ended - started) * 1000


def _body(question: str) -> dict[str, str]:
    return {"message": question, "session_id": str(uuid4()), "book_id": "physical-ai-robotics"}


async def in_smallest(page: Page, question: str) -> float:
    await page.evaluate("() => document.querySelector('p')?.remove()")
    shown = await _shown(page, "input", question, "p")
    await page.evaluate("() => window.ended")
    return shown


async def in_page(page: Page, question: str) -> float:
    await page.evaluate("() => window.bookwiseChat.clear()")
    shown = await _shown(page, "textarea", question, WORDS)
    await page.locator(".bw-tools").first.wait_for()
    return shown


async def _shown(page: Page, box: str, question: str, words: str) -> float:
    await page.bring_to_front()
    await page.locator(box).fill(question)
    shown = asyncio.create_task(page.evaluate(WATCH, words))
    await anyio.sleep(PAUSE_SECONDS)
    await page.keyboard.down("Enter")
    milliseconds: float = await shown
    await page.keyboard.up("Enter")
    return milliseconds


async def measure(url: str, questions: Sequence[str], rounds: int) -> dict[str, float]:
    """Medians in milliseconds. The ways take turns, so that a busy machine slows all of them."""
    times: dict[str, list[float]] = {"whole": [], "program": [], "fetch": [], "smallest": [], "page": []}
    async with async_playwright() as playwright, httpx2.AsyncClient(base_url=url, timeout=60) as client:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page, smallest = await browser.new_page(), await browser.new_page()
        await page.goto(url)
        await page.locator(".bw-starters button").first.wait_for()
        await smallest.goto(f"{url}/page.css")
        await smallest.evaluate(SMALLEST)
        for at in range(WARM_UP + rounds * len(QUESTIONS)):
            question = questions[at % len(questions)]
            await anyio.sleep(PAUSE_SECONDS)
            times["whole"].append(await whole_answer(client, question))
            await anyio.sleep(PAUSE_SECONDS)
            times["program"].append(await in_program(client, question))
            await anyio.sleep(PAUSE_SECONDS)
            times["fetch"].append(await page.evaluate(FETCH, question))
            times["smallest"].append(await in_smallest(smallest, question))
            times["page"].append(await in_page(page, question))
        await browser.close()
    return {name: round(median(values[WARM_UP:]), 1) for name, values in times.items()}


@asynccontextmanager
async def model_settings() -> AsyncIterator[dict[str, str]]:
    """The settings of a service whose answers are written by the scripted model."""
    async with await anyio.open_process([sys.executable, "-m", "benchmarks.slow_model"]) as model:
        assert model.stdout is not None
        port = (await TextReceiveStream(model.stdout).receive()).strip()
        yield {"OPENAI_API_KEY": "sk-scripted", "OPENAI_BASE_URL": f"http://127.0.0.1:{port}/v1"}
        model.terminate()


def report(name: str, times: dict[str, float]) -> None:
    print(json.dumps({"answers": name, "ms": times}))
    for way, words in GOALS.items():
        ratio = times["page"] / times[way]
        print(f"{name}: {ratio:.2f} x {words}, at most {RATIO_MAX}: {'met' if ratio <= RATIO_MAX else 'missed'}")
    print(f"{name}: {times['page'] / times['fetch']:.2f} x a fetch in the browser")
    print(f"{name}: the smallest page takes {times['smallest'] / times['program']:.2f} x the first words of the API")


async def main(rounds: int) -> None:
    print(
        f"weight {weight() / 1000:.1f} kB of {WEIGHT_MAX / 1000:.0f}: {'met' if weight() <= WEIGHT_MAX else 'missed'}"
    )
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        await anyio.run_process([PROGRAM, "ingest", str(SAMPLE)], env=environment(data))
        async with serving(data) as service:
            report("quotes", await measure(service.url, QUESTIONS, rounds))
        async with model_settings() as settings, serving(data, **settings) as service:
            report("model", await measure(service.url, MODEL_QUESTIONS, max(1, rounds // 4)))


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=20, help="with quotes; a fourth with a model")
    anyio.run(main, parser.parse_args().rounds)
