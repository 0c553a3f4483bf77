"""Cross-origin requests: allowed for the configured origins and for those that keys are bound to."""

from starlette.datastructures import Headers
from starlette.middleware.cors import CORSMiddleware
from starlette.types import Receive, Scope, Send


class Cors(CORSMiddleware):
    """Speaks to pages of the configured origins and of those that keys are bound to; to any other it is as if this
    were not there."""

    _bound: frozenset[str] = frozenset()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        origin = Headers(scope=scope).get("origin", "") if scope["type"] == "http" else ""
        if origin and not super().is_allowed_origin(origin):
            keys = await scope["app"].state.service.keys.keys()
            self._bound = frozenset(bound for key in keys if key.revoked_at is None for bound in key.origins)
        speak = super().__call__ if origin and self.is_allowed_origin(origin) else self.app
        await speak(scope, receive, send)

    def is_allowed_origin(self, origin: str) -> bool:
        return origin in self._bound or super().is_allowed_origin(origin)
