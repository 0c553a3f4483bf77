"""all-MiniLM-L6-v2 with seven-bit weights: where its files are, and their checksums."""

import hashlib
from pathlib import Path

GRAPH_NAME = "minilm-1.onnx"
TOKENIZER_NAME = "tokenizer.json"

#: Of model.safetensors, from which the graph is built.
WEIGHTS_SHA256 = "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db"
GRAPH_SHA256 = "6a14480caa4ee6d4a5e69e285a53b761a8d649c1ebe9847328314a586ed66511"
TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"

FOLDER = Path(__file__).parent


def require_checksum(file: Path, expected: str) -> None:
    """`ValueError` unless the file has this SHA-256."""
    with file.open("rb") as content:
        found = hashlib.file_digest(content, "sha256").hexdigest()
    if found != expected:
        raise ValueError(f"{file} is damaged: its SHA-256 is {found[:12]}…, expected {expected[:12]}….")
