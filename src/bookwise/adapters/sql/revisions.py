"""Every version of the tables; kept apart from all that costs start-up time."""

HISTORY = ("0001", "0002", "0003", "0004")  #: every revision in migrations/versions, oldest first
HEAD = HISTORY[-1]
