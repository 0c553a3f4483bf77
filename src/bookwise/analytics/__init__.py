"""What readers asked → what the author learns from it."""
