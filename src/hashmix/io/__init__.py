"""Reading tables from files."""

from hashmix.io.readers import read_table

__all__ = ["read_table"]
