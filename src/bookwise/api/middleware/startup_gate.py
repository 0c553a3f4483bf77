"""Answers health checks while the service opens its data, for example during a long migration."""

from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Receive, Scope, Send

from bookwise.api.problems import Problem

LIVE, READY, HEALTH = "/health/live", "/health/ready", "/health"
STARTING = Problem(
    slug="overloaded",
    code="starting",
    detail="The service is starting.",
    advice="Send the request again in a moment.",
    retry_after=1,
)


class StartupGate:
    """Until it is opened, the process lives and is not ready, and all other requests are asked to come back."""

    def __init__(self, app: ASGIApp) -> None:
        self._app = app
        self.is_open = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        app = self._app if self.is_open or scope["type"] != "http" else _response(scope["path"])
        await app(scope, receive, send)


def _response(path: str) -> ASGIApp:
    if path == LIVE:
        return JSONResponse({"live": True})
    if path in (HEALTH, READY):
        return JSONResponse({"live": True, "ready": False, "dependencies": {}}, status_code=503)
    return STARTING.response(path)
