"""File names → the lessons, and the rule by which each other file is left out."""

import re
from collections.abc import Mapping

from bookwise.domain.jobs import SkippedFile
from bookwise.ingestion.discovery.globs import matches, matches_any
from bookwise.ingestion.discovery.names import stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import TEXTS, Site
from bookwise.ingestion.discovery.walk import Tree, format_of

# fmt: off
_PROJECT_DOCUMENTS = frozenset(
    {
        "LICENSE", "LICENCE", "COPYING", "NOTICE", "CHANGELOG", "CHANGES", "CONTRIBUTING", "CONTRIBUTORS",
        "CODE_OF_CONDUCT", "SECURITY", "SUPPORT", "AUTHORS", "MAINTAINERS", "GOVERNANCE", "CODEOWNERS",
        "PULL_REQUEST_TEMPLATE", "ISSUE_TEMPLATE", "AGENTS",
    }
)
# fmt: on
_GENERATED_PAGES = frozenset({"404", "search", "genindex", "py-modindex", "print", "toc", "sitemap"})  #: HTML only
_TEMPLATE = re.compile(r"_?(?:(?:lesson|chapter|module|page|doc)[-_])?template", re.IGNORECASE)
_OLDER_VERSION = re.compile(r"(?:^|/)(?:[a-z0-9-]+_)?versioned_docs/")


def admit(
    tree: Tree, site: Site, profile: BookProfile, mirrors: Mapping[str, str]
) -> tuple[list[str], list[SkippedFile]]:
    """The lessons, and the files that look like lessons but are left out, with the rule."""
    listed = {entry.name for entry in site.listed}
    lessons: list[str] = []
    left_out: list[SkippedFile] = []
    for name in tree.raw_paths:
        if format_of(name) is None or name in site.own_files:
            continue
        reason = _exclusion(name, site, profile, mirrors)
        if reason is None and name not in listed:
            reason = _exclusion_of_unlisted(name, site)
        if reason is None:
            lessons.append(name)
        elif reason[0]:
            left_out.append(SkippedFile(source_file=name, rule=reason[0], detail=reason[1]))
    return lessons, left_out


def _exclusion(name: str, site: Site, profile: BookProfile, mirrors: Mapping[str, str]) -> tuple[str, str] | None:
    """The rule and detail by which a file is left out, even if a navigation lists it. An empty rule is not reported."""
    glob = next((glob for glob in profile.exclude if matches(glob, name)), None)
    if glob is not None:
        return "excluded", f"by {glob!r} in bookwise.toml"
    if name in mirrors:
        return "i18n-mirror", f"of {mirrors[name]}" if mirrors[name] else ""
    if site.kind == "docusaurus" and _OLDER_VERSION.search(name):
        return "older-version", ""
    if not name.startswith(site.docs):
        return ("not-a-lesson" if format_of(name) in TEXTS else ""), f"outside {site.docs}"
    if format_of(name) not in site.formats:
        return "not-a-lesson", f"a {site.kind} book has no {format_of(name)} lessons"
    return None


def _exclusion_of_unlisted(name: str, site: Site) -> tuple[str, str] | None:
    """The rule and detail by which a file is left out that no navigation lists."""
    parts = site.inner(name).split("/")
    if parts[-1].startswith(".") and stem(name):
        return "not-a-lesson", "a hidden file"
    if site.hides_underscored and any(part.startswith("_") for part in parts):
        return "partial", "its name or the name of its folder starts with _"
    if stem(name).lower().endswith(".summary"):
        return "not-a-lesson", "a summary of another lesson"
    if matches_any(site.excluded, site.inner(name)):
        return "excluded", "by the configuration of the site"
    if site.unlisted_rule:
        return site.unlisted_rule, ""
    file = stem(name)
    if format_of(name) == "html" and file.lower() in _GENERATED_PAGES:
        return "not-a-lesson", "a page of the site generator"
    at_top = "/" not in name and file.upper().replace("-", "_") in _PROJECT_DOCUMENTS
    if file in _PROJECT_DOCUMENTS or at_top or _TEMPLATE.fullmatch(file):
        return "not-a-lesson", "a document about the project, or a template"
    return ("partial", "a part of another page") if name in site.partials else None
