"""Road two, second half: a question and its passages into an answer that shows where."""
