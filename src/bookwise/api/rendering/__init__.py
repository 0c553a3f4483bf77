"""Markdown of books, answers and models → safe HTML."""
