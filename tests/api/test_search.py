"""Reading the book over HTTP: search, context, lessons, the list of books."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bookwise.schemas.search import SearchResponse
from tests.support.apps import ingested, write_book
from tests.support.http_service import Opened
from tests.support.small_book import BOOK

pytestmark = pytest.mark.anyio


async def first_hit(opened: Opened, text: str = "irrigation valve opens", **headers: str) -> dict[str, Any]:
    answer = await opened.client.post("/search", json={"text": text}, headers=headers)
    assert answer.status_code == 200, answer.text
    hit: dict[str, Any] = answer.json()["results"][0]
    return hit


async def with_gears(opened: Opened, tmp_path: Path) -> None:
    book = write_book(tmp_path / "gears", {"gears.md": "# Gears\n\nA gear has teeth that mesh with another gear.\n"})
    await ingested(opened.service.app, book, book_id="gears")


async def test_a_search_finds_the_place_best_first(opened: Opened) -> None:
    answer = await opened.client.post("/search", json={"text": "irrigation valve opens", "limit": 3})
    found = SearchResponse.model_validate_json(answer.content)
    assert len(found.results) == 3
    assert found.results[0].url.endswith("#when-the-valve-opens")
    assert (found.book_id, found.hardware_tier_filter) == (BOOK, 1)


async def test_a_filter_narrows_the_search(opened: Opened) -> None:
    answer = await opened.client.post("/search", json={"text": "irrigation valve opens", "module_filter": "motion"})
    assert {hit["module"] for hit in answer.json()["results"]} == {"motion"}


async def test_a_module_that_the_book_does_not_have_is_named_with_those_it_has(opened: Opened) -> None:
    answer = await opened.client.post("/search", json={"text": "irrigation valve", "module_filter": "wheels"})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation")
    assert "'wheels'" in answer.json()["detail"]
    assert "motion, water" in answer.json()["detail"]


@pytest.mark.parametrize(("limit", "found"), [(2, 2), (20, 8)])
async def test_the_total_counts_the_results(opened: Opened, limit: int, found: int) -> None:
    answer = (await opened.client.post("/search", json={"text": "irrigation valve", "limit": limit})).json()
    assert answer["total_found"] == len(answer["results"]) == found


async def test_a_book_that_is_not_there_is_looked_up_in_the_list_of_books(opened: Opened) -> None:
    answer = await opened.client.post("/search", json={"text": "irrigation valve", "book_id": "absent"})
    assert (answer.status_code, answer.json()["advice"]) == (404, "GET /books lists the books.")


@pytest.mark.parametrize(
    "wrong",
    [
        {"text": "ab"},
        {"limit": 0},
        {"limit": 21},
        {"hardware_tier_filter": 5},
        {"chapter_min": 3, "chapter_max": 1},
        {"text": "x" * 1001},
        {"proficiency_levels": ["Z9"]},
        {"surprise": 1},
    ],
)
async def test_a_search_that_cannot_be_meant_is_not_valid(opened: Opened, wrong: dict[str, object]) -> None:
    answer = await opened.client.post("/search", json={"text": "irrigation valve", **wrong})
    assert (answer.status_code, answer.json()["code"]) == (422, "validation")


async def test_a_chunk_is_read_with_its_neighbours(opened: Opened) -> None:
    hit = await first_hit(opened)
    found = (await opened.client.get(f"/context/{hit['chunk_id']}?before=1&after=1")).json()
    assert found["chunk"]["text"] == hit["text"]
    assert found["before"] == []
    assert [chunk["id"] for chunk in found["after"]] == [hit["next_chunk_id"]]
    assert (await opened.client.get(f"/context/{hit['chunk_id']}?after=11")).status_code == 422


async def test_a_lesson_is_read_as_a_whole(opened: Opened) -> None:
    hit = await first_hit(opened)
    lesson = (await opened.client.get(f"/lesson/{hit['parent_doc_id']}")).json()
    assert (lesson["title"], lesson["book_id"]) == ("Irrigation", BOOK)
    assert lesson["url"] == "https://greenhouse.example/water/02-irrigation"
    assert [chunk["metadata"]["chunk_index"] for chunk in lesson["chunks"]] == [0, 1, 2]


@pytest.mark.parametrize("kind", ["context", "lesson"])
async def test_what_is_not_there_is_not_found(opened: Opened, kind: str) -> None:
    answer = await opened.client.get(f"/{kind}/{uuid4()}")
    assert (answer.status_code, answer.json()["code"]) == (404, "not-found")


@pytest.mark.parametrize(("kind", "field"), [("context", "chunk_id"), ("lesson", "parent_doc_id")])
@pytest.mark.own_index
async def test_another_book_cannot_be_read_by_its_ids(locked: Opened, tmp_path: Path, kind: str, field: str) -> None:
    await with_gears(locked, tmp_path)
    hit = await first_hit(locked, **await locked.key(BOOK))
    headers, absent = await locked.key("gears"), str(uuid4())
    hidden, none = [(await locked.client.get(f"/{kind}/{id}", headers=headers)) for id in (hit[field], absent)]
    assert (hidden.status_code, none.status_code) == (404, 404)
    assert hidden.json()["detail"].replace(hit[field], absent) == none.json()["detail"]
    assert hidden.json()["advice"] == none.json()["advice"]


@pytest.mark.own_index
async def test_another_book_cannot_be_searched(locked: Opened, tmp_path: Path) -> None:
    await with_gears(locked, tmp_path)
    headers = await locked.key("gears")
    answer = await locked.client.post("/search", json={"text": "valve", "book_id": BOOK}, headers=headers)
    assert answer.status_code == 404
    chosen = await locked.client.post("/search", json={"text": "gear teeth"}, headers=headers)
    assert chosen.json()["book_id"] == "gears", "the only one this key may see"


@pytest.mark.own_index
async def test_the_books_are_those_the_caller_may_see(locked: Opened, tmp_path: Path) -> None:
    await with_gears(locked, tmp_path)
    for seen in ((BOOK,), ("gears",), ()):
        listed = (await locked.client.get("/books", headers=await locked.key(*seen))).json()["books"]
        assert [book["id"] for book in listed] == [*(seen or (BOOK, "gears"))]
    greenhouse = listed[0]
    assert (greenhouse["title"], greenhouse["lessons"], greenhouse["chunks"]) == ("Robots in the Greenhouse", 3, 8)
    assert [module["name"] for module in greenhouse["modules"]] == ["water", "motion"]
    assert str(tmp_path) not in str(listed), "where a book lies is the operator's"


async def test_without_a_book_there_is_nothing_to_search(empty: Opened) -> None:
    assert (await empty.client.post("/search", json={"text": "valve"})).status_code == 404
    assert (await empty.client.get("/books")).json() == {"books": []}
