"""LaTeX of a formula → MathML, or the formula as code if it cannot be read."""

import re
from html import escape

from latex2mathml import exceptions
from latex2mathml.converter import convert

FORMULA_MAX = 2_000  #: characters; a longer one is shown as code

#: Names that LaTeX knows and the converter shows as they are written, with the backslash.
_UNKNOWN_NAME = re.compile(r"\\(arg|label\{[^}]*\})(?![A-Za-z])")
#: The converter shows it as two signs side by side, which few fonts draw.
_NOT_EQUAL = re.compile(r"\\not\s*=")

#: What the converter raises for a formula that it cannot read; it has no common base class for its own errors.
_UNREADABLE: tuple[type[Exception], ...] = (
    *(error for error in vars(exceptions).values() if isinstance(error, type) and issubclass(error, Exception)),
    AttributeError,
    LookupError,
    RecursionError,
    TypeError,
    ValueError,
)


def maths_html(formula: str, *, block: bool) -> str:
    """Returns the formula as MathML that every current browser shows."""
    if len(formula) > FORMULA_MAX:
        return _as_code(formula)
    try:
        formula = _NOT_EQUAL.sub(r"\\neq ", formula)
        return convert(_UNKNOWN_NAME.sub(_known, formula), display="block" if block else "inline")
    except _UNREADABLE:
        return _as_code(formula)


def _known(name: re.Match[str]) -> str:
    """The name of a function in upright letters; nothing for a label, which is only for references."""
    return "" if name[1].startswith("label") else rf"\operatorname{{{name[1]}}}"


def _as_code(formula: str) -> str:
    return f"<code>{escape(formula)}</code>"
