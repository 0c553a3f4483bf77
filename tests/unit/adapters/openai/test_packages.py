"""The model engines without the packages of the extra `agent`."""

import subprocess
import sys

import pytest

from bookwise.domain.errors import Misconfigured
from bookwise.retrieval.search import SearchKit
from bookwise.settings import Settings
from bookwise.wiring import open_answers


@pytest.mark.parametrize("package", ["openai", "agents"])
def test_an_absent_package_is_named_with_what_installs_it(package: str) -> None:
    code = (
        f"import sys; sys.modules[{package!r}] = None\n"
        "from bookwise.domain.errors import Misconfigured\n"
        "from bookwise.adapters.openai.packages import require_packages\n"
        "try:\n    require_packages()\n"
        "except Misconfigured as error:\n    sys.stdout.write(f'{error.message} {error.advice}')\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert f"{package!r}" in result.stdout
    assert "pip install 'bookwise[agent]'" in result.stdout


@pytest.mark.anyio
async def test_a_model_engine_without_its_packages_is_refused_when_it_is_opened(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setitem(sys.modules, "agents", None)
    settings = Settings(openai_api_key="any", openai_base_url="http://127.0.0.1:1/v1", embedder="hashing")
    search = SearchKit(embedder=None, index=None, catalog=None)  # type: ignore[arg-type]
    with pytest.raises(Misconfigured, match="agents"):
        async with open_answers(settings, search):
            pass


def test_a_key_can_be_checked_without_the_packages() -> None:
    code = (
        "import sys; sys.modules['openai'] = sys.modules['agents'] = None\n"
        "import bookwise\n"
        "sys.stdout.write(bookwise.AgentConfig(openai_api_key='sk-' + 'k' * 40).model)\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "gpt-4o-mini"


def test_the_core_needs_neither_package() -> None:
    code = (
        "import sys\n"
        "import bookwise.answering.prompts, bookwise.answering.retrieval_tool\n"
        "assert not {'openai', 'agents', 'httpx2'} & sys.modules.keys()\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
