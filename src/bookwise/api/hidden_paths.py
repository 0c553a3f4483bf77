"""Hides where files are on the machine of the service."""

import re
from pathlib import Path

_START = r"(?<![\w:/.~-])"  # what follows a colon or a name belongs to an address or to a relative path
_ABSOLUTE = re.compile(_START + r"/(?:[^\s'\"`:,;()/]+/)*([^\s'\"`:,;()/]+)/?")


def hide_paths(text: str, *known: str | Path) -> str:
    """The text with the last name of each absolute path in its place. The known ones may contain spaces."""
    folders = {parent for path in map(Path, known) if path.is_absolute() for parent in (path, *path.parents)}
    for folder in sorted(folders - {Path("/")}, key=lambda path: len(str(path)), reverse=True):
        path = _START + re.escape(str(folder))
        text = re.sub(rf"{path}/(?=[^\s'\"`:,;()/])", "", text)
        text = re.sub(rf"{path}(?![\w-])", lambda _, name=folder.name: name, text)  # type: ignore[misc]
    return _ABSOLUTE.sub(r"\1", text)
