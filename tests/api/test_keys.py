"""/keys: admins list, create and revoke keys; a key for some books only manages keys for these."""

from pathlib import Path

import pytest

from tests.support.http_service import Opened, http_service
from tests.support.small_book import settings_for

pytestmark = pytest.mark.anyio

SITE = "https://book.example"


async def test_a_new_key_works_until_it_is_revoked_and_its_secret_is_shown_once(locked: Opened) -> None:
    admin = await locked.key(role="admin")
    body = {"name": "course site", "books": ["book", "later"], "origins": [SITE], "rate_per_minute": 7}
    created = await locked.client.post("/keys", json=body, headers=admin)
    assert (created.status_code, created.headers["Cache-Control"]) == (201, "no-store")
    key, secret = created.json()["key"], created.json()["secret"]
    assert (key["role"], key["books"], key["rate_per_minute"]) == ("reader", ["book", "later"], 7)
    assert created.json()["absent_books"] == ["later"]
    headers = {"Authorization": f"Bearer {secret}", "Origin": SITE}
    assert (await locked.client.get("/books", headers=headers)).status_code == 200
    listed = await locked.client.get("/keys", headers=admin)
    assert [(one["name"], one["is_current"]) for one in listed.json()["keys"]] == [
        ("a key", True),
        ("course site", False),
    ]
    assert secret not in listed.text
    assert (await locked.client.delete(f"/keys/{key['id']}", headers=admin)).status_code == 204
    assert (await locked.client.get("/books", headers=headers)).status_code == 401
    assert (await locked.client.get("/keys", headers=admin)).json()["keys"][1]["revoked_at"] is not None


async def test_a_key_for_some_books_sees_makes_and_revokes_only_keys_for_these(locked: Opened) -> None:
    bound = await locked.key("book", "arms", role="admin")
    await locked.key()
    await locked.key("rust")
    own, everything, foreign = await locked.service.keys.keys()
    listed = (await locked.client.get("/keys", headers=bound)).json()["keys"]
    assert [key["id"] for key in listed] == [own.id]
    for key_id in (everything.id, foreign.id, "key_000000000000", "%00"):
        assert (await locked.client.delete(f"/keys/{key_id}", headers=bound)).status_code == 404
    for books in ([], ["rust"], ["book", "rust"]):
        refused = await locked.client.post("/keys", json={"name": "more", "books": books}, headers=bound)
        assert (refused.status_code, refused.json()["code"]) == (403, "forbidden")
    body = {"name": "less", "role": "admin", "books": ["arms"]}
    assert (await locked.client.post("/keys", json=body, headers=bound)).status_code == 201
    assert len(await locked.service.keys.keys()) == 4


async def test_a_key_that_stands_in_a_page_manages_no_keys(locked: Opened) -> None:
    _, secret = await locked.service.keys.create("page", "admin", origins=[SITE])
    headers = {"Authorization": f"Bearer {secret}", "Origin": SITE}
    (key,) = await locked.service.keys.keys()
    for method, path in (("GET", "/keys"), ("POST", "/keys"), ("DELETE", f"/keys/{key.id}")):
        body = {"name": "without a page", "role": "admin"} if method == "POST" else None
        refused = await locked.client.request(method, path, json=body, headers=headers)
        assert refused.status_code == 403, method
    assert [one.revoked_at for one in await locked.service.keys.keys()] == [None]


async def test_the_first_key_of_an_open_service_closes_it(tmp_path: Path) -> None:
    async with http_service(settings_for(tmp_path / "data", embedder="hashing")) as opened:
        created = (await opened.client.post("/keys", json={"name": "me", "role": "admin"})).json()
        assert (await opened.client.get("/keys")).status_code == 401
        headers = {"Authorization": f"Bearer {created['secret']}"}
        assert (await opened.client.get("/keys", headers=headers)).json()["keys"][0]["is_current"] is True


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"name": ""},
        {"name": "x" * 101},
        {"name": "x", "role": "operator"},
        {"name": "x", "books": ["No Book!"]},
        {"name": "x", "origins": ["book.example"]},
        {"name": "x", "rate_per_minute": 0},
        {"name": "x", "secret": "mine"},
    ],
)
async def test_what_is_no_key_is_refused(locked: Opened, body: dict[str, object]) -> None:
    admin = await locked.key(role="admin")
    assert (await locked.client.post("/keys", json=body, headers=admin)).status_code == 422
    assert len(await locked.service.keys.keys()) == 1
