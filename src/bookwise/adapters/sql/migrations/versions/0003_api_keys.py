"""API keys."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
UTC_TIME = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "api_keys",
        sa.Column("key_id", sa.Text, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("role", sa.Text, nullable=False),
        sa.Column("books", JSON, nullable=False),
        sa.Column("origins", JSON, nullable=False),
        sa.Column("rate_per_minute", sa.Integer, nullable=False),
        sa.Column("secret_hash", sa.Text, nullable=False),
        sa.Column("created_at", UTC_TIME, nullable=False),
        sa.Column("revoked_at", UTC_TIME),
        sa.PrimaryKeyConstraint("key_id", name="pk_api_keys"),
        sa.CheckConstraint("role IN ('reader', 'admin')", name="ck_api_keys_role"),
    )
    op.create_index("uq_api_keys_secret_hash", "api_keys", ["secret_hash"], unique=True)
