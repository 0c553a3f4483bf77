"""Fills the caches that every worker of a test run reads: `python -m tests.support.warm_caches`.

In a fresh clone each worker would compile all tests and compute Hypothesis's table of characters itself.
"""

import sys

import pytest


def main() -> int:
    code = pytest.main(["--collect-only", "--quiet", "--quiet"])
    from hypothesis import strategies  # pytest's plugin has to be the first to import it

    strategies.text().validate()
    return int(code)


if __name__ == "__main__":
    sys.exit(main())
