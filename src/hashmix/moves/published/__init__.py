"""The paper's kernels **as printed**: not exact, for comparison only.

Luo and Shrivastava, "Scaling-up Split-Merge MCMC with Locality Sensitive Sampling (LSS)". Nothing outside this folder is
inexact, and nothing in it should be corrected: ``docs/exactness.md`` says where the printed ratios differ from the laws of
the proposals, and tests pin the error. The exact moves are :class:`hashmix.moves.LSHSM` and
:class:`hashmix.moves.MinSM`.
"""

from __future__ import annotations

from hashmix.moves.published.lshsm import PublishedLSHSM
from hashmix.moves.published.minsm import PublishedMinSM

__all__ = ["PublishedLSHSM", "PublishedMinSM"]
