"""Who is calling, what they may see, and how often they may ask."""
