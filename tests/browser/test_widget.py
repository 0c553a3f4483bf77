"""The widget on foreign pages, in a real browser against a real service."""

from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.async_api import Browser, Locator, Page, Route, expect

from tests.browser.axe import accessibility_issues
from tests.support.served import Served, served
from tests.support.small_book import settings_for

pytestmark = [pytest.mark.anyio, pytest.mark.slow]
expect.set_options(timeout=60_000)

SITE = "https://greenhouse.example"  #: the base URL of the small book: its citations lead to these pages
IRRIGATION = f"{SITE}/water/02-irrigation"
VALVE = "When does the irrigation valve open?"
TEXT = "<h1>A lesson</h1><p id=text>The carriage rolls along the ceiling rail.</p>"

HOSTILE = """<style>
* { color: red !important; font: italic 31px/3 fantasy !important; letter-spacing: 1em !important;
  word-spacing: 2em !important; text-transform: uppercase !important; text-align: right !important;
  direction: rtl !important; background: lime !important; border: 4px dashed red !important;
  visibility: hidden !important; cursor: none !important; user-select: none !important;
  transition: all 9s !important; box-sizing: content-box !important; white-space: pre !important; }
*::before, *::after { content: "X" !important; }
html { font-size: 40px !important; }
body { transform: scale(.5); filter: blur(9px); display: flex; gap: 99px; }
bookwise-chat { display: none !important; opacity: .1 !important; }
dialog, button, textarea { display: none !important; }
</style>"""
#: Every computed property of every element in the shadow tree.
LOOK = """() => [...document.querySelector("bookwise-chat").shadowRoot.querySelectorAll("*")].map((element) => [
  `${element.localName}.${element.getAttribute("class")}`,
  Object.fromEntries([...getComputedStyle(element)].map((name) => [name, getComputedStyle(element)[name]])),
])"""
RECORD = """<script nonce=n0>
window.seen = []; window.keys = [];
for (const name of ["ready", "open", "close", "ask", "answer", "source", "feedback", "error"])
  document.addEventListener(`bookwise:${name}`, (event) => seen.push([name, event.detail]));
document.addEventListener("keydown", (event) => { keys.push(event.key); event.preventDefault(); });
document.addEventListener("securitypolicyviolation", (event) => seen.push(["violation", event.violatedDirective]));
</script>"""


@dataclass(kw_only=True)  # without slots: the browser library adds an attribute
class BookSite:
    """A site with the widget. Its pages are served inside the browser, so that they have the address of the book."""

    service: Served
    key: str
    headers: dict[str, str] = field(default_factory=dict)
    pages: dict[str, str] = field(default_factory=dict)

    def put(
        self, path: str = "/", attributes: str = "", *, head: str = "", html: str = "lang=en", body: str = TEXT
    ) -> None:
        source = f'src="{self.service.url}/widget.js" data-key="{self.key}" data-book="book"'
        meta = '<meta charset=utf-8><meta name=viewport content="width=device-width"><link rel=icon href="data:,">'
        head = f"{meta}<title>A lesson</title>{head}<script {source} {attributes} defer></script>"
        self.pages[path] = f"<!doctype html><html {html}><head>{head}</head><body>{body}</body></html>"

    async def fulfil(self, route: Route) -> None:
        path = "/" + route.request.url.removeprefix(SITE).lstrip("/").partition("?")[0].partition("#")[0]
        headers = {"Content-Type": "text/html", **self.headers}
        await route.fulfill(body=self.pages.get(path, ""), status=200 if path in self.pages else 404, headers=headers)


@pytest.fixture(scope="module")
async def service(tmp_path_factory: pytest.TempPathFactory, small_book: Path) -> AsyncIterator[Served]:
    """The small book, for those who have a key. Tests share it: each has a browser context of its own."""
    settings = settings_for(tmp_path_factory.mktemp("widget") / "data")
    async with served(settings, small_book, open_to_anyone=False) as service:
        yield service


@pytest.fixture
async def site(service: Served) -> BookSite:
    _, key = await service.service.keys.create("widget", "reader", books=["book"], origins=[SITE])
    return BookSite(service=service, key=key)


async def open_tab(page: Page, site: BookSite) -> Page:
    """The tab, with the site in it. A public site needs a permission to call a service on this machine."""
    await page.context.grant_permissions(["local-network-access"])
    await page.route(f"{SITE}/**", site.fulfil)
    return page


@pytest.fixture
async def tab(page: Page, site: BookSite) -> Page:
    return await open_tab(page, site)


