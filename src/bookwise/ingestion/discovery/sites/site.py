"""What all site generators have in common: folder, order and addresses of the lessons."""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from urllib.parse import quote

from bookwise.domain.books import LessonFormat, SiteKind
from bookwise.ingestion.discovery.facts import NO_FACTS, Facts
from bookwise.ingestion.discovery.names import folder_of, label, natural_key, number_prefix, stem
from bookwise.ingestion.discovery.profile import is_web_address

TEXTS: frozenset[LessonFormat] = frozenset({"markdown", "mdx", "rst", "notebook"})
INDEXES = frozenset({"index", "readme"})
MISSING_SHOWN = 20

#: Path and front matter of a lesson → the path of its page; None when it cannot be known.
Route = Callable[[str, Facts], str | None]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A lesson in a navigation."""

    name: str  #: source file
    title: str = ""
    breadcrumb: tuple[str, ...] | None = None  #: None: taken from its folders
    group: str = ""  #: its chapter; empty for lessons outside the chapters
    leads_group: bool = False
    url: str = ""  #: address of a fetched page
    path: str = ""  #: path to read its position from; empty: its own path
    chapter: int | None = None  #: number in its title, of a chapter of a document


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How a book is published. `docs` is a folder with a trailing slash, or empty for the root."""

    kind: SiteKind
    docs: str = ""
    title: str = ""
    base_url: str = ""
    route: Route
    formats: frozenset[LessonFormat] = TEXTS
    listed: tuple[Listed, ...] = ()
    unlisted_rule: str = ""  #: rule for lessons that no navigation lists; empty: they come last
    own_files: frozenset[str] = frozenset()  #: configuration files that look like lessons
    hides_underscored: bool = False  #: names that start with `_` are partials
    partials: frozenset[str] = frozenset()  #: other files that are parts of a page, not lessons
    excluded: tuple[str, ...] = ()  #: globs from the site's configuration, relative to `docs`
    labels: Mapping[str, str] = field(default_factory=dict)  #: folder inside `docs` → label
    positions: Mapping[str, float] = field(default_factory=dict)  #: folder inside `docs` → position
    warnings: tuple[str, ...] = ()

    def inner(self, name: str) -> str:
        """The path relative to `docs`."""
        return name.removeprefix(self.docs)

    def by_name(self) -> dict[str, Listed]:
        """The first entry of each listed lesson."""
        return {entry.name: entry for entry in reversed(self.listed)}


def breadcrumb(site: Site, name: str) -> tuple[str, ...]:
    """The labels of the folders above a lesson."""
    parts = folder_of(site.inner(name)).split("/")[:-1]
    return tuple(site.labels.get("/".join(parts[: i + 1])) or label(part) or part for i, part in enumerate(parts))


def url_of(site: Site, base_url: str, name: str, facts: Facts) -> str:
    """The address of the published lesson; empty when it cannot be known or the book has no base address."""
    path = site.route(site.inner(name), facts) if base_url else None
    return "" if path is None else join_url(base_url, path)


def join_url(base_url: str, path: str) -> str:
    """Appends a path to an address. The result always stays below the address."""
    inner = posixpath.normpath("/" + path.lstrip("/")).lstrip("/")
    slash = "/" if inner and path.endswith("/") else ""
    return base_url.rstrip("/") + "/" + quote(inner, safe="/~!$&'()*+,;=:@") + slash


def base_address(*parts: str) -> str:
    """The parts joined to the address of a site; empty when that is not a web address."""
    first, *rest = (part.strip() for part in parts)
    joined = "/".join([first.rstrip("/"), *(part.strip("/") for part in rest if part.strip("/"))])
    return joined + "/" if is_web_address(joined) else ""


def inner_folder(folder: str, subfolder: str) -> str:
    """A subfolder from a site's configuration; `folder` itself when it points outside the book."""
    path = posixpath.normpath(folder + subfolder.strip())
    if path.startswith(("..", "/")):
        return folder
    return "" if path == "." else f"{path}/"


def resolve_files(entries: Iterable[Listed], files: Callable[[str], list[str]]) -> tuple[list[Listed], list[str]]:
    """The entries of a navigation with the files that their names stand for, and the names without a file."""
    listed: list[Listed] = []
    missing: list[str] = []
    for entry in entries:
        names = files(entry.name)
        missing.extend([] if names else [entry.name])
        listed.extend(replace(entry, name=name) for name in names)
    return listed, missing


def missing_files(config: str, names: Iterable[str]) -> list[str]:
    """Warnings for files in a configuration that do not exist; only the first few are named."""
    missing = list(dict.fromkeys(names))
    warnings = [f"{config} lists {name[:200]}, which does not exist." for name in missing[:MISSING_SHOWN]]
    more = len(missing) - MISSING_SHOWN
    return [*warnings, f"{config} lists {more} more files that do not exist."] if more > 0 else warnings


def html_route(path: str, facts: Facts) -> str:
    """`guide/setup.md` → `guide/setup.html`."""
    return folder_of(path) + stem(path) + ".html"


def reading_order(site: Site, names: Sequence[str], facts: Mapping[str, Facts]) -> list[str]:
    """Lessons of the navigation first, then the others by position, number prefix and name, folder by folder."""
    rank = {entry.name: i for i, entry in reversed(list(enumerate(site.listed)))}
    unlisted = len(site.listed)

    def key(name: str) -> tuple[int, list[tuple[float, tuple[tuple[str | int, ...], str]]]]:
        return rank.get(name, unlisted), _path_key(site, name, _position(site, facts.get(name, NO_FACTS)))

    return sorted(names, key=key)


def _position(site: Site, facts: Facts) -> float | None:
    """Hugo sorts by weight, and a weight of 0 counts as none."""
    return (facts.weight or None) if site.kind == "hugo" else facts.sidebar_position


def _path_key(site: Site, name: str, position: float | None) -> list[tuple[float, tuple[tuple[str | int, ...], str]]]:
    *folders, file = site.inner(name).split("/")
    keys = []
    for depth, folder in enumerate(folders):
        folder_position = site.positions.get("/".join(folders[: depth + 1]))
        keys.append((_sort_position(folder, folder_position), natural_key(folder)))
    own_position = -float("inf") if stem(file).lower().removeprefix("_") in INDEXES else _sort_position(file, position)
    return [*keys, (own_position, natural_key(file))]


def _sort_position(name: str, position: float | None) -> float:
    """The position among the siblings: as configured, else the number prefix; names without one come last."""
    number = number_prefix(name)[0]
    if position is not None:
        return position
    return float("inf") if number is None else float(min(number, 10**15))
