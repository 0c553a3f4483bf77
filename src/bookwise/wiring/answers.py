"""Settings → what an answer needs. Loads the answer pipeline."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from bookwise.adapters.openai.packages import require_packages
from bookwise.answering.ask import AskKit
from bookwise.answering.extractive.answerer import ExtractiveAnswerer
from bookwise.domain.answers import EngineName
from bookwise.domain.errors import Misconfigured
from bookwise.ports import Answerer, ModelStatus, Rewriter
from bookwise.retrieval.search import SearchKit
from bookwise.settings import Settings


@asynccontextmanager
async def open_ask_kit(settings: Settings, search: SearchKit) -> AsyncIterator[AskKit]:
    """What an answer needs, with the configured engines. No model is called yet."""
    engines: dict[EngineName, Answerer] = {"extractive": ExtractiveAnswerer()}
    rewriter: Rewriter | None = None
    model: ModelStatus | None = None
    async with AsyncExitStack() as stack:
        if settings.openai_api_key is not None and settings.engine != "extractive":
            require_packages()
            from bookwise.wiring import models  # loads openai and agents, optional packages: 0.7 s

            client = await stack.enter_async_context(models.open_model(settings))
            engines |= models.model_engines(client)
            rewriter, model = models.model_rewriter(client), client
        yield AskKit(
            search=search,
            engines=engines,
            engine=_engine(settings),
            rewriter=rewriter,
            model=model,
            unsupported=settings.unsupported,
            temperature=settings.temperature or 0.0,
            max_tokens=settings.max_tokens,
            max_turns=settings.agent_max_turns,
            timeout_seconds=settings.answer_timeout_seconds,
        )


def _engine(settings: Settings) -> EngineName:
    if settings.engine == "auto":
        return "direct" if settings.openai_api_key is not None else "extractive"
    if settings.engine != "extractive" and settings.openai_api_key is None:
        raise Misconfigured(
            f"BOOKWISE_ENGINE={settings.engine} needs OPENAI_API_KEY, which is not set.",
            advice="Set OPENAI_API_KEY, or answer without a model: BOOKWISE_ENGINE=extractive.",
        )
    return settings.engine
