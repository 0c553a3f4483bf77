"""A book small enough for the test embedder: each lesson says one thing, in words that only it has."""

from pathlib import Path

from bookwise.settings import Settings
from tests.support.apps import hashing_app, ingested, write_book

TOPIC = "A topic carries messages from many publishers to many subscribers without waiting."
SERVICE = "A service answers one request with exactly one response, and the caller waits."
LESSONS = {
    "topics.md": f"# Topics\n\n{TOPIC}\n",
    "services.md": f"# Services\n\n{SERVICE}\n",
    "actions.md": "# Actions\n\nAn action runs for a long time, reports progress and can be cancelled.\n",
    "nodes.md": "# Nodes\n\nA node is one unit of computation with a name of its own.\n",
    "parameters.md": "# Parameters\n\nA parameter is a named value that a program reads when it starts.\n",
    "bags.md": "# Bags\n\nA bag records everything to a file so that it can be replayed later.\n",
}
ASKS_TOPIC = "What carries messages from many publishers to many subscribers without waiting?"
ASKS_SERVICE = "What answers one request with exactly one response, and the caller waits?"
ASKS_NOTHING = "Zebra xylophone quantum pastry?"
ASKS_NEAR = "Which zebra topics paint quantum messages without a pastry?"  #: near a lesson, but not answered

MODULES = """
[book]
base_url = "https://example.com/docs/"

[[modules]]
name = "basics"
aliases = ["start"]

[[modules]]
name = "more"
"""


async def shelve(data: Path, root: Path, *, book_id: str = "book", toml: str = "", **lessons: str) -> Settings:
    """Ingests the book (other lessons where some are given) and returns the settings that open it."""
    files = {f"{name}.md": text for name, text in lessons.items()} or LESSONS
    write_book(root, {**files, **({"bookwise.toml": toml} if toml else {})})
    async with hashing_app(data) as app:
        await ingested(app, root, book_id=book_id)
    return Settings(data_dir=data, embedder="hashing")
