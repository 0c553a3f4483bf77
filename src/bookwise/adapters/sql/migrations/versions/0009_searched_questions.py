"""The stand-alone form of a question, beside the reader's own words."""

import sqlalchemy as sa
from alembic import op

revision = "0009"
down_revision = "0008"
branch_labels = None
depends_on = None


def upgrade() -> None:
    """Only adds what an earlier release can leave out, so that both can run at the same time."""
    op.add_column("asked_questions", sa.Column("searched", sa.Text))
