"""Threads and their archived messages."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
UTC_TIME = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")
NOW = {
    "sqlite": "(strftime('%Y-%m-%dT%H:%M:%f000+00:00', 'now'))",
    "postgresql": "now()",
}
LIVE = sa.text("archived_at IS NULL")


def upgrade() -> None:
    create_threads()
    create_archive()


def create_threads() -> None:
    now = sa.text(NOW[op.get_bind().dialect.name].replace(":", r"\:"))
    op.create_table(
        "conversation_threads",
        sa.Column("thread_id", sa.Uuid, nullable=False),
        sa.Column("messages", JSON, nullable=False),
        sa.Column("created_at", UTC_TIME, nullable=False, server_default=now),
        sa.Column("updated_at", UTC_TIME, nullable=False, server_default=now),
        sa.Column("topic_summary", sa.Text),
        sa.Column("metadata", JSON, server_default=sa.text("'{}'")),
        sa.Column("book_id", sa.Text, nullable=False),
        sa.Column("owner", sa.Text, nullable=False),
        sa.Column("archived_count", sa.Integer, nullable=False, server_default=sa.text("0")),
        sa.Column("archived_at", UTC_TIME),
        sa.Column("busy_until", UTC_TIME),
        sa.PrimaryKeyConstraint("thread_id", name="pk_conversation_threads"),
    )
    op.create_index("idx_threads_updated", "conversation_threads", [sa.text("updated_at DESC")])
    op.create_index("idx_threads_created", "conversation_threads", [sa.text("created_at DESC")])
    op.create_index("ix_conversation_threads_owner", "conversation_threads", ["owner", "updated_at"])
    op.create_index(
        "ix_conversation_threads_live",
        "conversation_threads",
        ["updated_at"],
        sqlite_where=LIVE,
        postgresql_where=LIVE,
    )


def create_archive() -> None:
    op.create_table(
        "archived_messages",
        sa.Column("thread_id", sa.Uuid, nullable=False),
        sa.Column("position", sa.Integer, nullable=False),
        sa.Column("message", JSON, nullable=False),
        sa.PrimaryKeyConstraint("thread_id", "position", name="pk_archived_messages"),
        sa.ForeignKeyConstraint(
            ["thread_id"],
            ["conversation_threads.thread_id"],
            name="fk_archived_messages_thread_id",
            ondelete="CASCADE",
        ),
    )
