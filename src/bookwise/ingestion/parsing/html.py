"""HTML page → its title, and its headings and blocks in reading order as Markdown."""

import re
from collections.abc import Callable, Iterator

from selectolax.lexbor import LexborHTMLParser, LexborNode

from bookwise.domain.books import PAGE_ANCHOR, Block, BlockKind
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.fences import code_block
from bookwise.ingestion.parsing.lists import list_blocks
from bookwise.ingestion.parsing.sections import Heading, LessonPart, PageStart, blocks_of
from bookwise.ingestion.parsing.tables import pipe_table
from bookwise.ingestion.parsing.tags import without_scripts

MAX_DEPTH = 2_000

_CONTENT = ("main article", "article", "main", "[role=main]", "body")
_DROPPED = (
    "nav, aside, footer, script, style, noscript, template, svg, iframe, button, form, input, select, "
    "dialog, .hash-link, .headerlink, .toc, .table-of-contents, .contents, .theme-doc-toc-mobile, "
    ".breadcrumbs, .md-source-file, .skip-link, .visually-hidden, .sr-only, .linenos, .linenodiv, [hidden], "
    "[role=navigation], [role=search]"
)
#: Elements that the parser nests inside each other even if their end tags are wrong.
_NESTING = re.compile(
    r"<(/?)(?!(?:p|li|dt|dd|tr|td|th|thead|tbody|tfoot|option|optgroup|col|colgroup|html|head|body|br|hr|img"
    r"|input|meta|link|area|base|embed|source|track|wbr|param|path)\b)[a-zA-Z]"
)
_PHRASES = """
a abbr b bdi bdo cite code data del dfn em font i ins kbd label mark math q ruby s samp small span strong sub
sup time tt u var br img wbr picture -text
"""
_INLINE = frozenset(_PHRASES.split())
_MARKS = {"b": "**", "strong": "**", "i": "*", "em": "*", "code": "`", "kbd": "`", "samp": "`", "tt": "`"}
_LANGUAGE = re.compile(r"(?:^|\s)(?:lang(?:uage)?|highlight(?:-source)?|brush:)-?\s*([\w+#-]+)")
_FORMULA = "annotation[encoding='application/x-tex']"
_SITE_NAME = re.compile(r"\s+[|–—·]\s+")


def html_parts(text: str) -> tuple[str, list[LessonPart]]:
    """The title of the page, and the headings and blocks of its main content. Raises `BadLesson`."""
    tree = html_tree(text)
    title = tree.css_first("title")
    root = next((element for query in _CONTENT if (element := tree.css_first(query))), None)
    name = _SITE_NAME.split(_one_line(title.text()) if title else "")[0]
    try:
        return name, list(_HtmlReader(root).parts(root)) if root is not None else []
    except RecursionError as error:
        raise BadLesson("too-deep", "The page is nested too deeply.") from error


def html_tree(text: str) -> LexborHTMLParser:
    """The elements of a page. Raises `BadLesson` when it is nested too deeply."""
    if _depth(without_scripts(text)) > MAX_DEPTH:
        raise BadLesson("too-deep", f"The page is nested more than {MAX_DEPTH:,} levels deep.")
    return LexborHTMLParser(text)


def _depth(text: str) -> int:
    """The maximum nesting depth. It is checked before parsing, because building a very deep tree takes very long."""
    depth = deepest = 0
    for tag in _NESTING.finditer(text):
        depth = max(0, depth - 1) if tag[1] else depth + 1
        deepest = max(deepest, depth)
    return deepest


def _one_line(text: str) -> str:
    return " ".join(text.split())


