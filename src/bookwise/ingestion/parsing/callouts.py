"""Name and title of a note, tab or box → the line that introduces its text."""

_NOTES = """
note notes tip tips info information caution danger warning important hint attention error seealso abstract
summary tldr todo success check done question help faq failure fail missing bug example quote cite exercise
solution proof theorem lemma definition corollary proposition remark axiom algorithm versionadded
versionchanged deprecated
"""
_CALLOUTS = frozenset(_NOTES.split())
_TABS = frozenset(("tab", "tabs", "tab-item", "group-tab", "code-tab"))
_LABELS = {
    "seealso": "See also",
    "tldr": "TL;DR",
    "faq": "FAQ",
    "todo": "To do",
    "versionadded": "New in version",
    "versionchanged": "Changed in version",
    "deprecated": "Deprecated since version",
}


def lead_in(name: str, title: str = "") -> str:
    """`note`, `Mind the gap` → `Note: Mind the gap`; a tab's label → `Label:`; other boxes → their title."""
    name, title = name.lower().rpartition(":")[2], title.strip()
    if name in _TABS:
        return f"{title}:" if title else ""
    if name not in _CALLOUTS:
        return title
    label = _LABELS.get(name, name.capitalize())
    if not title or title.rstrip(":").lower() == label.lower():
        return f"{label}:"
    return f"{label}: {title}"
