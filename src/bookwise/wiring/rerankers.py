"""Settings → the configured reranker. Loads the HTTP client, or fastembed."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from bookwise.adapters.rerankers.fastembed import FastembedReranker
from bookwise.adapters.rerankers.service import ServiceReranker
from bookwise.ports import Reranker
from bookwise.settings import Settings
from bookwise.wiring.api_keys import require_key


@asynccontextmanager
async def open_reranker(settings: Settings) -> AsyncIterator[Reranker]:
    """The reranker that `settings.reranker` names. No model is loaded and no service called yet."""
    kind, _, model = (settings.reranker or "").partition(":")
    if kind == "fastembed":
        yield FastembedReranker(model, cache=settings.cache_folder, model_dir=settings.reranker_dir)
        return
    service = _service(settings, kind, model)
    try:
        yield service
    finally:
        await service.aclose()


def _service(settings: Settings, kind: str, model: str) -> ServiceReranker:
    setting = f"BOOKWISE_RERANKER={settings.reranker}"
    if kind == "cohere":
        key, name = settings.cohere_api_key, "COHERE_API_KEY"
        url, url_setting = f"{settings.cohere_base_url}/v2", "BOOKWISE_COHERE_BASE_URL"
    else:
        key, name = settings.openai_api_key, "OPENAI_API_KEY"
        url, url_setting = settings.openai_base_url, "OPENAI_BASE_URL"
    return ServiceReranker(
        require_key(key, name, setting), url=url, model=model, key_setting=name, url_setting=url_setting
    )