class _HtmlReader:
    """Reads the main content of a page."""

    def __init__(self, root: LexborNode) -> None:
        self._dropped_ids = {element.mem_id for element in root.css(_DROPPED)}
        self._readers: dict[str, Callable[[LexborNode], Iterator[LessonPart]]] = {
            **{f"h{level}": self._heading for level in range(1, 7)},
            "p": self._paragraph,
            "hr": self._rule,
            "pre": self._code,
            "table": self._table,
            "ul": self._bullets,
            "ol": self._numbers,
            "menu": self._bullets,
        }

    def _children(self, element: LexborNode, *tags: str) -> Iterator[LexborNode]:
        child = element.first_child
        while child is not None:
            if child.mem_id not in self._dropped_ids and (not tags or child.tag in tags):
                yield child
            child = child.next

    def parts(self, element: LexborNode) -> Iterator[LessonPart]:
        """The parts of the children of an element; text between blocks becomes paragraphs."""
        inline_texts: list[str] = []
        for child in self._children(element):
            if child.tag in _INLINE and not child.css_first("pre, p, div, ul, ol, table, h1, h2, h3, h4, h5, h6"):
                inline_texts.append(self._inline(child))
                continue
            yield from _text("".join(inline_texts))
            inline_texts = []
            yield from self._element(child)
        yield from _text("".join(inline_texts))

    def _element(self, element: LexborNode) -> Iterator[LessonPart]:
        if not element.tag or element.tag in ("-comment", "-doctype"):
            return iter(())
        if element.tag in _INLINE and element.tag not in self._readers and element.first_child is None:
            return self._paragraph(element)
        return self._readers.get(element.tag, self.parts)(element)

    def _blocks(self, element: LexborNode) -> Iterator[Block]:
        return blocks_of(self.parts(element))

    def _heading(self, element: LexborNode) -> Iterator[LessonPart]:
        title = _one_line(self._verbatim(element))
        if title:
            yield Heading(level=int(str(element.tag)[1]), title=title, anchor=_anchor(element))

    def _rule(self, element: LexborNode) -> Iterator[LessonPart]:
        """A rule with the id `page=88` marks the start of a page of a PDF."""
        anchor = element.attributes.get("id") or ""
        if PAGE_ANCHOR.fullmatch(anchor):
            yield PageStart(anchor)

    def _paragraph(self, element: LexborNode) -> Iterator[LessonPart]:
        return _text(self._inline(element))

    def _code(self, element: LexborNode) -> Iterator[LessonPart]:
        text = self._verbatim(element).strip("\n")
        if text.strip():
            yield code_block(text, info=_language(element))

    def _table(self, element: LexborNode) -> Iterator[LessonPart]:
        listing = element.css_first("td.code pre")
        if listing is not None:
            yield from self._code(listing)
            return
        for caption in element.css("caption"):
            yield from self._paragraph(caption)
        rows = [[self._cell(cell) for cell in self._children(row, "th", "td")] for row in self._rows(element)]
        first = next(self._rows(element), None)
        head = 1 if first is not None and not any(self._children(first, "td")) else 0
        if table := pipe_table(rows[:head], rows[head:]):
            yield table

    def _rows(self, element: LexborNode) -> Iterator[LexborNode]:
        """The rows of a table, without the rows of nested tables."""
        for part in self._children(element, "tr", "thead", "tbody", "tfoot"):
            yield from [part] if part.tag == "tr" else self._children(part, "tr")

    def _cell(self, element: LexborNode) -> str:
        return " ".join(block.text for block in self._blocks(element))

    def _bullets(self, element: LexborNode) -> Iterator[LessonPart]:
        return list_blocks(("-", blocks) for blocks in self._items(element))

    def _numbers(self, element: LexborNode) -> Iterator[LessonPart]:
        start = element.attributes.get("start") or "1"
        first = int(start) if start.isdecimal() and len(start) < 10 else 1
        return list_blocks((f"{number}.", blocks) for number, blocks in enumerate(self._items(element), first))

    def _items(self, element: LexborNode) -> Iterator[list[Block]]:
        """The blocks of each item; any other element directly in the list counts as an item."""
        for child in self._children(element):
            read = self.parts if child.tag == "li" else self._element
            if blocks := list(blocks_of(read(child))):
                yield blocks

    def _verbatim(self, element: LexborNode) -> str:
        """The text of code or of a title, with line breaks."""
        if element.tag == "-text":
            return element.text(deep=False)
        return "\n" if element.tag == "br" else "".join(map(self._verbatim, self._children(element)))

    def _inline(self, element: LexborNode) -> str:
        match element.tag:
            case "-text":
                return re.sub(r"\s+", " ", element.text(deep=False))
            case "br":
                return "\n"
            case "img":
                alt = _one_line(element.attributes.get("alt") or "")
                return f"![{alt}]({element.attributes.get('src') or ''})" if alt else ""
            case tag if not tag or tag.startswith(("-", "!")):
                return ""
        if "katex" in (element.attributes.get("class") or "") and (tex := element.css_first(_FORMULA)):
            return f"${tex.text().strip()}$"
        return self._with_mark(element, "".join(self._inline(child) for child in self._children(element)))

    def _with_mark(self, element: LexborNode, inner: str) -> str:
        if element.tag == "a":
            return _link(inner, element.attributes.get("href") or "")
        mark = _MARKS.get(str(element.tag), "")
        core = inner.strip()
        return inner.replace(core, f"{mark}{core}{mark}", 1) if mark and core else inner


def _text(text: str, kind: BlockKind = "text") -> Iterator[LessonPart]:
    lines = [_one_line(line) for line in text.split("\n")]
    if content := "\n".join(line for line in lines if line):
        yield Block(kind=kind, text=content)


def _link(label: str, href: str) -> str:
    """A link as Markdown; only the label if the address is a script."""
    address = href.strip()
    if not label.strip() or not address or address.lower().startswith(("javascript:", "data:", "vbscript:")):
        return label
    return f"[{label.strip()}]({address})"


def _anchor(heading: LexborNode) -> str:
    """The id of a heading, of an anchor in it, or of its section."""
    parent = heading.parent
    section = parent if parent is not None and parent.tag == "section" else None
    holders = (heading, heading.css_first("a[id], span[id]"), section)
    return next((value for h in holders if h is not None and (value := h.attributes.get("id"))), "")


def _language(pre: LexborNode) -> str:
    """The language in the class of the code element or of the elements around it."""
    holders = [pre.css_first("code"), pre, pre.parent, pre.parent.parent if pre.parent else None]
    for holder in holders:
        match = _LANGUAGE.search((holder.attributes.get("class") or "") if holder is not None else "")
        if match and match[1] not in ("none", "default", "text", "notranslate"):
            return match[1].lower()
    return ""
