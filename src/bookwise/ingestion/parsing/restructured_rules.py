"""A docutils parser that takes Sphinx's directives and roles as they come and opens no other file."""

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

MAX_LINE = 10_000

_BUILT_IN = frozenset(("table", "list-table", "csv-table", "replace", "unicode"))
#: What stands beside their name is already their text.
_UNARGUED = frozenset(
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
_CODE_NAMES = """
code literal file samp command option envvar program kbd makevar regexp func class meth mod attr data exc obj
const type macro member var
"""
_CODE_ROLES = frozenset(_CODE_NAMES.split())
_DIRECTIVE: re.Pattern[str] = states.Body.explicit.constructs[-1][1]
_LABELLED = re.compile(r"(.*?)\s*<[^<>]*>", re.DOTALL)
#: Beyond this a paragraph keeps its markup as it is: docutils searches its rest again at every mark.
_INLINE_LENGTH = 5_000
_INLINE_MARKS = 500


def doctree(text: str) -> nodes.document:
    """The tree of a reStructuredText lesson, before any transform."""
    if any(len(line) > MAX_LINE for line in text.split("\n")):
        raise BadLesson("too-large", f"A line of the lesson is longer than {MAX_LINE:,} characters.")
    tree = utils.new_document("lesson", _settings().copy())
    parser = rst.Parser(inliner=_inliner())
    parser.state_classes = _state_classes()
    try:
        parser.parse(text, tree)
    except RecursionError as error:
        raise BadLesson("too-deep", "The lesson is nested too deeply.", advice="Flatten it.") from error
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


class _Local(states.RSTState):
    """What every state of the parser does our way. docutils' own registries stay untouched."""

    nested_sm_cache: list[Any] = []  # noqa: RUF012  machines made for other state classes must not be reused here

    def __init__(self, state_machine: Any, debug: bool = False) -> None:
        super().__init__(state_machine, debug)
        self.nested_sm_kwargs = {"state_classes": _state_classes(), "initial_state": "Body"}

    def explicit_construct(self, match: re.Match[str]) -> tuple[list[nodes.Node], bool]:
        found = _DIRECTIVE.match(match.string)
        construct = self.directive(found) if found else super().explicit_construct(match)  # type: ignore[misc]
        return cast(tuple[list[nodes.Node], bool], construct)

    def explicit_list(self, blank_finish: bool) -> None:
        """Leaves the next construct to the state it is found in: looking ahead for a series of them copies the
        rest of the lesson each time."""

    def directive(self, match: re.Match[str], **presets: Any) -> tuple[list[nodes.Node], bool]:
        name = match.group(1).lower()
        kind = _directive_class(name, self.document)
        ran = self.run_directive(kind, match, name, presets)  # type: ignore[attr-defined]
        return cast(tuple[list[nodes.Node], bool], ran)

    def comment(self, match: re.Match[str]) -> tuple[list[nodes.Node], bool]:
        # A comment that imitates docutils' mark after an included file has no include to end.
        self.document.include_log.append(("", (None, None, None, None)))
        return cast(tuple[list[nodes.Node], bool], super().comment(match))  # type: ignore[misc]


@cache
def _state_classes() -> tuple[type, ...]:
    return tuple(type(known.__name__, (_Local, known), {}) for known in states.state_classes)


def _directive_class(name: str, tree: nodes.document) -> type[rst.Directive]:
    if name in _BUILT_IN:
        found, _ = directives.directive(name, cast(Any, en), tree)
        return cast(type[rst.Directive], found)
    if name in _UNARGUED:
        return _Noted
    return _Titled


class _AnyOption(dict[str, Any]):
    """Accepts every option, with any value."""

    def __bool__(self) -> bool:
        return True

    def __missing__(self, name: str) -> Any:
        return lambda value: value or ""


class _Noted(rst.Directive):
    """A directive whose content is all text."""

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


class _Titled(_Noted):
    """A directive with an argument, options and content, read as its name suggests."""

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
        titled: list[nodes.Node] = [nodes.paragraph(caption, caption)] if caption else []
        return [*titled, block] if text.strip() else titled


def _inliner() -> states.Inliner:
    """docutils' inline parser, with our roles. Its patterns are built from its own class, so it cannot be
    extended by a subclass."""
    inliner = states.Inliner()
    parse = inliner.parse

    def bounded(text: str, lineno: int, memo: Any, parent: nodes.Element) -> Any:
        if len(text) > _INLINE_LENGTH or sum(map(text.count, "*`|_")) > _INLINE_MARKS:
            return [nodes.Text(utils.unescape(text, True))], []
        return parse(text, lineno, memo, parent)

    inliner.parse = bounded  # type: ignore[method-assign]
    inliner.interpreted = _interpreted  # type: ignore[method-assign]
    return inliner


def _interpreted(
    rawsource: str, text: str, role: str, lineno: int
) -> tuple[list[nodes.Node], list[nodes.system_message]]:
    """Every role as the words a reader sees."""
    shown, kind = utils.unescape(text, False), (role or "").lower().rpartition(":")[2]
    if kind == "math":
        return [nodes.math(rawsource, utils.unescape(text, True))], []
    labelled = _LABELLED.fullmatch(shown)
    if labelled and labelled[1]:
        shown = labelled[1]
    elif kind in _CODE_ROLES:
        return [nodes.literal(rawsource, _short_name(shown))], []
    return [nodes.Text(shown)], []


def _short_name(name: str) -> str:
    """`~package.Name` is shown as `Name`, `!name` as `name`."""
    if name.startswith("~"):
        return name.rpartition(".")[2].lstrip("~")
    return name.lstrip("!")


def messages_text(message: nodes.system_message) -> Sequence[str]:
    """Source lines that docutils could not place: they are words all the same."""
    if message["level"] < 3:
        return ()
    return [block.astext() for block in message.findall(nodes.literal_block)]
