"""Moves that look at all rows at once."""
