"""Measure the answers of a book with its test questions, and fit its similarity scale."""
