"""A progress bar that is there when asked for, and never stops the run."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

__all__ = ["can_show", "counting_bar", "progress_bar"]


def can_show() -> bool:
    """Whether someone would see a bar, and there is what draws it."""
    return sys.stderr.isatty() and find_spec("tqdm") is not None


@contextmanager
def counting_bar(name: str, unit: str, wanted: bool, total: int | None = None) -> Iterator[Callable[[int], Any]]:
    """A function to call with how many more have been read; it does nothing unless the bar is wanted.

    Examples
    --------
    >>> from hashmix.progress import counting_bar
    >>> with counting_bar("a.txt", "B", wanted=False) as show:
    ...     show(1000)
    """
    if not wanted:
        yield lambda more: None
        return
    with _tqdm()(total=total, unit=unit, unit_scale=True, desc=name) as bar:
        yield bar.update


@contextmanager
def progress_bar(total: int, done: int, wanted: bool) -> Iterator[Callable[[int, int, float], None]]:
    """A function to call with (sweeps done, number of clusters, log joint); it does nothing unless the bar is wanted.

    The bar shows these, sweeps a second and the time left; nothing where it would not be seen (neither a terminal nor a
    notebook). ``done`` sweeps were made before.

    Examples
    --------
    >>> from hashmix.progress import progress_bar
    >>> with progress_bar(10, 0, wanted=False) as show:
    ...     show(5, 3, -100.0)
    """
    if not wanted:
        yield lambda done, n_clusters, log_joint: None
        return
    seen = sys.stderr.isatty() or "ipykernel" in sys.modules
    with _tqdm()(total=total, initial=done, unit="sweep", disable=not seen, dynamic_ncols=True) as bar:

        def show(done: int, n_clusters: int, log_joint: float) -> None:
            bar.set_postfix_str(f"{n_clusters:,} clusters, log joint {log_joint:,.1f}", refresh=False)
            bar.update(done - bar.n)

        yield show


def _tqdm() -> Any:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install 'hashmix[progress]'.") from None
    return tqdm
