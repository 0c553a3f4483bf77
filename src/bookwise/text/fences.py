"""What begins and ends a block of code in Markdown: three backticks or tildes, or more."""

import re

#: At the beginning of a line, also deeply indented: inside a list item.
FENCE = re.compile(r"\s*(`{3,}|~{3,})")
#: A whole block, or the rest of a text without its end. In what a reader types, it may begin anywhere.
CODE_BLOCK = r"(?:```.*?(?:```|\Z)|~~~.*?(?:~~~|\Z))"
