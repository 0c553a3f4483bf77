"""A `bookwise serve` process with a scripted model, and readers of its streams that use almost no CPU."""

import asyncio
import json
import os
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from uuid import uuid4

PROGRAM = str(Path(sys.executable).parent / "bookwise")


@dataclass
class Talk:
    """One question and its stream as the reader saw it; times are seconds since the request."""

    mark: str = field(default_factory=lambda: f"mark-{uuid4().int % 10**12}-mark")
    silent: bool = False
    session: str = field(default_factory=lambda: str(uuid4()))
    opened: asyncio.Event = field(default_factory=asyncio.Event)  #: set when the search results arrive
    first_event: float = 0.0
    first_content: float = 0.0
    text: str = ""
    ended: list[str] = field(default_factory=list)
    sent: list[float] = field(default_factory=list)  #: when any data arrived

    @property
    def in_order(self) -> bool:
        """Whether it ended once, and contains its own mark and no other."""
        return self.ended == ["done"] and set(re.findall(r"mark-\d+-mark", self.text)) == {self.mark}

    def event(self, name: str, data: bytes, now: float) -> None:
        self.first_event = self.first_event or now
        if name == "retrieval":
            self.opened.set()
        if name == "content":
            self.first_content = self.first_content or now
            self.text += json.loads(data)["delta"]
        if name in ("done", "error"):
            self.ended.append(name)


class Service:
    """The process, and requests to it."""

    def __init__(self, port: int, pid: int) -> None:
        self._port, self._pid = port, pid

    @property
    def memory(self) -> float:
        """Resident memory in MiB."""
        resident = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{self._pid}/status").read_text())
        assert resident is not None
        return int(resident[1]) / 1024

    async def connected(self) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
        return await asyncio.open_connection("127.0.0.1", self._port, limit=2**22)

    async def stream(self, talk: Talk) -> Talk:
        """Asks, and reads to the end. Each frame is one HTTP chunk, so its lines are complete."""
        question = f"What is a node in ROS 2? {'silence' if talk.silent else talk.mark}"
        body = {"message": question, "session_id": talk.session, "similarity_threshold": 0}
        reader, writer = await self.connected()
        started, name = time.perf_counter(), ""
        try:
            writer.write(request("/chat/stream", body, "close"))
            async for line in reader:
                now = time.perf_counter() - started
                if line.startswith(b"event: "):
                    name = line[7:].decode().strip()
                elif line.startswith(b"data: "):
                    talk.event(name, line[6:], now)
                if line.startswith((b"data: ", b": ")):
                    talk.sent.append(now)
        finally:
            writer.close()
        return talk

    async def keeps(self, talk: Talk) -> bool:
        """Whether the session contains exactly the text of the stream."""
        reader, writer = await self.connected()
        writer.write(f"GET /session/{talk.session} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".encode())
        body = (await reader.read()).partition(b"\r\n\r\n")[2]
        writer.close()
        message = json.loads(body)["messages"][-1]
        return bool(message.get("complete", True) and message["content"] == talk.text.strip())


def request(path: str, body: object, connection: str = "keep-alive") -> bytes:
    data = json.dumps(body).encode()
    lines = f"POST {path} HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    return f"{lines}Connection: {connection}\r\nContent-Length: {len(data)}\r\n\r\n".encode() + data


@contextmanager
def process(*command: str, **environment: str) -> Iterator[subprocess.Popen[str]]:
    running = subprocess.Popen(
        command, env={**os.environ, **environment}, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        yield running
    finally:
        running.terminate()
        running.communicate()


@contextmanager
def serving(data: Path) -> Iterator[Service]:
    """The service on a free port. Its log goes to a file, because a full pipe would block it."""
    with process(sys.executable, "-m", "benchmarks.slow_model") as model, (data.parent / "log").open("w+") as log:
        assert model.stdout is not None
        settings = {
            "BOOKWISE_DATA_DIR": str(data),
            "BOOKWISE_UNSUPPORTED": "mark",  # the question's mark is not in the book and would be dropped
            "BOOKWISE_ANSWER_TIMEOUT_SECONDS": "600",
            "OPENAI_API_KEY": "sk-scripted",
            "OPENAI_BASE_URL": f"http://127.0.0.1:{model.stdout.readline().strip()}/v1",
        }
        running = subprocess.Popen([PROGRAM, "serve", "--port", "0"], env={**os.environ, **settings}, stderr=log)
        try:
            yield Service(_port(Path(log.name), running), running.pid)
        finally:
            running.terminate()
            running.wait()


def _port(log: Path, running: subprocess.Popen[bytes]) -> int:
    while not (address := re.search(r"listens on http://\S+:(\d+)", log.read_text())):
        assert running.poll() is None, log.read_text()
        time.sleep(0.1)
    return int(address[1])
