"""Optional progress bars, drawn by tqdm."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib.util import find_spec
from typing import Any

__all__ = ["can_show", "counting_bar", "is_watched", "progress_bar"]


def can_show() -> bool:
    """Return whether a progress bar can be shown: stderr is a terminal and tqdm is installed.

    Examples
    --------
    >>> from hashmix.core.progress import can_show
    >>> can_show() in (True, False)
    True
    """
    return sys.stderr.isatty() and find_spec("tqdm") is not None


def is_watched() -> bool:
    """Return whether somebody is likely to read stderr now: it is a terminal, or this is a notebook.

    Examples
    --------
    >>> from hashmix.core.progress import is_watched
    >>> is_watched() in (True, False)
    True
    """
    return sys.stderr.isatty() or "ipykernel" in sys.modules


@contextmanager
def counting_bar(name: str, unit: str, wanted: bool, total: int | None = None) -> Iterator[Callable[[int], Any]]:
    """Show a bar that counts items, such as bytes read from a file.

    Parameters
    ----------
    name : str
        Label of the bar.
    unit : str
        Unit of the items.
    wanted : bool
        Whether to draw the bar; if not, tqdm is not needed.
    total : int, optional
        Number of items, if known.

    Yields
    ------
    callable
        Call it with the number of items processed since the last call.

    Examples
    --------
    >>> from hashmix.core.progress import counting_bar
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
    """Show a bar of sweeps with the current number of clusters and log joint.

    The bar also shows sweeps per second and the time left. It is hidden if there is neither a terminal nor a notebook to
    show it in.

    Parameters
    ----------
    total : int
        Number of sweeps of the run.
    done : int
        Number of sweeps completed before the run started or resumed.
    wanted : bool
        Whether to draw the bar; if not, tqdm is not needed.

    Yields
    ------
    callable
        Call it with (sweeps completed, number of clusters, log joint).

    Examples
    --------
    >>> from hashmix.core.progress import progress_bar
    >>> with progress_bar(10, 0, wanted=False) as show:
    ...     show(5, 3, -100.0)
    """
    if not wanted:
        yield lambda done, n_clusters, log_joint: None
        return
    visible = sys.stderr.isatty() or "ipykernel" in sys.modules
    with _tqdm()(total=total, initial=done, unit="sweep", disable=not visible, dynamic_ncols=True) as bar:

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
