"""Everything that a child process imports before its work. Loaded once, in the server that forks the children."""

# ruff: noqa: F401 - imported for others
import gc

import anyio._backends._asyncio
import psycopg
import sqlalchemy.dialects.postgresql
import sqlalchemy.dialects.sqlite

import bookwise.adapters.embedders.hashing
import bookwise.adapters.qdrant.embedded
import bookwise.adapters.qdrant.server
import bookwise.adapters.sql.catalog
import bookwise.adapters.sql.database
import bookwise.adapters.sql.engines
import bookwise.adapters.sql.jobs
import bookwise.adapters.sql.journal
import bookwise.adapters.sql.keys
import bookwise.adapters.sql.migrate
import bookwise.adapters.sql.postgres_connection
import bookwise.adapters.sql.responses
import bookwise.adapters.sql.threads
import bookwise.adapters.sql.vectors
import bookwise.api.serve
import bookwise.cli.ingest
import bookwise.cli.main
import bookwise.cli.serve
import bookwise.cli.worker
import bookwise.ingestion.parsing.markdown
import bookwise.ingestion.pipeline
import tests.support.databases
import tests.support.ingest_child
import tests.support.qdrant_process
import tests.support.thread_child
import tests.support.worker_child

gc.collect()
gc.freeze()  # or every child would go through all of this, and copy it
