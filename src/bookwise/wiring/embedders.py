"""Settings → an embedder that calls a service or runs on fastembed. Loads the HTTP client and numpy."""

from contextlib import AbstractAsyncContextManager, nullcontext

from bookwise.adapters.embedders.cohere import CohereEmbedder
from bookwise.adapters.embedders.fastembed import FastembedEmbedder
from bookwise.adapters.embedders.openai import OpenAIEmbedder
from bookwise.adapters.embedders.service import EmbeddingTimeouts
from bookwise.ports import Embedder
from bookwise.settings import Settings
from bookwise.wiring.api_keys import require_key


def other_embedder(settings: Settings) -> AbstractAsyncContextManager[Embedder]:
    """The configured embedder, if it is not the default one; the caller opens it."""
    kind, _, model = settings.embedder.partition(":")
    if kind == "fastembed":
        return nullcontext(FastembedEmbedder(model, cache=settings.cache_folder, model_dir=settings.model_dir))
    timeouts = EmbeddingTimeouts(deadline=settings.embed_timeout_seconds)
    if kind == "cohere":
        return CohereEmbedder(
            require_key(settings.cohere_api_key, "COHERE_API_KEY", "BOOKWISE_EMBEDDER=cohere"),
            base_url=settings.cohere_base_url,
            model=settings.cohere_model,
            size=settings.embedding_size,
            timeouts=timeouts,
        )
    return OpenAIEmbedder(
        require_key(settings.openai_api_key, "OPENAI_API_KEY", "BOOKWISE_EMBEDDER=openai"),
        base_url=settings.openai_base_url,
        model=settings.openai_embedding_model,
        size=settings.embedding_size,
        timeouts=timeouts,
    )
