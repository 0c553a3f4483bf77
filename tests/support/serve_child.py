"""The service in a process of its own, on a port that it chooses and prints.

python -m tests.support.serve_child DATA
"""

import os
import socket
import sys
from pathlib import Path

import uvicorn

from bookwise.api.app import create_app
from bookwise.settings import Settings

if __name__ == "__main__":
    app = create_app(Settings(data_dir=Path(sys.argv[1]), embedder="hashing"))
    with socket.socket() as listening:
        listening.bind(("127.0.0.1", 0))
        os.write(1, f"{listening.getsockname()[1]}\n".encode())
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])
