"""Every sentence of an answer, checked against the passages it cites."""
