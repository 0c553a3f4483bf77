"""A docutils parser that accepts all directives and roles of Sphinx and opens no other file."""

import re
from collections.abc import Sequence
from functools import cache
from typing import Any, cast

from docutils import frontend, nodes, utils
from docutils.parsers import rst
from docutils.parsers.rst import directives, states
from docutils.parsers.rst.languages import en

from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.directives import language_of, reading_of, title_of
from bookwise.ingestion.parsing.references import CODE_ROLES, short_name

MAX_LINE = 10_000

_BUILT_IN = frozenset(("table", "list-table", "csv-table", "replace", "unicode"))
#: Directives without arguments: the text after their name belongs to the content.
_WITHOUT_ARGUMENT = frozenset(
    (
        "attention",
        "caution",
        "danger",
        "error",
        "hint",
        "important",
        "note",
        "tip",
        "warning",
        "seealso",
        "todo",
    )
)
_DIRECTIVE: re.Pattern[str] = states.Body.explicit.constructs[-1][1]
_LABELLED = re.compile(r"(.*?)\s*<[^<>]*>", re.DOTALL)
#: Above these limits the markup of a paragraph is not parsed: docutils searches the rest of it again at every mark.
_INLINE_LENGTH = 5_000
_INLINE_MARKS = 500


def doctree(text: str) -> nodes.document:
    """The docutils tree of a lesson, without transforms. Raises `BadLesson`."""
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        raise BadLesson("too-large", f"A line of the lesson is longer than {MAX_LINE:,} characters.")
    tree = utils.new_document("lesson", _settings().copy())
    parser = rst.Parser(inliner=_inliner())
    parser.state_classes = _state_classes()
    try:
        parser.parse(text, tree)
    except RecursionError as error:
        raise BadLesson("too-deep", "The lesson is nested too deeply.", advice="Reduce the nesting.") from error
    return tree


@cache
def _settings() -> Any:
    settings = frontend.get_default_settings(rst.Parser)
    settings.__dict__.update(
        file_insertion_enabled=False,
        raw_enabled=False,
        _disable_config=True,
        report_level=5,
        halt_level=5,
        warning_stream=False,
        syntax_highlight="none",
        auto_id_prefix="id",
        line_length_limit=MAX_LINE,
    )
    return settings


class _LocalState(states.RSTState):
    """Changes to all parser states. The global registries of docutils are not modified."""

    nested_sm_cache: list[Any] = []  # noqa: RUF012  state machines of other state classes must not be reused here

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)
        self.nested_sm_kwargs = {"state_classes": _state_classes(), "initial_state": "Body"}

    def explicit_construct(self, match: re.Match[str]) -> tuple[list[nodes.Node], bool]:
        directive = _DIRECTIVE.match(match.string)
        construct = self.directive(directive) if directive else super().explicit_construct(match)  # type: ignore[misc]
        return cast(tuple[list[nodes.Node], bool], construct)

    def explicit_list(self, blank_finish: bool) -> None:
        """Does not look ahead for more constructs: docutils would copy the rest of the lesson each time."""

    def directive(self, match: re.Match[str], **presets: Any) -> tuple[list[nodes.Node], bool]:
        name = match.group(1).lower()
        kind = _directive_class(name, self.document)
        result = self.run_directive(kind, match, name, presets)  # type: ignore[attr-defined]
        return cast(tuple[list[nodes.Node], bool], result)

    def comment(self, match: re.Match[str]) -> tuple[list[nodes.Node], bool]:
        # A comment can look like the mark that docutils adds after an included file; this entry keeps that harmless.
        self.document.include_log.append(("", (None, None, None, None)))
        return cast(tuple[list[nodes.Node], bool], super().comment(match))  # type: ignore[misc]


@cache
def _state_classes() -> tuple[type, ...]:
    return tuple(type(state_class.__name__, (_LocalState, state_class), {}) for state_class in states.state_classes)


def _directive_class(name: str, tree: nodes.document) -> type[rst.Directive]:
    if name in _BUILT_IN:
        built_in, _ = directives.directive(name, cast(Any, en), tree)
        return cast(type[rst.Directive], built_in)
    if name in _WITHOUT_ARGUMENT:
        return _TextDirective
    return _NamedDirective


class _AnyOption(dict[str, Any]):
    """Accepts every option, with any value."""

    def __bool__(self) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return lambda value: value or ""


class _TextDirective(rst.Directive):
    """A directive that has only content."""

    has_content = True

    def run(self) -> list[nodes.Node]:
        return self._body(self.name, "")

    def _body(self, name: str, argument: str) -> list[nodes.Node]:
        box = nodes.container()
        if title := title_of(name, argument):
            inlines, _ = self.state.inline_text(title, self.lineno)
            box += nodes.paragraph(title, "", *inlines)
        self.state.nested_parse(self.content, self.content_offset, box)
        return [box]


class _NamedDirective(_TextDirective):
    """A directive with an argument, options and content; its name decides how it is read."""

    optional_arguments = 1
    final_argument_whitespace = True
    option_spec = _AnyOption()

    def run(self) -> list[nodes.Node]:
        argument = " ".join(self.arguments)
        match reading_of(self.name):
            case "dropped":
                return []
            case "math":
                content = "\n".join(self.content)
                formula = f"{argument}\n{content}".strip()
                return [nodes.math_block(formula, formula)] if formula else []
            case "code":
                return self._code(argument)
        return self._body(self.name, argument)

    def _code(self, argument: str) -> list[nodes.Node]:
        text = "\n".join(self.content)
        block = nodes.literal_block(text, text, language=language_of(self.name, argument))
        caption = self.options.get("caption") or (argument.partition(" ")[2] if self.name == "code-tab" else "")
        captions: list[nodes.Node] = [nodes.paragraph(caption, caption)] if caption else []
        return [*captions, block] if text.strip() else captions


def _inliner() -> states.Inliner:
    """The inline parser of docutils with our roles. It builds its patterns from its own class, so a subclass does not
    work."""
    inliner = states.Inliner()
    parse = inliner.parse

    def parse_within_limits(text: str, lineno: int, memo: Any, parent: nodes.Element) -> Any:
        if len(text) > _INLINE_LENGTH or sum(map(text.count, "*`|_")) > _INLINE_MARKS:
            return [nodes.Text(utils.unescape(text, True))], []
        return parse(text, lineno, memo, parent)

    inliner.parse = parse_within_limits  # type: ignore[method-assign]
    inliner.interpreted = _read_role  # type: ignore[method-assign]
    return inliner


def _read_role(
    rawsource: str, text: str, role: str, lineno: int
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """The visible text of any role."""
    label, kind = utils.unescape(text, False), (role or "").lower().rpartition(":")[2]
    if kind == "math":
        return [nodes.math(rawsource, utils.unescape(text, True))], []
    explicit = _LABELLED.fullmatch(label)
    if explicit and explicit[1]:
        label = explicit[1]
    elif kind in CODE_ROLES:
        return [nodes.literal(rawsource, short_name(label))], []
    return [nodes.Text(label)], []


def messages_text(message: nodes.system_message) -> Sequence[str]:
    """The source lines that docutils could not parse. They may contain text for readers."""
    if message["level"] < 3:
        return ()
    return [block.astext() for block in message.findall(nodes.literal_block)]
