"""The first tables: books, lessons, jobs and their outcomes, embeddings, facts."""

from typing import Any

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
UTC_TIME = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")
ACTIVE = sa.text("status IN ('queued', 'running')")
COUNTERS = (
    "total_files",
    "files_processed",
    "files_skipped",
    "files_failed",
    "files_withdrawn",
    "chunks_created",
    "chunks_deleted",
)


def upgrade() -> None:
    create_books()
    create_lessons()
    create_jobs()
    create_outcomes()
    create_embeddings_and_facts()


def create_books() -> None:
    op.create_table(
        "books",
        sa.Column("id", sa.Text, nullable=False),
        *required("title", "base_url", "language", "source", kind=sa.Text()),
        *required("modules", kind=JSON),
        *required("embedder", "embedder_name", kind=sa.Text()),
        *required("embedder_size", kind=sa.Integer()),
        sa.Column("calibration", JSON),
        sa.Column("last_full_ingest", UTC_TIME),
        sa.Column("last_incremental_update", UTC_TIME),
        *required("generation", kind=sa.BigInteger()),
        *required("created_at", kind=UTC_TIME),
        sa.PrimaryKeyConstraint("id", name="pk_books"),
    )


def create_lessons() -> None:
    op.create_table(
        "lessons",
        *required("book_id", "source_file", "lesson_id", "revision", "file_hash", "module", kind=sa.Text()),
        *required("chapter", "lesson", kind=sa.BigInteger()),
        *required("title", "url", kind=sa.Text()),
        *required("chunk_ids", kind=JSON),
        *required("chunk_count", kind=sa.Integer()),
        *required("ingested_at", kind=UTC_TIME),
        *required("index_id", kind=sa.Text()),
        sa.PrimaryKeyConstraint("book_id", "index_id", "source_file", name="pk_lessons"),
        sa.UniqueConstraint("book_id", "index_id", "lesson_id", name="uq_lessons_book_id_index_id_lesson_id"),
        sa.ForeignKeyConstraint(["book_id"], ["books.id"], name="fk_lessons_book_id", ondelete="CASCADE"),
    )
    op.create_index("ix_lessons_live", "lessons", ["book_id", "index_id", "revision"])


def create_jobs() -> None:
    op.create_table(
        "jobs",
        sa.Column("job_id", sa.Integer, nullable=False),
        *required("book_id", "mode", "status", "source", "holder", kind=sa.Text()),
        *(sa.Column(name, sa.Integer, nullable=False, server_default=sa.text("0")) for name in COUNTERS),
        *required("queued_at", kind=UTC_TIME),
        sa.Column("started_at", UTC_TIME),
        sa.Column("completed_at", UTC_TIME),
        sa.Column("error_message", sa.Text),
        sa.PrimaryKeyConstraint("job_id", name="pk_jobs"),
        sa.CheckConstraint(" AND ".join(f"{name} >= 0" for name in COUNTERS), name="ck_jobs_counters"),
        sa.CheckConstraint("(completed_at IS NULL) = (status IN ('queued', 'running'))", name="ck_jobs_completed_at"),
        sa.CheckConstraint(
            "status <> 'completed' OR files_processed + files_skipped = total_files", name="ck_jobs_files"
        ),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_jobs_book_id", "jobs", ["book_id", "job_id"])
    op.create_index("uq_jobs_active", "jobs", ["book_id"], unique=True, sqlite_where=ACTIVE, postgresql_where=ACTIVE)


def create_outcomes() -> None:
    op.create_table(
        "job_outcomes",
        sa.Column("outcome_id", sa.Integer, nullable=False),
        *required("job_id", kind=sa.Integer()),
        *required("source_file", "status", kind=sa.Text()),
        *required("chunks_created", "chunks_deleted", kind=sa.Integer()),
        *required("reason", "message", kind=sa.Text()),
        sa.PrimaryKeyConstraint("outcome_id", name="pk_job_outcomes"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.job_id"], name="fk_job_outcomes_job_id", ondelete="CASCADE"),
    )
    op.create_index("ix_job_outcomes_job_id", "job_outcomes", ["job_id", "outcome_id"])


def create_embeddings_and_facts() -> None:
    op.create_table(
        "embeddings",
        *required("fingerprint", "text_hash", kind=sa.Text()),
        *required("vector", kind=sa.LargeBinary()),
        sa.PrimaryKeyConstraint("fingerprint", "text_hash", name="pk_embeddings"),
    )
    op.create_table(
        "facts",
        *required("key", kind=sa.Text()),
        *required("value", kind=sa.BigInteger()),
        sa.PrimaryKeyConstraint("key", name="pk_facts"),
    )


def required(*names: str, kind: sa.types.TypeEngine[Any]) -> list[sa.Column[Any]]:
    return [sa.Column(name, kind, nullable=False) for name in names]
