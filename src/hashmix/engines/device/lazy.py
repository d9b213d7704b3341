"""PyTorch, imported when it is first used: it takes seconds to import, and hashmix works without it."""

from __future__ import annotations

import importlib
from typing import Any

__all__ = ["torch"]


class _Torch:
    """The module ``torch``."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # tools that look at modules must not import it
            raise AttributeError(name)
        try:
            return getattr(importlib.import_module("torch"), name)
        except ModuleNotFoundError:
            raise ImportError("engine='cuda' needs PyTorch: pip install 'hashmix[cuda]'.") from None


torch: Any = _Torch()
