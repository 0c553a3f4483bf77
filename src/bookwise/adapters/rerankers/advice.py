"""What to do when a reranker fails."""

ADVICE = "Check BOOKWISE_RERANKER and its service. Until it works, searches keep their own order."
