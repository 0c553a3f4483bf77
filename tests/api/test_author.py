"""/author: what the author sees of readers' questions, and what is remembered of the work on them."""

import csv
import io
import json
import tomllib
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest

from bookwise.domain.journal import AskedQuestion
from bookwise.domain.validation_runs import FailedQuestion, KindCount, ValidationRun
from bookwise.ingestion.discovery.profile import BookProfile
from tests.api.test_feedback import ABSENT, ask, rate
from tests.api.test_stream import VALVE
from tests.support.http_service import Opened, http_service
from tests.support.small_book import BOOK, settings_for

pytestmark = pytest.mark.anyio

EVER = datetime(2000, 1, 1, tzinfo=UTC)
PRIVATE = f"My mail is ann@uni.example. {ABSENT}"


def refused(question: str, *, minutes: int = 1, **facts: Any) -> AskedQuestion:
    return AskedQuestion(
        **{  # type: ignore[arg-type]
            "answer_id": str(uuid4()),
            "book_id": BOOK,
            "owner": "",
            "asked_at": datetime.now(UTC) - timedelta(minutes=minutes),
            "question": question,
            "outcome": "refused",
            "reason": "not-in-the-book",
            **facts,
        }
    )


async def listed(opened: Opened, **query: Any) -> Any:
    return (await opened.client.get("/author/questions", params=query)).raise_for_status().json()


async def mark(opened: Opened, status: str, *answer_ids: str) -> int:
    body = {"book_id": BOOK, "answer_ids": answer_ids, "status": status}
    marked: int = (await opened.client.post("/author/marks", json=body)).raise_for_status().json()["marked"]
    return marked


async def test_a_refused_question_is_shown_with_its_conversation_and_the_nearest_sections(opened: Opened) -> None:
    first = await ask(opened, VALVE)
    last = await ask(opened, PRIVATE, session_id=first["session_id"])
    (question,) = (await listed(opened))["questions"]
    assert (question["answer_id"], question["status"], question["reason"]) == (
        last["answer_id"],
        "open",
        "not-in-the-book",
    )
    assert "[e-mail]" in question["question"]
    detail = (await opened.client.get(f"/author/questions/{last['answer_id']}")).raise_for_status()
    assert "ann@" not in detail.text
    found = detail.json()
    assert [(message["role"], message["is_answer"]) for message in found["transcript"]] == [
        ("user", False), ("assistant", False), ("user", False), ("assistant", True)
    ]  # fmt: skip
    assert found["transcript"][0]["text"] == VALVE
    assert 1 <= len(found["nearest"]) <= 3
    assert all(place["source_file"].endswith(".md") for place in found["nearest"])


async def test_the_entries_to_copy_are_validation_questions(opened: Opened) -> None:
    answer = await ask(opened, ABSENT)
    found = (await opened.client.get(f"/author/questions/{answer['answer_id']}")).json()
    nearest = found["nearest"][0]
    (answerable,) = BookProfile.model_validate(tomllib.loads(nearest["entry"])).questions
    assert (answerable.kind, answerable.text, answerable.lesson) == ("answerable", ABSENT, nearest["source_file"])
    (refusal,) = BookProfile.model_validate(tomllib.loads(found["refusal_entry"])).questions
    assert (refusal.kind, refusal.text) == ("near-miss", ABSENT)


async def test_a_follow_up_is_shown_exported_and_copied_in_the_words_of_its_reader(opened: Opened) -> None:
    session = (await ask(opened, "What is a visa for a lidar engineer?"))["session_id"]
    words = "How much does it cost?"
    answer = await ask(opened, words, session_id=session)
    question = next(one for one in (await listed(opened))["questions"] if one["answer_id"] == answer["answer_id"])
    assert question["question"] == words
    assert "lidar" in question["searched"], "the form that was searched for is shown beside it"
    found = (await opened.client.get(f"/author/questions/{answer['answer_id']}")).raise_for_status().json()
    assert found["question"] == question
    for entry in (found["refusal_entry"], found["nearest"][0]["entry"]):
        (copied,) = BookProfile.model_validate(tomllib.loads(entry)).questions
        assert copied.text == words
        assert f"# searched for: {json.dumps(question['searched'])}" in entry
    table = (await opened.client.get("/author/questions.csv")).content.decode("utf-8-sig")
    row = next(csv.DictReader(io.StringIO(table)))
    assert (row["question"], row["searched"]) == (words, question["searched"])


