"""Catalog, jobs and embedding cache in SQL."""
