"""Which component has the most evidence: candidates are tried on a sample of the rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from hashmix.components import Component, Counts
from hashmix.data.dequantise import Lattice, log_sizes
from hashmix.data.rows import Rows, as_dense
from hashmix.partition.target import Target
from hashmix.priors.contract import PartitionPrior
from hashmix.run.counts import log_probability_of_totals
from hashmix.run.starts import Trial, n_learned, try_starts

__all__ = ["Choice", "choose_component"]


class Choice(NamedTuple):
    """The component that was chosen, its rows, its trial, and the evidence of every candidate, in nats per row."""

    component: Component
    rows: Rows
    trial: Trial
    evidence: dict[str, float]

    def describe(self) -> str:
        """One line on what was chosen, and why."""
        others = [f"{name} {value:.2f}" for name, value in self.evidence.items() if name != type(self.component).__name__]
        mine = f"{self.evidence[type(self.component).__name__]:.2f} nats per row"
        return f"{type(self.component).__name__}, evidence {mine} (others: {', '.join(others)})"


def choose_component(
    rows: Rows,
    candidates: Sequence[Component],
    prior: PartitionPrior,
    key: int,
    n_jobs: int | None = None,
    counts: Counts | None = None,
) -> Choice:
    """Try every candidate on the same sample of the rows, and choose the one with the most evidence.

    The evidence is the log joint of the sample at the end of a short chain, less half the logarithm of its number of rows for
    every hyperparameter that was learned: values that were fitted to the sample make its likelihood look better than it is.
    A chain that falls so far behind the best candidate that it will not catch up is given up, and stays behind.
    Log joints can be compared because every component has a normalised density of the same rows in the same units. Components
    for counts have probabilities: divided by the sizes of the cells that others see values spread in, they are densities, too.
    A multinomial takes sums of rows as given, so it gets a distribution of these (:mod:`hashmix.run.counts`).

    Parameters
    ----------
    rows : Rows
    candidates : sequence of Component
    prior : PartitionPrior
    key : int
        Names the sample and the random numbers: the choice depends on nothing else.
    n_jobs : int, optional
        Number of threads; None for one per processor. Does not change the result.
    counts : Counts, optional
        The rows as candidates for counts take them, if there are such beside others: then ``rows`` are spread within cells.

    Examples
    --------
    >>> import numpy as np, hashmix as hm
    >>> from hashmix.data.rows import as_dense
    >>> from hashmix.run.evidence import choose_component
    >>> rng = np.random.default_rng(0)
    >>> rows = as_dense(rng.normal(size=(300, 3)) @ [[1.0, 0.9, 0.0], [0.0, 0.4, 0.8], [0.0, 0.0, 0.3]])
    >>> families = hm.components.DiagonalGaussian, hm.components.FullGaussian
    >>> candidates = [family.from_data(rows, learn=True) for family in families]
    >>> type(choose_component(rows, candidates, hm.priors.DirichletProcess(), key=1).component).__name__
    'FullGaussian'
    """
    trials: list[Trial] = []
    evidence, most = {}, -math.inf
    for component in candidates:
        mine = counts.rows if counts is not None and component.takes_counts else rows
        model = component.model(mine)
        learned = n_learned(component, model)
        # All candidates are tried on the same rows.
        penalty = 0.5 * learned * math.log(trials[0].state.n_rows) if trials else 0.0
        at_least = most + penalty if mine is rows else -math.inf
        trial = try_starts(Target(mine, component, prior, model), key, n_jobs, at_least)
        n_tried = trial.state.n_rows
        log_evidence = trial.log_joint - 0.5 * learned * math.log(n_tried)
        if counts is not None and component.takes_counts:
            log_evidence += _in_units_of_cells(component, counts.lattice, trial)
        evidence[type(component).__name__] = log_evidence / n_tried
        trials.append(trial)
        most = max(most, log_evidence)
    best = int(np.argmax(list(evidence.values())))
    chosen = candidates[best]
    return Choice(chosen, counts.rows if counts is not None and chosen.takes_counts else rows, trials[best], evidence)


def _in_units_of_cells(component: Component, lattice: Lattice, trial: Trial) -> float:
    """What is added to a log probability of the counts that were tried, so that it is a log density of rows spread in cells."""
    tried = as_dense(trial.state.rows.matrix().toarray().astype(np.float64))
    totals = log_probability_of_totals(tried.values.sum(axis=1)) if component.given_sums else 0.0
    return totals - log_sizes(tried, lattice)
