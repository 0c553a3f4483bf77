"""Everything that a child imports before it serves or runs a command. Loaded once, in the server that forks them."""

# ruff: noqa: F401 - imported for others
import bookwise.answering.extractive.answerer
import bookwise.api.app
import bookwise.api.serve
import bookwise.cli.main
import bookwise.operations.operator
import bookwise.wiring.stores
