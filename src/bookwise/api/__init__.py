"""The HTTP face: requests into the two roads, answers and problems back out."""
