"""The SQL tables as SQLAlchemy Core objects. The migrations create the tables, not these objects."""

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    false,
    text,
)

from bookwise.adapters.sql.column_types import EscapedText, ExactText, JsonColumn, UtcDateTime, UtcNow, UuidText

metadata = MetaData(
    naming_convention={
        "pk": "pk_%(table_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "ix": "ix_%(table_name)s_%(column_0_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
    }
)

books = Table(
    "books",
    metadata,
    Column("id", ExactText, primary_key=True),
    Column("title", ExactText, nullable=False),
    Column("base_url", ExactText, nullable=False),
    Column("language", ExactText, nullable=False),
    Column("source", EscapedText, nullable=False),
    Column("modules", JsonColumn, nullable=False),
    Column("embedder", ExactText, nullable=False),
    Column("embedder_name", ExactText, nullable=False),
    Column("embedder_size", Integer, nullable=False),
    Column("calibration", JsonColumn),
    Column("last_full_ingest", UtcDateTime),
    Column("last_incremental_update", UtcDateTime),
    Column("generation", BigInteger, nullable=False),
    Column("created_at", UtcDateTime, nullable=False),
)

lessons = Table(
    "lessons",
    metadata,
    Column("book_id", ExactText, ForeignKey("books.id", ondelete="CASCADE"), primary_key=True),
    Column("index_id", ExactText, primary_key=True),  # during a change of embedder, a book has lessons in two indexes
    Column("source_file", ExactText, primary_key=True),
    Column("lesson_id", ExactText, nullable=False),
    Column("revision", ExactText, nullable=False),
    Column("file_hash", ExactText, nullable=False),
    Column("module", ExactText, nullable=False),
    Column("chapter", BigInteger, nullable=False),
    Column("lesson", BigInteger, nullable=False),
    Column("title", ExactText, nullable=False),
    Column("url", ExactText, nullable=False),
    Column("chunk_ids", JsonColumn, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("ingested_at", UtcDateTime, nullable=False),
    Column("text_hashes", JsonColumn),  # keys of its vectors in embeddings; NULL: stored by an earlier release
    UniqueConstraint("book_id", "index_id", "lesson_id"),
    Index("ix_lessons_live", "book_id", "index_id", "revision"),  # covers the query of `live`
)

COUNTERS = (
    "total_files",
    "files_processed",
    "files_skipped",
    "files_failed",
    "files_withdrawn",
    "chunks_created",
    "chunks_deleted",
)

jobs = Table(
    "jobs",
    metadata,
    Column("job_id", Integer, primary_key=True),
    Column("book_id", ExactText, nullable=False),  # no foreign key: jobs are kept when the book is removed
    Column("mode", ExactText, nullable=False),
    Column("status", ExactText, nullable=False),
    Column("source", EscapedText, nullable=False),
    Column("holder", ExactText, nullable=False),  # id of the index that the job writes to
    *(Column(name, Integer, nullable=False, server_default=text("0")) for name in COUNTERS),
    Column("queued_at", UtcDateTime, nullable=False),
    Column("started_at", UtcDateTime),
    Column("completed_at", UtcDateTime),
    Column("error_message", EscapedText),
    Column("warnings", JsonColumn, nullable=False, server_default=text("'[]'")),
    Column(
        "attempt", Integer, nullable=False, server_default=text("1")
    ),  # increases each time an interrupted job is queued again
    Column("pull", Boolean, nullable=False, server_default=false()),  # update the source to the head of its branch
    Column("repeat", Boolean, nullable=False, server_default=false()),  # ingest the book again after this job
    CheckConstraint(" AND ".join(f"{name} >= 0" for name in COUNTERS), name="counters"),
    CheckConstraint("(completed_at IS NULL) = (status IN ('queued', 'running'))", name="completed_at"),
    CheckConstraint("status <> 'completed' OR files_processed + files_skipped = total_files", name="files"),
    Index("ix_jobs_book_id", "book_id", "job_id"),
    # The migration adds the same WHERE on PostgreSQL. Declaring it here would load that dialect: 30 ms.
    Index("uq_jobs_active", "book_id", unique=True, sqlite_where=text("status IN ('queued', 'running')")),
    sqlite_autoincrement=True,
)

job_outcomes = Table(
    "job_outcomes",
    metadata,
    Column("outcome_id", Integer, primary_key=True),
    Column("job_id", Integer, ForeignKey("jobs.job_id", ondelete="CASCADE"), nullable=False),
    Column("source_file", EscapedText, nullable=False),
    Column("status", ExactText, nullable=False),
    Column("chunks_created", Integer, nullable=False),
    Column("chunks_deleted", Integer, nullable=False),
    Column("reason", EscapedText, nullable=False),
    Column("message", EscapedText, nullable=False),
    Index("ix_job_outcomes_job_id", "job_id", "outcome_id"),
)

# The next three tables hold the open jobs that workers share. Their rows are deleted as the work is done.
job_plans = Table(
    "job_plans",
    metadata,
    Column("job_id", Integer, ForeignKey("jobs.job_id", ondelete="CASCADE"), primary_key=True, autoincrement=False),
    Column("plan", JsonColumn, nullable=False),
)

job_steps = Table(
    "job_steps",
    metadata,
    Column("step_id", Integer, primary_key=True),
    Column("job_id", Integer, ForeignKey("jobs.job_id", ondelete="CASCADE"), nullable=False),
    Column("kind", ExactText, nullable=False),
    Column("number", Integer, nullable=False, server_default=text("0")),  # of a batch; lower ones are run first
    Column("token", Integer, nullable=False, server_default=text("0")),  # number of claims; only the newest may commit
    Column("failures", Integer, nullable=False, server_default=text("0")),  # claims that have not ended well
    Column("claimed_until", UtcDateTime),  # end of the lease
    Index("ix_job_steps_job_id", "job_id"),
    sqlite_autoincrement=True,
)

job_lessons = Table(
    "job_lessons",
    metadata,
    Column("step_id", Integer, ForeignKey("job_steps.step_id", ondelete="CASCADE"), primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("file", JsonColumn, nullable=False),
    Column("content", LargeBinary, nullable=False),  # compressed
)

embeddings = Table(
    "embeddings",
    metadata,
    Column("fingerprint", ExactText, primary_key=True),
    Column("text_hash", ExactText, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # float32, little-endian
    Column("checksum", BigInteger),  # CRC-32 of the vector; NULL: stored by an earlier release
    Column("stored_at", UtcDateTime),
)

facts = Table(
    "facts",
    metadata,
    Column("key", ExactText, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

threads = Table(
    "conversation_threads",
    metadata,
    Column("thread_id", UuidText, primary_key=True),
    Column("messages", JsonColumn, nullable=False),  # live messages, oldest first; empty in cold storage
    Column("created_at", UtcDateTime, nullable=False, server_default=UtcNow()),
    Column("updated_at", UtcDateTime, nullable=False, server_default=UtcNow()),
    Column("topic_summary", EscapedText),
    Column("metadata", JsonColumn, server_default=text("'{}'")),
    Column("book_id", ExactText, nullable=False),  # no foreign key: threads are kept when the book is removed
    Column("owner", ExactText, nullable=False),
    Column("archived_count", Integer, nullable=False, server_default=text("0")),  # rows in archived_messages
    Column("archived_at", UtcDateTime),  # when the thread was moved to cold storage
    Column("busy_until", UtcDateTime),  # set while a question is unanswered; in the past if its process has died
)
Index("idx_threads_updated", threads.c.updated_at.desc())
Index("idx_threads_created", threads.c.created_at.desc())
Index("ix_conversation_threads_owner", threads.c.owner, threads.c.updated_at)
# The migration adds the same WHERE on PostgreSQL.
Index("ix_conversation_threads_live", threads.c.updated_at, sqlite_where=text("archived_at IS NULL"))

archived_messages = Table(
    "archived_messages",
    metadata,
    Column(
        "thread_id",
        UuidText,
        ForeignKey("conversation_threads.thread_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("position", Integer, primary_key=True, autoincrement=False),  # from 0, without gaps
    Column("message", JsonColumn, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", ExactText, primary_key=True),
    Column("name", ExactText, nullable=False),
    Column("role", ExactText, nullable=False),
    Column("books", JsonColumn, nullable=False),
    Column("origins", JsonColumn, nullable=False),
    Column("rate_per_minute", Integer, nullable=False),
    Column("secret_hash", ExactText, nullable=False),  # SHA-256 in hex; the secret itself is never stored
    Column("created_at", UtcDateTime, nullable=False),
    Column("revoked_at", UtcDateTime),
    Column("previous_hash", ExactText),  # of the previous secret, which works until previous_until
    Column("previous_until", UtcDateTime),
    CheckConstraint("role IN ('reader', 'admin')", name="role"),
    Index("uq_api_keys_secret_hash", "secret_hash", unique=True),
    Index("uq_api_keys_previous_hash", "previous_hash", unique=True),
)

asked_questions = Table(
    "asked_questions",
    metadata,
    Column("answer_id", UuidText, primary_key=True),
    Column("book_id", ExactText, nullable=False),  # no foreign key: questions are kept when the book is removed
    Column("owner", ExactText, nullable=False),
    # Deleting a thread deletes its questions.
    Column("thread_id", UuidText, ForeignKey("conversation_threads.thread_id", ondelete="CASCADE")),
    Column("asked_at", UtcDateTime, nullable=False),
    Column("question", EscapedText, nullable=False),
    Column("outcome", ExactText, nullable=False),
    Column("reason", ExactText, nullable=False),
    Column("level", ExactText, nullable=False),
    Column("lessons", JsonColumn, nullable=False),  # quoted in the answer: lesson_id, title, url
    Column("thumb", ExactText),
    Column("comment", EscapedText, nullable=False, server_default=text("''")),
    Column("rated_at", UtcDateTime),
    Column("mark", ExactText),  # by the author; NULL: open
    Column("marked_at", UtcDateTime),
    Column("searched", EscapedText),  # the stand-alone form; NULL: the question itself, or a row of an earlier release
    CheckConstraint("thumb IN ('up', 'down')", name="thumb"),
    Index("ix_asked_questions_book_id", "book_id", "asked_at"),
    Index("ix_asked_questions_thread_id", "thread_id"),
    Index("ix_asked_questions_asked_at", "asked_at"),
)

validation_runs = Table(
    "validation_runs",
    metadata,
    Column("run_id", UuidText, primary_key=True),
    Column("book_id", ExactText, nullable=False),  # no foreign key: runs are kept when the book is removed
    Column("ran_at", UtcDateTime, nullable=False),
    Column("engine", ExactText, nullable=False),
    Column("own_questions", Boolean, nullable=False),
    Column("asked", Integer, nullable=False),
    Column("correct", Integer, nullable=False),
    Column("useful_asked", Integer, nullable=False),
    Column("useful", Integer, nullable=False),
    Column("kinds", JsonColumn, nullable=False),
    Column("failed", JsonColumn, nullable=False),
    Index("ix_validation_runs_book_id", "book_id", "ran_at"),
)

kept_responses = Table(
    "kept_responses",
    metadata,
    Column("owner", ExactText, primary_key=True),
    Column("idempotency_key", ExactText, primary_key=True),
    Column("fingerprint", ExactText, nullable=False),  # of the request
    Column("claimed_at", UtcDateTime, nullable=False),
    Column("claimed_until", UtcDateTime, nullable=False),  # end of the lease; after it, a row without status is free
    Column("status", Integer),  # NULL while the request runs
    Column("headers", JsonColumn),
    Column("body", LargeBinary),
    Index("ix_kept_responses_claimed_at", "claimed_at"),
)

webhook_deliveries = Table(
    "webhook_deliveries",
    metadata,
    Column("delivery_id", ExactText, primary_key=True),
    Column("claimed_at", UtcDateTime, nullable=False),
    Column("handled_at", UtcDateTime),  # NULL while a process handles it, or if that process has died
    Index("ix_webhook_deliveries_claimed_at", "claimed_at"),
)

POSTGRES_ONLY = ("rate_counts", "stream_leases")
"""Tables that only functions in the database use: see migration 0005 and rate_limits.py."""
