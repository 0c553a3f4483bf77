"""Step two of road one in parts: the formats lessons are written in, and what they have in common."""
