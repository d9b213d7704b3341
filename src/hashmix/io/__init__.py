"""Reading tables and bags of words from files."""

from hashmix.io.readers import read_table
from hashmix.io.sparse_readers import read_docword

__all__ = ["read_docword", "read_table"]
