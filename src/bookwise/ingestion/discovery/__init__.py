"""Parts of `discover`: which files are lessons, in which order, at which position in the book."""
