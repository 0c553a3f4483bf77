"""Warnings about the source of an ingestion job."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
JSON = sa.Text().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    """Only adds what an earlier release can leave out, so that both can run at the same time."""
    op.add_column("jobs", sa.Column("warnings", JSON, nullable=False, server_default=sa.text("'[]'")))
