"""ASGI middleware: runs before and after every route."""
