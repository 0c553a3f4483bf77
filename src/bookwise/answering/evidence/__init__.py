"""Is it in the book, and how sure are we? The passages for a question and what they prove."""
