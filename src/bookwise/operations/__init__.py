"""The use cases that the command line and the HTTP API both run."""
