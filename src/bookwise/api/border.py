"""What every border around the routes has in common."""

from abc import ABC, abstractmethod

from starlette.types import ASGIApp, Receive, Scope, Send


class Border(ABC):
    """Looks at requests; whatever else a server tells the app passes through."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        request = self._request if scope["type"] == "http" else self._app
        await request(scope, receive, send)

    @abstractmethod
    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None: ...
