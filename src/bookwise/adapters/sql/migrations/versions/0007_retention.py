"""Checksums of cached vectors, and what decides how long records are kept."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
UTC_TIME = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Only adds what an earlier release can leave out, so that both can run at the same time."""
    op.add_column("embeddings", sa.Column("checksum", sa.BigInteger))
    op.add_column("embeddings", sa.Column("stored_at", UTC_TIME))
    op.add_column("lessons", sa.Column("text_hashes", JSON))
    op.create_index("ix_asked_questions_asked_at", "asked_questions", ["asked_at"])
