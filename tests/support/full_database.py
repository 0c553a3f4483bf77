"""A database with rows in its tables, written by the real stores, and all its rows as Python values."""

from datetime import timedelta
from typing import Any
from uuid import UUID

from sqlalchemy import Connection, select

from bookwise.adapters.sql.catalog import SqlCatalog
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.fact_names import KEY_CHANGES, QUEUE_SCRIPTS
from bookwise.adapters.sql.jobs import SqlJobs
from bookwise.adapters.sql.journal import SqlJournal
from bookwise.adapters.sql.keys import SqlKeys
from bookwise.adapters.sql.responses import SqlResponses
from bookwise.adapters.sql.tables import metadata
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.adapters.sql.validations import SqlValidations
from bookwise.adapters.sql.vectors import SqlVectorCache
from bookwise.domain.books import Book, Calibration, Module
from bookwise.domain.jobs import LessonOutcome
from bookwise.domain.journal import AskedQuestion, QuotedLesson
from bookwise.domain.validation_runs import FailedQuestion, KindCount, ValidationRun
from bookwise.ports import KeptResponse
from tests.support.builders import NOON, chunks, record
from tests.support.talks import WallClock, talk

Rows = dict[str, list[dict[str, Any]]]

FILLED_TABLES = (
    "api_keys",
    "archived_messages",
    "asked_questions",
    "books",
    "conversation_threads",
    "embeddings",
    "facts",
    "job_outcomes",
    "jobs",
    "kept_responses",
    "lessons",
    "validation_runs",
)
BOOKS = ("Zebra", "arms", "äpfel", "_odd")  #: sorted differently by every database


async def fill(database: Database) -> None:
    """Rows with everything that two databases could store differently."""
    clock = WallClock()
    catalog = SqlCatalog(database, index_id="index-1", exclusive=False)
    await catalog.register(Book(id="gone", title="Gone"))
    await catalog.remove_book("gone")
    for number, book_id in enumerate(BOOKS):
        await _fill_book(database, catalog, book_id, number, clock)
    keys = SqlKeys(database)
    await keys.create("course website", "reader", books=["arms"], origins=["https://book.example"])
    await keys.rotate((await keys.keys())[0].id, grace_seconds=60)
    responses = SqlResponses(database, clock=clock)
    for key in ("a", "B", "\N{SNOWMAN}"):
        await responses.claim("", key, "fingerprint", lease_seconds=60)
    await responses.keep("", "B", KeptResponse(status=200, headers={"etag": '"1"'}, body=b"\x00\xff"))
    vectors = {f"{number:040x}": (number / 7, -0.0, 1e-8) for number in range(12)}
    await SqlVectorCache(database).remember("model:1", vectors)


async def _fill_book(database: Database, catalog: SqlCatalog, book_id: str, number: int, clock: WallClock) -> None:
    calibration = Calibration(knots=((0.0, 0.0), (0.25, 1.0), (1.0, 1.0)))
    modules = (Module(name="ros2", title="ROS 2", aliases=("ros",)),)
    await catalog.register(Book(id=book_id, title=f"Book „{number}“", modules=modules, calibration=calibration))
    made = chunks("loops", f"r{number}", "A loop repeats.", "It ends.", book_id=book_id)
    await catalog.activate([record("loops", f"r{number}", made, book_id=book_id)])
    await catalog.mark_ingested(book_id, "full", NOON + timedelta(microseconds=number))
    jobs = SqlJobs(database, holder="index-1")
    job = await jobs.start((await jobs.open(book_id, "full", f"/books/{number}\x00")).job_id)
    await jobs.progress(job, [LessonOutcome(source_file="loops.md", status="failed", reason="encoding")])
    await jobs.fail(job.job_id, "no luck")
    threads = SqlThreads(database, clock=clock)
    thread_id = str(UUID(int=2**100 + number, version=4))
    await threads.create(book_id=book_id, thread_id=thread_id, metadata={"whole": 2.0, "deep": [{"b": 1, "a": None}]})
    await talk(threads, thread_id, clock, range(30))  # more than stays live: the rest is archived
    await SqlJournal(database).note(
        AskedQuestion(
            answer_id=str(UUID(int=number + 1, version=4)),
            book_id=book_id,
            owner="",
            thread_id=thread_id,
            asked_at=NOON,
            question="Why?",
            outcome="answered",
            lessons=(QuotedLesson(lesson_id="l", title="Loops", url=""),),
            mark="fixed",
            marked_at=NOON,
        )
    )
    await SqlValidations(database).add(
        ValidationRun(
            run_id=str(UUID(int=number + 1, version=4)),
            book_id=book_id,
            ran_at=NOON,
            engine="extractive",
            own_questions=bool(number % 2),
            asked=3,
            correct=2,
            kinds=(KindCount(kind="answerable", asked=3, correct=2),),
            failed=(FailedQuestion(id="loops", reason="refused „“"),),
        )
    )


async def all_rows(database: Database) -> Rows:
    """Every row of every table, in an order that does not depend on the database. Without what belongs to the database
    itself."""

    def read(connection: Connection) -> Rows:
        rows = {
            table.name: sorted(map(dict, connection.execute(select(table)).mappings()), key=repr)
            for table in metadata.sorted_tables
        }
        return rows | {"facts": [row for row in rows["facts"] if row["key"] not in (KEY_CHANGES, QUEUE_SCRIPTS)]}

    return await database.read(read)