async def test_a_question_of_an_earlier_release_has_only_one_form(opened: Opened) -> None:
    old = refused("How do I install it? (topic, service)")
    await opened.service.app.journal.note(old)
    found = (await opened.client.get(f"/author/questions/{old.answer_id}")).raise_for_status().json()
    assert found["question"]["question"] == old.question
    assert "searched" not in found["question"]


async def test_answers_of_a_conversation_are_safe_html(opened: Opened) -> None:
    answer = await ask(opened, VALVE)
    found = (await opened.client.get(f"/author/questions/{answer['answer_id']}")).raise_for_status().json()
    question, reply = found["transcript"]
    assert "html" not in question
    assert reply["html"].startswith("<")
    assert "**" not in reply["html"]


async def test_a_mark_moves_questions_between_the_lists_and_back(opened: Opened) -> None:
    answer = await ask(opened, ABSENT)
    assert await mark(opened, "fixed", answer["answer_id"], str(uuid4())) == 1
    assert (await listed(opened))["counts"] == {"open": 0, "fixed": 1, "ignored": 0}
    (fixed,) = (await listed(opened, status="fixed"))["questions"]
    assert fixed["answer_id"] == answer["answer_id"]
    await ask(opened, ABSENT)
    (again,) = (await listed(opened))["questions"]
    assert again["asked_again"] is True
    await mark(opened, "open", answer["answer_id"])
    assert (await listed(opened))["counts"]["open"] == 2


async def test_thirty_questions_are_grouped_by_subject(opened: Opened) -> None:
    for number in range(29):
        await opened.service.app.journal.note(refused(f"What is a lidar for, in case {number}?", minutes=number))
    assert (await listed(opened))["groups"] == []
    await opened.service.app.journal.note(refused("Which <b>visa</b> do I need?", minutes=40))
    found = await listed(opened)
    assert [(group["name"], group["count"]) for group in found["groups"]] == [("lidar", 29), ("other questions", 1)]
    assert len(found["groups"][0]["answer_ids"]) == 29
    assert (found["questions"], found["total"]) == ([], 30)


async def test_low_rated_answers_have_their_own_list_with_the_comment(opened: Opened) -> None:
    answer = await ask(opened)
    await rate(opened, answer["answer_id"], "down", "Too short for bob@x.example.")
    (question,) = (await listed(opened, kind="disliked"))["questions"]
    assert (question["question"], question["comment"]) == (VALVE, "Too short for [e-mail].")


async def test_where_questions_are_not_kept_the_lists_and_the_transcript_say_so(
    tmp_path: Path, small_book: Path
) -> None:
    async with http_service(settings_for(tmp_path / "data", keep_questions=False), small_book) as opened:
        answer = await ask(opened, ABSENT)
        found = await listed(opened)
        detail = (await opened.client.get(f"/author/questions/{answer['answer_id']}")).raise_for_status()
    assert (found["questions_kept"], found["total"], found["questions"][0]["question"]) == (False, 1, "")
    assert "world cup" not in detail.text, "also not from the session, which the reader keeps"
    assert "BOOKWISE_KEEP_QUESTIONS" in detail.json()["transcript_note"]
    assert (detail.json()["nearest"], detail.json()["refusal_entry"]) == ([], "")


