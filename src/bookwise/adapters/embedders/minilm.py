"""The default embedder: all-MiniLM-L6-v2 on onnxruntime, in process, with no key and no network."""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from pathlib import Path
from threading import Event, Thread, get_native_id
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

import bookwise_minilm as model
from bookwise.adapters.packages import is_installed
from bookwise.domain.books import Calibration, EmbedderFacts, Vector
from bookwise.domain.errors import EmbedderUnavailable, MissingModel

if TYPE_CHECKING:
    from bookwise.adapters.embedders.onnx_session import OnnxSession

NAME = "all-MiniLM-L6-v2"
SIZE = 384
MAX_TOKENS = 256
#: A question of up to this length takes a few milliseconds; using a thread would add another one.
INLINE_CHARACTERS = 200
#: Texts of up to this length are sentences of a book, compared with one question after another. Chunks are longer.
SENTENCE_CHARACTERS = 400
SENTENCES_KEPT = 2_000  #: 1.6 KB each
#: More texts than this are those of a book. An answer compares fewer sentences, and must not wait for a book.
ANSWER_TEXTS_MAX = 16
#: Of the threads that embed a book, below that of the process: readers go first, and on a busy processor a book still
#: gets a quarter of the time.
BOOK_NICENESS = 5
FINGERPRINT = f"minilm:{model.WEIGHTS_SHA256[:8]}:int8-1:{MAX_TOKENS}"
WEIGHTS_FILE = "model.safetensors"

ADVICE = (
    f"Unset BOOKWISE_MODEL_DIR to use the package bookwise-minilm, or set it to a folder with {WEIGHTS_FILE} and "
    f"{model.TOKENIZER_NAME} of sentence-transformers/all-MiniLM-L6-v2."
)
REINSTALL = "Install it again with `pip install --force-reinstall --no-deps bookwise-minilm`."

#: Fitted on five books: a mean strength of 0.6 over five hits separates answerable from unanswerable questions.
CALIBRATION = Calibration(
    knots=((0.0, 0.0), (0.2, 0.05), (0.4, 0.25), (0.6, 0.6), (0.78, 0.75), (0.95, 0.85), (2.0, 1.0))
)


def graph_file(model_dir: Path | None, cache: Path) -> Path:
    """The ONNX file: of the installed package, or built once from the weights in `model_dir`. Raises `MissingModel`."""
    if model_dir is not None:
        return built_graph(model_dir, cache)
    return _installed_file(model.GRAPH_NAME, model.GRAPH_SHA256)


def tokenizer_file(model_dir: Path | None) -> Path:
    """The tokenizer of the installed package, or in `model_dir`. Raises `MissingModel`."""
    if model_dir is None:
        return _installed_file(model.TOKENIZER_NAME, model.TOKENIZER_SHA256)
    file = model_dir / model.TOKENIZER_NAME
    if not file.exists():
        raise MissingModel(f"{model_dir} does not contain {file.name}.", advice=ADVICE)
    return file


def _installed_file(name: str, checksum: str) -> Path:
    file = model.FOLDER / name
    try:
        model.require_checksum(file, checksum)
    except (OSError, ValueError) as error:
        raise MissingModel(f"The package bookwise-minilm is damaged: {error}", advice=REINSTALL) from None
    return file


def built_graph(folder: Path, cache: Path) -> Path:
    """The ONNX file built from the weights in a folder; built once, then read from the cache folder."""
    target = cache / "models" / model.GRAPH_NAME
    if target.exists():
        return target
    weights = folder / WEIGHTS_FILE
    if not weights.exists() or not (folder / model.TOKENIZER_NAME).exists():
        raise MissingModel(f"{folder} does not contain {WEIGHTS_FILE} and {model.TOKENIZER_NAME}.", advice=ADVICE)
    try:
        model.require_checksum(weights, model.WEIGHTS_SHA256)
    except ValueError as error:
        raise MissingModel(f"These are not the weights of {NAME}: {error}", advice=ADVICE) from None
    if not is_installed("onnx"):
        raise MissingModel(
            f"The Python package 'onnx', which builds the model from {WEIGHTS_FILE}, is not installed.",
            advice="Unset BOOKWISE_MODEL_DIR to use the package bookwise-minilm, or run `pip install onnx`.",
        )
    from bookwise_minilm.graph import build_graph, read_safetensors  # loads onnx: 0.3 s, needed once per machine

    _write_atomically(target, build_graph(read_safetensors(weights)))
    return target


def _write_atomically(target: Path, content: bytes) -> None:
    """Readers see the complete file or none, even after a crash."""
    target.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.NamedTemporaryFile(dir=target.parent, delete=False) as handle:
        handle.write(content)
        handle.flush()
        os.fsync(handle.fileno())
    Path(handle.name).replace(target)


