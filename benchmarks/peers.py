"""Bookwise and its peers: what an installation downloads, and how well LlamaIndex finds the same pages.

python -m benchmarks.peers install [PACKAGE ...]
python -m benchmarks.peers retrieval [SET ...]

Peers are installed into virtual environments in a temporary folder (--scratch FOLDER keeps them), never into that of
Bookwise. What cannot be installed or measured is left out, with the reason. Needs the package index; `retrieval` also
needs the evaluation sets.
"""

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import urllib.error
import urllib.request
import venv
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.retrieval import DEEP, HITS, chunks_for, first_hit, page, shares
from benchmarks.sets import DATA, EvaluationSet, load
from bookwise.ingestion.discover import discover
from bookwise.ingestion.pipeline import ingest
from bookwise.settings import load_settings
from bookwise.wiring import App, open_app

PEERS = ("llama-index", "haiku.rag", "r2r", "ragflow-sdk")
RETRIEVAL = ("llama-index-core", "llama-index-retrievers-bm25")
SETS = ("rust-book", "claude-docs")
MINUTES = 5  #: for pip to resolve the packages of one peer
CHUNK_SIZES = (1024, 256)  #: the default of LlamaIndex, and as much as all-MiniLM-L6-v2 reads of a text

#: Runs in the environment of LlamaIndex. It cuts pages into nodes, or ranks nodes for questions. The vectors come from
#: Bookwise, so both have the same embedding model.
PEER_PROGRAM = """
import json, sys
from llama_index.core import QueryBundle, Settings, VectorStoreIndex
from llama_index.core.embeddings import MockEmbedding
from llama_index.core.llms import MockLLM
from llama_index.core.node_parser import SentenceSplitter
from llama_index.core.retrievers import QueryFusionRetriever
from llama_index.core.schema import Document, TextNode
from llama_index.retrievers.bm25 import BM25Retriever

Settings.llm = MockLLM()
work = json.load(open(sys.argv[1]))
if "pages" in work:
    splitter = SentenceSplitter(**({} if work["size"] == 1024 else {"chunk_size": work["size"], "chunk_overlap": 20}))
    documents = [Document(text=text, metadata={"file": file}) for file, text in work["pages"].items()]
    nodes = splitter.get_nodes_from_documents(documents)
    texts = [(node.metadata["file"], node.get_content(), node.get_content("embed")) for node in nodes]
    result = [{"file": file, "text": text, "embed": embed} for file, text, embed in texts]
else:
    Settings.embed_model = MockEmbedding(embed_dim=len(work["nodes"][0]["vector"]))
    nodes = [TextNode(text=n["text"], metadata={"file": n["file"]}, embedding=n["vector"]) for n in work["nodes"]]
    dense = VectorStoreIndex(nodes).as_retriever(similarity_top_k=work["depth"])
    words = BM25Retriever.from_defaults(nodes=nodes, similarity_top_k=min(work["depth"], len(nodes)))
    fused = {"similarity_top_k": work["depth"], "num_queries": 1, "mode": "reciprocal_rerank", "use_async": False}
    both = QueryFusionRetriever([dense, words], **fused)
    result = {name: [] for name in ("vectors", "BM25", "both, fused by rank")}
    for question in work["questions"]:
        bundle = QueryBundle(question["text"], embedding=question["vector"])
        for name, retriever in zip(result, (dense, words, both)):
            result[name].append([found.node.metadata["file"] for found in retriever.retrieve(bundle)])
json.dump(result, open(sys.argv[2], "w"))
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("measurement", choices=("install", "retrieval"))
    parser.add_argument("names", nargs="*", help="packages or evaluation sets (default: all)")
    parser.add_argument("--scratch", type=Path, help="folder for the environments of the peers, reused if it exists")
    options = parser.parse_intermixed_args()
    with tempfile.TemporaryDirectory() as folder:
        scratch = (options.scratch or Path(folder)).resolve()
        if options.measurement == "install":
            measure_installs(options.names or PEERS, scratch)
        else:
            asyncio.run(measure_retrieval(options.names or SETS, with_llama_index(scratch)))


def environment(scratch: Path, name: str) -> Path:
    """The Python of a virtual environment for a peer."""
    python = scratch / name / "bin" / "python"
    if not python.exists():
        venv.create(scratch / name, with_pip=True)
    return python


def measure_installs(packages: Sequence[str], scratch: Path) -> None:
    python = environment(scratch, "resolver")
    for package in packages:
        try:
            report = resolved(python, package)
        except (subprocess.CalledProcessError, subprocess.TimeoutExpired) as error:
            print(f"{package}: left out, pip could not resolve it ({type(error).__name__})", flush=True)
            continue
        found = report["install"]
        own = next(item["metadata"] for item in found if item.get("requested"))
        licence = own.get("license_expression") or own.get("license", "not stated").partition("\n")[0]
        size = sum(bytes_of(item["download_info"]["url"]) for item in found) / 1e6
        print(
            f"{package} {own['version']}: {len(found)} packages, {size:.0f} MB to download, licence {licence}",
            flush=True,
        )


def resolved(python: Path, package: str) -> dict[str, Any]:
    """What `pip install` would install, by its own report; only wheels, so that nothing is built."""
    command = [str(python), "-m", "pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", "-"]
    run = subprocess.run(
        [*command, "--only-binary=:all:", package], check=True, capture_output=True, text=True, timeout=MINUTES * 60
    )
    report: dict[str, Any] = json.loads(run.stdout)
    return report


def bytes_of(url: str) -> int:
    if url.startswith("file:"):
        return Path(url.removeprefix("file://")).stat().st_size
    try:
        with urllib.request.urlopen(urllib.request.Request(url, method="HEAD"), timeout=30) as response:
            return int(response.headers["Content-Length"])
    except urllib.error.URLError as error:
        sys.exit(f"The size of {url.rpartition('/')[2]} is unknown: {error}")


def with_llama_index(scratch: Path) -> Path:
    """The Python of an environment that has it."""
    python = environment(scratch, "llama-index")
    install = [str(python), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *RETRIEVAL]
    if subprocess.run(install, check=False).returncode:
        sys.exit("LlamaIndex: left out, it could not be installed.")
    return python


async def measure_retrieval(names: Sequence[str], python: Path) -> None:
    print(f"page {HITS}; the first {DEEP} chunks count; all with the same embedding model, in one run")
    with tempfile.TemporaryDirectory() as folder:
        async with open_app(load_settings(data_dir=Path(folder))) as app:
            for name in names:
                if (DATA / "evaluation" / name).exists():
                    await compare(app, load(name), python, Path(folder))
                else:
                    print(f"{name}: left out, {DATA / 'evaluation' / name} does not exist")


async def compare(app: App, data: EvaluationSet, python: Path, scratch: Path) -> None:
    gold = [{(file, "") for file in question.pages} for question in data.questions]
    book = discover(data.book, book_id=data.name)
    await ingest(book, data.book, app.ingestion_kit)
    own = [
        first_hit(await chunks_for(app, data.name, q), right, page)
        for q, right in zip(data.questions, gold, strict=True)
    ]
    show(data, "Bookwise", own)
    pages = {file.source_file: (data.book / file.source_file).read_text(encoding="utf-8") for file in book.files}
    questions = [
        {"text": q.text, "vector": [float(x) for x in await app.embedder.embed_query(q.text)]} for q in data.questions
    ]
    for size in CHUNK_SIZES:
        nodes = run_peer(python, scratch, {"pages": pages, "size": size})
        vectors = await app.embedder.embed_texts([node["embed"] for node in nodes])
        for node, vector in zip(nodes, vectors, strict=True):
            node["vector"] = [float(x) for x in vector]
        ranked = run_peer(python, scratch, {"nodes": nodes, "questions": questions, "depth": DEEP})
        for method, found in ranked.items():
            ranks = [rank_of(files, right) for files, right in zip(found, gold, strict=True)]
            show(data, f"LlamaIndex, {size} tokens, {method}", ranks)


def rank_of(files: list[str], gold: set[tuple[str, str]]) -> int:
    places = list(dict.fromkeys(files))
    return next((rank for rank, file in enumerate(places, 1) if (file, "") in gold), DEEP + 1)


def run_peer(python: Path, scratch: Path, work: dict[str, Any]) -> Any:
    asked, answered = scratch / "work.json", scratch / "result.json"
    asked.write_text(json.dumps(work), encoding="utf-8")
    subprocess.run([str(python), "-W", "ignore", "-c", PEER_PROGRAM, str(asked), str(answered)], check=True)
    return json.loads(answered.read_text(encoding="utf-8"))


def show(data: EvaluationSet, method: str, ranks: list[int]) -> None:
    print(f"{data.name:12} {len(ranks):4} questions   {method:44} {shares(ranks)}", flush=True)


if __name__ == "__main__":
    main()
