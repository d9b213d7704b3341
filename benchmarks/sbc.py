"""Simulation-based calibration of the default schedule, with learned hyperparameters.

    python benchmarks/sbc.py                       # 1,000 replications of each component
    python benchmarks/sbc.py --replications 200 --jobs 2

A replication draws a concentration, hyperparameters, a partition of 30 rows and the rows from the prior, and then samples
from the posterior given the rows. If and only if the sampler is right, the rank of what was drawn first among the draws of
the chain is uniform, for every scalar that does not depend on how clusters are numbered (Talts et al. 2018). Ties are broken
at random. Two samplers that are wrong on purpose show what the test can see: one never updates the concentration, the other
multiplies the prior of a partition by 2 for every cluster.

A second test needs no long chains. What was drawn first is also a draw from the posterior given the rows, so a few sweeps from
there must leave the law of every scalar as it is: over replications, the mean change must be 0.

Prints one table, and writes benchmarks/results/sbc.json and docs/images/sbc.png.
"""

from __future__ import annotations

import argparse
import math
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from report import write_results
from scipy.stats import binom, chisquare

import hashmix as hm
from hashmix.components.gaussian.learning import Hyperprior, learn
from hashmix.components.gaussian.metric import LEAST_STRENGTH, MOST_STRENGTH, MetricHyperprior, learn_metric
from hashmix.core.rng import numpy_generator, stream
from hashmix.core.threads import one_blas_thread
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.posterior.scalars import entropy_and_largest

N, D = 30, 2
#: Draws of a chain, sweeps between them, and before the first. Few draws, far apart: neighbours must be nearly independent.
DRAWS, THIN, WARMUP = 7, 60, 100
#: Samplers that are wrong need fewer replications to be found out.
SHARE_OF_WRONG = 5
#: Of the second test: replications per replication of the first, and sweeps, in which every move is applied once.
SHORT, SWEEPS = 5, 6
RIGHT = ("diagonal", "full")
#: A p-value that is not left to chance, with two dozen of them.
SUSPICIOUS = 1e-4
PICTURE = Path(__file__).parent.parent / "docs" / "images" / "sbc.png"

#: Rows from which nothing but the place of the hyperpriors is taken: columns with mean 0 and variance 1. By default hyperpriors
#: are placed by the rows to be clustered; then no prior would be there to draw these rows from.
PLACE = np.where(np.arange(N)[:, None] % 2 == 0, 1.0, -1.0) * np.ones(D)
#: Bounds of kappa. By default it is so small that clusters hardly ever overlap, and there is nothing to find out about them.
LEAST_KAPPA, MOST_KAPPA = 0.003, 0.3


class Diagonal(hm.components.DiagonalGaussian):
    """A diagonal Gaussian whose hyperpriors do not depend on the rows."""

    hyperprior = Hyperprior.weak(np.ones(D), 20.0)._replace(least_kappa=LEAST_KAPPA, most_kappa=MOST_KAPPA)

    def __init__(self) -> None:
        super().__init__(mean=0.0, kappa=0.1, shape=21.0, rate=1.0, learn=True)

    def model(self, X):
        return super().model(PLACE)

    def learner(self, model, X):
        return lambda model, slots, used, rng: learn(self, model, self.hyperprior, slots.statistics(used), rng)

    def draw_model(self, rng):
        """The model with hyperparameters from their hyperpriors."""
        rate = np.exp(rng.uniform(np.log(self.hyperprior.least_scale), np.log(self.hyperprior.most_scale)))
        return self._with_hyperparameters(self.model(PLACE), rng.standard_normal(D), draw_kappa(rng), rate)

    def scalars(self, hyperparameters):
        """What is ranked of hyperparameters."""
        mean, kappa, rate = (hyperparameters[name] for name in ("mean", "kappa", "rate"))
        return {"mean": mean[..., 0], "kappa": kappa, "scale": rate[..., 0], "scales, product": rate.prod(axis=-1)}


class Full(hm.components.FullGaussian):
    """A full Gaussian whose hyperpriors do not depend on the rows."""

    hyperprior = MetricHyperprior.weak(np.ones(D))._replace(least_kappa=LEAST_KAPPA, most_kappa=MOST_KAPPA)

    def __init__(self) -> None:
        super().__init__(mean=0.0, kappa=0.1, dof=D + 4.0, scale=1.0, learn=True)

    def model(self, X):
        return super().model(PLACE)

    def learner(self, model, X):
        return lambda model, slots, used, rng: learn_metric(self, model, self.hyperprior, slots.statistics(used), rng)

    def draw_model(self, rng):
        """The model with hyperparameters from their hyperpriors."""
        strength = math.exp(rng.uniform(math.log(LEAST_STRENGTH), math.log(MOST_STRENGTH)))
        # A Wishart matrix with D + 2 degrees of freedom is a sum of so many squares.
        roots = rng.standard_normal((D + 2, D)) / np.sqrt(self.hyperprior.inverse_scale)
        scale, dof = strength * roots.T @ roots, D + 1.0 + strength
        return self._with_metric(self.model(PLACE), rng.standard_normal(D), draw_kappa(rng), scale, dof)

    def scalars(self, hyperparameters):
        """What is ranked of hyperparameters."""
        mean, kappa, dof, scale = (hyperparameters[name] for name in ("mean", "kappa", "dof", "scale"))
        expected = scale / (dof - D - 1.0)[..., None, None]
        correlation = expected[..., 0, 1] / np.sqrt(expected[..., 0, 0] * expected[..., 1, 1])
        return {"mean": mean[..., 0], "kappa": kappa, "dof": dof, "scale": expected[..., 0, 0], "correlation": correlation}


