"""What Bookwise keeps in SQL, as SQLAlchemy Core; the migrations, not these, create the tables."""

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    Column,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    UniqueConstraint,
    Uuid,
    text,
)

from bookwise.adapters.sql.column_types import Json, Moment, Now, Remark, Words

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
    Column("id", Words, primary_key=True),
    Column("title", Words, nullable=False),
    Column("base_url", Words, nullable=False),
    Column("language", Words, nullable=False),
    Column("source", Remark, nullable=False),
    Column("modules", Json, nullable=False),
    Column("embedder", Words, nullable=False),
    Column("embedder_name", Words, nullable=False),
    Column("embedder_size", Integer, nullable=False),
    Column("calibration", Json),
    Column("last_full_ingest", Moment),
    Column("last_incremental_update", Moment),
    Column("generation", BigInteger, nullable=False),
    Column("created_at", Moment, nullable=False),
)

lessons = Table(
    "lessons",
    metadata,
    Column("book_id", Words, ForeignKey("books.id", ondelete="CASCADE"), primary_key=True),
    Column("index_id", Words, primary_key=True),  # two embedders may serve a book while it moves over
    Column("source_file", Words, primary_key=True),
    Column("lesson_id", Words, nullable=False),
    Column("revision", Words, nullable=False),
    Column("file_hash", Words, nullable=False),
    Column("module", Words, nullable=False),
    Column("chapter", BigInteger, nullable=False),
    Column("lesson", BigInteger, nullable=False),
    Column("title", Words, nullable=False),
    Column("url", Words, nullable=False),
    Column("chunk_ids", Json, nullable=False),
    Column("chunk_count", Integer, nullable=False),
    Column("ingested_at", Moment, nullable=False),
    UniqueConstraint("book_id", "index_id", "lesson_id"),
    Index("ix_lessons_live", "book_id", "index_id", "revision"),  # answers `live` without reading rows
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
    Column("book_id", Words, nullable=False),  # no foreign key: jobs outlive their book
    Column("mode", Words, nullable=False),
    Column("status", Words, nullable=False),
    Column("source", Remark, nullable=False),
    Column("holder", Words, nullable=False),  # whose process runs it: the index data it writes to
    *(Column(name, Integer, nullable=False, server_default=text("0")) for name in COUNTERS),
    Column("queued_at", Moment, nullable=False),
    Column("started_at", Moment),
    Column("completed_at", Moment),
    Column("error_message", Remark),
    Column("attempt", Integer, nullable=False, server_default=text("1")),  # one more after each start that broke off
    CheckConstraint(" AND ".join(f"{name} >= 0" for name in COUNTERS), name="counters"),
    CheckConstraint("(completed_at IS NULL) = (status IN ('queued', 'running'))", name="completed_at"),
    CheckConstraint("status <> 'completed' OR files_processed + files_skipped = total_files", name="files"),
    Index("ix_jobs_book_id", "book_id", "job_id"),
    # On PostgreSQL it has the same WHERE, by its migration; saying so here would load that dialect, 30 ms.
    Index("uq_jobs_active", "book_id", unique=True, sqlite_where=text("status IN ('queued', 'running')")),
    sqlite_autoincrement=True,
)

job_outcomes = Table(
    "job_outcomes",
    metadata,
    Column("outcome_id", Integer, primary_key=True),
    Column("job_id", Integer, ForeignKey("jobs.job_id", ondelete="CASCADE"), nullable=False),
    Column("source_file", Remark, nullable=False),
    Column("status", Words, nullable=False),
    Column("chunks_created", Integer, nullable=False),
    Column("chunks_deleted", Integer, nullable=False),
    Column("reason", Remark, nullable=False),
    Column("message", Remark, nullable=False),
    Index("ix_job_outcomes_job_id", "job_id", "outcome_id"),
)

embeddings = Table(
    "embeddings",
    metadata,
    Column("fingerprint", Words, primary_key=True),
    Column("text_hash", Words, primary_key=True),
    Column("vector", LargeBinary, nullable=False),  # float32, little-endian
)

facts = Table(
    "facts",
    metadata,
    Column("key", Words, primary_key=True),
    Column("value", BigInteger, nullable=False),
)

