"""Adds `RateLimit` headers to responses."""

from starlette.datastructures import MutableHeaders
from starlette.types import Message, Receive, Scope, Send

from bookwise.api.middleware.base import HttpMiddleware


class RateHeaders(HttpMiddleware):
    """Adds the rate headers to every response to a limited request, including streams and errors."""

    async def _request(self, scope: Scope, receive: Receive, send: Send) -> None:
        state = scope.setdefault("state", {})  # the dictionary behind `request.state`

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start" and "rate" in state:
                MutableHeaders(scope=message).update(state["rate"])
            await send(message)

        await self._app(scope, receive, send_with_headers)
