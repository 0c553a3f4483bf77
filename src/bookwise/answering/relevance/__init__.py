"""Ranks the sentences and blocks of passages by how well they answer a question."""
