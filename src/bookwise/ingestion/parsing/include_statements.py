"""Include statements of site generators → the file that each names, the part of it, and how the page shows it."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import TypeAlias

from bookwise.domain.books import SiteKind
from bookwise.domain.errors import BadLesson
from bookwise.ingestion.parsing.front_matter import split_front_matter
from bookwise.ingestion.parsing.shortcodes import is_link_target, shortcode_arguments

#: The text of a file → the included part; None when the file has no such part.
Part: TypeAlias = Callable[[str], str | None]

#: Dropped from the text if they were not replaced, with other statements of mdBook.
MDBOOK_STATEMENT = r"(?<!\\)\{\{\s*#(?:include|rustdoc_include|playground|playpen|title|template|quiz)\b[^{}]*\}\}"
MKDOCS_STATEMENT = r"^\s*(?:-+8<-+.*|\{\*.*\*\}|\{!.*!\})\s*$"

_MAX_RANGES = 100
_LANGUAGES = {"py": "python", "rs": "rust", "js": "javascript", "ts": "typescript", "sh": "bash", "yml": "yaml"}
_MARK = re.compile(r"ANCHOR(?:_END)?:\s*[\w-]+|-+8<-+[ \t]+\[(?:start|end):[^\]]*\]")
_LINE_OPTION = re.compile(r"\bln\[([^\]]*)\]")
_OPTION = re.compile(r"[ \t]*:([\w-]+):[ \t]*(.*)")
#: Options of Sphinx that need more than the text of the file, or another parser.
_UNSUPPORTED_OPTIONS = frozenset(("pyobject", "diff", "start-line", "end-line", "literal", "code", "parser"))
_HEADING = re.compile(r"(?m)^#[ \t]+(.+?)[ \t#]*$")


def _whole(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True, kw_only=True)
class Include:
    """One included file. `paths` are alternatives, of which the first that exists counts."""

    source: str  #: what stays in the text if the file cannot be included; the parser drops it
    paths: tuple[str, ...]
    part: Part = _whole
    render: Callable[[str], str] = _whole  #: the part → what the page shows
    searches_up: bool = False  #: the path is relative to the lesson's folder or to one of the folders above
    is_reference: bool = False  #: a link to a page, of which only the title is shown; a broken one is not reported
    is_supported: bool = True  #: False: Bookwise can only report it


@dataclass(frozen=True, slots=True, kw_only=True)
class IncludeSyntax:
    """The statements of one generator. The group `indent` of the pattern precedes every line of the included text."""

    mark: str  #: in every statement; texts without it are not searched
    pattern: re.Pattern[str]
    read: Callable[[re.Match[str]], list[Include]]


def include_syntaxes(file_name: str, site: SiteKind) -> tuple[IncludeSyntax, ...]:
    """The statements that count in this lesson. A plain folder may use those of mdBook and MkDocs."""
    ending = file_name.lower().rpartition(".")[2]
    if ending == "rst":
        return (_SPHINX,)
    if ending not in ("md", "markdown", "mdx", "qmd"):
        return ()
    if ending == "qmd":
        return (_QUARTO,)
    return _BY_SITE.get(site, ())


def _mdbook(match: re.Match[str]) -> list[Include]:
    kind, target = match["kind"], match["target"].strip()
    if kind in ("playground", "playpen"):
        path = target.partition(" ")[0]
        return [Include(source=match[0], paths=(path,), render=partial(_fenced, "rust"))]
    path, _, selection = target.partition(":")
    every = kind == "rustdoc_include"  # shows all regions with this name; the other lines are hidden
    return [Include(source=match[0], paths=(path.strip(),), part=_selected(selection, every=every, one_line=True))]


def _snippets(match: re.Match[str]) -> list[Include]:
    """`--8<-- "file"`, or the same marks around the names of several files."""
    names = [match["name"]] if match["name"] else [line.strip() for line in (match["names"] or "").split("\n")]
    includes = []
    for name in filter(None, names):
        is_file = "://" not in name
        path, _, selection = name.partition(":") if is_file else (name, "", "")
        includes.append(
            Include(
                source=f'--8<-- "{name}"',
                paths=(path.strip(),),
                part=_selected(selection),
                searches_up=True,
                is_supported=is_file,
            )
        )
    return includes


def _mkdocs_code(match: re.Match[str]) -> list[Include]:
    """`{* ../../docs_src/main.py ln[2:5] hl[3] *}` shows code with its language."""
    path, _, options = match["target"].strip().partition(" ")
    lines = _LINE_OPTION.search(options)
    language = _language(path)
    part = partial(_numbered_lines, lines[1]) if lines else _whole
    return [Include(source=match[0], paths=(path,), part=part, render=partial(_fenced, language), searches_up=True)]


def _mkdocs_text(match: re.Match[str]) -> list[Include]:
    path = match["target"].strip()
    return [Include(source=match[0], paths=(path,), searches_up=True, is_supported=" " not in path)]


def _quarto(match: re.Match[str]) -> list[Include]:
    return [Include(source=match[0], paths=(match["target"],))]


def _hugo_title(match: re.Match[str]) -> list[Include]:
    """A `ref` that is not the target of a link shows the title of the page."""
    if is_link_target(match.string, match.start()):
        return []
    words, options = shortcode_arguments(match["rest"])
    path = (options.get("path") or "".join(words[:1])).partition("#")[0].rstrip("/")
    paths = (path,) if path.endswith(".md") else (f"{path}.md", f"{path}/_index.md", f"{path}/index.md")
    return [Include(source=match[0], paths=paths, part=_page_title, searches_up=True, is_reference=True)]


def _sphinx(match: re.Match[str]) -> list[Include]:
    return [_directive(match, _code_directive)]


def _myst(match: re.Match[str]) -> list[Include]:
    return [_directive(match, lambda language, options, code: _fenced(language, code))]


def _directive(match: re.Match[str], show_code: Callable[[str, dict[str, str], str], str]) -> Include:
    """`include` and `literalinclude` with their options."""
    options = {option[1]: option[2].strip() for line in match["options"].split("\n") if (option := _OPTION.match(line))}
    is_code = match["kind"] == "literalinclude"
    language = options.get("language") or _language(match["target"])
    return Include(
        source=match[0],
        paths=(match["target"],),
        part=partial(_between, options),
        render=partial(show_code, language, options) if is_code else _whole,
        searches_up=True,
        is_supported=options.keys().isdisjoint(_UNSUPPORTED_OPTIONS),
    )


def _unsupported(match: re.Match[str]) -> list[Include]:
    return [Include(source=match[0], paths=(match["target"],), is_supported=False)]


def _selected(selection: str, *, every: bool = False, one_line: bool = False) -> Part:
    """`2:10`, `2:` and `:10` are lines, counted from 1; `2` is one line, or all lines from it; else the name of a
    region."""
    start, colon, end = selection.partition(":")
    if not selection.strip(": "):
        return _without_marks
    if start and not (start.isascii() and start.isdigit()):
        return partial(_region, start.strip(), every=every)
    first = max(int(start[:9]), 1) if start else 1
    last = int(end[:9]) if end.isascii() and end.isdigit() else None
    if not colon and one_line:
        last = first
    return partial(_line_range, first, last)


def _line_range(first: int, last: int | None, text: str) -> str | None:
    lines = text.split("\n")[first - 1 : last]
    return _without_marks("\n".join(lines)) if lines else None


def _numbered_lines(numbers: str, text: str) -> str | None:
    """The lines of `1,3:5` or `1,3-5`."""
    lines = text.split("\n")
    chosen: dict[int, str] = {}  # each line once, so that a long list of ranges cannot multiply the file
    groups = numbers.split(",")
    for group in groups if len(groups) <= _MAX_RANGES else ("too many",):
        bounds = re.fullmatch(r"\s*(\d{0,9})\s*(?:([:-])\s*(\d{0,9}))?\s*", group)
        if bounds is None:
            return None
        first = int(bounds[1] or 1)
        last = int(bounds[3]) if bounds[3] else None if bounds[2] else first
        start = max(first, 1) - 1
        chosen.update(enumerate(lines[start:last], start))
    return "\n".join(chosen.values())


def _region(name: str, text: str, *, every: bool) -> str | None:
    """The lines between `ANCHOR: name` and `ANCHOR_END: name`, or `--8<-- [start:name]` and `[end:name]`."""
    quoted = re.escape(name)
    opening = re.compile(rf"ANCHOR:\s*{quoted}(?![\w-])|-+8<-+[ \t]+\[start:{quoted}\]")
    closing = re.compile(rf"ANCHOR_END:\s*{quoted}(?![\w-])|-+8<-+[ \t]+\[end:{quoted}\]")
    chosen: list[str] = []
    is_inside = is_found = False
    for line in text.split("\n"):
        if is_inside and closing.search(line):
            is_inside = False
            if not every:
                break
        elif not is_inside and opening.search(line):
            is_inside = is_found = True
        elif is_inside and not _MARK.search(line):
            chosen.append(line)
    return "\n".join(chosen) if is_found else None


def _without_marks(text: str) -> str:
    if not _MARK.search(text):
        return text
    return "\n".join(line for line in text.split("\n") if not _MARK.search(line))


def _between(options: dict[str, str], text: str) -> str | None:
    """The part that the options of Sphinx select."""
    lines = text.split("\n")
    start, end = 0, len(lines)
    for key, skip in (("start-at", 0), ("start-after", 1)):
        if mark := options.get(key):
            start = next((i + skip for i, line in enumerate(lines) if mark in line), -1)
    for key, extra in (("end-at", 1), ("end-before", 0)):
        if mark := options.get(key):
            end = next((i + extra for i in range(max(start, 0), len(lines)) if mark in lines[i]), -1)
    if min(start, end) < 0:
        return None
    part = "\n".join(lines[start:end])
    return _numbered_lines(options["lines"], part) if options.get("lines") else part


def _page_title(text: str) -> str | None:
    try:
        facts, body, _ = split_front_matter(text)
    except BadLesson:
        return None
    title = facts.get("title")
    heading = _HEADING.search(body)
    return title.strip() if isinstance(title, str) and title.strip() else heading and heading[1]


def _language(path: str) -> str:
    ending = path.rpartition("/")[2].rpartition(".")[2].lower()
    return _LANGUAGES.get(ending, ending if ending.isalnum() else "")


def _fenced(language: str, code: str) -> str:
    longest = max((len(run) for run in re.findall("`{3,}", code)), default=2)
    fence = "`" * (longest + 1)
    return f"{fence}{language}\n{code}\n{fence}"


def _code_directive(language: str, options: dict[str, str], code: str) -> str:
    lines = (f"   {line}" if line else "" for line in code.split("\n"))
    caption = [f"   :caption: {options['caption']}"] if options.get("caption") else []
    return "\n".join((f".. code-block:: {language}", *caption, "", *lines, ""))


_INDENT = r"(?m)^(?P<indent>[ \t]*)"
_RST_OPTIONS = r"(?P<options>(?:\n[ \t]+:[\w-]+:.*)*)"
_MDBOOK = IncludeSyntax(
    mark="{{",
    pattern=re.compile(
        r"(?m)(?P<indent>^[ \t>]*)?(?<!\\)"
        r"\{\{\s*#(?P<kind>include|rustdoc_include|playground|playpen)\s+(?P<target>[^{}\n]+)\}\}"
    ),
    read=_mdbook,
)
_MKDOCS = (
    IncludeSyntax(
        mark="8<",
        pattern=re.compile(
            rf"{_INDENT}-+8<-+(?:[ \t]+[\"'](?P<name>[^\"'\n]+)[\"']|[ \t]*\n(?P<names>(?:.*\n)*?)[ \t]*-+8<-+)[ \t]*$"
        ),
        read=_snippets,
    ),
    IncludeSyntax(mark="{*", pattern=re.compile(rf"{_INDENT}\{{\*(?P<target>.+?)\*\}}[ \t]*$"), read=_mkdocs_code),
    IncludeSyntax(mark="{!", pattern=re.compile(rf"{_INDENT}\{{!(?P<target>.+?)!\}}[ \t]*$"), read=_mkdocs_text),
)
_QUARTO = IncludeSyntax(
    mark="{{<",
    pattern=re.compile(r"(?m)^[ \t]*\{\{<\s*include\s+[\"']?(?P<target>[^\s\"'<>]+)[\"']?\s*>\}\}[ \t]*$"),
    read=_quarto,
)
_HUGO = IncludeSyntax(
    mark="{{", pattern=re.compile(r"\{\{[<%]\s*(?:rel)?ref\s+(?P<rest>[^<>%{}\n]+?)\s*[>%]\}\}"), read=_hugo_title
)
_SPHINX = IncludeSyntax(
    mark="include::",
    pattern=re.compile(
        rf"{_INDENT}\.\.[ \t]+(?P<kind>literalinclude|include)::[ \t]+(?P<target>\S+)[ \t]*{_RST_OPTIONS}$"
    ),
    read=_sphinx,
)
_MYST = IncludeSyntax(
    mark="include}",
    pattern=re.compile(
        rf"{_INDENT}(?P<fence>`{{3,}}|:{{3,}})\{{(?P<kind>literalinclude|include)\}}[ \t]+(?P<target>\S+)[ \t]*"
        r"(?P<options>(?:\n[ \t]*:[\w-]+:.*)*)\n[ \t]*(?P=fence)[ \t]*$"
    ),
    read=_myst,
)
#: Docusaurus: `import Code from '!!raw-loader!./main.py'`
_DOCUSAURUS = IncludeSyntax(
    mark="raw-loader!",
    pattern=re.compile(r"(?m)^import[^'\"\n]*['\"]!{0,2}raw-loader!(?P<target>[^'\"\n]+)['\"];?[ \t]*$"),
    read=_unsupported,
)
_BY_SITE: dict[SiteKind, tuple[IncludeSyntax, ...]] = {
    "mdbook": (_MDBOOK,),
    "mkdocs": _MKDOCS,
    "quarto": (_QUARTO,),
    "hugo": (_HUGO,),
    "docusaurus": (_DOCUSAURUS,),
    "sphinx": (_MYST,),
    "jupyter-book": (_MYST,),
    "folder": (_MDBOOK, *_MKDOCS, _MYST),
}