def draw_kappa(rng):
    return math.exp(rng.uniform(math.log(LEAST_KAPPA), math.log(MOST_KAPPA)))


# ---- samplers that are wrong -----------------------------------------------------------------------------------------------


class KeptConcentration(hm.priors.DirichletProcess):
    """A concentration that is never updated."""

    def update_concentration(self, concentration, n, n_clusters, rng):
        return concentration


class TwiceAsManyClusters(hm.priors.DirichletProcess):
    """Every cluster counts twice: the ratio of every split is off by log 2."""

    def weights(self, n, max_clusters, concentration):
        right = super().weights(n, max_clusters, concentration)
        return right._replace(log_v=right.log_v + np.arange(len(right.log_v)) * math.log(2.0))


SAMPLERS: dict[str, tuple[Any, Any]] = {
    "diagonal": (Diagonal, hm.priors.DirichletProcess),
    "full": (Full, hm.priors.DirichletProcess),
    "diagonal, concentration never updated": (Diagonal, KeptConcentration),
    "diagonal, prior off by log 2 per cluster": (Diagonal, TwiceAsManyClusters),
}


# ---- one replication -------------------------------------------------------------------------------------------------------


def draw_partition(concentration, rng):
    """Labels of a Chinese restaurant."""
    labels = [0]
    for _ in range(N - 1):
        weights = np.append(np.bincount(labels), concentration)
        labels.append(int(rng.choice(len(weights), p=weights / weights.sum())))
    return np.array(labels)


def draw_data(component, rng):
    """Model, concentration, labels and rows, from the prior."""
    model, concentration = component.draw_model(rng), rng.gamma(*hm.priors.Gamma())
    labels = draw_partition(concentration, rng)
    width = component.statistics(model, PLACE[:1], np.zeros(1, int), 1).shape[1]
    parameters = component.draw_parameters(model, np.zeros((labels.max() + 1, width)), rng)
    return model, concentration, labels, component.draw_rows(parameters, labels, rng)


def of_partitions(labels):
    """Scalars of partitions, (…, row), that do not depend on how clusters are numbered."""
    entropy, largest = np.moveaxis(np.apply_along_axis(entropy_and_largest, -1, labels), -1, 0)
    return {"entropy": entropy, "largest cluster": largest, "rows 0 and 1 together": labels[..., 0] == labels[..., 1]}


def draw_truth(sampler, seed):
    """A state drawn from the prior, with its rows, and the generator to go on with."""
    rng = np.random.default_rng([seed, 31])
    make_component, make_prior = SAMPLERS[sampler]
    component = make_component()
    model, concentration, labels, X = draw_data(component, rng)
    state = State(Target.of(X, component, make_prior()), labels, key=seed)
    state.restore(labels, concentration, model)
    return state, X, rng


def scalars_of(state: State) -> dict[str, Any]:
    """What is compared of a state."""
    hyperparameters = {name: np.asarray(value) for name, value in state.component.hyperparameters(state.model).items()}
    return {
        "clusters": state.n_clusters,
        "log joint": state.log_joint(),
        "log likelihood": state.log_likelihood(),
        "concentration": state.concentration,
        **of_partitions(state.labels()),
        **state.component.scalars(hyperparameters),
    }


def ranks(sampler: str, seed: int) -> dict[str, int]:
    """The ranks of what was drawn from the prior among the draws of a chain: uniform on 0 … DRAWS."""
    truth, X, rng = draw_truth(sampler, seed)
    component = truth.component
    posterior = hm.sample(
        X, component, truth.prior, n_draws=DRAWS, thin=THIN, n_warmup=WARMUP, init="auto", random_state=seed, n_jobs=1
    )
    sampled = {
        "clusters": posterior.n_clusters[0],
        "log joint": posterior.log_joint[0],
        "log likelihood": posterior.log_likelihood[0],
        "concentration": posterior.concentration[0],
        **of_partitions(np.asarray(posterior.labels)[0]),
        **component.scalars({name: values[0] for name, values in posterior.hyperparameters.items()}),
    }
    return {name: rank_of(value, sampled[name], rng) for name, value in scalars_of(truth).items()}


