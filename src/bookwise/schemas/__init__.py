"""Public JSON objects, one module per interface."""
