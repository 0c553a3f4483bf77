"""Embedders: texts → unit vectors."""
