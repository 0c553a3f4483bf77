"""The versions of the tables, in a module that imports nothing: a cold search reads it."""

#: Every revision in migrations/versions, oldest first.
HISTORY = ("0001", "0002", "0003", "0004", "0005", "0006", "0007", "0008", "0009", "0010")
HEAD = HISTORY[-1]
