"""Turns the questions of readers into insights for the author."""
