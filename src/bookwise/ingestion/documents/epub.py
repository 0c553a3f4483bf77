"""EPUB → its chapters in the order of the spine, with the titles of the table of contents."""

import posixpath
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import unquote
from xml.etree.ElementTree import Element

from selectolax.lexbor import LexborNode

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.discovery.names import label, one_line, stem
from bookwise.ingestion.documents.document import Document, DraftChapter, build_document
from bookwise.ingestion.documents.epub_archive import EpubArchive
from bookwise.ingestion.parsing.decode import decode
from bookwise.ingestion.parsing.html import html_tree

MAX_DEPTH = 20  #: levels of a table of contents
MAX_CHAPTERS = 5_000
LINKS_MIN = 5  #: fewer links are no table of contents
FRONT_TEXT_MIN = 200  #: characters before the first chapter below which there is only a title page

_CONTAINER = "META-INF/container.xml"
_ENCRYPTION = "META-INF/encryption.xml"
_FONT_SCRAMBLING = ("http://www.idpf.org/2008/embedding", "http://ns.adobe.com/pdf/enc#RC")
_PAGES = ("application/xhtml+xml", "text/html")
_VOID = "area|base|br|col|embed|hr|img|input|link|meta|param|source|track|wbr"
_SELF_CLOSED = re.compile(rf"<(?!(?:{_VOID})\b)([a-zA-Z][\w:-]*)((?:\s[^<>]*?)?)/>", re.IGNORECASE)
_IMAGE = re.compile(r"<(?:img|image)\b[^<>]*>(?:</image>)?", re.IGNORECASE)
#: Elements that would hide text: the reader of web pages takes the first article and drops asides.
_LANDMARK = re.compile(r"<(/?)(?:article|aside|main|footer|header|form)\b", re.IGNORECASE)
_LINK = re.compile(r"<a\s[^>]*href[^>]*>(.*?)</a>", re.IGNORECASE | re.DOTALL)
_ID = re.compile(r"<[^<>]*\sid=[\"']([^\"'<>]+)[\"']")
_TAG = re.compile(r"<[^>]*>")
_BODY = re.compile(r"<body\b[^>]*>(.*?)(?:</body\s*>|$)", re.IGNORECASE | re.DOTALL)
_DECLARED_ENCODING = re.compile(rb"^\s*<\?xml[^>]*?encoding=[\"']([\w.-]{1,40})[\"']")


@dataclass(frozen=True, slots=True, kw_only=True)
class ContentsEntry:
    """An entry of the table of contents that points to a file."""

    title: str
    parents: tuple[str, ...] = ()
    fragment: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Package:
    """The package document: the title, and the files by id and in reading order."""

    folder: str
    title: str
    items: dict[str, Element]
    spine: tuple[str, ...]  #: paths of the files
    ncx: str = ""  #: id of the table of contents in EPUB 2


@dataclass(frozen=True, slots=True, kw_only=True)
class _Piece:
    """A file of the spine, or the part of it that belongs to one chapter."""

    title: str
    entry: ContentsEntry | None = None
    html: str = ""
    error: BadLesson | None = None


@dataclass(slots=True, kw_only=True)
class _OpenChapter:
    """A chapter that may consist of several files."""

    title: str
    parents: tuple[str, ...]
    pages: list[str] = field(default_factory=list)

    def draft(self) -> DraftChapter:
        html = "\n".join(f"<div>{page}</div>" for page in self.pages)
        return DraftChapter(title=self.title, parents=self.parents, html=f"<main>\n{html}\n</main>\n")


def read_epub(raw: bytes) -> Document:
    """The chapters of an EPUB. Raises `BadLesson` when the file as a whole cannot be read."""
    archive = EpubArchive(raw)
    package = _package(archive)
    encrypted = _encrypted_members(archive)
    if encrypted.intersection(package.spine):
        raise BadLesson("encrypted", "The EPUB is protected (DRM). Ingest a copy without protection.")
    if not package.spine:
        raise BadLesson("damaged", "The EPUB lists no pages. Export it again.")
    return build_document(package.title, _chapters(archive, package, _toc(archive, package)))