def change(sampler: str, seed: int) -> dict[str, float]:
    """How much a few sweeps from what was drawn from the prior change every scalar."""
    state, _, _ = draw_truth(sampler, seed)
    before = scalars_of(state)
    moves = [move for move, _ in hm.moves.resolve_moves("auto", "sbc", state.component)]
    with one_blas_thread():
        for state.sweep in range(SWEEPS):
            state.learn(numpy_generator(seed, state.sweep, len(moves) + 1))
            for m, move in enumerate(moves):
                move.apply(state, stream(seed, state.sweep, m))
            generator = numpy_generator(seed, state.sweep, len(moves))
            drawn = state.prior.update_concentration(state.concentration, N, state.n_clusters, generator)
            state.set_concentration(drawn)
    return {name: float(value) - float(before[name]) for name, value in scalars_of(state).items()}


def rank_of(value: Any, others: np.ndarray, rng: np.random.Generator) -> int:
    """How many of the others are below, with ties broken at random."""
    # The same partition, summed in another order, must be a tie.
    same = np.isclose(others, value, rtol=1e-9, atol=0.0)
    below = int(((others < value) & ~same).sum())
    return below + int(rng.integers(same.sum() + 1))


# ---- all replications ------------------------------------------------------------------------------------------------------


def repeated(one: Callable[[str, int], Any], sampler: str, replications: int, jobs: int) -> list[Any]:
    """All replications of a test, in one process or in several."""
    if jobs == 1:
        return [one(sampler, seed) for seed in range(replications)]
    with ProcessPoolExecutor(jobs) as pool:
        return list(pool.map(partial(one, sampler), range(replications), chunksize=8))


def mean_changes(sampler: str, replications: int, jobs: int = 1) -> dict[str, float]:
    """For every scalar, its mean change in a few sweeps, in standard errors."""
    every = repeated(change, sampler, replications, jobs)
    changes = {name: np.array([each[name] for each in every]) for name in every[0]}
    return {name: float(each.mean() / (each.std() + 1e-300) * math.sqrt(replications)) for name, each in changes.items()}


def calibrate(sampler: str, replications: int, jobs: int = 1) -> dict[str, dict[str, Any]]:
    """For every scalar, how often each rank occurred, and the p-value of a chi-square test that they are uniform."""
    every, results = repeated(ranks, sampler, replications, jobs), {}
    for name in every[0]:
        counts = np.bincount([each[name] for each in every], minlength=DRAWS + 1)
        results[name] = {"counts": counts.tolist(), "p": float(chisquare(counts).pvalue)}
    return results


def draw_picture(results: dict[str, Any]) -> None:
    """One histogram of ranks per scalar; a grey band holds 99 % of the bars if ranks are uniform."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    columns = 6
    figure = plt.figure(figsize=(9.0, 11.5), layout="constrained")
    parts = figure.subfigures(len(results), 1, height_ratios=[-(-len(scalars) // columns) for scalars in results.values()])
    for part, (sampler, scalars) in zip(parts, results.items(), strict=True):
        part.suptitle(sampler, fontsize=10, weight="bold", x=0.01, ha="left")
        axes = part.subplots(-(-len(scalars) // columns), columns).ravel()
        for axis in axes[len(scalars) :]:
            axis.set_visible(False)
        for axis, (name, found) in zip(axes, scalars.items(), strict=False):
            n, bins = sum(found["counts"]), len(found["counts"])
            low, high = binom.ppf([0.005, 0.995], n, 1.0 / bins) / n
            axis.axhspan(low, high, color="0.85", lw=0)
            axis.bar(np.arange(bins), np.array(found["counts"]) / n, 0.85, color="C0" if found["p"] > SUSPICIOUS else "C3")
            axis.set_ylim(0, 1.9 / bins)
            axis.set_xticks([])
            axis.set_yticks([])
            axis.set_title(f"{name}\np = {found['p']:.2g}", fontsize=8)
            axis.spines[["top", "right", "left"]].set_visible(False)
    print(f"writing {PICTURE}")
    figure.savefig(PICTURE, dpi=110)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--replications", type=int, default=1000)
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    args = parser.parse_args()
    results, changes = {}, {}
    for sampler in SAMPLERS:
        replications = args.replications if sampler in RIGHT else args.replications // SHARE_OF_WRONG
        results[sampler] = calibrate(sampler, replications, args.jobs)
        changes[sampler] = mean_changes(sampler, SHORT * replications, args.jobs)
        for name, found in results[sampler].items():
            print(f"{sampler:42s} {name:22s} p = {found['p']:.3g}  z = {changes[sampler][name]:.2f}", flush=True)
    settings = {"rows": N, "columns": D, "replications": args.replications, "draws": DRAWS, "thin": THIN, "warm-up": WARMUP}
    write_results("sbc", settings | {"samplers": results, "mean changes": changes})
    draw_picture(results)


if __name__ == "__main__":
    main()
