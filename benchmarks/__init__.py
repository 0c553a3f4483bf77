"""Ratios and quality figures, measured on this machine in one run. See docs/benchmarks.md."""
