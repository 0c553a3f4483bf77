"""Bookwise: answers only from the book, and shows where."""

__version__ = "0.1.0"
