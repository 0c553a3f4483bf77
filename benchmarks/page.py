"""The chat page on the sample book: its weight, and when the first words of an answer are visible, compared with the
API: over HTTP from a program, and with a bare `fetch` in the same browser.

python -m benchmarks.page [--rounds N]
"""

import argparse
import gzip
import json
import re
import shutil
import tempfile
import time
from pathlib import Path
from statistics import median
from uuid import uuid4

import anyio
import httpx2
from playwright.async_api import Page, async_playwright
from tests.support.serve_process import PROGRAM, environment, serving

SAMPLE = Path("examples/physical-ai")
WEB = Path("src/bookwise/api/web")
WEIGHT_MAX = 60_000  #: bytes, compressed
RATIO_MAX = 1.3
QUESTIONS = (
    "What is a node in ROS 2?",
    "How do I create a workspace?",
    "What is a URDF file for?",
    "How do nodes communicate?",
)
#: Asks, and resolves with the milliseconds until the answer has its first words.
ASK = """question => new Promise((resolve) => {
  const started = performance.now();
  const log = document.querySelector(".bw-log");
  const watcher = new MutationObserver(() => {
    if (!log.querySelector(".bw-exchange:last-child .bw-text")?.textContent) return;
    watcher.disconnect();
    requestAnimationFrame(() => resolve(performance.now() - started));
  });
  watcher.observe(log, { childList: true, subtree: true });
  window.bookwiseChat.ask(question);
})"""
#: The same question to the API, from the page: resolves with the milliseconds until the first words arrive.
FETCH = """async ([message, session_id]) => {
  const started = performance.now();
  const body = JSON.stringify({ message, session_id, book_id: "physical-ai-robotics" });
  const headers = { "Content-Type": "application/json" };
  const { body: stream } = await fetch("chat/stream", { method: "POST", headers, body });
  const reader = stream.pipeThrough(new TextDecoderStream()).getReader();
  for (let text = ""; !text.includes("event: content");) text += (await reader.read()).value;
  return performance.now() - started;
}"""


def weight() -> int:
    """All files that the page loads, each compressed as the service sends it."""
    html = (WEB / "page.html").read_text(encoding="utf-8")
    names = {"page.html", *re.findall(r'(?:src|href)="([\w/]+\.(?:js|css))"', html)}
    return sum(len(gzip.compress((WEB / name).read_bytes())) for name in names)


async def in_page(page: Page, question: str) -> float:
    await page.evaluate("() => window.bookwiseChat.clear()")
    shown: float = await page.evaluate(ASK, question)
    await page.locator(".bw-tools").first.wait_for()
    return shown


async def over_http(client: httpx2.AsyncClient, question: str) -> float:
    """Milliseconds until the first words arrive."""
    started = time.perf_counter()
    body = {"message": question, "session_id": str(uuid4()), "book_id": "physical-ai-robotics"}
    async with client.stream("POST", "/chat/stream", json=body) as answer:
        async for line in answer.aiter_lines():
            if line == "event: content":
                return (time.perf_counter() - started) * 1000
    raise RuntimeError("The answer has no text.")


async def measure(url: str, rounds: int) -> dict[str, float]:
    """The ways take turns, so that a busy machine slows all of them."""
    page_times, http_times, fetch_times = [], [], []
    async with async_playwright() as playwright, httpx2.AsyncClient(base_url=url, timeout=60) as client:
        browser = await playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        page = await browser.new_page()
        await page.goto(url)
        await page.locator(".bw-starters button").first.wait_for()
        for question in (*QUESTIONS, *QUESTIONS * rounds):
            page_times.append(await in_page(page, question))
            http_times.append(await over_http(client, question))
            fetch_times.append(await page.evaluate(FETCH, [question, str(uuid4())]))
        await browser.close()
    warm = len(QUESTIONS)
    times = {"page_ms": page_times, "http_ms": http_times, "fetch_ms": fetch_times}
    return {name: median(values[warm:]) for name, values in times.items()}


async def main(rounds: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        data = Path(folder) / "data"
        await anyio.run_process([PROGRAM, "ingest", str(SAMPLE)], env=environment(data))
        async with serving(data) as service:
            times = await measure(service.url, rounds)
    ratio = times["page_ms"] / times["http_ms"]
    print(json.dumps({"weight_bytes": weight(), **times, "ratio": ratio}, indent=2))
    print(
        f"weight {weight() / 1000:.1f} kB of {WEIGHT_MAX / 1000:.0f}: {'met' if weight() <= WEIGHT_MAX else 'missed'}"
    )
    print(f"first words {ratio:.2f} x the API, at most {RATIO_MAX}: {'met' if ratio <= RATIO_MAX else 'missed'}")
    print(f"first words {times['page_ms'] / times['fetch_ms']:.2f} x a fetch of the API in the same browser")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=10)
    anyio.run(main, parser.parse_args().rounds)
