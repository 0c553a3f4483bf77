"""What happens where the packages that talk to models are absent."""

import subprocess
import sys

import pytest


@pytest.mark.parametrize("package", ["openai", "agents"])
def test_an_absent_package_is_named_with_what_installs_it(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from bookwise.domain.errors import Misconfigured\n"
        "try:\n    import bookwise.adapters.openai.direct\n"
        "except Misconfigured as error:\n    sys.stdout.write(f'{error.message} {error.advice}')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"{package!r}" in done.stdout
    assert "pip install 'bookwise[agent]'" in done.stdout


def test_the_core_needs_neither_package() -> None:
    code = (
        "import sys\n"
        "import bookwise.answering.prompts, bookwise.answering.retrieval_tool\n"
        "assert not {'openai', 'agents', 'httpx2'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
