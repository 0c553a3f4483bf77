"""Finds the passages for a question and decides whether they answer it."""
