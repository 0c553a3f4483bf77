"""Settings → the language model and the engines that use it. Loads openai and agents, which are optional packages."""

from bookwise.adapters.openai.agent import AgentAnswerer
from bookwise.adapters.openai.client import ModelClient
from bookwise.adapters.openai.direct import DirectAnswerer, ModelRewriter
from bookwise.answering.guardrails import injection, leak
from bookwise.domain.answers import EngineName
from bookwise.ports import Answerer, Rewriter
from bookwise.settings import Settings
from bookwise.wiring.api_keys import require_key


def open_model(settings: Settings) -> ModelClient:
    """The client of the configured model; the caller opens it. No model is called yet."""
    key = require_key(settings.openai_api_key, "OPENAI_API_KEY", f"BOOKWISE_ENGINE={settings.engine}")
    return ModelClient(key, base_url=settings.openai_base_url, model=settings.openai_model)


def model_engines(model: ModelClient) -> dict[EngineName, Answerer]:
    agent = AgentAnswerer(model, input_check=injection, output_check=leak)
    return {"direct": DirectAnswerer(model), "agent": agent}


def model_rewriter(model: ModelClient) -> Rewriter:
    return ModelRewriter(model)
