"""reStructuredText → headings and blocks in reading order, as Markdown."""

from collections.abc import Callable, Iterator
from typing import Any

from docutils import nodes

from bookwise.domain.books import Block, BlockKind
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.fences import code_block
from bookwise.ingestion.parsing.lists import list_blocks
from bookwise.ingestion.parsing.restructured_rules import doctree, messages_text
from bookwise.ingestion.parsing.sections import Heading, LessonPart, blocks_of
from bookwise.ingestion.parsing.tables import pipe_table

MAX_SUBSTITUTIONS = 1000

_MARKS: dict[type[nodes.Node], str] = {nodes.emphasis: "*", nodes.strong: "**", nodes.literal: "`"}
_INVISIBLE = (nodes.comment, nodes.substitution_definition, nodes.raw, nodes.transition, nodes.image)


def restructured_parts(text: str) -> list[LessonPart]:
    """Headings and blocks of a reStructuredText lesson. Raises `BadLesson`."""
    tree = doctree(text)
    try:
        parts = list(_RstReader(tree).parts(tree, 0))
    except RecursionError as error:
        raise BadLesson("too-deep", "The lesson is nested too deeply.", advice="Reduce the nesting.") from error
    return parts


class _RstReader:
    """Reads the docutils tree of a lesson."""

    def __init__(self, tree: nodes.document) -> None:
        self._links = {
            name: target["refuri"]
            for target in tree.findall(nodes.target)
            if "refuri" in target
            for name in target["names"]
        }
        self._substitutions = {name.lower(): element for name, element in tree.substitution_defs.items()}
        self._substituted = 0
        self._open: list[str] = []
        self._label = ""
        self._readers: tuple[tuple[Any, Callable[[Any], Iterator[LessonPart]]], ...] = (
            (nodes.paragraph, self._paragraph),
            ((nodes.literal_block, nodes.doctest_block), self._code),
            (nodes.math_block, self._math),
            (nodes.bullet_list, self._bullets),
            (nodes.enumerated_list, self._numbers),
            (nodes.definition_list_item, self._definition),
            (nodes.field, self._field),
            (nodes.option_list_item, self._option),
            (nodes.line_block, self._lines),
            (nodes.table, self._table),
            ((nodes.footnote, nodes.citation), self._footnote),
            (nodes.system_message, self._message),
            (nodes.TextElement, self._paragraph),
        )

    def parts(self, parent: nodes.Element, level: int) -> Iterator[LessonPart]:
        """The parts of the children of an element; sections below `level` become headings."""
        for child in parent.children:
            if isinstance(child, nodes.target):
                self._label = child["ids"][0] if child["ids"] and "refuri" not in child else self._label
            elif isinstance(child, nodes.section):
                yield from self._section(child, level + 1)
            elif not isinstance(child, _INVISIBLE):
                self._label = ""
                yield from self._block(child, level)

    def _section(self, section: nodes.section, level: int) -> Iterator[LessonPart]:
        anchor, self._label = self._label or (section["ids"] or [""])[0], ""
        title = section.next_node(nodes.title)
        words = " ".join(self._plain(title).split()) if title else ""
        if words:
            yield Heading(level=min(level, 6), title=words, anchor=anchor)
        yield from self.parts(section, level)

    def _block(self, element: nodes.Node, level: int) -> Iterator[LessonPart]:
        if isinstance(element, nodes.title) and isinstance(element.parent, nodes.section):
            return
        for kinds, reader in self._readers:
            if isinstance(element, kinds):
                yield from reader(element)
                return
        if isinstance(element, nodes.Element):
            yield from self.parts(element, level)

    def _blocks(self, element: Any) -> Iterator[Block]:
        """The blocks of a list item or cell, which cannot contain sections."""
        return blocks_of(self.parts(element, 0))

    def _text(self, text: str, kind: BlockKind = "text") -> Iterator[LessonPart]:
        lines = [line.rstrip() for line in text.split("\n")]
        if text := "\n".join(line for line in lines if line):
            yield Block(kind=kind, text=text)

    def _paragraph(self, element: nodes.Element) -> Iterator[LessonPart]:
        return self._text(self._inline(element))

    def _code(self, element: nodes.Element) -> Iterator[LessonPart]:
        default = "python" if isinstance(element, nodes.doctest_block) else ""
        yield code_block(element.astext(), info=element.get("language", default))

    def _math(self, element: nodes.math_block) -> Iterator[LessonPart]:
        yield Block(kind="math", text=f"$$\n{element.astext().strip()}\n$$")

    def _bullets(self, element: nodes.bullet_list) -> Iterator[LessonPart]:
        return list_blocks(("-", self._blocks(item)) for item in element.children)

    def _numbers(self, element: nodes.enumerated_list) -> Iterator[LessonPart]:
        first = element.get("start", 1)
        return list_blocks((f"{first + i}.", self._blocks(item)) for i, item in enumerate(element.children))

    def _definition(self, element: nodes.definition_list_item) -> Iterator[LessonPart]:
        terms = [self._inline(child) for child in element.children if not isinstance(child, nodes.definition)]
        yield from self._text(" : ".join(terms))
        for child in element.children:
            if isinstance(child, nodes.definition):
                yield from self._blocks(child)

    def _field(self, element: nodes.field) -> Iterator[LessonPart]:
        name, body = element.children
        blocks = list(self._blocks(body))
        if blocks and blocks[0].kind == "text":
            yield from self._text(f"{self._inline(name)}: {blocks.pop(0).text}")
        elif blocks:
            yield from self._text(f"{self._inline(name)}:")
        yield from blocks

    def _option(self, element: nodes.option_list_item) -> Iterator[LessonPart]:
        group, description = element.children
        yield from self._text(", ".join(option.astext() for option in group.children))
        yield from self._blocks(description)

    def _lines(self, element: nodes.line_block) -> Iterator[LessonPart]:
        return self._text("\n".join(self._inline(line) for line in element.findall(nodes.line)))

    def _table(self, element: nodes.table) -> Iterator[LessonPart]:
        for title in element.children:
            if isinstance(title, nodes.title):
                yield from self._paragraph(title)
        head = [self._cells(row) for part in element.findall(nodes.thead) for row in part.children]
        body = [self._cells(row) for part in element.findall(nodes.tbody) for row in part.children]
        if table := pipe_table(head, body):
            yield table

    def _cells(self, row: Any) -> list[str]:
        return [" ".join(block.text for block in self._blocks(cell)) for cell in row.children]

    def _footnote(self, element: nodes.Element) -> Iterator[LessonPart]:
        label = next((child.astext() for child in element.children if isinstance(child, nodes.label)), "#")
        body = "\n".join(block.text for block in self._blocks(element) if block.text != label)
        yield from self._text(f"[{label}] {body}")

    def _message(self, element: nodes.system_message) -> Iterator[LessonPart]:
        for text in messages_text(element):
            yield from self._text(text)

    def _plain(self, element: nodes.Node) -> str:
        """The words of a title, without markup."""
        if isinstance(element, nodes.substitution_reference):
            return self._substitution(element, self._plain)
        if isinstance(element, nodes.Text):
            return _valid_text(element.astext())
        return "".join(self._plain(child) for child in element.children)

    def _inline(self, element: nodes.Node) -> str:
        """Inline markup as Markdown."""
        match element:
            case nodes.Text():
                return _valid_text(element.astext())
            case nodes.substitution_reference():
                return self._substitution(element, self._inline)
            case nodes.image() | nodes.raw() | nodes.system_message() | nodes.target() if not element.children:
                return ""
            case nodes.math():
                return f"${element.astext()}$"
            case nodes.footnote_reference() | nodes.citation_reference():
                return f"[{element.astext() or '#'}]"
        inner = "".join(self._inline(child) for child in element.children)
        if isinstance(element, nodes.reference):
            uri = element.get("refuri") or self._links.get(element.get("refname", ""), "")
            return f"[{inner}]({uri})" if uri and uri != inner else inner
        mark = _MARKS.get(type(element), "")
        return f"{mark}{inner}{mark}"

    def _substitution(self, element: nodes.Element, read: Callable[[nodes.Node], str]) -> str:
        """The text of a substitution; its name if it is unknown or refers to itself."""
        name = element.astext()
        definition = self._substitutions.get(name.lower())
        self._substituted += 1
        if definition is None or name in self._open or self._substituted > MAX_SUBSTITUTIONS:
            return name
        self._open.append(name)
        text = "".join(read(child) for child in definition.children)
        self._open.pop()
        return text


def _valid_text(text: str) -> str:
    """The text without invalid code points, which a substitution can contain."""
    return text if text.isprintable() else text.encode("utf-8", "replace").decode().replace("\0", "?")
