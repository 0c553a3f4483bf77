"""Markdown of d2lbook (Dive into Deep Learning) → Markdown without its marks for tabs, slides and equations."""

import re

_MARKS = re.compile(r"^:(?:label|eqlabel|begin_tab):`|^```\{\.python \.input", re.MULTILINE)
_NO_BLANK_LINE = r"(?:(?!\n[ \t]*\n)[^`]|`[^`\n]*`)"
_ON_SLIDES = re.compile(rf"[\[(]\*\*({_NO_BLANK_LINE}{{1,2000}}?)\*\*[\])](?![\[(])")
_ONLY_ON_SLIDES = re.compile(rf"[ \t]*[\[(]~~{_NO_BLANK_LINE}{{1,2000}}?~~[\])]")
_TAB_BEGINS = re.compile(r"^:begin_tab:`([^`\n]*)`[ \t]*$", re.MULTILINE)
_TAB_ENDS = re.compile(r"^:end_tab:[ \t]*$", re.MULTILINE)
_CODE_TAB = re.compile(r"^(```\{\.python \.input[^\n]*\n)(?:%%tab|#@tab)[ \t]+([^\n]+)\n", re.MULTILINE)
_CHOICE_OF_TABS = re.compile(r"^```\{\.python \.input[^\n]*\n%load_ext d2lbook\.tab\n[^`]*```[ \t]*$", re.MULTILINE)
_EQUATION = re.compile(r"\$\$[ \t]*\n[ \t\n]*:eqlabel:`([^`\s]+)`")


def without_marks(text: str) -> str:
    """The text as readers of the web page see it. Other Markdown stays as it is."""
    if not _MARKS.search(text):
        return text
    text = _CHOICE_OF_TABS.sub("", text)
    text = _CODE_TAB.sub(_labelled_code, text)
    text = _TAB_BEGINS.sub(r"\1:\n", _TAB_ENDS.sub("", text))
    text = _ON_SLIDES.sub(r"**\1**", _ONLY_ON_SLIDES.sub("", text))
    return _EQUATION.sub(r"$$ (\1)", text)


def _labelled_code(match: re.Match[str]) -> str:
    """The code of a tab, after the name of the tab."""
    tabs = match[2].strip()
    return match[1] if tabs == "all" else f"{tabs}:\n\n{match[1]}"
