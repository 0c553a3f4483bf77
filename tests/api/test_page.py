"""The chat page and its script, as a browser gets them."""

import re

import pytest

from tests.support.http_service import Opened

pytestmark = pytest.mark.anyio


async def test_the_page_and_its_script_need_no_key_and_hold_no_secret(locked: Opened) -> None:
    page = await locked.client.get("/")
    script = await locked.client.get("/widget.js")
    assert (page.status_code, script.status_code) == (200, 200)
    assert page.headers["content-type"].startswith("text/html")
    assert script.headers["content-type"].startswith("text/javascript")
    assert 'src="widget.js"' in page.text
    assert "bookwise-chat" in script.text


async def test_nothing_but_the_services_own_script_can_run_in_the_page(locked: Opened) -> None:
    page = await locked.client.get("/")
    policy = dict(part.strip().partition(" ")[::2] for part in page.headers["content-security-policy"].split(";"))
    assert policy["default-src"] == "'none'"
    assert policy["script-src"] == policy["connect-src"] == "'self'"
    assert policy["frame-ancestors"] == "'none'"
    assert not re.search(r"<script>|\son\w+=|style=", page.text)


async def test_the_script_loads_nothing_and_never_makes_html_of_a_text(locked: Opened) -> None:
    script = (await locked.client.get("/widget.js")).text
    assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function", script)
    assert not re.search(r"import\(|createElement\(.script", script)
