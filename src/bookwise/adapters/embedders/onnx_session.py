"""An ONNX file → a session that turns token ids into a vector. Loads onnxruntime and numpy."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from bookwise.adapters.onnx_telemetry import disable_telemetry

disable_telemetry()
import onnxruntime  # noqa: E402 - after the line above


class OnnxSession:
    """A model on one thread of the CPU."""

    def __init__(self, graph: Path) -> None:
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = 1
        options.enable_cpu_mem_arena = False
        options.enable_mem_pattern = False  # it keeps a plan for every length of text
        self._session = onnxruntime.InferenceSession(str(graph), options, providers=["CPUExecutionProvider"])

    def run(self, ids: Sequence[int]) -> Any:
        """The vector of one text, as a numpy array."""
        return self._session.run(None, {"input_ids": np.array([ids], dtype=np.int64)})[0][0]
