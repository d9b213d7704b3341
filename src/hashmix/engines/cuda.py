"""Rows in the memory of a GPU."""

from __future__ import annotations

from typing import Any

from hashmix.core.validation import bad_parameter
from hashmix.engines.contract import Engine, Spread
from hashmix.engines.device.lazy import torch
from hashmix.engines.device.shard import DeviceShard
from hashmix.engines.in_process import InProcess

__all__ = ["Cuda"]


class Cuda(Engine):
    """One shard on a CUDA device, through PyTorch (``pip install 'hashmix[cuda]'``).

    Rows and labels stay on the device. Random numbers are those of :class:`~hashmix.engines.Threads` for the same seed. Log
    densities and sums may be rounded differently, so that chains part after some sweeps; on one kind of device and one version
    of PyTorch, the same seed gives the same draws.

    Parameters
    ----------
    device : str, default="cuda"
        A device of PyTorch: "cuda", "cuda:1", or "cpu", which needs no GPU and is there for tests.

    Examples
    --------
    >>> import hashmix as hm
    >>> hm.engines.Cuda("cuda:1")
    Cuda(device='cuda:1')
    """

    def __init__(self, device: str = "cuda") -> None:
        self.device = device

    def open(self, X: Any, owner: str) -> Spread:
        """Make one shard of all rows."""
        device = self._device()
        return InProcess(X, owner, lambda layout, spans: DeviceShard(layout, spans, device))

    def _device(self) -> Any:
        """The device, which must be there."""
        try:
            device = torch.device(self.device)
        except (RuntimeError, TypeError):
            device = None
        if device is None or device.type not in ("cuda", "cpu"):
            raise bad_parameter("Cuda", "device", "'cuda', 'cuda:0', 'cuda:1', … or 'cpu'", self.device)
        if device.type == "cuda" and (device.index or 0) >= (found := torch.cuda.device_count()):
            raise ValueError(f"engine='cuda' needs a CUDA device. PyTorch finds {found} here, and {device} is not among them.")
        return device
