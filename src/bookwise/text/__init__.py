"""Words, sentences, topics and refusals in plain text; shared by ingestion and answering."""
