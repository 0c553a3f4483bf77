"""A small book with real embeddings, ready to be asked."""

from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

import anyio
import pytest

from bookwise.answering.ask import AskKit, ask
from bookwise.domain.answers import Answer, AnswerEvent, AnswerFinished, Question
from bookwise.domain.threads import ThreadMessage
from bookwise.settings import Settings
from bookwise.wiring import App, open_answers, open_app
from tests.support.apps import ingested, write_book
from tests.support.embedders import shared_embedder
from tests.support.scripted_model import KEY
from tests.support.shared_index import copy_book

BOOK = "book"
LESSONS = {
    "bookwise.toml": """[book]
id = "book"
title = "Robots in the Greenhouse"
base_url = "https://greenhouse.example"
[[modules]]
name = "water"
[[modules]]
name = "motion"
""",
    "water/01-moisture-sensors.md": """---
module: water
---
# Moisture Sensors

## What a moisture sensor is

A moisture sensor is a probe that measures how much water the soil holds. It reports a number between 0 and 100
percent. A capacitive moisture sensor lasts for years, because no metal touches the soil. A resistive moisture sensor
corrodes within one season.

## Read a moisture sensor

To read a moisture sensor, connect its output to an analog pin and run the reading tool:

```bash
greenhouse read --sensor moisture --pin 4
```

The tool prints the moisture in percent once per second.

## Install the sensor package

1. Update the package list.
2. Install the package `greenhouse-sensors`.
3. Restart the controller.
""",
    "water/02-irrigation.md": """---
module: water
---
# Irrigation

## When the valve opens

The irrigation valve opens when the soil moisture stays below 30 percent for ten minutes. It closes again at 45 percent,
so that the valve does not flutter. The controller logs every opening of the irrigation valve.

## Install the irrigation package

1. Update the package list.
2. Install the package `greenhouse-irrigation`.
3. Restart the controller.

## Drip and spray

| | Drip | Spray |
|---|---|---|
| Water lost to the air | little | much |
| Wets the leaves | no | yes |
""",
    "motion/01-rails.md": """---
module: motion
---
# Rails and Carriages

## The carriage

The carriage is the part of the robot that rolls along the ceiling rail. It carries the camera and the gripper. The
carriage moves at 20 centimetres per second, because faster motion shakes the camera.

## Emergency stop

Press the red mushroom button to stop the carriage at once. The brake holds the carriage even without power. After an
emergency stop, turn the button clockwise and run `greenhouse home` before any other motion.
""",
}


def settings_for(data: Path, *, model_url: str | None = None, **others: object) -> Settings:
    """Settings of a data folder, with a scripted model where its address is given."""
    model = {"openai_api_key": KEY, "openai_base_url": f"{model_url}/v1"} if model_url else {}
    return Settings(data_dir=data, **{**model, **others})  # type: ignore[arg-type]


@pytest.fixture(scope="session")
def small_book(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data folder that holds the book; copy it, do not write to it."""
    root = tmp_path_factory.mktemp("small-book")

    async def ingest_once() -> None:
        settings = settings_for(root / "data")
        async with open_app(settings, embedder=shared_embedder(settings)) as app:
            await ingested(app, write_book(root / "book", LESSONS), book_id=BOOK)

    anyio.run(ingest_once)
    return root / "data"


@asynccontextmanager
async def asking_app(settings: Settings, small_book: Path) -> AsyncIterator[tuple[App, AskKit]]:
    """The book opened from a copy of its data folder."""
    index, embedder = copy_book(small_book, settings), shared_embedder(settings)
    async with open_app(settings, embedder=embedder, index=index) as app, open_answers(settings, app.search_kit) as kit:
        yield app, kit


def question(text: str, **options: object) -> Question:
    return Question(text=text, **{"book_id": BOOK, **options})  # type: ignore[arg-type]


async def events_of(kit: AskKit, asked: Question, history: Sequence[ThreadMessage] = ()) -> list[AnswerEvent]:
    return [event async for event in ask(asked, kit, history=history)]


async def answer_of(kit: AskKit, text: str, *, history: Sequence[ThreadMessage] = (), **options: object) -> Answer:
    last = (await events_of(kit, question(text, **options), history))[-1]
    assert isinstance(last, AnswerFinished)
    return last.answer
