"""Books never mix: each call of an index returns what was stored of the book it names, and nothing of another one."""

from collections.abc import Iterator
from dataclasses import dataclass, field

import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import given, settings
from hypothesis import strategies as st

from bookwise.domain.books import Chunk
from bookwise.domain.search import Filter
from bookwise.ports import LessonIndex
from tests.support.builders import chunks, embedded
from tests.support.index_backends import BACKENDS, index_backend

EAST = (1.0, 0.0)
TEXTS = ("A topic carries messages.", "A service answers a request.", "A bag records everything.")
WORDS = ("topic", "service", "bag")
BOOK_IDS = ("book", "Book", "book-2", "boo", "book ", "книга", "*")  #: close to each other, or special in a pattern


@dataclass(frozen=True)
class Stage:
    """Stores a revision of a lesson. Books share the names of lessons and revisions."""

    book_id: str
    revision: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Remove:
    """Removes a revision of a book."""

    book_id: str
    revision: str


REVISIONS = ("r1", "r2")
STEPS = st.one_of(
    st.builds(
        Stage,
        st.sampled_from(BOOK_IDS),
        st.sampled_from(REVISIONS),
        st.lists(st.sampled_from(TEXTS), min_size=1, max_size=3, unique=True).map(tuple),
    ),
    st.builds(Remove, st.sampled_from(BOOK_IDS), st.sampled_from(REVISIONS)),
)


@dataclass
class Library:
    """An index, and what each book should hold."""

    index: LessonIndex
    stored: dict[tuple[str, str], tuple[Chunk, ...]] = field(default_factory=dict)

    async def clear(self) -> None:
        self.stored.clear()
        for book_id in BOOK_IDS:
            await self.index.remove(book_id, REVISIONS)

    async def apply(self, step: Stage | Remove) -> None:
        place = (step.book_id, step.revision)
        removed = await self.index.remove(step.book_id, [step.revision])
        assert removed == len(self.stored.pop(place, ()))
        if isinstance(step, Stage):
            self.stored[place] = chunks("lesson", step.revision, *step.texts, book_id=step.book_id)
            await self.index.stage(embedded(self.stored[place], *[EAST] * len(step.texts)))

    async def check(self, book_id: str) -> None:
        """Every way to read the book gives exactly its chunks."""
        index = self.index
        expected = {r: made for (book, r), made in self.stored.items() if book == book_id}
        everything = {(c.id, c.revision) for made in expected.values() for c in made}
        hits = await index.nearest(EAST, " ".join(WORDS), within=Filter(book_id=book_id), limit=100)
        read = await index.read(book_id, [hit.ref for hit in hits])
        exported = [e.chunk for e in await index.export(book_id, REVISIONS)]
        lesson_id = chunks("lesson", "r1", TEXTS[0], book_id=book_id)[0].lesson_id
        for found in (read, exported, await index.lesson(book_id, lesson_id)):
            assert {(c.id, c.revision) for c in found if c} == everything
            assert all(c.locator.book_id == book_id for c in found if c)
        assert await index.revisions(book_id) == {revision: len(made) for revision, made in expected.items()}
        text = "".join(c.text for made in expected.values() for c in made)
        assert await index.unknown(book_id, WORDS) == {word for word in WORDS if word not in text}
        ids = sorted({c.id for made in self.stored.values() for c in made})
        assert (await index.vectors(book_id, ids)).keys() == {chunk_id for chunk_id, _ in everything}


@pytest.fixture(params=BACKENDS, scope="module")
def library(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[BlockingPortal, Library]]:
    """One index for all examples, in an event loop that outlives them."""
    with start_blocking_portal() as portal:
        backend = index_backend(request.param, tmp_path_factory.mktemp("tenants"), size=2)
        with (
            portal.wrap_async_context_manager(backend) as place,
            portal.wrap_async_context_manager(place.open()) as index,
        ):
            yield portal, Library(index)


@given(st.lists(STEPS, min_size=1, max_size=12))
@settings(max_examples=15)
def test_books_never_mix(library: tuple[BlockingPortal, Library], steps: list[Stage | Remove]) -> None:
    portal, books = library

    async def example() -> None:
        await books.clear()
        for step in steps:
            await books.apply(step)
        for book_id in BOOK_IDS:
            await books.check(book_id)

    portal.call(example)
