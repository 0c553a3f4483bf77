"""A database URL → all SQL stores of Bookwise. Loads SQLAlchemy."""

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta

from bookwise.adapters.collection_guard import CollectionGuard
from bookwise.adapters.no_key_changes import NoKeyChanges
from bookwise.adapters.process_rate_limits import ProcessRateLimits
from bookwise.adapters.sql.database import open_database
from bookwise.adapters.sql.deliveries import SqlDeliveries
from bookwise.adapters.sql.guarded_catalog import GuardedCatalog
from bookwise.adapters.sql.integrity import integrity_problems
from bookwise.adapters.sql.journal import SqlJournal
from bookwise.adapters.sql.keys import SqlKeys
from bookwise.adapters.sql.queue_tables import prepare_queue_tables
from bookwise.adapters.sql.rate_limits import SqlRateLimits
from bookwise.adapters.sql.responses import SqlResponses
from bookwise.adapters.sql.steps import SqlSteps
from bookwise.adapters.sql.threads import SqlThreads
from bookwise.adapters.sql.validations import SqlValidations
from bookwise.adapters.sql.vectors import SqlVectorCache
from bookwise.ports import KeyChanges, LessonIndex, RateLimits
from bookwise.wiring.catalog_stores import CatalogStores


@dataclass(frozen=True, slots=True)
class Stores(CatalogStores):
    """All stores in one open database."""

    def guarded_catalog(
        self,
        index: LessonIndex,
        *,
        exclusive: bool,
        guard: CollectionGuard,
        own_indexes: Callable[[], frozenset[str]] | None,
    ) -> GuardedCatalog:
        """The catalog as this index sees it. An index with an alias gets it when all books are served from there."""
        return GuardedCatalog(
            self.database,
            index_id=index.id,
            exclusive=exclusive,
            guard=guard,
            own_indexes=own_indexes,
            on_switch=getattr(index, "switch_alias", None),
        )

    def check_integrity(self) -> Awaitable[tuple[str, ...]]:
        """What is wrong in the file of the database."""
        return integrity_problems(self.database)

    def deliveries(self) -> SqlDeliveries:
        return SqlDeliveries(self.database)

    def journal(self) -> SqlJournal:
        return SqlJournal(self.database)

    def keys(self) -> SqlKeys:
        return SqlKeys(self.database)

    def rate_limits(self) -> RateLimits:
        """Shared through PostgreSQL. A SQLite file has one process, and writing it for every request would be slow."""
        return SqlRateLimits(self.database) if self.database.address.kind == "postgresql" else ProcessRateLimits()

    def key_changes(self) -> KeyChanges:
        """A SQLite file has one process, which knows what it changes."""
        if self.database.address.kind == "sqlite":
            return NoKeyChanges()
        from bookwise.adapters.sql.key_changes import PostgresKeyChanges  # loads psycopg, an optional package: 0.1 s

        return PostgresKeyChanges(self.database)

    async def responses(self, *, kept_hours: int, exclusive: bool) -> SqlResponses:
        """`exclusive`: no other process runs the requests. Those of an earlier one can be sent again."""
        responses = SqlResponses(self.database, kept=timedelta(hours=kept_hours), exclusive=exclusive)
        if exclusive:
            await responses.release_orphans()
        return responses

    async def steps(self, holder: str, catalog: GuardedCatalog) -> SqlSteps:
        """The steps of the jobs of the index `holder`, with the tables of the queue."""
        await prepare_queue_tables(self.database)
        return SqlSteps(self.database, holder=holder, on_register=catalog.switch_index)

    def threads(self, *, exclusive: bool) -> SqlThreads:
        """`exclusive`: no other process answers questions in these threads."""
        return SqlThreads(self.database, exclusive=exclusive)

    def validations(self) -> SqlValidations:
        return SqlValidations(self.database)

    def vectors(self) -> SqlVectorCache:
        return SqlVectorCache(self.database)


@asynccontextmanager
async def open_stores(url: str) -> AsyncIterator[Stores]:
    """The stores in the database at `url`, migrated to the newest version; closed at the end of the block."""
    async with open_database(url) as database:
        yield Stores(database)
