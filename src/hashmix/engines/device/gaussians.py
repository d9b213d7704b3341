"""Both Gaussians on a device: features of rows, weights of clusters and densities, in float64 unless said otherwise.

Statistics are sums of the features φ(y) of rows in internal units, and log densities are linear in them
(:mod:`hashmix.components.densities`).
"""

from __future__ import annotations

from typing import Any

from hashmix.components.gaussian.diagonal_kernels import DiagonalModel
from hashmix.components.gaussian.full_kernels import FullModel
from hashmix.engines.device.lazy import torch

__all__ = ["FAMILIES", "Diagonal", "Full"]


class Diagonal:
    """φ(y) = (y, y²)."""

    @staticmethod
    def features(Y: Any) -> Any:
        """φ of rows."""
        return torch.cat([Y, Y * Y], 1)

    @staticmethod
    def weights(means: Any, precisions: Any) -> Any:
        """What φ is multiplied with in the log densities of clusters."""
        return torch.cat([precisions * means, -0.5 * precisions], 1)

    @staticmethod
    def half_distances(offsets: Any, precisions: Any) -> Any:
        """½ (y − μ)ᵀ Λ (y − μ) of rows that have a cluster each."""
        return 0.5 * (precisions * offsets * offsets).sum(1)

    @staticmethod
    def near_anchor(model: Any, derived: Any, Y: Any) -> Any:
        """The log predictive of rows given one anchor each, up to a constant; ``derived`` is that of the anchor's slot."""
        d, n = Y.shape[1], 1
        a, k = model.shape + 0.5 * n, model.kappa + n
        offsets = Y - derived[:, :d]
        rates = derived[:, d : 2 * d] + 0.5 * k / (k + 1.0) * offsets * offsets
        return a * derived[:, 2 * d] - (a + 0.5) * torch.log(torch.clamp(rates, min=model.rate_floor)).sum(1)


class Full:
    """φ(y) = (y, lower triangle of y yᵀ row by row)."""

    @staticmethod
    def features(Y: Any) -> Any:
        """φ of rows."""
        rows, columns = _triangle(Y)
        return torch.cat([Y, Y[:, rows] * Y[:, columns]], 1)

    @staticmethod
    def weights(means: Any, precisions: Any) -> Any:
        """What φ is multiplied with in the log densities of clusters."""
        rows, columns = _triangle(means)
        linear = (precisions @ means[:, :, None])[:, :, 0]
        return torch.cat([linear, precisions[:, rows, columns] * torch.where(rows == columns, -0.5, -1.0).double()], 1)

    @staticmethod
    def half_distances(offsets: Any, precisions: Any) -> Any:
        """½ (y − μ)ᵀ Λ (y − μ) of rows that have a cluster each."""
        return 0.5 * (offsets * (precisions @ offsets[:, :, None])[:, :, 0]).sum(1)

    @staticmethod
    def near_anchor(model: Any, derived: Any, Y: Any) -> Any:
        """The log predictive of rows given one anchor each, up to a constant; ``derived`` is that of the anchor's slot."""
        d, n = Y.shape[1], 1
        k = model.kappa + n
        inverse = derived[:, d : d + d * d].reshape(-1, d, d)
        grown = torch.log1p(2.0 * k / (k + 1.0) * Full.half_distances(Y - derived[:, :d], inverse))
        return -0.5 * derived[:, d + d * d] - 0.5 * (model.dof + n + 1.0) * grown


def _triangle(Y: Any) -> Any:
    return torch.tril_indices(Y.shape[1], Y.shape[1], device=Y.device)


#: By the type of the model, as the verbs of components are.
FAMILIES: dict[type, Any] = {DiagonalModel: Diagonal, FullModel: Full}
