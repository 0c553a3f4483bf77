"""Turns a question and its thread into an answer with citations, or a refusal. Start reading in `ask`."""
