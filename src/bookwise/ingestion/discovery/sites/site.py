"""What every kind of site says about its lessons: where they are, in which order, under which address."""

import posixpath
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from urllib.parse import quote

from bookwise.domain.books import LessonFormat, SiteKind
from bookwise.ingestion.discovery.facts import NO_FACTS, Facts
from bookwise.ingestion.discovery.names import folder_of, label, natural_key, number_prefix, stem
from bookwise.ingestion.discovery.profile import is_web_address

TEXTS: frozenset[LessonFormat] = frozenset({"markdown", "mdx", "rst", "notebook"})
INDEXES = frozenset({"index", "readme"})
MISSING_SHOWN = 20

Route = Callable[[str, Facts], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """A lesson as a navigation lists it."""

    name: str  #: source file
    title: str = ""
    breadcrumb: tuple[str, ...] | None = None  #: None: the folders above it
    group: str = ""  #: the chapter it belongs to; empty for lessons beside the chapters
    leads_group: bool = False
    url: str = ""  #: where a fetched lesson came from
    path: str = ""  #: what to read its number from; empty: its own


@dataclass(frozen=True, slots=True, kw_only=True)
class Site:
    """How one book is published. `docs` is a folder with its slash, or empty for the root."""

    kind: SiteKind
    docs: str = ""
    title: str = ""
    base_url: str = ""
    route: Route
    formats: frozenset[LessonFormat] = TEXTS
    listed: tuple[Listed, ...] = ()
    unlisted_rule: str = ""  #: empty: lessons outside the navigation follow it
    own_files: frozenset[str] = frozenset()  #: files of the site that look like lessons
    hides_underscored: bool = False  #: names that begin with `_` are partials
    excluded: tuple[str, ...] = ()  #: globs of the site's own configuration, inside `docs`
    labels: Mapping[str, str] = field(default_factory=dict)  #: folder inside `docs` → label
    positions: Mapping[str, float] = field(default_factory=dict)  #: folder inside `docs` → position
    warnings: tuple[str, ...] = ()

    def inner(self, name: str) -> str:
        """The path inside the folder of lessons."""
        return name.removeprefix(self.docs)

    def by_name(self) -> dict[str, Listed]:
        """The first place of each listed lesson."""
        return {entry.name: entry for entry in reversed(self.listed)}


def breadcrumb(site: Site, name: str) -> tuple[str, ...]:
    """Labels of the folders above a lesson."""
    parts = folder_of(site.inner(name)).split("/")[:-1]
    return tuple(site.labels.get("/".join(parts[: i + 1])) or label(part) or part for i, part in enumerate(parts))


def url_of(site: Site, base_url: str, name: str, facts: Facts) -> str:
    """The lesson's published address; empty when the book has none."""
    return join_url(base_url, site.route(site.inner(name), facts)) if base_url else ""


def join_url(base_url: str, path: str) -> str:
    """Hangs a path under an address. Whatever the path says, the result stays below the address."""
    inner = posixpath.normpath("/" + path.lstrip("/")).lstrip("/")
    slash = "/" if inner and path.endswith("/") else ""
    return base_url.rstrip("/") + "/" + quote(inner, safe="/~!$&'()*+,;=:@") + slash


def base_address(*parts: str) -> str:
    """Joins the parts of a site's address; empty when that is no web address."""
    first, *rest = (part.strip() for part in parts)
    joined = "/".join([first.rstrip("/"), *(part.strip("/") for part in rest if part.strip("/"))])
    return joined + "/" if is_web_address(joined) else ""


def inner_folder(folder: str, named: str) -> str:
    """A folder named in a site's configuration; the configuration's own folder when it leads elsewhere."""
    path = posixpath.normpath(folder + named.strip())
    if path.startswith(("..", "/")):
        return folder
    return "" if path == "." else f"{path}/"


def missing_files(config: str, names: Iterable[str]) -> list[str]:
    """Warnings about files that a configuration names and nobody wrote; the first few are named."""
    missing = list(dict.fromkeys(names))
    shown = [f"{config} names {name[:200]}, which is not there." for name in missing[:MISSING_SHOWN]]
    more = len(missing) - MISSING_SHOWN
    return [*shown, f"{config} names {more} more files that are not there."] if more > 0 else shown


def html_route(path: str, facts: Facts) -> str:
    """`guide/setup.md` → `guide/setup.html`."""
    return folder_of(path) + stem(path) + ".html"


def reading_order(site: Site, names: Sequence[str], facts: Mapping[str, Facts]) -> list[str]:
    """The navigation first, then the rest: by position, number prefix and name, folder by folder."""
    rank = {entry.name: i for i, entry in reversed(list(enumerate(site.listed)))}
    unlisted = len(site.listed)

    def key(name: str) -> tuple[int, list[tuple[float, tuple[tuple[str | int, ...], str]]]]:
        return rank.get(name, unlisted), _path_key(site, name, facts.get(name, NO_FACTS).sidebar_position)

    return sorted(names, key=key)


def _path_key(site: Site, name: str, position: float | None) -> list[tuple[float, tuple[tuple[str | int, ...], str]]]:
    *folders, file = site.inner(name).split("/")
    keys = []
    for depth, folder in enumerate(folders):
        given = site.positions.get("/".join(folders[: depth + 1]))
        keys.append((_standing(folder, given), natural_key(folder)))
    own = -float("inf") if stem(file).lower() in INDEXES else _standing(file, position)
    return [*keys, (own, natural_key(file))]


def _standing(name: str, given: float | None) -> float:
    """Where a name stands among its siblings: as told, else by its number, else after those."""
    number = number_prefix(name)[0]
    if given is not None:
        return given
    return float("inf") if number is None else float(min(number, 10**15))
