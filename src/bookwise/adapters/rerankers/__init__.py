"""Rerankers: local models and services."""
