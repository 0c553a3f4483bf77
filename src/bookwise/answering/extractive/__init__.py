"""The answer engine without a language model: it quotes the book."""
