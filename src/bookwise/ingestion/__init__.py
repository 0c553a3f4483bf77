"""A folder of lessons → a searchable book: discover, parse, chunk, embed, publish; pipeline runs them all."""
