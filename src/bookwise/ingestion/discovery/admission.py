"""Names of files → which are lessons, and by which rule the others are left out."""

import re
from collections.abc import Mapping

from bookwise.domain.jobs import SkippedFile
from bookwise.ingestion.discovery.globs import matches, matches_any
from bookwise.ingestion.discovery.names import stem
from bookwise.ingestion.discovery.profile import BookProfile
from bookwise.ingestion.discovery.sites.site import Site
from bookwise.ingestion.discovery.walk import Tree, format_of

# fmt: off
_PROJECT_PAPERS = frozenset(
    {
        "LICENSE", "LICENCE", "COPYING", "NOTICE", "CHANGELOG", "CHANGES", "CONTRIBUTING", "CONTRIBUTORS",
        "CODE_OF_CONDUCT", "SECURITY", "SUPPORT", "AUTHORS", "MAINTAINERS", "GOVERNANCE", "CODEOWNERS",
        "PULL_REQUEST_TEMPLATE", "ISSUE_TEMPLATE", "AGENTS",
    }
)
# fmt: on
_TEMPLATE = re.compile(r"_?(?:(?:lesson|chapter|module|page|doc)[-_])?template", re.IGNORECASE)
_OLDER_VERSION = re.compile(r"(?:^|/)(?:[a-z0-9-]+_)?versioned_docs/")


def admit(
    tree: Tree, site: Site, profile: BookProfile, mirrors: Mapping[str, str]
) -> tuple[list[str], list[SkippedFile]]:
    """The lessons, and every other file that looks like one with the rule that leaves it out."""
    listed = {entry.name for entry in site.listed}
    lessons: list[str] = []
    left_out: list[SkippedFile] = []
    for name in tree.raw_paths:
        if format_of(name) is None or name in site.own_files:
            continue
        why = _chosen_away(name, site, profile, mirrors)
        if why is None and name not in listed:
            why = _no_lesson(name, site)
        if why is None:
            lessons.append(name)
        elif why[0]:
            left_out.append(SkippedFile(source_file=name, rule=why[0], detail=why[1]))
    return lessons, left_out


def _chosen_away(name: str, site: Site, profile: BookProfile, mirrors: Mapping[str, str]) -> tuple[str, str] | None:
    """Rules that hold even for what a navigation lists."""
    glob = next((glob for glob in profile.exclude if matches(glob, name)), None)
    if glob is not None:
        return "excluded", f"by {glob!r} in bookwise.toml"
    if name in mirrors:
        return "i18n-mirror", f"of {mirrors[name]}" if mirrors[name] else ""
    if site.kind == "docusaurus" and _OLDER_VERSION.search(name):
        return "older-version", ""
    if not name.startswith(site.docs):
        return ("" if format_of(name) == "html" else "not-a-lesson"), f"outside {site.docs}"
    if format_of(name) not in site.formats:
        return "not-a-lesson", f"{format_of(name)} is no format of a {site.kind} book"
    return None


def _no_lesson(name: str, site: Site) -> tuple[str, str] | None:
    """Rules for what no navigation lists."""
    parts = site.inner(name).split("/")
    if parts[-1].startswith(".") and stem(name):
        return "not-a-lesson", "a hidden file"
    if site.hides_underscored and any(part.startswith("_") for part in parts):
        return "partial", "its name or its folder's begins with _"
    if matches_any(site.excluded, site.inner(name)):
        return "excluded", "by the site's own configuration"
    if site.unlisted_rule:
        return site.unlisted_rule, ""
    own = stem(name)
    is_paper = own in _PROJECT_PAPERS or ("/" not in name and own.upper().replace("-", "_") in _PROJECT_PAPERS)
    if is_paper or _TEMPLATE.fullmatch(own):
        return "not-a-lesson", "a paper about the project, or a template"
    return None
