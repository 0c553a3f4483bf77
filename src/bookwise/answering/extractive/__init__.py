"""The answer engine that quotes the book and needs no language model."""
