"""What a chain samples: the posterior over partitions of some rows, given a component and a prior."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

from hashmix.components.contract import Component
from hashmix.data.rows import Rows
from hashmix.priors.contract import PartitionPrior, PriorWeights

__all__ = ["Target", "TargetArrays"]


class TargetArrays(NamedTuple):
    """The target as kernels read it: data, model and prior."""

    data: Any
    model: Any
    prior: PriorWeights


@dataclass(frozen=True)
class Target:
    """Rows, a component with its model for them, and a prior on partitions.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.partition.target import Target
    >>> target = Target.of(np.eye(3), hm.components.DiagonalGaussian(0.0, 0.1, 2.0, 0.1), hm.priors.Flat())
    >>> target.rows.shape
    (3, 3)
    """

    rows: Rows
    component: Component
    prior: PartitionPrior
    model: Any

    @classmethod
    def of(cls, X: Any, component: Component, prior: PartitionPrior, owner: str = "sample") -> Target:
        """Validate the rows for the component and make its model."""
        rows = component.rows(X, owner)
        return cls(rows, component, prior, component.model(rows))
