"""The pages and their files, as a browser gets them."""

import gzip
import re
from pathlib import Path

import pytest
from benchmarks.page import WEIGHT_MAX, weight

from bookwise.api.web_files import web_file
from tests.support.http_service import Opened

pytestmark = pytest.mark.anyio

WEB = Path("src/bookwise/api/web")
MODULES = [path.relative_to(WEB).as_posix() for path in WEB.rglob("*.js")]


async def test_the_files_need_no_key_hold_no_secret_and_are_cached_and_compressed(locked: Opened) -> None:
    page = await locked.client.get("/")
    assert page.headers["content-type"].startswith("text/html")
    for name in re.findall(r'(?:src|href)="([\w/]+\.(?:js|css))"', page.text):
        file = await locked.client.get(f"/{name}", headers={"Accept-Encoding": "gzip"})
        assert file.status_code == 200, name
        assert file.headers["content-encoding"] == "gzip"
        assert file.headers["access-control-allow-origin"] == "*"
        assert file.headers["cross-origin-resource-policy"] == "cross-origin"
        assert file.content == web_file(name).body  # type: ignore[union-attr]
        again = await locked.client.get(f"/{name}", headers={"If-None-Match": file.headers["etag"]})
        assert (again.status_code, again.content) == (304, b"")


async def test_every_module_of_the_chat_is_loaded_with_the_page(locked: Opened) -> None:
    page = (await locked.client.get("/")).text
    assert [name for name in MODULES if name.startswith("chat/") and f'"{name}"' not in page] == []


@pytest.mark.parametrize("path", ["/", "/read/0f4c1c59-7f0a-5d7e-9a51-6f2b8c3d4e5f"])
async def test_nothing_but_the_services_own_script_can_run_in_a_page(locked: Opened, path: str) -> None:
    page = await locked.client.get(path)
    assert page.status_code == 200
    policy = dict(part.strip().partition(" ")[::2] for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == policy["style-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert (policy["require-trusted-types-for"], policy["trusted-types"]) == ("'script'", "bookwise")
    assert not re.search(r"<script>|\son\w+=|style=|<style", page.text)


async def test_a_browser_that_opens_a_lesson_gets_its_page_and_a_program_its_data(locked: Opened) -> None:
    lesson = "/lesson/0f4c1c59-7f0a-5d7e-9a51-6f2b8c3d4e5f"
    accepts = {"Accept": "text/html,application/xhtml+xml,*/*;q=0.8"}
    opened = await locked.client.get(lesson, params={"book_id": "book", "quote": "a & b"}, headers=accepts)
    assert opened.status_code == 303
    assert opened.headers["location"] == f"../read/{lesson.removeprefix('/lesson/')}?book=book&quote=a+%26+b"
    assert opened.headers["vary"] == "Accept"
    for accept in ("*/*", "application/json"):
        assert (await locked.client.get(lesson, headers={"Accept": accept})).status_code == 401


@pytest.mark.parametrize("path", ["/", "/read/x", "/author", "/widget.js", "/page.css", "/health", "/health/live"])
async def test_a_monitor_may_ask_for_the_headers_only(locked: Opened, path: str) -> None:
    head, get = await locked.client.head(path), await locked.client.get(path)
    assert (head.status_code, head.content) == (get.status_code, b"")
    for name in ("content-type", "content-length", "etag"):
        assert head.headers.get(name) == get.headers.get(name) or path.startswith("/health")
    assert (await locked.client.head("/chat/run")).status_code == 405


@pytest.mark.parametrize(("path", "home"), [("/nothing", "./"), ("/a/b/c", "../../"), ("/chat/x/", "../../")])
async def test_a_browser_that_opens_an_unknown_address_gets_a_page(locked: Opened, path: str, home: str) -> None:
    page = await locked.client.get(path, headers={"Accept": "text/html,*/*;q=0.8"})
    assert (page.status_code, page.headers["content-type"]) == (404, "text/html; charset=utf-8")
    assert f'<a href="{home}">' in page.text
    assert "default-src 'none'" in page.headers["content-security-policy"]
    problem = await locked.client.get(path, headers={"Accept": "*/*"})
    assert (problem.status_code, problem.json()["code"]) == (404, "not-found")


@pytest.mark.parametrize("name", [name for name in MODULES if name != "chat/html.js"])
def test_one_module_makes_html_of_a_text_and_none_runs_one(name: str) -> None:
    script = (WEB / name).read_text(encoding="utf-8")
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script)
    assert not re.search(r"createElement\(.script", script)


@pytest.mark.parametrize("name", ["../routes/page.py", "..%2fpage", "chat", "Chat", "nothing"])
async def test_only_modules_of_the_chat_are_served(locked: Opened, name: str) -> None:
    assert (await locked.client.get(f"/chat/{name}.js")).status_code in (404, 422) or name == "chat"


def test_the_page_is_light() -> None:
    assert weight() <= WEIGHT_MAX
    assert len(gzip.compress((WEB / "page.html").read_bytes())) < weight()
