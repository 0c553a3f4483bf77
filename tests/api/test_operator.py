"""Operations over HTTP: what they run on, what they return, and unknown ones."""

from pathlib import Path
from typing import Any

import anyio
import httpx2
import pytest
from pydantic import TypeAdapter

from bookwise.api.routes.operator import OPERATIONS
from bookwise.domain.answers import Answer
from bookwise.operations.jobs import JobReport
from bookwise.operations.read import SearchBook
from tests.support.answers import answered, blocked, interrupted, refused
from tests.support.apps import write_book
from tests.support.http_service import Opened

pytestmark = pytest.mark.anyio


async def operation(opened: Opened, name: str, **wanted: Any) -> httpx2.Response:
    headers = {"Authorization": f"Bearer {opened.service.operator_secret}"}
    return await opened.client.post(f"/operator/{name}", json=wanted, headers=headers)


async def test_a_book_that_is_new_is_ingested_from_where_the_operator_says(empty: Opened, tmp_path: Path) -> None:
    root = write_book(tmp_path / "arms", {"a.md": "# Arms\n\nThe arm has six joints.\n"})
    started = await operation(empty, "IngestBook", source=str(root), book_id="arms", mode="incremental")
    job = started.raise_for_status().json()
    with anyio.fail_after(30):
        while True:
            shown = (await operation(empty, "ReadJob", job_id=job["job_id"])).raise_for_status().content
            found = TypeAdapter(JobReport).validate_json(shown)
            if found.job.completed_at is not None:
                break
            await anyio.sleep(0.01)
    assert (found.job.status, [outcome.source_file for outcome in found.outcomes]) == ("completed", ["a.md"])
    assert (await empty.service.app.catalog.book("arms")).source == str(root)


async def test_an_error_reaches_the_operator_as_the_core_raised_it(empty: Opened) -> None:
    refused = await operation(empty, "SearchBook", text="arms", book="absent", limit=5, tier=4)
    assert (refused.status_code, refused.json()["code"]) == (404, "not-found")
    assert refused.json()["advice"]
    refused = await operation(
        empty, "AskBook", text=" ", book=None, module=None, top_k=5, tier=4, threshold=0, engine=None
    )
    assert refused.json()["detail"].startswith("There is no book yet")


@pytest.mark.parametrize(
    ("name", "status"), [("Nothing", 404), ("__class__", 404), ("SearchBook", 422), ("IngestBook", 422)]
)
async def test_an_unknown_or_malformed_operation_is_rejected(empty: Opened, name: str, status: int) -> None:
    assert (await operation(empty, name, text=["no", "text"])).status_code == status


@pytest.mark.parametrize("kind", OPERATIONS, ids=lambda kind: kind.__name__)
def test_every_operation_and_its_result_can_be_sent_as_json(kind: type[Any]) -> None:
    for travels in (kind, kind.run.__annotations__["return"]):
        assert TypeAdapter(travels).json_schema()


@pytest.mark.parametrize("answer", [answered(), refused(), refused(0.4, 0.3), blocked(), interrupted()])
def test_every_kind_of_answer_arrives_as_it_was_sent(answer: Answer) -> None:
    travels: TypeAdapter[Answer] = TypeAdapter(Answer)
    assert travels.validate_json(travels.dump_json(answer)) == answer


def test_an_operation_arrives_as_it_was_sent() -> None:
    wanted = SearchBook(text="ü – 机", book=None, limit=3, tier=2, levels=("A1", "B2"))
    travels = TypeAdapter(SearchBook)
    assert travels.validate_json(travels.dump_json(wanted)) == wanted