def button(page: Page) -> Locator:
    return page.get_by_role("button", name="Ask the book")


def box(page: Page) -> Locator:
    return page.get_by_role("textbox", name="Your question")


async def ask(page: Page, question: str) -> None:
    await box(page).fill(question)
    await page.keyboard.press("Enter")
    await expect(page.locator("article .bw-level").last).to_be_visible()


async def events(page: Page) -> list[list[Any]]:
    seen: list[list[Any]] = await page.evaluate("seen")
    return seen


def differences(one: list[Any], other: list[Any]) -> list[str]:
    """What two looks do not have in common: element, property, both values."""
    assert [name for name, _ in one] == [name for name, _ in other]
    return [
        f"{name} {key}: {value} / {theirs[key]}"
        for (name, styles), (_, theirs) in zip(one, other, strict=True)
        for key, value in styles.items()
        if theirs[key] != value
    ]


@pytest.mark.parametrize(
    ("system", "attributes", "background"),
    [
        ("light", "", "rgb(255, 255, 255)"),
        ("dark", "", "rgb(20, 24, 31)"),
        ("light", 'data-theme="dark" data-color-dark="#ffd866"', "rgb(20, 24, 31)"),
    ],
    ids=["light", "dark", "forced"],
)
async def test_a_hostile_page_cannot_repaint_the_widget(
    browser: Browser, site: BookSite, system: Any, attributes: str, background: str
) -> None:
    site.put("/plain", attributes)
    site.put("/hostile", attributes, head=HOSTILE)
    looks = []
    for path in ("/plain", "/hostile"):
        context = await browser.new_context(color_scheme=system, reduced_motion="reduce")
        page = await open_tab(await context.new_page(), site)
        await page.goto(SITE + path)
        await button(page).click()
        await ask(page, VALVE)
        await expect(page.locator("article mark").first).to_contain_text("below 30 percent")
        await page.mouse.move(5, 5)
        looks.append(await page.evaluate(LOOK))
        if path == "/plain":
            assert await accessibility_issues(page) == []
        await expect(page.locator(".panel")).to_have_css("background-color", background)
        await context.close()
    assert len(looks[0]) > 40
    assert differences(*looks) == []


async def test_attributes_and_calls_reach_the_chat_and_events_reach_the_page(tab: Page, site: BookSite) -> None:
    attributes = (
        'data-title="Ask Gro" data-label="Frag Gro" data-color="#8b0000" data-position="bottom-left" data-radius="3"'
        ' data-lang="de" data-questions="What is a carriage? | When does the valve open?" data-hotkey="mod+i"'
        ' data-disclaimer="Gro can be wrong."'
    )
    trigger = f'<button data-bookwise-open="{VALVE}" data-bookwise-submit>Valve?</button>'
    site.put("/", attributes, head=RECORD, body=TEXT + trigger)
    await tab.goto(SITE)
    opener = tab.get_by_role("button", name="Frag Gro")
    await expect(opener).to_have_css("background-color", "rgb(139, 0, 0)")
    await expect(opener).to_have_css("color", "color(srgb-linear 1 1 1)")
    await opener.click()
    panel = tab.get_by_role("dialog", name="Ask Gro")
    await expect(panel.get_by_role("listitem")).to_have_text(["What is a carriage?", "When does the valve open?"])
    await expect(panel.get_by_text("Gro can be wrong.")).to_be_visible()
    await expect(panel).to_have_css("border-radius", "3px")
    assert (await panel.bounding_box() or {})["x"] == 20
    await expect(tab.get_by_role("textbox", name="Deine Frage")).to_be_focused()
    await tab.keyboard.type("s")
    await expect(tab.get_by_role("textbox")).to_have_value("s")
    assert await tab.evaluate("keys") == []
    await tab.keyboard.press("Control+i")
    await expect(panel).to_be_hidden()
    await expect(opener).to_be_focused()
    await tab.get_by_role("button", name="Valve?").click()
    await expect(panel.locator("article mark").first).to_contain_text("below 30 percent")
    await expect(panel.get_by_role("button", name="Hilfreich", exact=True)).to_be_visible()  # the answer is complete
    await panel.get_by_role("button", name="Quelle 1").first.click()
    await expect(panel.locator(".bw-panel mark").first).to_be_visible()
    await tab.keyboard.press("Escape")
    await panel.get_by_role("button", name="Hilfreich", exact=True).click()
    await tab.wait_for_function("seen.at(-1)[0] === 'feedback'")
    assert await names(tab) == ["ready", "open", "close", "open", "ask", "answer", "source", "feedback"]
    await tab.keyboard.press("Escape")
    await expect(tab.get_by_role("button", name="Valve?")).to_be_focused()
    heard = (
        "window.heard = []; const off = Bookwise.on('open', () => heard.push(1)); Bookwise.open({question: 'draft'});"
    )
    await tab.evaluate(heard)
    await expect(tab.get_by_role("textbox")).to_have_value("draft")
    await tab.evaluate("Bookwise.clear()")
    await expect(panel.locator("article")).to_have_count(0)
    await tab.evaluate("Bookwise.close()")
    await expect(panel).to_be_hidden()
    assert await tab.evaluate("heard.length") == 1
    await tab.evaluate("Bookwise.destroy()")
    assert await tab.evaluate("[typeof Bookwise, document.querySelectorAll('bookwise-chat').length]") == [
        "undefined",
        0,
    ]


