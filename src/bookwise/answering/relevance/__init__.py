"""Which sentences and blocks of a passage fit the question."""
