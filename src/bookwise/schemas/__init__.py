"""The public shapes, under the names that callers know: one module per face."""