async def names(page: Page) -> list[str]:
    return [name for name, _ in await events(page)]


async def test_the_conversation_survives_page_loads_and_this_page_is_the_open_lesson(tab: Page, site: BookSite) -> None:
    """The answer about `this page` comes from the lesson; its citation opens that lesson with the chat still there."""
    for path in ("/water/01-moisture-sensors", "/water/02-irrigation"):
        site.put(path, head=RECORD)
    await tab.goto(IRRIGATION)
    await button(tab).click()
    await ask(tab, "How do I install the package on this page?")
    await expect(tab.locator("article")).to_contain_text("greenhouse-irrigation")
    await box(tab).fill("a draft")
    await tab.goto(f"{SITE}/water/01-moisture-sensors")
    await expect(tab.locator("article")).to_contain_text("greenhouse-irrigation")
    await expect(box(tab)).to_have_value("a draft")
    await expect(box(tab)).not_to_be_focused()
    await tab.locator(".bw-chip").first.click()
    await tab.get_by_role("link", name="Open in the book").click()
    await tab.wait_for_url(f"{IRRIGATION}#**")
    await expect(tab.locator("article")).to_contain_text("greenhouse-irrigation")
    assert len(tab.context.pages) == 1


async def test_selected_text_can_be_asked_about(tab: Page, site: BookSite) -> None:
    site.put("/", body=TEXT + "<textarea id=field>editable words</textarea>")
    site.put("/off", 'data-selection="off"')
    select = tab.get_by_role("button", name="Ask about this")
    await tab.goto(SITE)
    await tab.locator("#text").select_text()
    await tab.locator("#text").dispatch_event("selectstart")
    await select.click()
    await expect(box(tab)).to_have_value("“The carriage rolls along the ceiling rail.” ")
    await expect(box(tab)).to_be_focused()
    await expect(select).to_be_hidden()
    await tab.goto(f"{SITE}/off")
    await tab.locator("#text").select_text()
    await tab.locator("#text").dispatch_event("selectstart")
    assert not [entry for entry in await loaded(tab) if entry.endswith("selection.js")]


async def loaded(page: Page) -> list[str]:
    entries: list[str] = await page.evaluate("performance.getEntriesByType('resource').map((entry) => entry.name)")
    return entries


async def test_the_theme_follows_the_page_and_a_phone_shows_the_panel_alone(tab: Page, site: BookSite) -> None:
    site.put("/", 'data-color="#8b0000"', html='lang=en data-theme="dark"')
    await tab.set_viewport_size({"width": 390, "height": 844})
    await tab.goto(SITE)
    await button(tab).wait_for()
    box = await button(tab).bounding_box()
    assert box
    assert box["width"] == box["height"] == 48, "only the icon, so that it covers less text"
    assert not [entry for entry in await loaded(tab) if "/chat/" in entry]  # nothing before the first intent
    root = tab.locator(".root")
    await expect(root).to_have_attribute("data-theme", "dark")
    changes = {
        "html.dataset.theme = 'light'": "light",
        "delete html.dataset.theme; html.className = 'js coal sidebar-visible'": "dark",  # mdBook
        "html.className = 'rust'": "light",
        "html.className = ''; document.body.dataset.mdColorScheme = 'slate'": "dark",  # Material for MkDocs
        "document.body.dataset.mdColorScheme = 'default'": "light",
        "delete document.body.dataset.mdColorScheme; html.style.colorScheme = 'dark'": "dark",
        "html.style.colorScheme = 'light dark'": "light",
    }
    for change, theme in changes.items():
        await tab.evaluate(f"{{ const html = document.documentElement; {change} }}")
        await expect(root).to_have_attribute("data-theme", theme)
    await tab.emulate_media(color_scheme="dark")
    await expect(root).to_have_attribute("data-theme", "dark")
    await button(tab).press("Enter")
    panel = tab.get_by_role("dialog")
    await expect(panel.get_by_role("listitem").first).to_be_visible()
    await panel.evaluate("panel => Promise.all(panel.getAnimations().map((animation) => animation.finished))")
    assert await panel.bounding_box() == {"x": 0, "y": 0, "width": 390, "height": 844}
    await expect(tab.locator(".bw")).to_have_attribute("data-theme", "dark")
    await ask(tab, VALVE)
    assert await accessibility_issues(tab) == []  # a dark accent is made lighter
    await tab.reload()
    await expect(button(tab)).to_be_visible()
    await expect(panel).to_be_hidden()


