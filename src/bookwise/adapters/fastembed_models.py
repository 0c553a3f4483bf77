"""Model names → models of the optional package fastembed, from a folder, its cache or a download."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, TypeVar

from bookwise.adapters.onnx_telemetry import disable_telemetry
from bookwise.adapters.packages import is_installed
from bookwise.domain.errors import Misconfigured, MissingModel

T = TypeVar("T")


def import_fastembed() -> Any:
    """The package; `Misconfigured` if it is not installed."""
    if not is_installed("fastembed"):
        raise Misconfigured(
            "The Python package 'fastembed', which runs this local model, is not installed.",
            advice="Install it with `pip install 'bookwise[fastembed]'`, or choose another model.",
        )
    disable_telemetry()
    import_module("fastembed.rerank.cross_encoder")
    import_module("loguru").logger.disable("fastembed")  # its messages would mix with the output of commands
    return import_module("fastembed")


def require_model(name: str, supported: list[dict[str, Any]]) -> dict[str, Any]:
    """What fastembed knows about this model; `Misconfigured` if it does not know it."""
    found = {model["model"].lower(): model for model in supported}
    if name.lower() not in found:
        raise Misconfigured(
            f"fastembed has no model {name!r}.", advice=f"Choose one of: {', '.join(m['model'] for m in supported)}."
        )
    return found[name.lower()]


def load_model(create: Callable[..., T], name: str, *, cache: Path, folder: Path | None, setting: str) -> T:
    """The model, loaded. `MissingModel` if its files are neither in `folder` nor in the cache and cannot be downloaded,
    or if they are damaged."""
    place = {"specific_model_path": str(folder)} if folder else {"cache_dir": str(cache / "fastembed")}
    try:
        return create(name, threads=1, **place)
    except Exception as error:
        source = f"loaded from {folder}" if folder else "downloaded"
        raise MissingModel(
            f"The model {name} cannot be {source}: {error}",
            advice="Run the command once with access to huggingface.co, or copy the files of the model to this machine "
            f"and set {setting} to their folder.",
        ) from error
