"""The values Bookwise works with: frozen dataclasses, no I/O, no third-party code."""
