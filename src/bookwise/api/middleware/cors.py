"""CORS: allowed for the configured origins and for the origins of active keys."""

from contextlib import suppress

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Receive, Scope, Send

from bookwise.domain.errors import BookwiseError


class Cors(CORSMiddleware):
    """Adds CORS headers for the configured origins and the origins of active keys. Other origins get none.

    While the keys cannot be read, the origins read last are allowed."""

    _key_origins: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin", "") if scope["type"] == "http" else ""
        if origin and not super().is_allowed_origin(origin):
            with suppress(BookwiseError):  # a route that needs a key reports the problem
                self._key_origins = await scope["app"].state.service.read_key_origins()
        app = super().__call__ if origin and self.is_allowed_origin(origin) else self.app
        await app(scope, receive, send)

    def is_allowed_origin(self, origin: str) -> bool:
        return origin in self._key_origins or super().is_allowed_origin(origin)
