"""Catalog, jobs, threads, API keys, answer log and embedding cache in SQL."""
