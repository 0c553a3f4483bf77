"""How much an installation downloads and stores: `python -m benchmarks.install` (after `make dist`).

Downloads the packages of `pip install bookwise`, and of the image, from the index into a temporary folder.
"""

import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
BASE_IMAGE_MB = 130  #: python:3.11-slim, unpacked


def main() -> None:
    own = sorted((ROOT / "dist").glob("*.whl"))
    if len(own) != 2:
        sys.exit("Run `make dist` first.")
    with tempfile.TemporaryDirectory() as scratch:
        core, image = Path(scratch, "core"), Path(scratch, "image")
        started = time.perf_counter()
        download(core, "--find-links", str(ROOT / "dist"), "bookwise")
        show("pip install bookwise", core.iterdir(), time.perf_counter() - started)
        lock = str(ROOT / "deploy" / "requirements.lock")
        started = time.perf_counter()
        download(image, "--no-deps", "--require-hashes", "-r", lock)
        stored = show("image", [*image.iterdir(), *own], time.perf_counter() - started)
    print(f"image with python:3.11-slim: about {stored + BASE_IMAGE_MB:.0f} MB unpacked")


def download(target: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", str(target)]
    subprocess.run([*command, *arguments], check=True)


def show(name: str, wheels: Iterable[Path], seconds: float) -> float:
    """Prints the sizes, and returns the unpacked one."""
    files = list(wheels)
    packed = sum(file.stat().st_size for file in files) / 1e6
    stored = sum(entry.file_size for file in files for entry in zipfile.ZipFile(file).infolist()) / 1e6
    print(f"{name}: {len(files)} packages, {packed:.1f} MB to download, {stored:.0f} MB unpacked, {seconds:.0f} s")
    return stored


if __name__ == "__main__":
    main()
