"""Settings → an embedder that calls a service. Loads the HTTP client."""

from bookwise.adapters.embedders.cohere import CohereEmbedder
from bookwise.adapters.embedders.openai import OpenAIEmbedder
from bookwise.adapters.embedders.service import EmbeddingTimeouts
from bookwise.settings import Settings
from bookwise.wiring.api_keys import require_key


def service_embedder(settings: Settings) -> OpenAIEmbedder | CohereEmbedder:
    """The configured embedding service; the caller opens it."""
    timeouts = EmbeddingTimeouts(deadline=settings.embed_timeout_seconds)
    if settings.embedder == "cohere":
        return CohereEmbedder(
            require_key(settings.cohere_api_key, "COHERE_API_KEY", "BOOKWISE_EMBEDDER=cohere"),
            base_url=settings.cohere_base_url,
            model=settings.cohere_model,
            timeouts=timeouts,
        )
    return OpenAIEmbedder(
        require_key(settings.openai_api_key, "OPENAI_API_KEY", "BOOKWISE_EMBEDDER=openai"),
        base_url=settings.openai_base_url,
        model=settings.openai_embedding_model,
        timeouts=timeouts,
    )
