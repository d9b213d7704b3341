"""How fast moves that look at all rows at once are, and where chains that use them get.

    python benchmarks/parallel.py level fits sweeps rate crossover opposite [--threads 2]
    python benchmarks/parallel.py threads documents --threads 16
    python benchmarks/parallel.py large
    python benchmarks/parallel.py kddbio --kddbio kddbio.npz

Questions, each with its own results in benchmarks/results/parallel_<question>.json:

level     100,000 × 32, K = 500, from scratch and from one cluster: seconds to NMI ≥ .99 and K within 2 %, against
          KMeans(500, n_init=1)
fits      whole default fits: that one, full covariances in 8 columns, and counts
sweeps    seconds per sweep of a converged chain as K and n grow
rate      parallel Gibbs on one thread against its matrix product alone, and the collapsed predictive
crossover log densities of full covariances on one thread: products of columns against triangular roots, as D grows
opposite  10,000 × 8 of 30 clusters that overlap strongly, learned hyperparameters: do chains from one cluster and from
          neighbourhoods agree after five minutes?
threads   10⁶ × 32, K = 500: seconds per sweep for 1 thread and for all; the whole fit against KMeans(500, n_init=1)
documents 10⁶ documents over 141,043 words, K = 1000: seconds per sweep for 1 thread and for all
large     10⁷ × 16 float32, K = 1000: seconds, NMI, K and peak memory
texts     117,000 texts of about 6 words over 33,000 words, 100 and 500 topics: a whole default fit
kddbio    KDD Cup 2004, standardised, fixed hyperparameters, from one cluster: log joint over time

Data other than kddbio are made here. Seconds are wall-clock, with kernels compiled beforehand; nothing else should run.
"""

from __future__ import annotations

import argparse
import resource
import threading
import time
from functools import partial

import numpy as np
from numba import njit
from report import write_results
from scipy.sparse import csr_array
from sklearn.cluster import KMeans
from sklearn.metrics import normalized_mutual_info_score
from threadpoolctl import threadpool_limits

import hashmix as hm
from hashmix.core.rng import stream
from hashmix.core.threads import Threads, one_blas_thread
from hashmix.paper import make_mixture
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.problem import Problem
from hashmix.run.chain import Chain
from hashmix.run.settings import RunSettings
from hashmix.run.starts import first_states


def gaussian_mixture(n, d, k, spread=2.0, seed=0):
    """Unit-variance clusters around normal centres."""
    rng = np.random.default_rng(seed)
    centres, labels = spread * rng.standard_normal((k, d), dtype=np.float32), rng.integers(0, k, n)
    X = rng.standard_normal((n, d), dtype=np.float32)
    for begin in range(0, n, 1_000_000):
        X[begin : begin + 1_000_000] += centres[labels[begin : begin + 1_000_000]]
    return X, labels


def full_mixture(n, d, k, seed=0):
    """Clusters with covariances of their own."""
    rng = np.random.default_rng(seed)
    centres, labels, roots = 4.0 * rng.normal(size=(k, d)), rng.integers(0, k, n), rng.normal(size=(k, d, d)) / np.sqrt(d)
    X = centres[labels] + np.einsum("nij,nj->ni", roots[labels], rng.normal(size=(n, d))) + 0.3 * rng.normal(size=(n, d))
    return X.astype(np.float32), labels


def count_mixture(n, words, k, length, seed=0):
    """Multinomial clusters with sparse topics."""
    rng = np.random.default_rng(seed)
    topics, labels = rng.dirichlet(np.full(words, 0.05), k), rng.integers(0, k, n)
    return csr_array(np.stack([rng.multinomial(rng.poisson(length) + 1, topics[c]) for c in labels])), labels


def documents(n, words, k, length, seed=0):
    """Documents of topics that have about 500 words each, made row by row of indices."""
    rng = np.random.default_rng(seed)
    own = rng.integers(0, words, (k, 500))
    labels, lengths = rng.integers(0, k, n), rng.poisson(length, n) + 1
    begins = np.concatenate([[0], np.cumsum(lengths)])
    which = (500 * rng.random(begins[-1]) ** 2).astype(np.int64)
    columns = own[np.repeat(labels, lengths), which].astype(np.int32)
    matrix = csr_array((np.ones(len(columns), np.float32), columns, begins), shape=(n, words))
    matrix.sum_duplicates()
    return matrix, labels


