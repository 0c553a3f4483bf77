"""Scripts in a book, its titles, questions, answers and errors, shown by the chat page in a real browser."""

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from itertools import product
from pathlib import Path

from playwright.async_api import Dialog, Page, Route, async_playwright
from playwright.async_api import Error as PlaywrightError
from tests.browser.conftest import CHROMIUM, NO_CHROMIUM, OPTIONS, PATIENCE_MS
from tests.support.scripted_http import Answer, Reply, Request, answering
from tests.support.scripted_model import KEY, says

from benchmarks.trust.real_service import RealService, ingest_books, running

PER_PAGE = 15  #: payloads, until the page is loaded anew and shows them all again
BOOK = "hostile"

#: Ways to make a page run a script or load an address. JS runs it, URL is the listener.
VECTORS = (
    "<script>JS</script>",
    '<img src=x onerror="JS">',
    '<svg onload="JS">',
    '<body onload="JS">',
    '<iframe srcdoc="<script>parent.JS</script>"></iframe>',
    '<iframe src="javascript:parent.JS"></iframe>',
    '<a href="javascript:JS">x</a>',
    "[x](javascript:JS)",
    "![x](URL)",
    '<details open ontoggle="JS">x</details>',
    '<input autofocus onfocus="JS">',
    '<video><source onerror="JS"></video>',
    '<audio src=x onerror="JS"></audio>',
    '<object data="javascript:JS"></object>',
    '<embed src="javascript:JS">',
    '<math><mtext><table><mglyph><style><!--</style><img title="--&gt;&lt;img src=1 onerror=JS&gt;">',
    '"><script>JS</script>',
    "'><img src=x onerror=JS>",
    "</script><script>JS</script>",
    "</textarea><img src=x onerror=JS>",
    "</title><img src=x onerror=JS>",
    "<scr<script>ipt>JS</scr</script>ipt>",
    "<ScRiPt>JS</sCrIpT>",
    "<img/src=x/onerror=JS>",
    "<svg><script>JS</script></svg>",
    '<svg><animate onbegin="JS" attributeName=x dur=1s></svg>',
    '<marquee onstart="JS">x</marquee>',
    '<select autofocus onfocus="JS"></select>',
    "<style>@import 'URL';</style>",
    '<link rel=stylesheet href="URL">',
    '<meta http-equiv=refresh content="0;url=URL">',
    '<base href="URL/">',
    '<form action="javascript:JS"><input type=submit></form>',
    '<div style="background:url(URL)">x</div>',
    '<img src="URL">',
    "![a][a]\n\n[a]: URL",
    "<URL>",
    "`<img src=x onerror=JS>`",
    "```html\n<img src=x onerror=JS>\n```",
    "| <img src=x onerror=JS> | b |\n|---|---|\n| c | <svg onload=JS> |",
    "&lt;script&gt;JS&lt;/script&gt;",
    "&#60;img src=x onerror=JS&#62;",
    "\\u003cimg src=x onerror=JS\\u003e",
    "%3Cscript%3EJS%3C/script%3E",
    "[x](data:text/html,<script>JS</script>)",
    "[x](JaVaScRiPt:JS)",
    '[x](https://a.example/"onmouseover="JS)',
    "**<b onmouseover=JS>x</b>**",
    "\ufdd0<img src=x onerror=JS>\ufdd1",
    "{{constructor.constructor('JS')()}} ${JS}",
)
EFFECTS = ("window.pwned=N", "window.pwned=N;fetch('URL')", "window.pwned=N;new Image().src='URL'")
PAYLOADS = len(VECTORS) * len(EFFECTS)

#: The elements that the chat and its server make; no other may appear in the page, and none with a handler.
SCAN = """() => {
  const known = new Set(("HTML HEAD META TITLE LINK SCRIPT BODY MAIN NOSCRIPT DIV SECTION ARTICLE ASIDE HEADER NAV " +
    "FORM FIELDSET LEGEND LABEL INPUT TEXTAREA SELECT OPTION BUTTON SVG PATH DETAILS SUMMARY H1 H2 H3 H4 H5 H6 P " +
    "BR HR STRONG EM S CODE PRE BLOCKQUOTE UL OL LI A MARK SUP SPAN TABLE THEAD TBODY TR TH TD " +
    "MATH MROW MI MO MN MTEXT MSUP MSUB MFRAC MSQRT").split(" "));
  const bad = window.pwned === undefined ? [] : ["script " + window.pwned + " ran"];
  for (const element of document.querySelectorAll("*")) {
    const tag = element.tagName.toUpperCase();
    if (!known.has(tag)) bad.push("element " + tag);
    for (const { name } of element.attributes) {
      if (/^on|^srcdoc$/.test(name) || (name === "src" && tag !== "SCRIPT")) bad.push("attribute " + name);
    }
    if (tag === "A" && !/^https?:/.test(element.href)) bad.push("link " + element.href);
    if (tag === "FORM" && element.hasAttribute("action")) bad.push("form");
    if (tag === "INPUT" && element.closest(".bw-text, .bw-question")) bad.push("input");
  }
  if (document.scripts.length !== 1 || window.length) bad.push("script or frame");
  return bad;
}"""
ASK = "message => window.bookwiseChat.ask(message)"
#: Opens the last source; returns the address of its lesson, or null if there is none.
OPEN_SOURCE = """async () => {
  const link = () => [...document.querySelectorAll(".bw-panel-links a")].at(-1)?.href ?? null;
  const chip = [...document.querySelectorAll(".bw-chip, .bw-source")].at(-1);
  chip?.click();
  for (let wait = 0; chip && wait < 100 && !link(); wait++) await new Promise((done) => setTimeout(done, 50));
  return link();
}"""


