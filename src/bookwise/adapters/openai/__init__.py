"""Questions into answers by a language model that speaks like OpenAI's."""

from importlib.util import find_spec

from bookwise.domain.errors import Misconfigured

for _package in ("openai", "agents"):
    if find_spec(_package) is None:
        raise Misconfigured(
            f"The Python package {_package!r}, which talks to language models, is not installed.",
            advice="Install it with `pip install 'bookwise[agent]'`, or set BOOKWISE_ENGINE=extractive.",
        )
