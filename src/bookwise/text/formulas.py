"""Formulas in a line of text → plain text, for places that show no mathematics."""

import re
import unicodedata

#: A formula in a line. A dollar sign before a number is money.
_FORMULA = re.compile(r"(?<![\\$\w])\$(?=[^\s$\d])([^$\n]{1,200}?)(?<!\s)\$(?![\w$])")
_COMMAND = re.compile(r"\\([A-Za-z]+)\s*|\\[,;:! ]|[{}]")
#: Commands that change how letters look.
_FONT_NAMES = "mathbf mathbb mathcal mathrm mathit mathsf boldsymbol text textbf textrm left right operatorname"
_FONTS = frozenset(_FONT_NAMES.split())
_SIGNS = {
    "ell": "ℓ", "le": "≤", "leq": "≤", "ge": "≥", "geq": "≥", "ne": "≠", "neq": "≠", "in": "∈", "notin": "∉",
    "infty": "∞", "sum": "∑", "prod": "∏", "int": "∫", "to": "→", "rightarrow": "→", "times": "×", "cdot": "·",
    "pm": "±", "approx": "≈", "sim": "∼", "partial": "∂", "nabla": "∇", "top": "⊤", "ldots": "…", "dots": "…",
    "cdots": "…", "mid": "|", "subset": "⊂", "cup": "∪", "cap": "∩", "forall": "∀", "exists": "∃", "sqrt": "√",
    "lambda": "λ", "Lambda": "Λ", "odot": "⊙", "circ": "∘", "varepsilon": "ε", "equiv": "≡",
}  # fmt: skip


def without_formulas(text: str) -> str:
    """The text with its formulas as plain text: `the $\\ell_2$ norm` → `the ℓ_2 norm`."""
    return _FORMULA.sub(lambda found: plain_formula(found[1]), text) if "$" in text else text


def plain_formula(tex: str) -> str:
    """The formula with Unicode signs instead of commands. It keeps `^` and `_`."""
    return " ".join(_COMMAND.sub(_sign, tex).split())


def _sign(match: re.Match[str]) -> str:
    name = match[1]
    if not name:
        return "" if match[0] in "{}" else " "
    if name in _FONTS:
        return ""
    space = match[0][1 + len(name) :]
    sign = _SIGNS.get(name) or _greek(name)
    return f"{sign}{space}" if sign else f"{name} "


def _greek(name: str) -> str:
    try:
        return unicodedata.lookup(f"GREEK {'CAPITAL' if name[0].isupper() else 'SMALL'} LETTER {name}")
    except KeyError:
        return ""
