"""Parts of sentences: numbers with their nouns, and what other libraries say."""

from __future__ import annotations

__all__ = ["briefly", "counted", "with_article"]


def with_article(noun: str) -> str:
    """A noun with its article.

    Examples
    --------
    >>> from hashmix.core.wording import with_article
    >>> with_article("Move"), with_article("Engine")
    ('a Move', 'an Engine')
    """
    return f"{'an' if noun[0] in 'AEIOUaeiou' else 'a'} {noun}"


def counted(number: int, noun: str) -> str:
    """A number and what it counts, in the singular for 1.

    Examples
    --------
    >>> from hashmix.core.wording import counted
    >>> counted(1, "cluster"), counted(1200, "cluster")
    ('1 cluster', '1,200 clusters')
    """
    return f"{number:,} {noun}" + "s" * (number != 1)


def briefly(error: Exception) -> str:
    """What another library's error says, on one line of a sentence's length: some quote the file they could not read.

    Examples
    --------
    >>> from hashmix.core.wording import briefly
    >>> briefly(ValueError("Cannot parse\\n" + 500 * "x"))[:20]
    'Cannot parse xxxxxxx'
    """
    said = " ".join(str(error).split())
    return said if len(said) <= 160 else f"{said[:160]}…"
