"""Name and title of a note, tab or box → the line that introduces its text."""

_NOTES = """
note notes tip tips info information caution danger warning important hint attention error abstract summary success
check done question help failure fail missing bug example quote cite exercise solution proof theorem lemma definition
corollary proposition remark axiom algorithm
"""
_TABS = frozenset(("tab", "tabs", "tab-item", "group-tab", "code-tab"))
_LABELS = {name: name.capitalize() for name in _NOTES.split()} | {
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
    if name not in _LABELS:
        return title
    label = _LABELS[name]
    if not title or title.rstrip(":").lower() == label.lower():
        return f"{label}:"
    return f"{label}: {title}"


def label_at_start(text: str) -> str:
    """The label that `lead_in` gives a note, such as `Note:`, if the text begins with one, else an empty string."""
    label, colon, _ = text.partition(":")
    return label + colon if colon and label in _LABELS.values() else ""
