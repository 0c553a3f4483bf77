"""Turns a follow-up question into one that can be searched for without its thread."""