async def test_a_conversation_that_is_not_stored_is_missing_with_a_reason(opened: Opened) -> None:
    entry = refused(ABSENT)
    await opened.service.app.journal.note(entry)
    found = (await opened.client.get(f"/author/questions/{entry.answer_id}")).json()
    assert (found["transcript"], found["transcript_note"] != "") == ([], True)
    assert found["nearest"]


async def test_lessons_are_counted_and_those_that_no_answer_quotes_are_named(opened: Opened) -> None:
    await ask(opened)
    found = (await opened.client.get("/author/lessons")).json()
    assert (found["answers"], found["lessons"]) == (1, 3)
    assert found["cited"][0]["title"] == "Irrigation"
    assert {lesson["title"] for lesson in found["never_cited"]} == {"Moisture Sensors", "Rails and Carriages"}


async def test_validation_runs_are_listed_newest_first(opened: Opened) -> None:
    for hours in (2, 1):
        await opened.service.app.validations.add(
            ValidationRun(
                run_id=str(uuid4()),
                book_id=BOOK,
                ran_at=datetime.now(UTC) - timedelta(hours=hours),
                engine="extractive",
                own_questions=True,
                asked=4,
                correct=4 - hours,
                kinds=(KindCount(kind="answerable", asked=4, correct=4 - hours),),
                failed=(FailedQuestion(id="price", reason="refused"),),
            )
        )
    found = (await opened.client.get("/author/validations")).json()
    assert [run["correct"] for run in found["runs"]] == [3, 2]
    assert len((await opened.client.get("/author/validations", params={"limit": 1})).json()["runs"]) == 1


async def test_the_export_is_a_table_without_formulas_addresses_or_readers(opened: Opened) -> None:
    await opened.service.app.journal.note(refused('=HYPERLINK("https://evil.example")', owner="key_0123456789ab"))
    await opened.service.app.journal.note(refused("ann@uni.example, where?", minutes=2))
    answer = await opened.client.get("/author/questions.csv", headers={"Accept": "text/csv"})
    assert answer.headers["Content-Type"] == "text/csv; charset=utf-8"
    assert answer.headers["Content-Disposition"] == 'attachment; filename="book-questions.csv"'
    head, *rows = list(csv.reader(io.StringIO(answer.content.decode("utf-8-sig"))))
    assert head[1] == "question"
    assert [row[1] for row in rows] == ['\'=HYPERLINK("https://evil.example")', "[e-mail], where?"]
    assert "key_0123456789ab" not in answer.text


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("GET", "/author/questions?kind=all", None),
        ("GET", "/author/questions?status=done", None),
        ("GET", "/author/questions?days=91", None),
        ("GET", "/author/questions.csv?days=0", None),
        ("GET", "/author/validations?limit=0", None),
        ("POST", "/author/marks", {"book_id": BOOK, "answer_ids": [], "status": "fixed"}),
        ("POST", "/author/marks", {"book_id": BOOK, "answer_ids": ["x"] * 501, "status": "fixed"}),
        ("POST", "/author/marks", {"book_id": BOOK, "answer_ids": ["x"], "status": "done"}),
        ("GET", "/author/assets/..%2Fauthor.html", None),
        ("GET", "/author/assets/Main.js", None),
    ],
)
async def test_what_makes_no_sense_is_refused(opened: Opened, method: str, path: str, body: Any) -> None:
    assert (await opened.client.request(method, path, json=body)).status_code in (404, 422)


async def test_the_page_runs_its_own_scripts_and_no_others(opened: Opened) -> None:
    page = await opened.client.get("/author")
    policy = page.headers["Content-Security-Policy"]
    assert "script-src 'self'" in policy
    assert "require-trusted-types-for 'script'; trusted-types bookwise" in policy
    assert "unsafe" not in policy
    assert "style=" not in page.text
    for name in ("main.js", "author.css"):
        assert (await opened.client.get(f"/author/assets/{name}")).headers["X-Content-Type-Options"] == "nosniff"
    assert (await opened.client.get("/author/assets/absent.js")).status_code == 404