@dataclass
class Listener:
    """Counts visits; there should be none."""

    visits: list[str] = field(default_factory=list)

    def __call__(self, request: Request) -> Reply:
        self.visits.append(request.target)
        return Reply(headers={"Access-Control-Allow-Origin": "*"})


def payloads(url: str) -> list[str]:
    """All payloads; each names itself by its number."""
    made = []
    for number, (effect, vector) in enumerate(product(EFFECTS, VECTORS)):
        js = effect.replace("N", str(number)).replace("URL", f"{url}/{number}")
        made.append(vector.replace("JS", js).replace("URL", f"{url}/{number}"))
    return made


def lesson(number: int, payload: str) -> str:
    """A lesson with the payload in its metadata, title, text, list and code."""
    line = payload.splitlines()[0]
    head = (
        f"---\ntitle: {json.dumps(f'Gadget{number} {line}')}\n---\n# Gadget{number}\n\n## About gadget{number} {line}"
    )
    return (
        f"{head}\n\nThe gadget{number} opens at {number} percent. {payload}\n\n- gadget{number}: {line}\n\n{payload}\n"
    )


def book(hostile: Sequence[str]) -> dict[str, str]:
    about = f"[book]\nid = {json.dumps(BOOK)}\ntitle = {json.dumps('A book ' + hostile[1])}\n"
    return {"bookwise.toml": about} | {f"{n:03}.md": lesson(n, payload) for n, payload in enumerate(hostile)}


def model_of(hostile: Sequence[str]) -> Answer:
    """A model that repeats the payload; asked for quotes, it has nothing to say."""

    def reply(request: Request) -> Reply:
        question = str(request.json["messages"][-1]["content"]).rpartition("USER QUESTION:")[2]
        found = re.search(r"gadget(\d+)", question)
        if not found or "quote" in question:
            return says("", finish="content_filter")
        number = int(found[1])
        half = len(hostile[number]) // 2
        words = (f"The gadget{number} opens at {number} percent. [1] ", hostile[number][:half], hostile[number][half:])
        return says(*words, " [1]")

    return reply


async def show(page: Page, number: int, payload: str) -> list[str]:
    """The payload as a question, an answer of the model, a quote with its title, an error, and a cited passage."""
    await page.evaluate(ASK, f"What is gadget{number}? {payload}"[:1000])
    await page.evaluate(ASK, f"Please quote what gadget{number} is.")
    await page.evaluate(ASK, f"fail: {payload}"[:1000])
    await page.evaluate(OPEN_SOURCE)
    return [f"xss {number} {payload[:60]!r}: {bad}" for bad in await page.evaluate(SCAN)]


async def show_all(page: Page, url: str, payloads: Mapping[int, str]) -> list[str]:
    """Each payload, by its number, then all of them after a reload and in a lesson."""
    bad: list[str] = []
    await page.goto(url)
    for number, payload in payloads.items():
        bad += await show(page, number, payload)
    await page.reload()
    await page.evaluate("() => window.bookwiseChat.starting")
    bad += [f"xss after reload: {each}" for each in await page.evaluate(SCAN)]
    if lesson := await page.evaluate(OPEN_SOURCE):
        await page.goto(lesson)
        await page.get_by_role("heading", level=1).first.wait_for()
        bad += [f"xss in the lesson: {each}" for each in await page.evaluate(SCAN)]
    return bad


async def fail_on_request(route: Route) -> None:
    """Problems that name what was sent, as a service with a bug could send them."""
    sent = json.loads(route.request.post_data or "{}").get("message", "")
    if not sent.startswith("fail: "):
        return await route.continue_()
    problem = {"type": "about:blank", "title": sent, "status": 422, "detail": sent, "advice": sent, "code": "x"}
    return await route.fulfill(status=422, content_type="application/problem+json", body=json.dumps(problem))


def _note_dialog(bad: list[str], dialog: Dialog) -> None:
    bad.append(f"xss: dialog {dialog.message}")


async def in_browser(service: RealService, hostile: Sequence[str], chosen: Sequence[int]) -> list[str]:
    if CHROMIUM is None:
        raise RuntimeError(NO_CHROMIUM)
    bad: list[str] = []
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        for start in range(0, len(chosen), PER_PAGE):
            context = await browser.new_context()
            page = await context.new_page()
            page.set_default_timeout(PATIENCE_MS)
            page.on("dialog", partial(_note_dialog, bad))
            await page.route("**/chat/stream", fail_on_request)
            try:
                bad += await show_all(page, service.url, {n: hostile[n] for n in chosen[start : start + PER_PAGE]})
            except PlaywrightError as error:
                if "navigation" not in str(error):
                    raise
                bad.append("xss: a payload has left the page")
            await context.close()
        await browser.close()
    return bad


async def run_scripts(folder: Path, count: int, *, broken: bool) -> tuple[list[str], str]:
    """Shows `count` payloads. Returns what went wrong, and the log of the service."""
    listener = Listener()
    async with answering(listener) as canary:
        hostile = payloads(canary.url)
        chosen = [number * len(hostile) // count for number in range(count)]
        await ingest_books(folder, {BOOK: book(hostile)}, embedder="hashing")
        async with answering(model_of(hostile)) as model:
            settings = {
                "BOOKWISE_EMBEDDER": "hashing",
                "BOOKWISE_UNSUPPORTED": "mark",  # shows what no passage supports, such as a script of the model
                "OPENAI_API_KEY": KEY,
                "OPENAI_BASE_URL": f"{model.url}/v1",
            }
            async with running(folder, control="raw-html" if broken else "", **settings) as service:
                bad = await in_browser(service, hostile, chosen)
                log = service.log
    return bad + [f"xss: the browser loaded {visit}" for visit in listener.visits], log
