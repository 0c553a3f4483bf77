"""The versions of the tables, in a module that imports nothing: a cold search reads it."""

HISTORY = ("0001", "0002", "0003", "0004", "0005", "0006")  #: every revision in migrations/versions, oldest first
HEAD = HISTORY[-1]