def timed(work):
    """Seconds that it took, and its result."""
    begin = time.perf_counter()
    result = work()
    return time.perf_counter() - begin, result


def traced(X, n_sweeps, threads, **settings):
    """(seconds since the call, clusters, log joint, labels) after every sweep; the time to look is not counted."""
    trace, looking = [], [time.perf_counter()]

    def look(sweep):
        begin = time.perf_counter()
        trace.append((begin - looking[0], sweep.n_clusters, sweep.log_joint, sweep.state.labels()))
        looking[0] += time.perf_counter() - begin

    settings = {"n_draws": 1, "n_warmup": n_sweeps - 1, "random_state": 1} | settings
    hm.sample(X, callback=look, n_jobs=threads, **settings)
    return trace


def k_means_seconds(X, k, threads):
    """The best of three runs: the machine's noise is not held against k-means."""
    with threadpool_limits(threads):
        return min(timed(lambda: KMeans(k, n_init=1, random_state=0).fit(X))[0] for _ in range(3))


def warm(X, **settings):
    """Compile what a fit of such data needs."""
    hm.SplitMergeMixture(n_draws=2, n_warmup=2, random_state=0, **settings).fit(X[:2000])


def level(args):
    X, y = gaussian_mixture(100_000, 32, 500)
    warm(X)
    k_means = k_means_seconds(X, 500, args.threads)
    results = {"KMeans seconds": k_means}
    for name, init in (("from scratch", "auto"), ("from one cluster", "single")):
        runs = []
        for seed in range(3):
            trace = traced(X, 20, args.threads, component="gaussian", random_state=seed, init=init)
            scores = [normalized_mutual_info_score(y, labels) for *_, labels in trace]
            reached = [t[0] for t, score in zip(trace, scores, strict=True) if score >= 0.99 and abs(t[1] - 500) <= 10]
            seconds = reached[0] if reached else None
            runs.append(
                {"seconds": seconds, "ratio": seconds and seconds / k_means, "clusters": trace[-1][1], "NMI": scores[-1]}
            )
        results[name] = runs
    return results


def fits(args):
    cases = {
        "100,000 x 32, K = 500": (*gaussian_mixture(100_000, 32, 500), {}),
        "10,000 x 8, K = 10, full": (*full_mixture(10_000, 8, 10), {"component": "gaussian-full"}),
        "100,000 x 8, K = 10, full": (*full_mixture(100_000, 8, 10), {"component": "gaussian-full"}),
        "counts 5,000 x 1,000, K = 20": (*count_mixture(5_000, 1_000, 20, 75), {}),
    }
    results = {}
    for name, (X, y, settings) in cases.items():
        warm(X, **settings)
        runs = []
        for seed in range(3):
            model = hm.SplitMergeMixture(random_state=seed, n_jobs=args.threads, **settings)
            seconds, _ = timed(lambda model=model, X=X: model.fit(X))
            score = normalized_mutual_info_score(y, model.labels_)
            runs.append({"seconds": seconds, "clusters": int(model.n_clusters_), "NMI": score})
        results[name] = runs
        if "K = 500" in name:
            results["KMeans seconds"] = k_means_seconds(X, 500, args.threads)
    return results


def sweep_seconds(X, y, counts, moves="auto", n_warmup=40, n_sweeps=40):
    """Mean seconds of a sweep of a chain that starts at the truth, after warm-up, for some numbers of threads."""
    settings = RunSettings(n_draws=1, n_warmup=n_warmup, random_state=0, n_jobs=max(counts))
    problem = Problem.resolve(X, "auto", "auto", moves, settings)
    seconds = []
    with one_blas_thread():
        state = first_states(problem.target, [y], problem.keys, max(counts))[0]
        chain = Chain(0, problem.keys[0], state, problem.schedule, problem.settings)
        for _ in range(n_warmup + 1):
            chain.sweep(threading.Event())
        for count in counts:
            state.threads = Threads(count)
            each = [timed(lambda: chain.sweep(threading.Event()))[0] for _ in range(n_sweeps)]
            seconds.append(float(np.mean(each)))
    return seconds


