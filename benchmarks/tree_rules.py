"""By which rule to join clusters: one fit per set, joined by several rules, and the tree cut at the number of classes.

Run: ``python benchmarks/tree_rules.py --data FOLDER [--rows 3000] [NAME …]``. The sets are those that choices were made on
(:mod:`resolutions`), with at most 3,000 rows each. Results go to ``benchmarks/results/tree_rules.json``; with names, only these
sets are run and nothing is written. The rules, each of which joins the pair with the least cost:

- small first: as :mod:`hashmix.posterior.tree`, clusters with few rows first, then Ward with distances
- Ward, distances: n_a n_b / (n_a + n_b) d, with distances in units of the spread within clusters
- Ward, squares: n_a n_b / (n_a + n_b) d², the usual criterion
- Bayes factor: log m(a) + log m(b) − log m(a ∪ b), where m is the marginal likelihood of the component
- Bayes factor per row: the same, divided by n_a + n_b
- overlap: less the share of the smaller cluster that would be labelled as the other, as expected given the estimate
"""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable

import numpy as np
from report import write_results
from resolutions import TUNED, load
from scipy.special import softmax
from sklearn.metrics import adjusted_rand_score

import hashmix as hm
from hashmix.posterior.tree import cut_linkage

MOST_ROWS = 3000


def cut_by(cost: Callable, parts: list[np.ndarray], k: int) -> np.ndarray:
    """The group of every cluster when pairs with the least cost are joined until k are left.

    ``parts`` are arrays with a line for each cluster that add up when clusters are joined; ``cost`` takes two sets of lines.
    """
    parts = [part.astype(np.float64) for part in parts]
    groups, n = np.arange(len(parts[0])), len(parts[0])

    def costs_of(a: int, others: np.ndarray) -> np.ndarray:
        mine = [np.repeat(part[a : a + 1], len(others), axis=0) for part in parts]
        return cost(mine, [part[others] for part in parts])

    costs = np.full((n, n), np.inf)
    for a in range(n - 1):
        costs[a, a + 1 :] = costs_of(a, np.arange(a + 1, n))
    for _ in range(n - k):
        a, b = np.unravel_index(costs.argmin(), costs.shape)
        for part in parts:
            part[a] += part[b]
        groups[groups == b] = a
        costs[b], costs[:, b] = np.inf, np.inf
        alive = np.setdiff1d(groups, [a])
        new = costs_of(a, alive) if len(alive) else np.empty(0)
        costs[np.minimum(a, alive), np.maximum(a, alive)] = new
    return np.unique(groups, return_inverse=True)[1]


def by_ward(power: int) -> Callable:
    """Ward's criterion with distances to a power; the parts are sizes and sums of positions."""

    def cost(a: list[np.ndarray], b: list[np.ndarray]) -> np.ndarray:
        (n_a, sum_a), (n_b, sum_b) = a, b
        distance = np.linalg.norm(sum_a / n_a - sum_b / n_b, axis=1)
        return (n_a * n_b / (n_a + n_b))[:, 0] * distance**power

    return cost


def by_bayes_factor(component: hm.components.Component, model: object, per_row: bool) -> Callable:
    """What the log marginal likelihood loses; the parts are sizes and statistics."""

    def cost(a: list[np.ndarray], b: list[np.ndarray]) -> np.ndarray:
        apart = component.log_marginals(model, a[1]) + component.log_marginals(model, b[1])
        lost = apart - component.log_marginals(model, a[1] + b[1])
        return lost / (a[0] + b[0])[:, 0] if per_row else lost

    return cost


def by_overlap(probabilities: np.ndarray, k: int) -> np.ndarray:
    """Groups when the two clusters that share most of the smaller one are joined; (n, K) probabilities of the rows."""
    shared, groups = probabilities.T @ probabilities, np.arange(probabilities.shape[1])
    for _ in range(len(shared) - k):
        weights = shared.sum(axis=1)
        overlap = shared / np.maximum(np.minimum(weights, weights[:, None]), 1e-300)
        gone = np.setdiff1d(np.arange(len(shared)), groups)
        overlap[gone], overlap[:, gone] = -1.0, -1.0
        np.fill_diagonal(overlap, -1.0)
        a, b = np.unravel_index(overlap.argmax(), overlap.shape)
        shared[a] += shared[b]
        shared[:, a] += shared[:, b]
        shared[b], shared[:, b] = 0.0, 0.0
        groups[groups == b] = a
    return np.unique(groups, return_inverse=True)[1]


def one_set(X: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Adjusted Rand index of every rule, cut at the number of classes."""
    model = hm.SplitMergeMixture(random_state=0).fit(X)
    k = min(len(set(y.tolist())), model.n_clusters_)
    component, predictive = model.component_, model._predictive
    sizes = np.bincount(model.labels_)[:, None].astype(np.float64)
    moments = [sizes, sizes * component.positions(predictive.model, predictive.stats)]
    likelihood = [sizes, predictive.stats]
    groups = {
        "small first": cut_linkage(model.tree_, k) if model.n_clusters_ > 1 else np.zeros(1, int),
        "Ward, distances": cut_by(by_ward(1), moments, k),
        "Ward, squares": cut_by(by_ward(2), moments, k),
        "Bayes factor": cut_by(by_bayes_factor(component, predictive.model, False), likelihood, k),
        "Bayes factor per row": cut_by(by_bayes_factor(component, predictive.model, True), likelihood, k),
        "overlap": by_overlap(softmax(predictive.log_joint(model._target.rows), axis=1), k),
    }
    found = {rule: float(adjusted_rand_score(y, group[model.labels_])) for rule, group in groups.items()}
    return found | {"uncut": float(adjusted_rand_score(y, model.labels_)), "K": k, "clusters": model.n_clusters_}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True)
    parser.add_argument("--rows", type=int, default=MOST_ROWS)
    parser.add_argument("names", nargs="*")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    sets = {}
    for name in options.names or TUNED:
        sets[name] = one_set(*load(name, options.data, options.rows))
        print(name, {key: round(value, 3) for key, value in sets[name].items()}, flush=True)
    rules = [key for key in next(iter(sets.values())) if key not in ("K", "clusters")]
    means = {rule: float(np.mean([found[rule] for found in sets.values()])) for rule in rules}
    print("means", {rule: round(mean, 3) for rule, mean in means.items()})
    if not options.names:
        write_results("tree_rules", {"rows": options.rows, "means": means, "sets": sets})


if __name__ == "__main__":
    main()
