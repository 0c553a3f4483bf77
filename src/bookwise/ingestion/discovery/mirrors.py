"""Names of lessons → those that are translations of other lessons."""

import re
from collections import defaultdict
from collections.abc import Iterable

# fmt: off
LANGUAGES = frozenset(
    {
        "ar", "az", "bg", "bn", "bs", "ca", "cs", "cy", "da", "de", "el", "en", "eo", "es", "et", "eu",
        "fa", "fi", "fil", "fr", "ga", "gl", "gu", "he", "hi", "hr", "hu", "hy", "id", "is", "it", "ja",
        "ka", "kk", "km", "kn", "ko", "lt", "lv", "mk", "ml", "mn", "mr", "ms", "my", "nb", "ne", "nl",
        "nn", "no", "pa", "pl", "ps", "pt", "ro", "ru", "sk", "sl", "sq", "sr", "sv", "sw", "ta", "te",
        "th", "tr", "uk", "ur", "uz", "vi", "yo", "zh", "zu",
    }
)
# fmt: on
TRANSLATION_FOLDERS = frozenset({"i18n", "l10n", "translations", "locale", "locales", "lang"})

_CODE = re.compile(r"([a-z]{2,3})(?:[-_][A-Za-z]{2,4})?")
_SUFFIX = re.compile(r"(.+)\.([a-z]{2,3}(?:[-_][A-Za-z]{2,4})?)(\.[A-Za-z]+)")


def language_of(name: str) -> str:
    """`pt-BR` → `pt`; empty for a name that is not a language code."""
    match = _CODE.fullmatch(name)
    return match[1] if match and match[1] in LANGUAGES else ""


def translations(names: Iterable[str], language: str) -> dict[str, str]:
    """Translated lessons → the original lesson, or an empty string if there is none."""
    lessons = set(names)
    own = language.partition("-")[0]
    originals: dict[str, str] = {}
    for folder, members in _foreign_folders(lessons, own).items():
        originals.update(_originals_in_folder(folder, members, lessons, own))
    for name in lessons - originals.keys():
        if original := _original_by_suffix(name, lessons, own):
            originals[name] = original
    return originals


def _foreign_folders(names: set[str], own: str) -> dict[str, list[str]]:
    """Folders named after another language (with a trailing slash) → the lessons below them."""
    folders: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        parts = name.split("/")
        for depth, part in enumerate(parts[:-1]):
            if language_of(part) not in ("", own):
                folders["/".join(parts[: depth + 1]) + "/"].append(name)
                break
    return folders


def _originals_in_folder(folder: str, members: list[str], names: set[str], own: str) -> dict[str, str]:
    parent = folder[: folder.rstrip("/").rfind("/") + 1]
    siblings = _counterparts(folder, members, names, parent + own + "/")
    above = _counterparts(folder, members, names, parent)
    if parent.rstrip("/").rpartition("/")[2] in TRANSLATION_FOLDERS and len(members) < len(names):
        return {name: siblings.get(name, above.get(name, "")) for name in members}
    if siblings and 2 * len(siblings) >= len(members):
        return {name: siblings.get(name, "") for name in members}
    # One `index.md` both above and in a folder `it/` can be chance; nearly all files in common cannot.
    if len(above) > 1 and 5 * len(above) >= 4 * len(members):
        return {name: above.get(name, "") for name in members}
    return {}


def _counterparts(folder: str, members: list[str], names: set[str], other: str) -> dict[str, str]:
    pairs = ((name, other + name.removeprefix(folder)) for name in members)
    return {name: original for name, original in pairs if original in names}


def _original_by_suffix(name: str, names: set[str], own: str) -> str:
    """The original of `setup.fr.md`: `setup.md` or `setup.en.md` in the same folder."""
    match = _SUFFIX.fullmatch(name)
    if not match or language_of(match[2]) in ("", own):
        return ""
    candidates = (match[1] + match[3], f"{match[1]}.{own}{match[3]}")
    return next((candidate for candidate in candidates if candidate in names), "")
