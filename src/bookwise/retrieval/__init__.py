"""A question → ranked hits, whole lessons, neighbouring chunks."""
