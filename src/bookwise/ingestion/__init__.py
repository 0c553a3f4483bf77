"""Road one: a folder of lessons becomes an index, file by file in walking order."""
