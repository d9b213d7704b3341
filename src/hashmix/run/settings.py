"""How long chains run, and where their draws go."""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from hashmix.core.validation import bad_parameter, check_flag, check_integer, check_n_jobs, check_number

__all__ = ["RunSettings", "auto_draws", "auto_warmup"]


def auto_warmup(n: int) -> int:
    """Sweeps of warm-up that "auto" stands for: small data are cheap to be patient with.

    Examples
    --------
    >>> from hashmix.run.settings import auto_warmup
    >>> auto_warmup(1000), auto_warmup(20_000), auto_warmup(10**6)
    (200, 20, 20)
    """
    return min(200, max(20, 300_000 // n))


def auto_draws(n: int) -> int:
    """Draws of each chain that "auto" stands for: on small data, where they cost little, enough to quote intervals.

    Examples
    --------
    >>> from hashmix.run.settings import auto_draws
    >>> auto_draws(1000), auto_draws(20_000), auto_draws(10**6)
    (200, 40, 40)
    """
    return min(200, max(40, 300_000 // n))


@dataclass(frozen=True)
class RunSettings:
    """The parameters of :func:`hashmix.sample` that say how chains run; see there for what they mean."""

    n_draws: Any
    n_warmup: Any = 0
    thin: int = 1
    n_chains: int = 1
    random_state: Any = None
    init: Any = "single"
    max_seconds: float | None = None
    n_jobs: Any = None
    progress: bool = False
    run_dir: str | os.PathLike[str] | None = None
    callback: Callable[[Any], Any] | None = None

    def checked(self, owner: str, n_rows: int) -> RunSettings:
        """Validate the settings for a number of rows; "auto" and None get their values."""
        if self.callback is not None and not callable(self.callback):
            raise bad_parameter(owner, "callback", "a function or None", self.callback)
        return replace(
            self,
            n_draws=_number(owner, "n_draws", self.n_draws, 1, auto_draws(n_rows)),
            n_warmup=_number(owner, "n_warmup", self.n_warmup, 0, auto_warmup(n_rows)),
            thin=check_integer(owner, "thin", self.thin, low=1),
            n_chains=check_integer(owner, "n_chains", self.n_chains, low=1),
            max_seconds=None if self.max_seconds is None else check_number(owner, "max_seconds", self.max_seconds),
            n_jobs=check_n_jobs(owner, self.n_jobs),
            progress=check_flag(owner, "progress", self.progress),
        )

    @property
    def total_sweeps(self) -> int:
        """Sweeps of a chain, warm-up included."""
        return self.n_warmup + self.thin * self.n_draws


def _number(owner: str, name: str, value: Any, low: int, auto: int) -> int:
    if not isinstance(value, str):
        return check_integer(owner, name, value, low=low)
    if value != "auto":
        raise bad_parameter(owner, name, f"an integer ≥ {low} or 'auto'", value)
    return auto
