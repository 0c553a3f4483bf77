"""The author's marks on questions, and the results of validation runs."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
UTC_TIME = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")
UUID = sa.Uuid(as_uuid=False)


def upgrade() -> None:
    """Only adds what an earlier release can leave out, so that both can run at the same time."""
    op.add_column("asked_questions", sa.Column("mark", sa.Text))
    op.add_column("asked_questions", sa.Column("marked_at", UTC_TIME))
    op.create_table(
        "validation_runs",
        sa.Column("run_id", UUID, nullable=False),
        sa.Column("book_id", sa.Text, nullable=False),
        sa.Column("ran_at", UTC_TIME, nullable=False),
        sa.Column("engine", sa.Text, nullable=False),
        sa.Column("own_questions", sa.Boolean, nullable=False),
        sa.Column("asked", sa.Integer, nullable=False),
        sa.Column("correct", sa.Integer, nullable=False),
        sa.Column("useful_asked", sa.Integer, nullable=False),
        sa.Column("useful", sa.Integer, nullable=False),
        sa.Column("kinds", JSON, nullable=False),
        sa.Column("failed", JSON, nullable=False),
        sa.PrimaryKeyConstraint("run_id", name="pk_validation_runs"),
    )
    op.create_index("ix_validation_runs_book_id", "validation_runs", ["book_id", "ran_at"])
