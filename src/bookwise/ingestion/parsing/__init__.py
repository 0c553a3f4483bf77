"""Parts of `parse`: one parser per lesson format, and what they share."""