def _session_type() -> type[OnnxSession]:
    from bookwise.adapters.embedders.onnx_session import OnnxSession  # loads onnxruntime and numpy: 0.15 s

    return OnnxSession


def _lower_priority() -> None:
    """Lowers the priority of this thread. Only Linux has priorities of single threads."""
    if sys.platform == "linux":
        thread = get_native_id()
        with suppress(OSError):  # a sandbox may forbid it
            os.setpriority(os.PRIO_PROCESS, thread, os.getpriority(os.PRIO_PROCESS, thread) + BOOK_NICENESS)


class MiniLM:
    """Embeds one text per run on a shared single-threaded session: as fast as batches, and a vector never depends on
    other texts. The model is loaded at first use."""

    facts = EmbedderFacts(name=NAME, fingerprint=FINGERPRINT, size=SIZE, calibration=CALIBRATION, local=True)

    def __init__(
        self, *, cache: Path, model_dir: Path | None = None, workers: int | None = None, inline: bool = False
    ) -> None:
        """`inline`: embed short questions on the event loop, for a caller that asks one question at a time."""
        self._cache = cache
        self._model_dir = model_dir
        self._workers = workers or os.cpu_count() or 1
        self._book_limiter = anyio.CapacityLimiter(1)
        self._answer_limiter = anyio.CapacityLimiter(1)
        self._query_limiter = anyio.CapacityLimiter(self._workers)
        self._inline = inline
        self._loading: Thread | None = None
        self._sentence_array = lru_cache(maxsize=SENTENCES_KEPT)(self._array)

    @cached_property
    def _session(self) -> OnnxSession:
        session_type = _session_type()
        graph = graph_file(self._model_dir, self._cache)
        try:
            return session_type(graph)
        except Exception as error:
            advice = REINSTALL if self._model_dir is None else f"Delete {graph}. It is built again at the next start."
            raise MissingModel(f"{graph} cannot be loaded: {error}", advice=advice) from error

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer  # loads the tokenizers: 0.03 s

        tokenizer = Tokenizer.from_file(str(tokenizer_file(self._model_dir)))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer

    # One pool each for the lifetime: memory of ended threads is not returned, so new threads would need more.
    @cached_property
    def _book_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers, thread_name_prefix="minilm-book", initializer=_lower_priority)

    @cached_property
    def _answer_pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self._workers, thread_name_prefix="minilm-answer")

    @cached_property
    def _run(self) -> Callable[[str], Any]:
        if self._loading is not None:
            self._loading.join()
        session, tokenizer = self._session, self._tokenizer

        def run(text: str) -> Any:
            return session.run(tokenizer.encode(text).ids)

        return run

    def load(self) -> None:
        """Loads the model now."""
        _ = self._run

    def begin_loading(self) -> None:
        """Starts loading the model. The session is created in a thread while the caller continues.

        Creating a session releases the interpreter lock; the other steps need it, and so does opening an index.
        """
        _session_type()
        started = Event()

        def create_session() -> None:
            started.set()
            with suppress(MissingModel):  # raised again when a text is embedded
                _ = self._session

        self._loading = Thread(target=create_session, daemon=True)
        self._loading.start()
        started.wait()
        with suppress(MissingModel):
            _ = self._tokenizer

    async def embed_texts(self, texts: Sequence[str]) -> list[Vector]:
        limiter = self._book_limiter if len(texts) > ANSWER_TEXTS_MAX else self._answer_limiter
        return await anyio.to_thread.run_sync(partial(self._embed_all, list(texts)), limiter=limiter)

    async def embed_query(self, text: str) -> Vector:
        if self._inline and len(text) <= INLINE_CHARACTERS and "_run" in self.__dict__:
            return self._embed_one(text)
        return await anyio.to_thread.run_sync(self._embed_one, text, limiter=self._query_limiter)

    def _embed_all(self, texts: list[str]) -> list[Vector]:
        if not texts:
            return []
        self.load()
        if len(texts) == 1:
            return [self._embed_text(texts[0])]
        pool = self._book_pool if len(texts) > ANSWER_TEXTS_MAX else self._answer_pool
        return list(pool.map(self._embed_text, texts))

    def _embed_text(self, text: str) -> Vector:
        is_sentence = len(text) <= SENTENCE_CHARACTERS
        return tuple((self._sentence_array if is_sentence else self._array)(text).tolist())

    def _embed_one(self, text: str) -> Vector:
        return tuple(self._array(text).tolist())

    def _array(self, text: str) -> Any:
        """The vector of a text, as a numpy array."""
        array = self._run(text)
        if not 0.99 < array @ array < 1.01:  # also catches NaN
            raise EmbedderUnavailable(
                f"{NAME} returned an invalid vector for a text of {len(text)} characters.",
                advice="Report a bug with this text.",
            )
        return array
