"""Road two, first half: a question becomes ranked hits and passages."""
