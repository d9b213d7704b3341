"""Whether the draws can be trusted, in plain words."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from hashmix.posterior.diagnostics import DRAWS_TO_JUDGE, ESS_LIMIT, LEAST_ESS, nearly_equal, rarely_varies, rhat_limit
from hashmix.report.numbers import shown_rhat

if TYPE_CHECKING:
    from hashmix.posterior.draws import Posterior

__all__ = ["disagreement", "grade", "verdict"]

#: How the verdict begins when there is nothing to do.
_AGREE = "The chains agree"


#: Quantities of which a small share is a small difference to anybody.
_OF_SIZES = ("n_clusters", "entropy", "largest_cluster")
#: Quantities of :meth:`Posterior.scalars` in words; hyperparameters of the component are called by their names.
_IN_WORDS = {
    "n_clusters": "the number of clusters",
    "log_joint": "the log joint",
    "log_likelihood": "the log likelihood",
    "entropy": "the entropy of the cluster sizes",
    "largest_cluster": "the size of the largest cluster",
    "concentration": "the concentration",
    "distance": "the distance to the best draw",
}


def _in_words(name: str) -> str:
    """A quantity in words: "scale[petal length]" is the scale of petal length."""
    base, _, column = name.removesuffix("]").partition("[")
    if not column:
        return _IN_WORDS.get(name, name)
    return f"{base} of {'column ' if column.isdigit() else ''}{column}"


def _judged(posterior: Posterior, values: dict[str, float]) -> dict[str, float]:
    """The diagnostics of the quantities that convergence is judged by: those that vary, and do not agree as they are."""
    scalars = posterior.scalars()
    equal = {name for name in _OF_SIZES if nearly_equal(scalars[name])}
    known = {name: value for name, value in values.items() if not np.isnan(value) and name not in equal}
    return {name: value for name, value in known.items() if not rarely_varies(scalars[name])}


def _worst_rhat(posterior: Posterior) -> tuple[str, float, float]:
    """The quantity with the largest R̂, 1 if no quantity has one, because none varies; and the limit for so many quantities."""
    known = _judged(posterior, posterior.rhat())
    name, value = max(known.items(), key=lambda item: item[1], default=("n_clusters", 1.0))
    return name, value, rhat_limit(posterior.n_chains, posterior.n_draws, len(known))


def disagreement(posterior: Posterior) -> str | None:
    """One sentence if the chains disagree: it names the quantity with the largest R̂.

    Returns
    -------
    str or None
        None if the chains agree, if there is only one, or if there are too few draws to judge.

    Examples
    --------
    >>> import numpy as np
    >>> from hashmix.posterior import Posterior
    >>> from hashmix.posterior.verdict import disagreement
    >>> posterior = Posterior.empty(2, 50, 3, [], {}, {})
    >>> posterior.labels[:], posterior.n_clusters[:] = [0, 0, 1], 2
    >>> disagreement(posterior)
    >>> posterior = Posterior.empty(2, 50, 3, [], {}, {})
    >>> posterior.labels[0], posterior.labels[1], posterior.n_clusters[:] = [0, 0, 1], [0, 1, 2], [[2], [3]]
    >>> disagreement(posterior)
    'The chains disagree: R̂ of the number of clusters is above 100, the limit is 1.15.'
    """
    if posterior.n_chains == 1 or posterior.n_draws < DRAWS_TO_JUDGE:
        return None
    name, value, limit = _worst_rhat(posterior)
    if value <= limit:
        return None
    return f"The chains disagree: R̂ of {_in_words(name)} is {shown_rhat(value)}, the limit is {limit:.2f}."


def verdict(posterior: Posterior) -> str:
    """One to three sentences: whether the draws can be trusted, and what to do if not.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.verdict import verdict
    >>> verdict(hm.sample(np.eye(4), n_draws=3, random_state=0))
    'There are too few draws to judge: 3 per chain. Run longer.'
    """
    if not posterior.settings.get("exact", True):
        return "The moves follow the paper as printed: these draws are not from the posterior and serve for comparison only."
    if posterior.n_draws < DRAWS_TO_JUDGE:
        return f"There are too few draws to judge: {posterior.n_draws} per chain. Run longer."
    if sentence := disagreement(posterior):
        medians = [f"{np.median(chain):.0f}" for chain in posterior.n_clusters]
        if len(set(medians)) > 1:
            sentence += f" The median number of clusters is {', '.join(medians[:-1])} and {medians[-1]}."
        return f"{sentence} Run longer, or start all chains from the partition with the highest log joint (init=)."
    known = _judged(posterior, posterior.ess())
    name, least = min(known.items(), key=lambda item: item[1], default=("", np.inf))
    worth = f"the effective sample size of {_in_words(name)} is only {least:.0f}"
    alone = "one chain cannot show whether it mixed: run two or more (n_chains=2)."
    if least < LEAST_ESS:
        rest = f" {alone.capitalize()}" if posterior.n_chains == 1 else ""
        return f"Nothing speaks against convergence, but {worth}: run longer.{rest}"
    rough = f" Run longer before quoting intervals: {worth}." if least < ESS_LIMIT else ""
    if posterior.n_chains == 1:
        return f"Nothing speaks against convergence, but {alone}{rough}"
    return f"{_AGREE}: {posterior.n_chains} chains, R̂ at most {shown_rhat(_worst_rhat(posterior)[1])}.{rough}"


def grade(posterior: Posterior) -> str:
    """The verdict in one word.

    Returns
    -------
    {"good", "caution", "bad"}
        Good if chains agree and there are enough draws for means; bad if chains disagree, or if the moves are not exact.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.posterior.verdict import grade
    >>> grade(hm.sample(np.eye(4), n_draws=3, random_state=0))
    'caution'
    """
    if not posterior.settings.get("exact", True) or disagreement(posterior):
        return "bad"
    return "good" if verdict(posterior).startswith(_AGREE) else "caution"
