"""Routes that answer HEAD as well as GET: monitors and link checkers ask for the headers only."""

from fastapi.routing import APIRoute
from starlette.routing import Match
from starlette.types import Message, Receive, Scope, Send


class HeadRoute(APIRoute):
    """A GET route whose response to HEAD has no body. The API's document describes GET only."""

    def matches(self, scope: Scope) -> tuple[Match, Scope]:
        return super().matches(_as_get(scope))

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def send_headers(message: Message) -> None:
            await send({**message, "body": b""} if message["type"] == "http.response.body" else message)

        await super().handle(_as_get(scope), receive, send_headers if scope["method"] == "HEAD" else send)


def _as_get(scope: Scope) -> Scope:
    return {**scope, "method": "GET"} if scope.get("method") == "HEAD" else scope
