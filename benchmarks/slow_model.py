"""A scripted language model for the load test: 20 tokens per second, and the same answer to every question, with the
question's own mark in it. If the question contains `silence`, it sends no text and keeps the connection open.

python -m benchmarks.slow_model      prints its port
"""

import asyncio
import json
import re
from contextlib import suppress

TOKENS_PER_SECOND = 20
LINE_SECONDS = 15.0  #: between two empty chunks of a silent answer
MARK = re.compile(r"mark-\d+-mark")
ANSWER = "A node is a process that computes. [1] This answer belongs to {mark} alone. [1]"
HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def event(delta: dict[str, str], finish: str | None = None) -> bytes:
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    chunk = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "slow", "choices": [choice]}
    return f"data: {json.dumps(chunk)}\n\n".encode()


def tokens(text: str) -> list[str]:
    return re.findall(r"\S+\s*", text)


async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    with suppress(ConnectionError, asyncio.IncompleteReadError):
        head = await reader.readuntil(b"\r\n\r\n")
        length = int(re.search(rb"(?i)content-length: (\d+)", head)[1])  # type: ignore[index]
        question = json.loads(await reader.readexactly(length))["messages"][-1]["content"].rpartition("USER QUESTION:")[
            2
        ]
        writer.write(HEAD + event({"role": "assistant", "content": ""}))
        if "silence" in question:
            disconnect = asyncio.create_task(reader.read())
            while not disconnect.done():
                writer.write(event({"content": ""}))
                await asyncio.wait([disconnect], timeout=LINE_SECONDS)
        else:
            mark = MARK.search(question)
            for token in tokens(ANSWER.format(mark=mark[0] if mark else "no mark")):
                await asyncio.sleep(1 / TOKENS_PER_SECOND)
                writer.write(event({"content": token}))
            writer.write(event({}, "stop") + b"data: [DONE]\n\n")
            await writer.drain()
    writer.close()


async def main() -> None:
    server = await asyncio.start_server(talk, "127.0.0.1", 0, backlog=2048)
    print(server.sockets[0].getsockname()[1], flush=True)
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
