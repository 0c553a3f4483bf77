"""Vectors and payload in Qdrant's engine."""
