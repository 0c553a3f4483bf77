"""Steps of ingestion jobs that workers share."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects.postgresql import JSONB

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# Defined here and not imported: a migration must not change when tables.py does.
UTC_TIME = sa.DateTime(timezone=True).with_variant(sa.Text(), "sqlite")
JSON = sa.Text().with_variant(JSONB(), "postgresql")


def upgrade() -> None:
    for name in ("pull", "repeat"):
        op.add_column("jobs", sa.Column(name, sa.Boolean, nullable=False, server_default=sa.false()))
    op.create_table(
        "job_plans",
        sa.Column("job_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("plan", JSON, nullable=False),
        sa.PrimaryKeyConstraint("job_id", name="pk_job_plans"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.job_id"], name="fk_job_plans_job_id", ondelete="CASCADE"),
    )
    _create_steps()
    op.create_table(
        "job_lessons",
        sa.Column("step_id", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("number", sa.Integer, nullable=False, autoincrement=False),
        sa.Column("file", JSON, nullable=False),
        sa.Column("content", sa.LargeBinary, nullable=False),
        sa.PrimaryKeyConstraint("step_id", "number", name="pk_job_lessons"),
        sa.ForeignKeyConstraint(["step_id"], ["job_steps.step_id"], name="fk_job_lessons_step_id", ondelete="CASCADE"),
    )


def _create_steps() -> None:
    zero = sa.text("0")
    op.create_table(
        "job_steps",
        sa.Column("step_id", sa.Integer, nullable=False),
        sa.Column("job_id", sa.Integer, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        *(sa.Column(name, sa.Integer, nullable=False, server_default=zero) for name in ("number", "token", "failures")),
        sa.Column("claimed_until", UTC_TIME),
        sa.PrimaryKeyConstraint("step_id", name="pk_job_steps"),
        sa.ForeignKeyConstraint(["job_id"], ["jobs.job_id"], name="fk_job_steps_job_id", ondelete="CASCADE"),
        sqlite_autoincrement=True,
    )
    op.create_index("ix_job_steps_job_id", "job_steps", ["job_id"])
