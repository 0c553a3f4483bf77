"""Logged questions, responses for repeated requests, attempts of jobs, previous secrets of API keys."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
UTC_TIME = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")
UUID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    _create_asked_questions()
    _create_kept_responses()
    op.add_column("jobs", sa.Column("attempt", sa.Integer, nullable=False, server_default=sa.text("1")))
    op.add_column("api_keys", sa.Column("previous_hash", sa.Text))
    op.add_column("api_keys", sa.Column("previous_until", UTC_TIME))
    op.create_index("uq_api_keys_previous_hash", "api_keys", ["previous_hash"], unique=True)


def _create_asked_questions() -> None:
    op.create_table(
        "asked_questions",
        sa.Column("answer_id", UUID, nullable=False),
        sa.Column("book_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("thread_id", UUID),
        sa.Column("asked_at", UTC_TIME, nullable=False),
        sa.Column("question", sa.Text, nullable=False),
        sa.Column("outcome", sa.Text, nullable=False),
        sa.Column("reason", sa.Text, nullable=False),
        sa.Column("level", sa.Text, nullable=False),
        sa.Column("lessons", JSON, nullable=False),
        sa.Column("thumb", sa.Text),
        sa.Column("comment", sa.Text, nullable=False, server_default=sa.text("''")),
        sa.Column("rated_at", UTC_TIME),
        sa.PrimaryKeyConstraint("answer_id", name="pk_asked_questions"),
        sa.ForeignKeyConstraint(
            ["thread_id"],
            ["conversation_threads.thread_id"],
            name="fk_asked_questions_thread_id",
            ondelete="CASCADE",
        ),
        sa.CheckConstraint("thumb IN ('up', 'down')", name="ck_asked_questions_thumb"),
    )
    op.create_index("ix_asked_questions_book_id", "asked_questions", ["book_id", "asked_at"])
    op.create_index("ix_asked_questions_thread_id", "asked_questions", ["thread_id"])


def _create_kept_responses() -> None:
    op.create_table(
        "kept_responses",
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("idempotency_key", sa.Text, nullable=False),
        sa.Column("fingerprint", sa.Text, nullable=False),
        sa.Column("claimed_at", UTC_TIME, nullable=False),
        sa.Column("claimed_until", UTC_TIME, nullable=False),
        sa.Column("status", sa.Integer),
        sa.Column("headers", JSON),
        sa.Column("body", sa.LargeBinary),
        sa.PrimaryKeyConstraint("owner", "idempotency_key", name="pk_kept_responses"),
    )
    op.create_index("ix_kept_responses_claimed_at", "kept_responses", ["claimed_at"])
