"""Names of directives (MyST, Sphinx) → how to read their bodies."""

import re
from typing import Literal, TypeAlias

from bookwise.ingestion.parsing.callouts import lead_in

Reading: TypeAlias = Literal["code", "math", "dropped", "text"]

_CODE = """
code code-block sourcecode code-cell cell ipython jupyter-execute mermaid graphviz prompt doctest testcode
testoutput parsed-literal code-tab terminal console digraph graph uml plantuml tikz productionlist
"""
_LANGUAGES = """
python python3 py r julia bash sh shell zsh powershell sql js javascript jsx ts typescript tsx java c cpp c++
csharp go rust ruby php perl lua scala kotlin swift html css json yaml toml xml ojs dot ipython3 matlab octave
stata sas fortran haskell
"""
_INVISIBLE = """
toctree contents tableofcontents table-of-contents include literalinclude raw bibliography index currentmodule
module py:module py:currentmodule automodule autoclass autofunction autosummary autoattribute automethod meta
highlight default-role role title sectnum section-numbering target-notes image thumbnail video youtube iframe
embed button-link button-ref disqus feed postlist cpp:namespace c:namespace program tags redirect-from
restructuredtext-test-directive date sectionauthor codeauthor moduleauthor glue
"""
#: Their argument is a path, a width, a style or a label, not a title.
_UNTITLED = """
figure grid tab-set tabs list-table only ifconfig solution solution-start container compound class rst-class
cssclass glossary hlist
"""
_DROPPED = frozenset(_INVISIBLE.split())
_VERBATIM = frozenset((_CODE + _LANGUAGES).split())
_NAMED_LANGUAGES = frozenset((*_LANGUAGES.split(), "mermaid"))
_WITHOUT_TITLE = frozenset(_UNTITLED.split())
_PYTHON = ("ipython", "ipython2", "ipython3")
_CLASS = re.compile(r"\.(?:callout-)?([\w-]+)")
_TITLE = re.compile(r"title=\"([^\"]*)\"")


def reading_of(name: str) -> Reading:
    """How to read the body of a directive; the body of an unknown directive is text."""
    name = name.strip().lower()
    if name in _DROPPED:
        return "dropped"
    if name == "math":
        return "math"
    return "code" if name in _VERBATIM else "text"


def is_verbatim(directive: str) -> bool:
    """Whether the body of the directive is not Markdown."""
    return reading_of(directive) != "text"


def title_of(directive: str, argument: str) -> str:
    """The line that introduces the body, from a name like `note` or attributes like `.callout-tip`."""
    directive = directive.strip()
    if directive.startswith((".", "#")):
        kind, title = _CLASS.search(directive), _TITLE.search(directive)
        return lead_in(kind[1] if kind else "", title[1] if title else argument)
    name = directive.lower()
    if name.endswith("-end"):
        return ""
    is_version = name.startswith(("version", "deprecated"))
    has_title = is_version or re.search(r"[^\W\d]", argument)
    return lead_in(name.removesuffix("-start"), argument if has_title and name not in _WITHOUT_TITLE else "")


def language_of(name: str, argument: str) -> str:
    """The language of a code directive: its argument, or its name if that is a language."""
    words = argument.split()
    language = words[0] if words else name if name in _NAMED_LANGUAGES else ""
    return "python" if language in _PYTHON else language
