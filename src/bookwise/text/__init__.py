"""Words, sentences and topics of plain text: shared by both roads."""
