"""The lesson index on Qdrant's engine: vectors, BM25 terms and payloads."""
