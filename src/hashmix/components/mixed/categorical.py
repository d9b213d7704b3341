"""Categories: each has a probability of its own in every cluster (Dirichlet–multinomial of one trial)."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.components.mixed.base import ColumnComponent, Part
from hashmix.core.validation import check_flag, check_vector

__all__ = ["Categorical"]


class Categorical(ColumnComponent):
    """Clusters of rows of categories: those of a column have probabilities ~ Dirichlet(concentration, …, concentration).

    Alone, it takes a matrix of categories, given by their positions 0, 1, …; in :class:`MixedColumns` it is one kind of column.
    A blank is NaN.

    Parameters
    ----------
    concentration : float or array of shape (n_columns,)
        Small values mean that a cluster has few of the categories.
    learn : bool, default=False
        Whether it is learned in every column, log-uniform between 0.001 and 1000.

    Examples
    --------
    >>> import hashmix as hm
    >>> X = [[0, 2, 1], [0, 2, 1], [0, 2, 0], [0, 2, 1], [1, 0, 2], [1, 0, 2], [1, 1, 2], [1, 0, 2]]
    >>> hm.SplitMergeMixture(hm.components.Categorical(0.3), random_state=0).fit(X).labels_
    array([0, 0, 0, 0, 1, 1, 1, 1])
    """

    def __init__(self, concentration: Any, learn: bool = False) -> None:
        check_vector("Categorical", "concentration", concentration, np.size(concentration), positive=True)
        self.concentration = concentration
        self.learn: bool = check_flag("Categorical", "learn", learn)

    @classmethod
    def from_data(cls, X: Any, learn: bool = False) -> Categorical:
        """The default: a concentration of 1/2 in every column.

        Examples
        --------
        >>> import hashmix as hm
        >>> hm.components.Categorical.from_data([[0], [1]])
        Categorical(concentration=0.5, learn=False)
        """
        return cls(0.5, learn=learn)

    def parts(self, n_columns: int) -> list[Part]:
        return [Part(np.arange(n_columns), self)]

    def with_hyperparameters(self, values: dict[str, Any]) -> Categorical:
        return Categorical(values["concentration"]) if values else self