threads = Table(
    "conversation_threads",
    metadata,
    Column("thread_id", Uuid(as_uuid=False), primary_key=True),
    Column("messages", Json, nullable=False),  # the live ones, oldest first; empty in cold storage
    Column("created_at", Moment, nullable=False, server_default=Now()),
    Column("updated_at", Moment, nullable=False, server_default=Now()),
    Column("topic_summary", Remark),
    Column("metadata", Json, server_default=text("'{}'")),
    Column("book_id", Words, nullable=False),  # no foreign key: threads outlive their book
    Column("owner", Words, nullable=False),
    Column("archived_count", Integer, nullable=False, server_default=text("0")),  # rows in archived_messages
    Column("archived_at", Moment),  # since when it is in cold storage
    Column("busy_until", Moment),  # set while a question has no answer; in the past when its process is gone
)
Index("idx_threads_updated", threads.c.updated_at.desc())
Index("idx_threads_created", threads.c.created_at.desc())
Index("ix_conversation_threads_owner", threads.c.owner, threads.c.updated_at)
# On PostgreSQL it has the same WHERE, as with the jobs.
Index("ix_conversation_threads_live", threads.c.updated_at, sqlite_where=text("archived_at IS NULL"))

archived_messages = Table(
    "archived_messages",
    metadata,
    Column(
        "thread_id",
        Uuid(as_uuid=False),
        ForeignKey("conversation_threads.thread_id", ondelete="CASCADE"),
        primary_key=True,
    ),
    Column("position", Integer, primary_key=True, autoincrement=False),  # from 0, without gaps
    Column("message", Json, nullable=False),
)

api_keys = Table(
    "api_keys",
    metadata,
    Column("key_id", Words, primary_key=True),
    Column("name", Words, nullable=False),
    Column("role", Words, nullable=False),
    Column("books", Json, nullable=False),
    Column("origins", Json, nullable=False),
    Column("rate_per_minute", Integer, nullable=False),
    Column("secret_hash", Words, nullable=False),  # SHA-256 in hex; the secret itself is kept nowhere
    Column("created_at", Moment, nullable=False),
    Column("revoked_at", Moment),
    Column("previous_hash", Words),  # of the secret before the last rotation, which still works for a while
    Column("previous_until", Moment),
    CheckConstraint("role IN ('reader', 'admin')", name="role"),
    Index("uq_api_keys_secret_hash", "secret_hash", unique=True),
    Index("uq_api_keys_previous_hash", "previous_hash", unique=True),
)

asked_questions = Table(
    "asked_questions",
    metadata,
    Column("answer_id", Uuid(as_uuid=False), primary_key=True),
    Column("book_id", Words, nullable=False),  # no foreign key: what readers asked outlives the book
    Column("owner", Words, nullable=False),
    # A reader who deletes a thread deletes what it asked.
    Column("thread_id", Uuid(as_uuid=False), ForeignKey("conversation_threads.thread_id", ondelete="CASCADE")),
    Column("asked_at", Moment, nullable=False),
    Column("question", Remark, nullable=False),
    Column("outcome", Words, nullable=False),
    Column("reason", Words, nullable=False),
    Column("level", Words, nullable=False),
    Column("lessons", Json, nullable=False),  # that the answer quotes: lesson_id, title, url
    Column("thumb", Words),
    Column("comment", Remark, nullable=False, server_default=text("''")),
    Column("rated_at", Moment),
    CheckConstraint("thumb IN ('up', 'down')", name="thumb"),
    Index("ix_asked_questions_book_id", "book_id", "asked_at"),
    Index("ix_asked_questions_thread_id", "thread_id"),
)

kept_responses = Table(
    "kept_responses",
    metadata,
    Column("owner", Words, primary_key=True),
    Column("idempotency_key", Words, primary_key=True),
    Column("fingerprint", Words, nullable=False),  # of the request it belongs to
    Column("claimed_at", Moment, nullable=False),
    Column("claimed_until", Moment, nullable=False),  # then whoever claimed it is gone, unless there is a status
    Column("status", Integer),  # none while the request runs
    Column("headers", Json),
    Column("body", LargeBinary),
    Index("ix_kept_responses_claimed_at", "claimed_at"),
)
