"""A database that tests share one after the other is as new for each of them."""

import psycopg
import pytest

from tests.support.databases import migrated_postgres, postgres
from tests.support.postgres import Postgres

__all__ = ["migrated_postgres", "postgres"]

pytestmark = pytest.mark.slow
ADD_JOB = """
INSERT INTO jobs (book_id, mode, status, source, holder, queued_at) VALUES ('a', 'full', 'queued', '', '', now())
RETURNING job_id
"""


def execute(url: str, statement: str) -> list[tuple[object, ...]]:
    with psycopg.connect(url, autocommit=True) as connection:
        cursor = connection.execute(statement)  # type: ignore[arg-type]
        return cursor.fetchall() if cursor.description else []


def test_rows_are_gone_and_numbers_begin_again(postgres: Postgres, migrated_postgres: str) -> None:
    with postgres.empty_database(like=migrated_postgres) as first:
        [number] = execute(first, ADD_JOB)
    with postgres.empty_database(like=migrated_postgres) as second:
        assert second == first
        assert execute(second, "SELECT * FROM jobs") == []
        assert execute(second, ADD_JOB) == [number]


@pytest.mark.parametrize(
    "change",
    [
        "ALTER TABLE jobs RENAME TO tasks",
        "ALTER TABLE jobs ADD COLUMN extra text",
        "DROP TABLE validation_runs",
        "DROP TABLE alembic_version",
        "UPDATE alembic_version SET version_num = 'another'",
        "GRANT ALL ON jobs TO public",
        "ALTER TABLE api_keys DISABLE TRIGGER ALL",
        "CREATE TABLE extra (id int)",
        "INSERT INTO facts SELECT repeat('x', 50) || n, n FROM generate_series(1, 5000) AS n",
    ],
)
def test_a_database_that_is_otherwise_changed_is_not_used_again(
    postgres: Postgres, migrated_postgres: str, change: str
) -> None:
    with postgres.empty_database(like=migrated_postgres) as first:
        execute(first, change)
    with postgres.empty_database(like=migrated_postgres) as second:
        assert second != first
