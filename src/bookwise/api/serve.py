"""Runs the service on a port until a signal stops it."""

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
LOCAL_HOSTS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  #: the address that local commands use

OPEN = "No API key exists: the service listens on this machine only, and every local user has full access."

_STANDARD = frozenset(vars(logging.makeLogRecord({}))) | {"message", "asctime", "taskName"}


async def serve(settings: Settings) -> None:
    """Serves until a signal. Streams get a moment to finish."""
    _log_to_stderr()
    app = create_app(settings, open_to_anyone=None)
    with bound(settings.host, settings.port) as listening:
        # Not uvicorn's lifespan: an error at start must reach the user unchanged.
        async with app.router.lifespan_context(app):
            await Server(app, listening).serve([listening])


class Server(uvicorn.Server):
    """Ends streams before it waits for them. Stopping by a signal is not a failure."""

    def __init__(self, app: FastAPI, listening: socket.socket) -> None:
        config = uvicorn.Config(
            app,
            lifespan="off",
            log_config=None,
            access_log=False,  # it would log whole URLs; RequestLog logs requests
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
        )
        super().__init__(config)
        self._state: ServiceState = app.state.service
        self._listening = listening

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        host, port = self._listening.getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        self._write_address(f"http://{LOCAL_HOSTS.get(where, where)}:{port}")
        if self._state.open_to_anyone:
            sys.stderr.write(f"{OPEN}\n")
        # Last, so that a program that waits for this line has seen all others.
        sys.stderr.write(f"Bookwise listens on http://{where}:{port}\n")
        sys.stderr.flush()

    def _write_address(self, url: str) -> None:
        """Lets commands find the service that has the data folder. Without a folder, commands need no service."""
        if not self._state.settings.needs_data_folder:
            return
        running = RunningService(url=url, secret=self._state.operator_secret, version=__version__)
        write_service_address(self._state.settings.data_dir, running)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        self._state.stopping.set()
        await super().shutdown(sockets)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=2048)
        # Connections inherit this. Without it, a body waits up to 40 ms for the acknowledgement of the headers.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        raise Misconfigured(
            f"The service cannot listen on {host}, port {port}: {error.strerror or error}.",
            advice="Stop the program that uses the port, or choose another with --host and --port.",
        ) from None


class OneLine(logging.Formatter):
    """A log record as one line of JSON, with the id of its request."""

    def format(self, record: logging.LogRecord) -> str:
        facts = {name: value for name, value in vars(record).items() if name not in _STANDARD}
        fields = {
            "time": self.formatTime(record, "%Y-%m-%dT%H:%M:%S%z"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "message": record.getMessage(),
            "request_id": request_id.get(),
            **facts,
            "error": self.formatException(record.exc_info) if record.exc_info else "",
        }
        return json.dumps({name: value for name, value in fields.items() if value != ""}, default=str)


def _log_to_stderr() -> None:
    handler = logging.StreamHandler()
    handler.setFormatter(OneLine())
    logging.basicConfig(level=logging.WARNING, handlers=[handler])
    logging.getLogger("bookwise").setLevel(logging.INFO)
