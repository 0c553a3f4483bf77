"""Base class of the middleware."""

from abc import ABC, abstractmethod

from starlette.types import ASGIApp, Receive, Scope, Send


class HttpMiddleware(ABC):
    """Acts on HTTP requests; other ASGI events pass through unchanged."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = self._request if scope["type"] == "http" else self._app
        await request(scope, receive, send)

    @abstractmethod
    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None: ...
