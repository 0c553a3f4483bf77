"""Reads the pages of a live site, and only of that site."""
