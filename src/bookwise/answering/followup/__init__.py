"""A follow-up question and its thread → a question that can be searched for on its own."""
