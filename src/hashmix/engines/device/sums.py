"""Sums by label on a device that are rounded alike in every run.

Rows are sorted by label, stably, and each label's rows are added one after the other. Nothing is added in order of arrival.
"""

from __future__ import annotations

from typing import Any

from hashmix.engines.device.lazy import torch

__all__ = ["grouped", "least_by_label", "sums_of_groups"]

#: Places per label for least values, so that the rows of a large cluster do not all wait for one.
_PLACES = 64


def grouped(labels: Any, n_labels: int) -> tuple[Any, Any]:
    """The order of rows by label, and how many each label has."""
    ordered, order = torch.sort(labels, stable=True)
    edges = torch.searchsorted(ordered, torch.arange(n_labels + 1, device=labels.device, dtype=labels.dtype))
    return order, edges.diff()


def sums_of_groups(values: Any, sizes: Any) -> Any:
    """The sums of consecutive rows of a matrix, ``sizes`` at a time."""
    return torch.segment_reduce(values, "sum", lengths=sizes, axis=0, unsafe=True)  # unsafe: sizes are not checked on the host


def least_by_label(values: Any, labels: Any, n_labels: int) -> Any:
    """The least value of every label; integers only, so that the order does not matter."""
    out = torch.full((_PLACES * n_labels,), torch.iinfo(values.dtype).max, device=values.device)
    place = torch.arange(len(labels), device=labels.device) % _PLACES
    out.scatter_reduce_(0, place * n_labels + labels, values, "amin")
    return out.reshape(_PLACES, n_labels).amin(0)
