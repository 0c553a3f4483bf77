"""Books and live lessons for the tests of a catalog."""

from datetime import UTC, datetime

from bookwise.domain.books import Book, Calibration, LessonPosition, Module
from bookwise.domain.jobs import LessonRecord
from bookwise.ports import Catalog

NOON = datetime(2026, 3, 29, 12, 0, 0, 123456, tzinfo=UTC)
ROBOTS = Book(
    id="robots",
    title="Röboter – 机器人 🤖",
    base_url="https://books.example/robots",
    language="de",
    source="/srv/robots",
    modules=(Module(name="ros2", title="ROS 2", aliases=("ros", "rclpy")), Module(name="vla")),
    embedder="minilm@53aa5117",
    embedder_name="all-MiniLM-L6-v2",
    embedder_size=384,
    calibration=Calibration(knots=((0.1, 0.0), (1 / 3, 0.2), (1.0, 1.0))),
)


def record(name: str, revision: str = "r1", *, book: str = "robots", lesson_id: str = "") -> LessonRecord:
    return LessonRecord(
        book_id=book,
        source_file=f"{name}.md",
        lesson_id=lesson_id or f"id-{name}",
        revision=f"{name}-{revision}",
        file_hash=f"hash-{name}-{revision}",
        position=LessonPosition(module="ros2", chapter=3, lesson=7),
        title=f"About {name}",
        url=f"https://books.example/robots/{name}",
        chunk_ids=(f"{name}-0", f"{name}-1"),
        ingested_at=NOON,
    )


async def revisions(catalog: Catalog, book_id: str = "robots") -> set[str]:
    return set((await catalog.live(book_id)).revisions)
