"""A Hugo project → its site."""

import json
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from bookwise.domain.errors import BadLesson, BadSource
from bookwise.ingestion.discovery.facts import NO_FACTS, Facts, facts_from
from bookwise.ingestion.discovery.names import folder_of, one_line, stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import TEXTS, Route, Site, base_address, inner_folder
from bookwise.ingestion.discovery.sites.yaml_text import plain_values
from bookwise.ingestion.discovery.walk import Tree, format_of
from bookwise.ingestion.parsing.front_matter import split_front_matter
from bookwise.text.plurals import plural

ENDINGS = ("toml", "yaml", "yml", "json")
CONFIGS = tuple(f"{folder}hugo.{ending}" for folder in ("", "config/_default/") for ending in ENDINGS)
#: The names before Hugo 0.110, which other programs use too.
OLD_CONFIGS = tuple(f"{folder}config.{ending}" for folder in ("", "config/_default/") for ending in ENDINGS)

_TOKEN = re.compile(r":(\w+)(\[[^\]]*\])?")
_UNSAFE = re.compile(r"[^\w./+~@-]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class _Config:
    """The keys of the configuration in lower case, as Hugo reads them."""

    name: str
    values: Mapping[str, Any]
    warnings: tuple[str, ...] = ()

    def text(self, key: str) -> str:
        return one_line(self.values.get(key), 2000)

    def table(self, key: str) -> Mapping[str, Any]:
        value = self.values.get(key)
        return value if isinstance(value, dict) else {}


@dataclass(frozen=True, slots=True, kw_only=True)
class _Routes:
    """How Hugo builds the address of a page."""

    patterns: Mapping[str, str] = field(default_factory=dict)  #: permalinks of pages, by section
    section_patterns: Mapping[str, str] = field(default_factory=dict)
    ugly: bool | Mapping[str, Any] = False
    keeps_case: bool = False
    prefix: str = ""  #: folder of the default language, and the path that the content is mounted at

    def route(self, path: str, facts: Facts) -> str:
        """The path below the base address; empty brackets of a pattern that cannot be filled raise `_UnknownRoute`."""
        if facts.url:
            return self._expanded(facts.url, path, facts) if ":" in facts.url else _page(facts.url)
        return self.prefix + self._own_route(path, facts)

    def _own_route(self, path: str, facts: Facts) -> str:
        folder, name = folder_of(path), stem(path)
        section = path.split("/")[0] if "/" in path else ""
        if name == "_index":
            pattern = self.section_patterns.get(section) if folder.count("/") == 1 else None
            return self._expanded(pattern, path, facts) if pattern else self._clean(folder)
        if pattern := self.patterns.get(section):
            return self._expanded(pattern, path, facts)
        parent, _, last = folder.rstrip("/").rpartition("/") if name == "index" else (folder.rstrip("/"), "", name)
        if not last:
            return ""
        page = self._clean(f"{parent}/{facts.slug or last}".lstrip("/"))
        return f"{page}.html" if self._is_ugly(section) else f"{page}/"

    def _is_ugly(self, section: str) -> bool:
        return self.ugly is True or (isinstance(self.ugly, dict) and self.ugly.get(section) is True)

    def _clean(self, path: str) -> str:
        path = _UNSAFE.sub("-", path.replace(" ", "-"))
        return path if self.keeps_case else path.lower()

    def _expanded(self, pattern: str, path: str, facts: Facts) -> str:
        values = _token_values(path, facts)

        def value(match: re.Match[str]) -> str:
            if match[2] or not values.get(match[1]):
                raise UnknownRouteError(f"{match[0]} in the pattern {pattern!r}")
            return self._clean(values[match[1]])

        return _page(_TOKEN.sub(value, pattern))


class UnknownRouteError(ValueError):
    """The address of a page cannot be computed from its file."""


def _token_values(path: str, facts: Facts) -> dict[str, str]:
    folder, name = folder_of(path).rstrip("/"), stem(path)
    base = folder.rpartition("/")[2] if name in ("index", "_index") else name
    day = facts.published_on
    dates = (
        {
            "year": f"{day:%Y}",
            "month": f"{day:%m}",
            "day": f"{day:%d}",
            "yearday": str(day.timetuple().tm_yday),
            "monthname": f"{day:%B}",
            "weekdayname": f"{day:%A}",
        }
        if day
        else {}
    )
    return {
        **dates,
        "section": path.split("/")[0] if "/" in path else "",
        "sections": folder.rpartition("/")[0] if name == "index" else folder,
        "title": facts.title or "",
        "slug": facts.slug or facts.title or base,
        "filename": base,
        "contentbasename": base,
        "slugorfilename": facts.slug or base,
        "slugorcontentbasename": facts.slug or base,
    }


def _page(url: str) -> str:
    last = url.rpartition("/")[2]
    return url if not last or "." in last else f"{url}/"


def is_hugo(tree: Tree, folder: str) -> bool:
    """Whether the folder has a configuration of Hugo. An old name counts with a `baseURL` and a folder `content`."""
    if any(tree.has(folder + name) for name in CONFIGS):
        return True
    old = [folder + name for name in OLD_CONFIGS if tree.has(folder + name)]
    has_content = any(name.startswith(folder + "content/") for name in tree.raw_paths)
    return bool(old) and has_content and "baseurl" in _read_config(tree, old[0]).values


def hugo_site(tree: Tree, folder: str, profile: BookProfile) -> Site:
    """The pages below `content` by weight. Parts of a leaf bundle are no pages."""
    config = _config(tree, folder)
    content, published_path = _content_folder(tree, folder, config)
    docs = f"{profile.book.docs}/" if profile.book.docs else content
    pages = [name for name in tree.raw_paths if name.startswith(docs) and format_of(name) in TEXTS]
    facts = {name: _facts(tree, name) for name in pages}
    parts = _bundle_parts(pages)
    published = {name: page for name, page in facts.items() if name not in parts and not page.is_draft}
    routes = _routes(config, published_path if docs == content else "")
    labels, positions = _sections(docs, facts)
    base_url = base_address(config.text("baseurl"))
    has_address = bool(base_url or profile.book.base_url)
    return Site(
        kind="hugo",
        docs=docs,
        title=config.text("title"),
        base_url=base_url,
        route=_known_or_none(routes),
        formats=TEXTS,
        partials=parts,
        labels=labels,
        positions=positions,
        warnings=(*config.warnings, *_address_warnings(config, docs, published, routes if has_address else None)),
    )


def _known_or_none(routes: _Routes) -> Route:
    def route(path: str, facts: Facts) -> str | None:
        try:
            return routes.route(path, facts)
        except UnknownRouteError:
            return None

    return route


def _address_warnings(config: _Config, docs: str, facts: Mapping[str, Facts], routes: _Routes | None) -> list[str]:
    if routes is None:
        return [
            f"{config.name} has no baseURL with a host, so lessons have no address. "
            "Set base_url under [book] in bookwise.toml."
        ]
    unknown = []
    for name, page in facts.items():
        try:
            routes.route(name.removeprefix(docs), page)
        except UnknownRouteError as error:
            unknown.append((name, str(error)))
    if not unknown:
        return []
    name, reason = unknown[0]
    return [
        f"The address of {plural(len(unknown), 'lesson')} is unknown, so they have no link. The first is {name}: "
        f"Bookwise cannot fill {reason}. Set `url` or `date` in its front matter."
    ]


def _config(tree: Tree, folder: str) -> _Config:
    names = [folder + name for name in (*CONFIGS, *OLD_CONFIGS) if tree.has(folder + name)]
    main = _read_config(tree, names[0]) if names else _Config(name=folder, values={})
    values = dict(main.values)
    for key in ("permalinks", "languages", "module"):
        part = next((n for e in ENDINGS if tree.has(n := f"{folder}config/_default/{key}.{e}")), "")
        if part:
            values[key] = dict(_read_config(tree, part).values)
    return _Config(name=main.name, values=values, warnings=main.warnings)


def _read_config(tree: Tree, name: str) -> _Config:
    try:
        values = _parsed(tree.text(name), name.rpartition(".")[2])
    except (BadSource, ValueError, RecursionError) as error:
        problem = error.message if isinstance(error, BadSource) else f"{error}"
        return _Config(name=name, values={}, warnings=(f"{name} was ignored: {problem[:200]}.",))
    values = values if isinstance(values, dict) else {}
    return _Config(name=name, values={str(key).lower(): value for key, value in values.items()})


def _parsed(text: str, ending: str) -> Any:
    if ending == "toml":
        return tomllib.loads(text)
    return json.loads(text) if ending == "json" else plain_values(text)


def _content_folder(tree: Tree, folder: str, config: _Config) -> tuple[str, str]:
    """The folder of the default language, or the folder of all content; and the path below which it is published."""
    content = inner_folder(folder, config.text("contentdir") or "content")
    language = config.text("defaultcontentlanguage") or "en"
    facts = config.table("languages").get(language)
    own = {str(key).lower(): value for key, value in facts.items()} if isinstance(facts, dict) else {}
    if own_folder := one_line(own.get("contentdir")):
        content = inner_folder(folder, own_folder)
    choices = [*_content_mounts(folder, config, language), (content, "")]
    has_pages = (choice for choice in choices if any(name.startswith(choice[0]) for name in tree.raw_paths))
    return next(has_pages, (folder, ""))


def _content_mounts(folder: str, config: _Config, language: str) -> list[tuple[str, str]]:
    """The folders that `module.mounts` shows as content, with the paths below it."""
    mounts = config.table("module").get("mounts")
    result = []
    for mount in mounts if isinstance(mounts, list) else []:
        if not isinstance(mount, dict) or mount.get("lang", language) != language:
            continue
        source, target = (one_line(mount.get(key)).strip("/") for key in ("source", "target"))
        if source and (target == "content" or target.startswith("content/")):
            path = target.removeprefix("content").strip("/")
            result.append((inner_folder(folder, source), f"{path}/" if path else ""))
    return result


def _routes(config: _Config, published_path: str) -> _Routes:
    patterns = config.table("permalinks")
    pages, sections = patterns.get("page"), patterns.get("section")
    by_section = {key: value for key, value in patterns.items() if isinstance(value, str)}
    in_subfolder = config.values.get("defaultcontentlanguageinsubdir") is True
    ugly = config.values.get("uglyurls")
    return _Routes(
        patterns={**by_section, **_texts(pages)},
        section_patterns=_texts(sections),
        ugly=ugly if isinstance(ugly, bool | dict) else False,
        keeps_case=config.values.get("disablepathtolower") is True,
        prefix=(f"{config.text('defaultcontentlanguage') or 'en'}/" if in_subfolder else "") + published_path,
    )


def _texts(table: object) -> dict[str, str]:
    return {k: v for k, v in table.items() if isinstance(v, str)} if isinstance(table, dict) else {}


def _facts(tree: Tree, name: str) -> Facts:
    try:
        return facts_from(split_front_matter(tree.text(name))[0])
    except BadLesson:
        return NO_FACTS


def _sections(docs: str, facts: Mapping[str, Facts]) -> tuple[dict[str, str], dict[str, float]]:
    """The titles and weights of the folders, from their index pages."""
    labels: dict[str, str] = {}
    positions: dict[str, float] = {}
    for name, page in facts.items():
        if stem(name) in ("_index", "index"):
            where = folder_of(name).removeprefix(docs).rstrip("/")
            labels[where] = page.title or ""
            if page.weight:
                positions[where] = page.weight
    return labels, positions


def _bundle_parts(pages: list[str]) -> frozenset[str]:
    """Files in the folder of a leaf bundle: Hugo gives them to its page and publishes no page of their own."""
    bundles = tuple(folder_of(name) for name in pages if stem(name) == "index" and folder_of(name))
    return (
        frozenset(name for name in pages if name.startswith(bundles) and stem(name) != "index")
        if bundles
        else frozenset()
    )
