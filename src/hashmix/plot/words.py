"""The words of clusters of texts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from hashmix.core.wording import counted
from hashmix.plot.style import colour_of, plain, pyplot

if TYPE_CHECKING:
    from hashmix.posterior.describe.words import Word

__all__ = ["words"]


def words(top_words: list[list[Word]], sizes: np.ndarray, axes: Any = None, n_clusters: int = 12) -> Any:
    """The top words of the largest clusters, one panel per cluster: bars are probabilities, and darker for higher lift.

    Parameters
    ----------
    top_words : list of lists of Word
        As :meth:`SplitMergeMixture.top_words` returns them.
    sizes : array of shape (n_clusters,)
        Number of rows of each cluster.
    axes : array of axes, optional
        One for each cluster to show.
    n_clusters : int, default=12
        Number of clusters to show if ``axes`` is not given.

    Examples
    --------
    >>> import numpy as np, hashmix as hm, hashmix.plot
    >>> X = [[3, 1, 0, 0], [2, 2, 0, 0], [0, 0, 1, 4], [0, 0, 3, 2]]
    >>> model = hm.SplitMergeMixture("multinomial", random_state=0).fit(X)
    >>> axes = hashmix.plot.words(model.top_words(), np.bincount(model.labels_))
    """
    order = np.argsort(-np.asarray(sizes), kind="stable")[: n_clusters if axes is None else len(axes)]
    if axes is None:
        wide = min(4, len(order))
        tall = -(-len(order) // wide)
        figure, grid = pyplot().subplots(
            tall, wide, figsize=(3.1 * wide, 0.6 + 1.9 * tall), layout="constrained", squeeze=False
        )
        axes = grid.ravel()
        for ax in axes[len(order) :]:
            ax.set_axis_off()
        axes = axes[: len(order)]
        figure.suptitle(counted(len(sizes), "cluster") + (f", the {len(order)} largest" if len(sizes) > len(order) else ""))
    for ax, c in zip(axes, order, strict=True):
        shown = top_words[c][::-1]
        strength = [float(np.clip(0.3 + 0.4 * np.log10(max(word.lift, 1e-3)), 0.3, 1.0)) for word in shown]
        bars = ax.barh([word.name for word in shown], [word.probability for word in shown], color=colour_of(int(c)))
        for bar, alpha in zip(bars, strength, strict=True):
            bar.set_alpha(alpha)
        for name in ax.get_yticklabels():
            name.set_parse_math(False)
        ax.set_title(f"cluster {c}: {counted(int(sizes[c]), 'row')}", fontsize="medium", loc="left")
        ax.tick_params(labelsize="small")
        plain(ax)
    return axes