def _package(archive: EpubArchive) -> _Package:
    path = next((e.get("full-path", "") for e in archive.tree(_CONTAINER).iter("rootfile")), "")
    root = archive.tree(path)
    folder = posixpath.dirname(path)
    items = {item.get("id", ""): item for item in root.iter("item")}
    references = (items.get(reference.get("idref", "")) for reference in root.iter("itemref"))
    pages = [item for item in references if item is not None and _is_page(item)]
    spine = dict.fromkeys(_member(folder, item.get("href", "")) for item in pages[:MAX_CHAPTERS])
    spine_element = root.find("spine")
    return _Package(
        folder=folder,
        title=one_line(next((e.text for e in root.iter("title") if e.text), "")),
        items=items,
        spine=tuple(spine),
        ncx=spine_element.get("toc", "") if spine_element is not None else "",
    )


def _is_page(item: Element) -> bool:
    return item.get("media-type") in _PAGES and not _is_nav(item)


def _is_nav(item: Element) -> bool:
    """Whether the file is the table of contents of EPUB 3."""
    return "nav" in item.get("properties", "").split()


def _member(folder: str, href: str) -> str:
    """The name of a file in the archive that a reference leads to."""
    return posixpath.normpath(posixpath.join(folder, unquote(href.partition("#")[0])))


def _encrypted_members(archive: EpubArchive) -> set[str]:
    """The encrypted files, without fonts that are only scrambled."""
    if not archive.has(_ENCRYPTION):
        return set()
    members: set[str] = set()
    for data in archive.tree(_ENCRYPTION).iter("EncryptedData"):
        method = next((e.get("Algorithm", "") for e in data.iter("EncryptionMethod")), "")
        if method not in _FONT_SCRAMBLING:
            members.update(_member("", e.get("URI", "")) for e in data.iter("CipherReference"))
    return members


def _toc(archive: EpubArchive, package: _Package) -> dict[str, list[ContentsEntry]]:
    """File → the entries that point to it. A damaged table of contents counts as none."""
    nav = next((item for item in package.items.values() if _is_nav(item)), None)
    ncx = package.items.get(package.ncx)
    toc: dict[str, list[ContentsEntry]] = {}
    try:
        if nav is not None:
            path = _member(package.folder, nav.get("href", ""))
            entries = _nav_entries(_text(archive.read(path)))
        elif ncx is not None:
            path = _member(package.folder, ncx.get("href", ""))
            points = archive.tree(path).find("navMap")
            entries = _ncx_entries(points, ()) if points is not None else iter(())
        else:
            return {}
        for href, entry in entries:
            member = _member(posixpath.dirname(path), href)
            toc.setdefault(member, []).append(replace(entry, fragment=unquote(href.partition("#")[2])))
    except BadLesson:
        return {}
    return toc


def _nav_entries(text: str) -> Iterator[tuple[str, ContentsEntry]]:
    navs = html_tree(_as_html(text)).css("nav")
    tocs = [nav for nav in navs if "toc" in (nav.attributes.get("epub:type") or "").split()]
    top = next((nav.css_first("ol") for nav in (*tocs, *navs) if nav.css_first("ol")), None)
    return _list_entries(top, ()) if top is not None else iter(())


def _list_entries(items: LexborNode, parents: tuple[str, ...]) -> Iterator[tuple[str, ContentsEntry]]:
    for item in (child for child in items.iter() if child.tag == "li"):
        children = {child.tag: child for child in item.iter()}
        name = children.get("a") or children.get("span")
        title = one_line(name.text()) if name is not None else ""
        if "a" in children and title:
            yield children["a"].attributes.get("href") or "", ContentsEntry(title=title, parents=parents)
        if "ol" in children and len(parents) < MAX_DEPTH:
            yield from _list_entries(children["ol"], (*parents, title) if title else parents)


