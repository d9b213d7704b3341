"""What the diagnostics mean, in plain words."""

from __future__ import annotations

from typing import Any

import numpy as np

from hashmix.posterior.diagnostics import ess, rhat

__all__ = ["verdict"]

#: R̂ above which chains disagree, and effective draws below which averages are rough.
_RHAT, _ESS = 1.05, 100.0


def verdict(posterior: Any) -> str:
    """One or two sentences: whether the draws can be trusted, and what to do if not.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.verdict import verdict
    >>> verdict(hm.sample(np.eye(4), n_draws=3, random_state=0))
    'Too few draws to judge: 3 a chain. Run longer.'
    """
    if not posterior.settings.get("exact", True):
        return "The moves follow the paper as printed: these draws are not from the posterior, and are for comparison only."
    if posterior.n_draws < 20:
        return f"Too few draws to judge: {posterior.n_draws} a chain. Run longer."
    modes = [int(np.median(chain)) for chain in posterior.n_clusters]
    quantities = posterior.scalars()
    worst = {name: rhat(values) for name, values in quantities.items()}
    worst = {name: value for name, value in worst.items() if np.isfinite(value)}
    if posterior.n_chains > 1 and worst and max(worst.values()) > _RHAT:
        name = max(worst, key=lambda each: worst[each])
        counts = " and ".join(map(str, sorted(set(modes))))
        if len(set(modes)) > 1:
            what = f"The chains disagree on the number of clusters: {counts}"
        elif name == "n_clusters":
            what = f"The chains mostly find {counts} clusters, but not equally often"
        else:
            what = f"The chains agree on {counts} clusters, but not on the {name.replace('_', ' ')}"
        return f"{what} (R̂ {worst[name]:.2f}). Run longer, or start chains from the estimate with most support (init=)."
    least = {name: ess(values) for name, values in quantities.items()}
    least = {name: value for name, value in least.items() if np.isfinite(value)}
    if least and min(least.values()) < _ESS:
        name = min(least, key=lambda each: least[each])
        few = f"{least[name]:.0f} independent draws of the {name.replace('n_clusters', 'number of clusters').replace('_', ' ')}"
        return f"Nothing speaks against convergence, but there are only about {few}: run longer before quoting intervals."
    if posterior.n_chains == 1:
        return "Nothing speaks against convergence, but one chain cannot disagree with itself: run two or more to be sure."
    return f"The chains agree: {posterior.n_chains} chains, R̂ at most {max(worst.values(), default=1.0):.3f}."
