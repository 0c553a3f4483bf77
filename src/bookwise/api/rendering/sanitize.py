"""HTML → the same HTML with known elements and attributes only. Every text that is sent as HTML ends here."""

import nh3

_MATHS = (
    "math mrow mi mo mn ms mtext mspace mfrac msqrt mroot msub msup msubsup munder mover munderover mtable mtr mtd "
    "mpadded mphantom mstyle menclose"
)
_TEXT = "p br hr h2 h3 h4 h5 h6 strong em s code pre blockquote ul ol li a mark sup span div"
_TABLE = "table thead tbody tr th td"
_SCHEMES = {"http", "https"}

CODE_CLASSES = frozenset(("k", "n", "s", "m", "c", "o", "e"))  #: see `code.py`

_CLEANER = nh3.Cleaner(
    tags=set(f"{_TEXT} {_TABLE} {_MATHS}".split()),
    clean_content_tags={"script", "style"},
    attributes={
        "a": {"href", "title"},
        "ol": {"start"},
        "sup": {"data-cite"},
        "div": {"data-language", "tabindex", "role", "aria-label"},
        "pre": {"tabindex"},
        "math": {"display"},
        "mo": {"stretchy", "fence", "form", "movablelimits", "lspace", "rspace"},
        "mi": {"mathvariant"},
        "mfrac": {"linethickness"},
        "mspace": {"width", "linebreak"},
        "mtd": {"columnalign"},
        "mtable": {"columnalign"},
        "mover": {"accent"},
    },
    allowed_classes={
        "span": {*CODE_CLASSES, "bw-equation"},
        "div": {"bw-code", "bw-table", "bw-maths"},
        "th": {"bw-right", "bw-center"},
        "td": {"bw-right", "bw-center"},
    },
    url_schemes=_SCHEMES,
    url_relative="deny",
    link_rel="noopener noreferrer",
)


def sanitize(html: str) -> str:
    """Returns the HTML without scripts, styles, event handlers, forms, images and addresses other than http(s)."""
    return _CLEANER.clean(html)
