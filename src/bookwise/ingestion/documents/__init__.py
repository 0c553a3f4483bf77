"""PDF and EPUB files: one file that contains many lessons."""