def sweeps(args):
    results = {}
    for n, k in ((100_000, 100), (100_000, 500), (100_000, 3000), (1_000_000, 500)):
        results[f"n = {n:,}, K = {k}"] = sweep_seconds(*gaussian_mixture(n, 16, k), [args.threads])[0]
    return results


def rate(args):
    return {f"D = {d}": rate_in(d) for d in (8, 16, 32, 64, 128)}


def rate_in(d, n=50_000, k=500):
    """Nanoseconds per row and cluster on one thread: the move, its matrix product alone, and a collapsed predictive."""
    X, y = gaussian_mixture(n, d, k)
    state = State(Target.of(X, hm.components.DiagonalGaussian.from_data(X), hm.priors.DirichletProcess(1.0)), y)
    move, gibbs = hm.moves.ParallelGibbs(), hm.moves.Gibbs(n_points=200)
    features, weights = np.ones((512, 2 * d), np.float32), np.ones((k, 2 * d), np.float32)
    out = np.empty((512, k), np.float32)

    def multiply():
        for _ in range(0, n, 512):
            np.dot(features, weights.T, out=out)

    def best(work):
        work()
        return min(timed(work)[0] for _ in range(5)) * 1e9 / k

    with one_blas_thread():
        return {
            "move": best(lambda: move.apply(state, stream(1))) / n,
            "product alone": best(multiply) / n,
            "collapsed predictive": best(lambda: gibbs.apply(state, stream(2))) / 200,
        }


@njit(cache=False)
def products_of(Y, features):
    """Columns of the rows, and the products of any two."""
    for r in range(len(Y)):
        at = Y.shape[1]
        for j in range(Y.shape[1]):
            features[r, j] = Y[r, j]
            for k in range(j + 1):
                features[r, at + k] = Y[r, j] * Y[r, k]
            at += j + 1


@njit(cache=False, fastmath=True)
def squared_norms(Z, shifts, out):
    """The squared norm of every stretch of columns, one for each cluster, less its shift."""
    d = shifts.shape[1]
    for r in range(len(Z)):
        for c in range(len(shifts)):
            total = np.float32(0.0)
            for j in range(d):
                t = Z[r, c * d + j] - shifts[c, j]
                total += t * t
            out[r, c] = total


def crossover(args):
    return {f"D = {d}": crossover_in(d) for d in (4, 8, 16, 32, 64, 128)}


def crossover_in(d, n=512, k=64):
    """Nanoseconds per row and cluster of a block of rows, by both ways; either ends in one number per row and cluster."""
    rng = np.random.default_rng(0)
    Y, n_terms = rng.normal(size=(n, d)).astype(np.float32), d + d * (d + 1) // 2
    features, weights = np.empty((n, n_terms), np.float32), rng.normal(size=(n_terms, k)).astype(np.float32)
    roots, shifts = rng.normal(size=(d, k * d)).astype(np.float32), rng.normal(size=(k, d)).astype(np.float32)
    Z, out = np.empty((n, k * d), np.float32), np.empty((n, k), np.float32)

    def by_products():
        products_of(Y, features)
        np.dot(features, weights, out=out)

    def by_roots():
        np.dot(Y, roots, out=Z)
        squared_norms(Z, shifts, out)

    def best(work):
        work()
        return min(timed(lambda: [work() for _ in range(20)])[0] for _ in range(5)) / 20 * 1e9 / (n * k)

    with one_blas_thread():
        return {"products": best(by_products), "roots": best(by_roots)}


def opposite(args):
    X, y, oracle = make_mixture(10_000, 8, 30, separation=4.0, seed=0, return_oracle=True)
    results = {"NMI of the best possible labels": normalized_mutual_info_score(y, oracle)}
    for component in ("gaussian", "gaussian-full"):
        warm(X, component=component)
        settings = {"n_draws": 4000, "n_warmup": 2000, "thin": 2, "n_chains": 2, "init": ["single", "buckets"]}
        sampled = partial(hm.sample, X, component, **settings, max_seconds=300.0, random_state=0, n_jobs=args.threads)
        seconds, posterior = timed(sampled)
        rhat = {name: value for name, value in posterior.rhat().items() if name in ("n_clusters", "entropy", "log_joint")}
        medians = np.median(posterior.n_clusters, axis=1).tolist()
        results[component] = {"seconds": seconds, "draws": posterior.n_draws, "R-hat": rhat, "median clusters": medians}
    return results


