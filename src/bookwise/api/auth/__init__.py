"""Authentication, visible books and rate limits."""
