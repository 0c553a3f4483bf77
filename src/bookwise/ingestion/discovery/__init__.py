"""Step one of road one in parts: which files of a folder are lessons, in which order, under which numbers."""
