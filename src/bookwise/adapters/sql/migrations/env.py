"""Runs the migrations on the connection, and in the transaction, of the caller."""

from alembic import context

from bookwise.adapters.sql.tables import metadata

context.configure(
    connection=context.config.attributes["connection"],
    target_metadata=metadata,
    render_as_batch=True,
)
context.run_migrations()