def threads(args):
    X, y = gaussian_mixture(1_000_000, 32, 500)
    full = [(hm.moves.ParallelGibbs(), 1)]
    results = {"threads": args.threads}
    for name, moves in (("auto", "auto"), ("parallel Gibbs, all clusters", full)):
        one, many = sweep_seconds(X, y, [1, args.threads], moves)
        results[name] = {"seconds, 1 thread": one, "seconds, all": many, "times": one / many}
    warm(X)
    model = hm.SplitMergeMixture(random_state=0, n_jobs=args.threads)
    seconds, _ = timed(lambda: model.fit(X))
    score = normalized_mutual_info_score(y, model.labels_)
    k_means = k_means_seconds(X, 500, args.threads)
    fit = {"seconds": seconds, "clusters": int(model.n_clusters_), "NMI": score, "KMeans seconds": k_means}
    return results | {"fit": fit | {"ratio": seconds / k_means}}


def many_documents(args):
    X, y = documents(1_000_000, 141_043, 1000, 60)
    scan = [(hm.moves.RegionGibbs(n_bits=32, n_tables=16, n_mates=8, refresh=None, family="neighbours"), 1)]
    results = {"threads": args.threads}
    for name, moves in (("auto", "auto"), ("region Gibbs alone", scan)):
        one, many = sweep_seconds(X, y, [1, args.threads], moves, n_warmup=3, n_sweeps=4)
        results[name] = {"seconds, 1 thread": one, "seconds, all": many, "times": one / many}
    return results


def large(args):
    warm(gaussian_mixture(2000, 16, 10)[0])
    libraries = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    X, y = gaussian_mixture(10_000_000, 16, 1000, spread=4.0)
    seconds, posterior = timed(lambda: hm.sample(X, n_draws=1, n_warmup=5, init="auto", random_state=0, n_jobs=args.threads))
    labels = np.asarray(posterior.labels[0, -1])
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return {
        "seconds": seconds,
        "clusters": int(posterior.n_clusters[0, -1]),
        "NMI": normalized_mutual_info_score(y, labels),
        "peak memory / data": peak * 1024 / X.nbytes,
        "libraries / data": libraries * 1024 / X.nbytes,
    }


def short_texts(args):
    results = {}
    for topics in (100, 500):
        X, y = documents(117_000, 33_000, topics, 5)
        warm(X)
        model = hm.SplitMergeMixture(random_state=0, n_jobs=args.threads)
        seconds, _ = timed(lambda model=model, X=X: model.fit(X))
        score = normalized_mutual_info_score(y, model.labels_)
        results[f"{topics} topics"] = {"seconds": seconds, "clusters": int(model.n_clusters_), "NMI": score}
    return results


def kddbio(args):
    X = np.load(args.kddbio)["X"].astype(np.float64)
    X = ((X - X.mean(axis=0)) / X.std(axis=0)).astype(np.float32)
    warm(X)
    component, prior = hm.components.DiagonalGaussian.from_data(X), hm.priors.DirichletProcess(1.0)
    trace = traced(X, 10_000, args.threads, component=component, prior=prior, init="single", max_seconds=61.0)
    level = -9_947_300.0
    reached = [t[0] for t in trace if t[2] >= level]
    at = [max((t for t in trace if t[0] <= s), key=lambda t: t[0]) for s in (6, 12, 30, 60)]
    return {
        "level of RGSM(5) + Gibbs after 600 s": level,
        "seconds to it": reached[0] if reached else None,
        "after": [{"seconds": t[0], "clusters": t[1], "log joint": t[2]} for t in at],
    }


QUESTIONS = {
    "level": level,
    "fits": fits,
    "sweeps": sweeps,
    "rate": rate,
    "crossover": crossover,
    "opposite": opposite,
    "threads": threads,
    "documents": many_documents,
    "large": large,
    "texts": short_texts,
    "kddbio": kddbio,
}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("questions", nargs="+", choices=list(QUESTIONS))
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--kddbio", help="where kddbio.npz is")
    args = parser.parse_args()
    for name in args.questions:
        results = QUESTIONS[name](args)
        print(name, results, flush=True)
        write_results(f"parallel_{name}", results)


if __name__ == "__main__":
    main()
