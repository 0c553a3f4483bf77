"""Settings → the service on a port, until it is told to stop."""

import json
import logging
import signal
import socket
import sys
from types import FrameType

import uvicorn
from fastapi import FastAPI

from bookwise import __version__
from bookwise.adapters.data_folder import RunningService, write_service_address
from bookwise.api.app import create_app
from bookwise.api.problems import request_id
from bookwise.api.state import ServiceState
from bookwise.domain.errors import Misconfigured
from bookwise.settings import Settings

GRACEFUL_SECONDS = 15
NEAR = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  #: where this machine reaches what listens to the world

OPEN = "No API key is set up: the service listens on this machine only, and whoever is on it may do everything."

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


async def serve(settings: Settings) -> None:
    """Serves until a signal; streams are told to come to their end first."""
    _log_to_stderr()
    app = create_app(settings, open_to_anyone=None)
    with bound(settings.host, settings.port) as listening:
        # Not uvicorn's own lifespan: what keeps the service from opening should reach the reader as it is.
        async with app.router.lifespan_context(app):
            await Server(app, listening).serve([listening])


class Server(uvicorn.Server):
    """Tells the streams to come to their end before it waits for them; a signal to stop is no failure."""

    def __init__(self, app: FastAPI, listening: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,  # it would write down whole addresses; the service logs its requests itself
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
        )
        super().__init__(config)
        self._service: ServiceState = app.state.service
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = self._listening.getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        self._announce(f"http://{NEAR.get(where, where)}:{port}")
        if self._service.open_to_anyone:
            sys.stderr.write(f"{OPEN}\n")
        # Last: whoever waits for this line has then seen everything.
        sys.stderr.write(f"Bookwise listens on http://{where}:{port}\n")
        sys.stderr.flush()

    def _announce(self, url: str) -> None:
        running = RunningService(url=url, secret=self._service.operator_secret, version=__version__)
        write_service_address(self._service.settings.data_dir, running)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._service.stopping.set()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
        # Its connections inherit this. Without it a body waits 40 ms for the client's word about the head before it.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        raise Misconfigured(
            f"The service cannot listen on {host}, port {port}: {error.strerror or error}.",
            advice="Stop what listens there, or choose another with --host and --port.",
        ) from None


class OneLine(logging.Formatter):
    """A record as one line of JSON, with the request it belongs to."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        told = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id.get(),
            **facts,
            "error": self.formatException(record.exc_info) if record.exc_info else "",
        }
        return json.dumps({name: value for name, value in told.items() if value != ""}, default=str)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("bookwise").setLevel(logging.INFO)
