"""Roles in Markdown, of MyST (`{ref}`label``) and d2lbook (`:numref:`label``) → the words that readers see."""

import re

#: What a label names, by its prefix.
KINDS = {
    "sec": "section", "fig": "figure", "tbl": "table", "eq": "equation", "lst": "listing", "thm": "theorem",
    "lem": "lemma", "cor": "corollary", "prp": "proposition", "def": "definition", "exm": "example", "exr": "exercise",
    "nte": "note", "tip": "tip", "wrn": "warning", "imp": "note", "cau": "caution",
}  # fmt: skip
_KINDS = {**KINDS, "subsec": "section", "chap": "chapter", "tab": "table", "subfig": "figure"}
#: What a role refers to, if the prefix of the label does not say it.
_REFERENCES = {"ref": "section", "any": "section", "numref": "figure", "eq": "equation", "eqref": "equation"}
_CITATIONS = {
    **dict.fromkeys(("cite", "citep", "cite:p", "cite:ps", "footcite", "footcite:p"), "({})"),
    **dict.fromkeys(("citet", "cite:t", "cite:ts", "footcite:t"), "{}"),
}
_CODE_NAMES = """
code literal file samp command option envvar program kbd makevar regexp func class meth mod attr data exc obj
const type macro member var
"""
CODE_ROLES = frozenset(_CODE_NAMES.split())
_TEXT_NAMES = "prf:ref term abbr dfn download guilabel index menuselection sub sup"
_TEXT = frozenset(_TEXT_NAMES.split())
_INVISIBLE = frozenset(("label", "eqlabel", "width", "height"))
_ROLES = {"math", "doc", *_REFERENCES, *_CITATIONS, *CODE_ROLES, *_TEXT, *_INVISIBLE}
_NAMES = "|".join(sorted(map(re.escape, _ROLES), key=len, reverse=True))

#: A role, a link without text, or a code span, in which there are no roles.
_ROLE = re.compile(
    rf"(?P<space>[ \t]?)(?:\{{(?:(?:py|c|cpp|js):)?(?P<myst>{_NAMES})\}}|(?<![\w:]):(?P<d2lbook>{_NAMES}):)"
    r"`(?P<content>[^`]{1,500})`"
    r"|(?<!!)\[\]\(#?(?P<link>[^()\s]{1,100})\)"
    r"|(?<!`)(?P<ticks>`+)(?!`).{1,1000}?(?<!`)(?P=ticks)(?!`)",
    re.DOTALL,
)
_EXPLICIT = re.compile(r"\s*(\S.*?)\s*<[^<>]*>\s*", re.DOTALL)
_CITED_KEY = re.compile(r"([^\W\d_]{2,}).*?((?:1[5-9]|20)\d\d)(?!\d).*")
_TITLES = (
    re.compile(r"^\((?P<label>[^()\s]+)\)=[ \t]*\n\s*#{1,6}[ \t]+(?P<title>.*)$", re.MULTILINE),
    re.compile(r"^#{1,6}[ \t]+(?P<title>.*)\n\s*:label:`(?P<label>[^`\s]+)`", re.MULTILINE),
)
_EQUATION = re.compile(
    r"\$\$[ \t]*\(([^()$\s]+)\)[ \t]*$|^[ \t]*[`~:]{3,}\{math\}.*\n[ \t]*:label:[ \t]*(\S+)", re.MULTILINE
)


class References:
    """The labels of a lesson, and what they name. Labels of other lessons are unknown here."""

    def __init__(self, text: str) -> None:
        labels = dict.fromkeys(first or second for first, second in _EQUATION.findall(text))
        self._numbers = {label: number for number, label in enumerate(labels, 1)}
        self._titles = {found["label"]: found["title"].strip() for one in _TITLES for found in one.finditer(text)}

    def number(self, label: str) -> str:
        """The number of an equation, in the order of the lesson. An unknown label stays."""
        return str(self._numbers.get(label, label))

    def replace(self, text: str) -> str:
        """The text without roles, with as many lines. Unknown roles and code stay."""
        return _ROLE.sub(self._words, text) if any(mark in text for mark in ("}`", ":`", "[](")) else text

    def _words(self, match: re.Match[str]) -> str:
        role, content = match["myst"] or match["d2lbook"], match["content"]
        if link := match["link"]:
            return self._named(link, "section") if link in self._numbers or link in self._titles else match[0]
        if not role:
            return match[0]
        words = "" if role in _INVISIBLE else self._visible(role, content)
        kind = words.removeprefix("the ")
        if kind != words and match.string[max(0, match.start() - 20) : match.start()].rstrip().lower().endswith(
            (kind, f"{kind}s")
        ):
            words = ""  # “equation {eq}`label`”
        space = match["space"] if words else ""
        return space + words + "\n" * (content.count("\n") - words.count("\n"))

    def _visible(self, role: str, content: str) -> str:
        if role == "math":
            return f"${content.strip()}$"
        if role in _CITATIONS:
            return _CITATIONS[role].format("; ".join(map(_source, content.split(","))))
        if explicit := _EXPLICIT.fullmatch(content):
            return explicit[1]
        if role == "doc":
            return f"“{_spaced(content.strip().rpartition('/')[2].removesuffix('.md'))}”"
        if role in _REFERENCES:
            return self._named(content.strip(), _REFERENCES[role])
        return f"`{short_name(content.strip())}`" if role in CODE_ROLES else content.strip()

    def _named(self, label: str, kind: str) -> str:
        """The number or title of what a label names; of another lesson, what it is."""
        if label in self._numbers:
            return f"({self._numbers[label]})"
        if label in self._titles:
            return f"“{self._titles[label]}”"
        prefix, _, rest = _spaced(label).partition(" ")
        named = _KINDS.get(prefix.lower())
        return f"the {named} “{rest}”" if named in ("section", "chapter") and rest else f"the {named or kind}"


def short_name(name: str) -> str:
    """The displayed name: `~package.Name` → `Name`, `!name` → `name`."""
    if name.startswith("~"):
        return name.rpartition(".")[2].lstrip("~")
    return name.lstrip("!")


def _spaced(label: str) -> str:
    return " ".join(re.split(r"[\s_:-]+", label))


def _source(key: str) -> str:
    """The key of a source, as an author and a year if it says them: `deaton1992on` → `Deaton 1992`."""
    found = _CITED_KEY.fullmatch(key.strip())
    return f"{found[1][0].upper()}{found[1][1:]} {found[2]}" if found else key.strip()
