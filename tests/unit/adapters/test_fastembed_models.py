"""Local models of fastembed that are missing: the message says what to do."""

from pathlib import Path

import pytest

from bookwise.adapters import fastembed_models
from bookwise.adapters.embedders.fastembed import FastembedEmbedder
from bookwise.adapters.rerankers.fastembed import FastembedReranker
from bookwise.domain.errors import Misconfigured, MissingModel
from tests.support.fastembed_folders import EMBEDDING_MODEL, RERANKER_MODEL

pytestmark = pytest.mark.anyio


async def test_without_a_network_the_message_says_how_to_get_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    with pytest.raises(MissingModel, match="cannot be downloaded") as caught:
        await FastembedEmbedder("BAAI/bge-small-en-v1.5", cache=tmp_path).embed_texts(["text"])
    assert "BOOKWISE_MODEL_DIR" in caught.value.advice
    with pytest.raises(MissingModel, match=f"{RERANKER_MODEL} cannot be downloaded") as caught:
        await FastembedReranker(RERANKER_MODEL, cache=tmp_path).scores("What?", ["text"])
    assert "BOOKWISE_RERANKER_DIR" in caught.value.advice


async def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(MissingModel, match=f"cannot be loaded from {tmp_path}"):
        await FastembedEmbedder(EMBEDDING_MODEL, cache=tmp_path, model_dir=tmp_path).embed_query("text")


@pytest.mark.parametrize("kind", [FastembedEmbedder, FastembedReranker])
def test_an_unknown_model_is_refused_with_the_known_ones(
    kind: type[FastembedEmbedder | FastembedReranker], tmp_path: Path
) -> None:
    with pytest.raises(Misconfigured, match="no model 'word2vec'") as caught:
        kind("word2vec", cache=tmp_path)
    assert "Choose one of" in caught.value.advice


def test_the_missing_package_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(fastembed_models, "is_installed", lambda package: False)
    with pytest.raises(Misconfigured, match="'fastembed'") as caught:
        FastembedEmbedder(EMBEDDING_MODEL, cache=tmp_path)
    assert "bookwise[fastembed]" in caught.value.advice


def test_the_size_belongs_to_the_model(tmp_path: Path) -> None:
    sizes = {
        name: FastembedEmbedder(name, cache=tmp_path).facts.size for name in ("BAAI/bge-base-en-v1.5", EMBEDDING_MODEL)
    }
    assert sizes == {"BAAI/bge-base-en-v1.5": 768, EMBEDDING_MODEL: 384}
