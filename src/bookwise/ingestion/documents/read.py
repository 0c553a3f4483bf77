"""The bytes of a PDF or EPUB file → its chapters.

A chapter is a page of HTML, which the parser of web pages reads. Its hash is that of this page: after an edit, only the
chapters that changed are published again.
"""

import threading

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.reading import sha256
from bookwise.ingestion.documents.document import Document


class _RecentDocuments:
    """The documents that were read last: discovery and parsing read the same one."""

    def __init__(self, limit: int) -> None:
        self._limit = limit
        self._documents: dict[str, Document] = {}
        self._lock = threading.Lock()

    def find(self, digest: str) -> Document | None:
        with self._lock:
            return self._documents.get(digest)

    def add(self, digest: str, document: Document) -> None:
        with self._lock:
            self._documents[digest] = document
            while len(self._documents) > self._limit:
                del self._documents[next(iter(self._documents))]


_recent_documents = _RecentDocuments(2)


def read_document(name: str, raw: bytes) -> Document:
    """The chapters of a document. Raises `BadLesson` when the file as a whole cannot be read."""
    digest = sha256(raw)
    document = _recent_documents.find(digest)
    if document is None:
        from bookwise.ingestion.documents import epub, pdf  # loads pypdf: 0.15 s

        document = pdf.read_pdf(raw) if name.lower().endswith(".pdf") else epub.read_epub(raw)
        _recent_documents.add(digest, document)
    return document


def read_chapter(source_file: str, document_file: str, raw: bytes) -> bytes:
    """The HTML of one chapter. Raises `BadLesson` with reason `changed` when the document no longer has it."""
    name = source_file.removeprefix(f"{document_file}/")
    for chapter in read_document(document_file, raw).chapters:
        if chapter.name == name:
            return chapter.content
    raise BadLesson("changed", f"{document_file} no longer has the chapter {name}.", advice="Run the command again.")
