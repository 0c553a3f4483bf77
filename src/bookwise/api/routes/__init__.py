"""The routes, one module per resource; each has a `router`."""
