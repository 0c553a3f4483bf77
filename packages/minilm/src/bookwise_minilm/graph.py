"""all-MiniLM-L6-v2 weights (safetensors) → one ONNX graph: token ids in, unit vector out.

The graph takes one text at a time, so it needs neither padding nor an attention mask. Its matrix products are int8.
Quantising each text separately makes a vector independent of other texts, and 7-bit weights keep the integer sums exact
on processors with and without dot-product instructions.
"""

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import onnx
from numpy.typing import NDArray
from onnx import TensorProto, helper, numpy_helper

LAYERS = 6
HEADS = 12
HIDDEN = 384
EPSILON = 1e-12
OPSET = 20
MICROSOFT = "com.microsoft"

WEIGHT_RANGE = 63

Weights = dict[str, NDArray[np.float32]]


def read_safetensors(path: Path) -> Weights:
    """The tensors of a float32 safetensors file, by name."""
    raw = path.read_bytes()
    (header_size,) = struct.unpack("<Q", raw[:8])
    header: dict[str, Any] = json.loads(raw[8 : 8 + header_size])
    start = 8 + header_size
    weights: Weights = {}
    for name, entry in header.items():
        if entry.get("dtype") == "F32":
            begin, end = entry["data_offsets"]
            data = np.frombuffer(raw[start + begin : start + end], dtype="<f4")
            weights[name] = data.reshape(entry["shape"])
    return weights


class _Graph:
    """Collects nodes and constants. Each method adds one step and returns the name of its output."""

    def __init__(self) -> None:
        self.nodes: list[onnx.NodeProto] = []
        self.constants: list[onnx.TensorProto] = []

    def constant(self, name: str, value: NDArray[Any]) -> str:
        self.constants.append(numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name

    def step(self, op: str, inputs: list[str], output: str, *, domain: str = "", **attributes: Any) -> str:
        self.nodes.append(helper.make_node(op, inputs, [output], name=output, domain=domain, **attributes))
        return output

    def dense(self, source: str, name: str, weight: NDArray[Any], bias: NDArray[Any]) -> str:
        """`source @ weight.T + bias`, the product in int8 (weights per column, activations per text)."""
        quantised, scale = _quantise(weight, WEIGHT_RANGE)
        return self.step(
            "DynamicQuantizeMatMul",
            [
                source,
                self.constant(f"{name}.w", quantised.T),
                self.constant(f"{name}.scale", scale),
                self.constant(f"{name}.zero", np.zeros(len(scale), dtype=np.int8)),
                self.constant(f"{name}.b", bias),
            ],
            f"{name}.out",
            domain=MICROSOFT,
        )

    def split(self, source: str, name: str, count: int) -> list[str]:
        outputs = [f"{name}{number}" for number in range(count)]
        node = helper.make_node("Split", [source], outputs, name=name, axis=-1, num_outputs=count)
        self.nodes.append(node)
        return outputs

    def norm(self, source: str, name: str, weights: Weights) -> str:
        return self.step(
            "LayerNormalization",
            [
                source,
                self.constant(f"{name}.gamma", weights[f"{name}.weight"]),
                self.constant(f"{name}.beta", weights[f"{name}.bias"]),
            ],
            f"{name}.out",
            axis=-1,
            epsilon=EPSILON,
        )


def _quantise(weight: NDArray[np.float32], top: int) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Each row as small integers, and the scale to convert them back."""
    scale = np.maximum(np.abs(weight).max(axis=1), 1e-9) / top
    return np.rint(weight / scale[:, None]).astype(np.int8), scale.astype(np.float32)


def _embeddings(graph: _Graph, weights: Weights) -> str:
    table, scale = _quantise(weights["embeddings.word_embeddings.weight"], 127)
    rows = graph.step("Gather", [graph.constant("words", table), "input_ids"], "words.rows")
    scales = graph.step("Gather", [graph.constant("words.scale", scale[:, None]), "input_ids"], "words.scales")
    floats = graph.step("Cast", [rows], "words.floats", to=TensorProto.FLOAT)
    words = graph.step("Mul", [floats, scales], "words.out")
    positions = weights["embeddings.position_embeddings.weight"]
    positions = positions + weights["embeddings.token_type_embeddings.weight"][0]
    length = graph.step("Shape", ["input_ids"], "length", start=1, end=2)
    begin = graph.constant("begin", np.array([0], dtype=np.int64))
    axis = graph.constant("rows", np.array([0], dtype=np.int64))
    where = graph.step("Slice", [graph.constant("positions", positions), begin, length, axis], "positions.out")
    return graph.norm(graph.step("Add", [words, where], "embedded"), "embeddings.LayerNorm", weights)


def _layer(graph: _Graph, weights: Weights, number: int, source: str) -> str:
    layer = f"encoder.layer.{number}"

    def pair(name: str) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
        return weights[f"{layer}.{name}.weight"], weights[f"{layer}.{name}.bias"]

    parts = [pair(f"attention.self.{part}") for part in ("query", "key", "value")]
    weight = np.concatenate([weight for weight, _ in parts])
    bias = np.concatenate([bias for _, bias in parts])
    projected = graph.dense(source, f"{layer}.project", weight, bias)
    attended = graph.step(
        "MultiHeadAttention",
        graph.split(projected, f"{layer}.part", 3),
        f"{layer}.attended",
        domain=MICROSOFT,
        num_heads=HEADS,
    )
    mixed = graph.dense(attended, f"{layer}.mix", *pair("attention.output.dense"))
    summed = graph.step("Add", [mixed, source], f"{layer}.sum1")
    middle = graph.norm(summed, f"{layer}.attention.output.LayerNorm", weights)
    wide = graph.dense(middle, f"{layer}.wide", *pair("intermediate.dense"))
    active = graph.step("Gelu", [wide], f"{layer}.gelu")
    narrow = graph.dense(active, f"{layer}.narrow", *pair("output.dense"))
    summed = graph.step("Add", [narrow, middle], f"{layer}.sum2")
    return graph.norm(summed, f"{layer}.output.LayerNorm", weights)


def build_graph(weights: Weights) -> bytes:
    """The serialised model: `input_ids` (1 × n, int64) → `vector` (1 × 384, unit length)."""
    graph = _Graph()
    state = _embeddings(graph, weights)
    for number in range(LAYERS):
        state = _layer(graph, weights, number, state)
    middle = graph.constant("middle", np.array([1], dtype=np.int64))
    pooled = graph.step("ReduceMean", [state, middle], "pooled", keepdims=0)
    graph.step("LpNormalization", [pooled], "vector", axis=-1, p=2)
    model = helper.make_model(
        helper.make_graph(
            graph.nodes,
            "all-MiniLM-L6-v2",
            [helper.make_tensor_value_info("input_ids", TensorProto.INT64, [1, "n"])],
            [helper.make_tensor_value_info("vector", TensorProto.FLOAT, [1, HIDDEN])],
            graph.constants,
        ),
        opset_imports=[helper.make_opsetid("", OPSET), helper.make_opsetid(MICROSOFT, 1)],
        ir_version=10,
    )
    return bytes(model.SerializeToString())
