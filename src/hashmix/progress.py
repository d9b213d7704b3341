"""A progress bar that is there when asked for, and never stops the run."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["progress_bar"]


@contextmanager
def progress_bar(total: int, wanted: bool) -> Iterator[Callable[[int, int], None]]:
    """A function to call with (sweeps done, number of clusters); it does nothing unless the bar is wanted.

    Examples
    --------
    >>> from hashmix.progress import progress_bar
    >>> with progress_bar(10, wanted=False) as show:
    ...     show(5, 3)
    """
    if not wanted:
        yield lambda done, n_clusters: None
        return
    try:
        from tqdm.auto import tqdm
    except ImportError:
        raise ImportError("progress=True needs tqdm: pip install 'hashmix[progress]'.") from None
    with tqdm(total=total, unit="sweep") as bar:

        def show(done: int, n_clusters: int) -> None:
            bar.set_postfix(clusters=n_clusters, refresh=False)
            bar.update(done - bar.n)

        yield show
