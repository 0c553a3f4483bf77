"""Ctrl-C while a command waits: it ends with 130, and the job that it has handed over is cancelled."""

import json
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest

from bookwise.cli.exit_codes import INTERRUPTED
from bookwise.cli.main import run_with
from bookwise.domain.errors import BookwiseError
from bookwise.operations.jobs import IngestBook
from bookwise.operations.operator import open_operator

REQUEST = IngestBook(source="/books/robots", book_id="robots", mode="full")
NOW = "2026-01-01T00:00:00+00:00"


def press_ctrl_c() -> None:
    signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)


@dataclass
class JobService:
    """A service with one job, which runs until it is cancelled. `on_read` runs before a report of the job is sent."""

    on_read: Callable[[], None]
    ended: bool
    url: str = ""
    requests: list[str] = field(default_factory=list)
    connections: int = 0

    def reply(self, name: str) -> dict[str, Any]:
        self.requests.append(name)
        if name == "ReadJob" and self.requests.count(name) == 1:
            self.on_read()
        job = self.job(ended=self.ended or "CancelJob" in self.requests)
        return {"job": job, "outcomes": []} if name == "ReadJob" else job

    def job(self, *, ended: bool) -> dict[str, Any]:
        end: dict[str, Any] = {"status": "failed", "completed_at": NOW, "error_message": "cancelled"}
        running = {"job_id": 7, "book_id": "robots", "mode": "full", "status": "running", "queued_at": NOW}
        return {**running, **end} if ended else running


@contextmanager
def job_service(on_read: Callable[[], None], *, ended: bool = False) -> Iterator[JobService]:
    service = JobService(on_read, ended)

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        wbufsize = -1

        def setup(self) -> None:
            super().setup()
            service.connections += 1

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps(service.reply(self.path.rpartition("/")[2])).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        service.url = f"http://127.0.0.1:{server.server_port}"
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield service
        server.shutdown()


def ingest(service: JobService) -> None:
    with open_operator(service.url, secret="s") as operator:
        operator.ingest(REQUEST, lambda outcome: None)


def test_ctrl_c_lets_the_request_end_and_then_cancels_the_job() -> None:
    with job_service(press_ctrl_c) as service, pytest.raises(KeyboardInterrupt):
        ingest(service)
    assert service.requests == ["IngestBook", "ReadJob", "CancelJob", "ReadJob"]
    assert service.connections == 1, "no request was broken off"


def test_ctrl_c_ends_the_command_also_when_the_job_has_just_ended() -> None:
    with job_service(press_ctrl_c, ended=True) as service, pytest.raises(KeyboardInterrupt):
        ingest(service)
    assert service.requests == ["IngestBook", "ReadJob"]


def test_a_second_ctrl_c_does_not_wait_for_a_service_that_hangs() -> None:
    left = threading.Event()

    def hang() -> None:
        press_ctrl_c()
        while not left.wait(0.2):
            press_ctrl_c()

    with job_service(hang) as service:
        with pytest.raises(KeyboardInterrupt):
            ingest(service)
        left.set()
    assert service.requests == ["IngestBook", "ReadJob"]


def test_ctrl_c_works_as_before_after_the_job() -> None:
    before = signal.getsignal(signal.SIGINT)
    with job_service(lambda: None, ended=True) as service, pytest.raises(BookwiseError, match="cancelled"):
        ingest(service)
    assert signal.getsignal(signal.SIGINT) is before


def test_ctrl_c_while_python_creates_a_class_is_no_bug(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    class Interrupted:
        def __set_name__(self, owner: type, name: str) -> None:
            raise KeyboardInterrupt

    def importing(*_: object) -> None:
        type("Created", (), {"member": Interrupted()})

    monkeypatch.setattr("bookwise.cli.main.program", importing)
    assert run_with(["--data-dir", str(tmp_path), "books"]) == INTERRUPTED
    assert capsys.readouterr().err == "Stopped.\n"
