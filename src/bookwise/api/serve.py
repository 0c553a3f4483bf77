"""Runs the service on a port until a signal stops it."""

import signal
import socket
import sys
from types import FrameType

import anyio
import uvicorn

from bookwise import __version__
from bookwise.adapters.data_folder import RunningService, write_service_address
from bookwise.adapters.json_log import log_to_stderr
from bookwise.api.app import create_app
from bookwise.api.connections import ConnectionConfig
from bookwise.api.early_refusal import EarlyRefusal
from bookwise.api.middleware.startup_gate import StartupGate
from bookwise.api.problems import request_id
from bookwise.api.state import ServiceState
from bookwise.domain.errors import Misconfigured
from bookwise.settings import Settings

GRACEFUL_SECONDS = 15
BACKLOG = 2048  #: connections that the system accepts while the service is busy
LOCAL_HOSTS = {"0.0.0.0": "127.0.0.1", "[::]": "[::1]"}  #: the address that local commands use

OPEN = "No API key exists: the service listens on this machine only, and every local user has full access."


async def serve(settings: Settings) -> None:
    """Serves until a signal. Answers get a moment to finish."""
    log_to_stderr(lambda: {"request_id": request_id.get()})
    app = create_app(settings, open_to_anyone=None)
    failure: Exception | None = None
    with bound(settings.host, settings.port) as listening:
        gate = StartupGate(app)
        server = Server(gate, listening, settings)
        async with anyio.create_task_group() as tasks:
            with anyio.CancelScope() as opening:
                tasks.start_soon(server.serve_until_signal, opening)
                try:
                    # Not uvicorn's lifespan: an error at start must reach the user unchanged.
                    async with app.router.lifespan_context(app):
                        await server.start_serving(app.state.service)
                        gate.is_open = True
                        await server.ended.wait()
                except Exception as error:  # noqa: BLE001 - raised below, when the server has ended
                    failure = error
            server.should_exit = True
    if failure is not None:
        raise failure


class Server(uvicorn.Server):
    """Listens at once, so that health checks are answered while the service opens. Ends streams before it waits for
    them. Stopping by a signal is not a failure."""

    config: ConnectionConfig

    def __init__(self, gate: StartupGate, listening: socket.socket, settings: Settings) -> None:
        config = ConnectionConfig(
            gate,
            settings,
            lifespan="off",
            log_config=None,
            access_log=False,  # it would log whole URLs; RequestLog logs requests
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=GRACEFUL_SECONDS,
        )
        super().__init__(config)
        self.ended = anyio.Event()
        self._listening = listening
        self._is_listening = anyio.Event()
        self._state: ServiceState | None = None
        self._signals: list[int] = []

    async def serve_until_signal(self, opening: anyio.CancelScope) -> None:
        """A signal while the service opens cancels `opening`."""
        try:
            await self.serve([self._listening])
        finally:
            self.ended.set()
            if self._state is None:
                opening.cancel()

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        self._listening.listen(BACKLOG)  # uvicorn has set a smaller one
        self._is_listening.set()

    async def start_serving(self, state: ServiceState) -> None:
        """Opens the service, and writes its address for local commands and for people."""
        await self._is_listening.wait()
        self._state = state
        self.config.early_refusal = EarlyRefusal(state)
        host, port = self._listening.getsockname()[:2]
        where = f"[{host}]" if ":" in host else host
        _write_address(state, f"http://{LOCAL_HOSTS.get(where, where)}:{port}")
        if state.open_to_anyone:
            sys.stderr.write(f"{OPEN}\n")
        # Last, so that a program that waits for this line has seen all others.
        sys.stderr.write(f"Bookwise listens on http://{where}:{port}\n")
        sys.stderr.flush()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        if self._state is not None:
            self._state.draining = True
            if self._signals == [signal.SIGTERM]:
                await self._drain(self._state.settings.drain_seconds)
            self._state.stop()
        await super().shutdown(sockets)

    async def _drain(self, seconds: float) -> None:
        """Keeps serving while it is not ready, so that load balancers can take it out. A second signal ends this."""
        deadline = anyio.current_time() + seconds
        while anyio.current_time() < deadline and len(self._signals) == 1:  # noqa: ASYNC110 - a signal sets no event
            await anyio.sleep(0.1)

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._signals.append(sig)
        self.force_exit = self.should_exit and sig == signal.SIGINT
        self.should_exit = True


def bound(host: str, port: int) -> socket.socket:
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        listening = socket.create_server((host, port), family=family, backlog=BACKLOG)
        # Connections inherit this. Without it, a body waits up to 40 ms for the acknowledgement of the headers.
        listening.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return listening
    except OSError as error:
        raise Misconfigured(
            f"The service cannot listen on {host}, port {port}: {error.strerror or error}.",
            advice="Stop the program that uses the port, or choose another with --host and --port.",
        ) from None


def _write_address(state: ServiceState, url: str) -> None:
    """Lets commands find the service that has the data folder. Without a folder, commands need no service."""
    if state.settings.needs_data_folder:
        running = RunningService(url=url, secret=state.operator_secret, version=__version__)
        write_service_address(state.settings.data_dir, running)
