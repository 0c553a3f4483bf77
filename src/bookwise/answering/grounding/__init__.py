"""Checks every sentence of an answer against the passages it cites."""