def _ncx_entries(points: Element, parents: tuple[str, ...]) -> Iterator[tuple[str, ContentsEntry]]:
    for point in points.findall("navPoint"):
        title = one_line(point.findtext("navLabel/text", ""))
        content = point.find("content")
        if content is not None and title:
            yield content.get("src", ""), ContentsEntry(title=title, parents=parents)
        if len(parents) < MAX_DEPTH:
            yield from _ncx_entries(point, (*parents, title) if title else parents)


def _chapters(archive: EpubArchive, package: _Package, toc: dict[str, list[ContentsEntry]]) -> Iterator[DraftChapter]:
    """A file that the table of contents does not list continues the chapter before it."""
    chapter: _OpenChapter | None = None
    for piece in _spine_pieces(archive, package, toc):
        if chapter and (piece.entry or piece.error or not toc):
            yield chapter.draft()
            chapter = None
        if piece.error:
            yield DraftChapter(title=piece.title, error=piece.error)
        elif chapter:
            chapter.pages.append(piece.html)
        elif piece.entry or not toc or len(_visible(piece.html)) >= FRONT_TEXT_MIN:
            parents = piece.entry.parents if piece.entry else ()
            chapter = _OpenChapter(title=piece.title, parents=parents, pages=[piece.html])
    if chapter:
        yield chapter.draft()


def _spine_pieces(archive: EpubArchive, package: _Package, toc: dict[str, list[ContentsEntry]]) -> Iterator[_Piece]:
    for path in package.spine:
        entries = toc.get(path, [])
        name = label(stem(path)) or path
        try:
            for entry, html in _pieces(_page(_text(archive.read(path))), entries):
                yield _Piece(title=entry.title if entry else _title(html) or name, entry=entry, html=html)
        except BadLesson as error:
            yield _Piece(title=entries[0].title if entries else name, error=error)


def _pieces(page: str, entries: Sequence[ContentsEntry]) -> Iterator[tuple[ContentsEntry | None, str]]:
    """The page, cut where several chapters of the table of contents start in it. Pieces without text are left out."""
    top = min((len(entry.parents) for entry in entries), default=0)
    ids = {match[1]: match.start() for match in _ID.finditer(page)}
    starts: dict[int, ContentsEntry | None] = {
        ids.get(entry.fragment, 0): entry for entry in reversed(entries) if len(entry.parents) == top
    }
    if len(starts) == 1:
        starts = {0: next(iter(starts.values()))}
    starts.setdefault(0, None)  # what is before the first chapter belongs to the one before it
    positions = sorted(starts)
    for start, end in zip(positions, [*positions[1:], len(page)], strict=True):
        if _has_text(page[start:end]):
            yield starts[start], page[start:end]


def _has_text(html: str) -> bool:
    """Whether there is more than a cover or a list of links, as the table of contents of EPUB 2 is."""
    links = _LINK.findall(html)
    text = _visible(html)
    return bool(text) and (len(links) < LINKS_MIN or 2 * sum(len(_visible(link)) for link in links) < len(text))


def _visible(html: str) -> str:
    return _TAG.sub("", html).strip()


def _text(raw: bytes) -> str:
    """The text in the encoding that the XML declares. Raises `BadLesson`."""
    declared = _DECLARED_ENCODING.match(raw[:200])
    if declared and declared[1].lower() not in (b"utf-8", b"utf-16"):
        try:
            return raw.decode(declared[1].decode()).replace("\0", "")
        except (LookupError, UnicodeDecodeError) as error:
            raise BadLesson("encoding", f"The page is not valid {declared[1].decode()}.") from error
    return decode(raw)


def _as_html(text: str) -> str:
    """XHTML as HTML: `<a/>` becomes `<a></a>`, because a reader of HTML would take it for a start tag."""
    return _SELF_CLOSED.sub(r"<\1\2></\1>", text)


def _page(text: str) -> str:
    """The body of a page without images."""
    html = _as_html(text)
    body = _BODY.search(html)
    return _LANDMARK.sub(r"<\1div", _IMAGE.sub("", body[1] if body else html))


def _title(page: str) -> str:
    heading = html_tree(page).css_first("h1, h2, h3")
    return one_line(heading.text()) if heading is not None else ""
