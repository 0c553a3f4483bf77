"""The results of validation runs in SQL."""

from dataclasses import asdict
from typing import Any

from sqlalchemy import Connection, Row, delete, insert, select

from bookwise.adapters.sql.column_types import UnreadableValue
from bookwise.adapters.sql.database import Database
from bookwise.adapters.sql.rows import plain_json
from bookwise.adapters.sql.tables import validation_runs
from bookwise.domain.validation_runs import FailedQuestion, KindCount, ValidationRun

RUNS_KEPT = 500  #: of each book


class SqlValidations:
    """One row per run."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def add(self, run: ValidationRun) -> None:
        row = {
            **asdict(run),
            "kinds": plain_json("The kinds of a validation run", [asdict(kind) for kind in run.kinds]),
            "failed": plain_json("The failed questions of a validation run", [asdict(one) for one in run.failed]),
        }
        await self._database.write(_add, row)

    async def runs(self, book_id: str, *, limit: int = 100) -> list[ValidationRun]:
        query = select(validation_runs).where(validation_runs.c.book_id == book_id)
        query = query.order_by(validation_runs.c.ran_at.desc(), validation_runs.c.run_id).limit(limit)
        return await self._database.read(lambda connection: list(map(_run_from, connection.execute(query))))


def _add(connection: Connection, row: dict[str, Any]) -> None:
    connection.execute(insert(validation_runs).values(row))
    of_book = validation_runs.c.book_id == row["book_id"]
    newest = select(validation_runs.c.run_id).where(of_book)
    newest = newest.order_by(validation_runs.c.ran_at.desc(), validation_runs.c.run_id).limit(RUNS_KEPT)
    connection.execute(delete(validation_runs).where(of_book, validation_runs.c.run_id.not_in(newest)))


def _run_from(row: Row[Any]) -> ValidationRun:
    try:
        kinds = tuple(KindCount(**kind) for kind in row.kinds)
        failed = tuple(FailedQuestion(**one) for one in row.failed)
    except TypeError as error:
        raise UnreadableValue("the results of a validation run") from error
    return ValidationRun(**{**row._mapping, "kinds": kinds, "failed": failed})
