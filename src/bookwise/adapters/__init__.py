"""The only home of clients; each class keeps the promises of one port."""
