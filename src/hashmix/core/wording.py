"""Numbers with their nouns."""

from __future__ import annotations

__all__ = ["counted"]


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the singular for 1.

    Examples
    --------
    >>> from hashmix.core.wording import counted
    >>> counted(1, "cluster"), counted(1200, "cluster")
    ('1 cluster', '1,200 clusters')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)