async def test_a_page_with_a_strict_policy_needs_only_a_nonce_and_the_address_of_the_service(
    tab: Page, site: BookSite
) -> None:
    site.headers["Content-Security-Policy"] = (
        f"default-src 'none'; script-src 'nonce-n0'; connect-src {site.service.url}; img-src data:; "
        "require-trusted-types-for 'script'; trusted-types bookwise"
    )
    site.put("/", 'nonce="n0" data-nonce="n0"', head=RECORD)
    await tab.goto(SITE)
    await button(tab).click()
    await ask(tab, VALVE)
    await expect(tab.locator("article")).to_contain_text("below 30 percent")
    assert "violation" not in await names(tab)


async def test_a_chat_that_cannot_be_loaded_says_so_and_loads_when_it_can(tab: Page, site: BookSite) -> None:
    site.put("/", head=RECORD)
    await tab.route("**/widget/panel.js", lambda route: route.abort())
    await tab.goto(SITE)
    await button(tab).click()
    failed = tab.get_by_role("button", name="The chat could not be loaded. Try again")
    await expect(failed).to_be_visible()
    assert (await names(tab))[-1] == "error"
    await tab.unroute("**/widget/panel.js")
    await failed.click()
    await expect(box(tab)).to_be_focused()
    await tab.keyboard.press("Escape")
    await expect(button(tab)).to_be_focused()


async def test_the_widget_moves_nothing_on_the_page_and_adds_one_name(tab: Page, site: BookSite) -> None:
    record = """<script>
    window.shifts = [];
    new PerformanceObserver((list) => shifts.push(...list.getEntries().map((entry) => entry.value)))
      .observe({ type: "layout-shift", buffered: true });
    window.before = new Set(Object.getOwnPropertyNames(window));
    </script>"""
    site.put("/", head=record + "<style>body { margin: 0; display: grid; min-height: 200vh }</style>")
    await tab.goto(SITE)
    await button(tab).click()
    await ask(tab, VALVE)
    await tab.keyboard.press("Escape")
    await expect(button(tab)).to_be_focused()
    await tab.evaluate("new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 50)))")
    assert await tab.evaluate("shifts.reduce((sum, value) => sum + value, 0)") == 0
    names = "Object.getOwnPropertyNames(window).filter((name) => !before.has(name) && name !== 'before')"
    assert await tab.evaluate(names) == ["Bookwise"]


async def test_another_site_with_a_copied_key_is_refused_and_says_why(tab: Page, site: BookSite) -> None:
    site.put("/", head=RECORD)
    copy = site.pages["/"]
    await tab.route("https://copy.example/**", lambda route: route.fulfill(body=copy, content_type="text/html"))
    await tab.goto("https://copy.example/")
    await button(tab).click()
    await expect(tab.get_by_role("alert")).to_contain_text("This site may not use the service with this key.")
    assert (await names(tab))[-1] == "error"


async def test_a_site_with_the_key_of_another_one_says_why_and_asks_for_no_key(tab: Page, site: BookSite) -> None:
    _, site.key = await site.service.service.keys.create("other", "reader", origins=["https://other.example"])
    site.put("/", head=RECORD)
    await tab.goto(SITE)
    await button(tab).click()
    await expect(tab.get_by_role("alert")).to_contain_text("This site may not use the service with this key.")
    await expect(tab.get_by_label("API key")).to_have_count(0)
    assert [detail["code"] for name, detail in await events(tab) if name == "error"] == ["forbidden-origin"]
