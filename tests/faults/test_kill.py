"""SIGKILL at every named step and at random moments: nothing acknowledged is lost, nothing half is seen."""

import random
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import anyio
import pytest

from bookwise.ingestion.doctor import examine
from bookwise.wiring import App
from tests.support.apps import hashing_app
from tests.support.copies import copy_folder
from tests.support.ingest_child import ingest_in_child
from tests.support.processes import child

pytestmark = [pytest.mark.anyio, pytest.mark.slow]

Seen = dict[str, tuple[str, ...]]
KILLS = 12  #: in each of four parts, which may run side by side; `make trust` kills 200 times

STEPS = [
    ("jobs.open", 1),
    ("jobs.start", 1),
    ("catalog.register", 1),
    ("vectors.recall", 1),
    ("vectors.remember", 1),
    ("vectors.remember", 2),
    ("index.stage", 1),
    ("index.stage", 2),
    ("catalog.activate", 1),
    ("catalog.activate", 2),
    ("jobs.progress", 1),
    ("catalog.withdraw", 1),
    ("index.revisions", 1),
    ("index.remove", 1),
    ("catalog.mark_ingested", 1),
    ("jobs.finish", 1),
]


def write_lesson(root: Path, number: int, edition: str) -> None:
    words = " ".join(f"Edition {edition} tells fact {n} about joint {number}." for n in range(12))
    sections = "\n\n".join(f"## Part {part}\n\n{words} Part {part}." for part in range(3))
    (root / f"lesson-{number:02}.md").write_text(f"# Lesson {number}\n\n{sections}\n")


def run(root: Path, data: Path, *, kill: str = "", order: str = "") -> int:
    with child(ingest_in_child, root, data, kill, order) as process:
        code, lines = process.ended()
    assert code in (0, -signal.SIGKILL), lines
    return code


async def seen(data: Path) -> Seen:
    """What a reader sees of each lesson, checked to be whole."""
    async with hashing_app(data) as app:
        return await lessons_in(app)


async def lessons_in(app: App) -> Seen:
    if not await app.catalog.books():
        return {}
    findings = await examine("book", index=app.index, catalog=app.catalog)
    halves = [finding.message for finding in findings if finding.kind == "incomplete-lesson"]
    assert halves == []
    lessons: Seen = {}
    for record in await app.catalog.records("book"):
        chunks = await app.index.lesson("book", record.lesson_id)
        live = [chunk for chunk in chunks if chunk.revision == record.revision]
        assert [chunk.id for chunk in live] == list(record.chunk_ids)
        assert [chunk.index for chunk in live] == list(range(len(live)))
        lessons[record.source_file] = tuple(chunk.text for chunk in live)
    return lessons


async def stored(data: Path) -> tuple[Seen, dict[str, int]]:
    """The whole end state: what readers see, and every chunk the index holds."""
    async with hashing_app(data) as app:
        return await lessons_in(app), await app.index.revisions("book")


def write_book(root: Path) -> None:
    root.mkdir()
    for number in range(6):
        write_lesson(root, number, "old")


def edit(root: Path) -> None:
    """Two changed, one gone, one new."""
    write_lesson(root, 1, "new")
    write_lesson(root, 4, "new")
    (root / "lesson-02.md").unlink()
    write_lesson(root, 7, "new")


@dataclass(frozen=True)
class Scene:
    """An ingested book that has just been edited, and the state a clean run of the edited book ends in."""

    root: Path
    data: Path
    old: Seen
    new: tuple[Seen, dict[str, int]]

    def again(self, folder: Path) -> Path:
        """A fresh copy of the data folder."""
        return copy_folder(self.data, folder)


@pytest.fixture(scope="module")
def scene(tmp_path_factory: pytest.TempPathFactory) -> Scene:
    base = tmp_path_factory.mktemp("scene")
    root, data, clean = base / "book-folder", base / "data", base / "clean"
    write_book(root)
    assert run(root, data) == 0
    old = anyio.run(seen, data)
    edit(root)
    assert run(root, clean) == 0
    return Scene(root=root, data=data, old=old, new=anyio.run(stored, clean))


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize(("step", "nth"), STEPS)
async def test_killed_at_a_named_step_readers_see_old_or_new_and_a_second_run_heals(
    step: str, nth: int, when: str, scene: Scene, tmp_path: Path
) -> None:
    data = scene.again(tmp_path / "data")
    assert run(scene.root, data, kill=f"{step}:{when}:{nth}") == -signal.SIGKILL, "the step was reached"
    now = await seen(data)
    for file, texts in now.items():
        assert texts in (scene.old.get(file), scene.new[0].get(file))
    assert set(now) >= set(scene.old) & set(scene.new[0]), "no lesson is missing"
    assert run(scene.root, data) == 0
    assert await stored(data) == scene.new


@pytest.mark.parametrize("order", ["activate-first", "delete-first"])
async def test_this_suite_turns_red_when_the_commit_order_is_broken(order: str, scene: Scene, tmp_path: Path) -> None:
    data = scene.again(tmp_path / "data")
    assert run(scene.root, data, order=order, kill="index.stage:before:1") == -signal.SIGKILL
    with pytest.raises(AssertionError, match="the index holds"):
        await seen(data)


@pytest.mark.parametrize("seed", range(4))
async def test_kills_at_random_lose_nothing(tmp_path: Path, seed: int) -> None:
    root, data, clean = tmp_path / "book-folder", tmp_path / "data", tmp_path / "clean"
    write_book(root)
    dice = random.Random(2026 + seed)
    assert run(root, tmp_path / "first") == 0
    started = time.monotonic()
    assert run(root, tmp_path / "timing") == 0
    whole = time.monotonic() - started
    allowed: dict[str, set[tuple[str, ...] | None]] = {}
    for killed in range(KILLS):
        if killed % 10 == 0:
            assert run(root, data) == 0
            before = await seen(data)
            for number in dice.sample(range(9), 3):
                write_lesson(root, number, f"{killed}-{dice.random():.4f}")
            gone = root / f"lesson-{dice.randrange(9):02}.md"
            gone.unlink(missing_ok=True)
            assert run(root, clean) == 0
            after = await seen(clean)
            allowed = {file: {before.get(file), after.get(file)} for file in before.keys() | after.keys()}
        published = _published_before_a_kill(root, data, after=dice.uniform(0.05, 1.1) * whole)
        now = await seen(data) if killed % 5 == 4 or published else {}
        for file, texts in now.items():
            assert texts in allowed[file]
        for file in published:
            assert now.get(file) == after[file], "an acknowledged lesson is there"
    assert run(root, data) == 0
    assert await stored(data) == await stored(clean)


def _published_before_a_kill(root: Path, data: Path, *, after: float) -> list[str]:
    """Kills an ingest after that many seconds; returns the lessons it had acknowledged by then."""
    with child(ingest_in_child, root, data) as process:
        time.sleep(after)
        process.process.kill()
        code, lines = process.ended()
    assert code in (0, -signal.SIGKILL), lines
    return [line.removeprefix("published ") for line in lines if line.startswith("published ")]
