"""What a point costs: restricted scan against a naive one, Gibbs, SAMS and RGSM, diagonal and full, D = 8, 32, 64.

    python benchmarks/kernels.py [--quick]

Prints one table, writes benchmarks/results/kernels.json. Ratios are taken in one run; times are the least of several.
"""

from __future__ import annotations

import argparse
import math
import platform
import time

import numba
import numpy as np
from report import write_results

import hashmix as hm
from hashmix.components.contract import clear
from hashmix.core.compiling import borrowed
from hashmix.core.rng import stream
from hashmix.data.rows import as_dense
from hashmix.moves.allocation import fill_sides, restricted_scan, toss_coins
from hashmix.moves.driver import Sides
from hashmix.partition.members import spare
from hashmix.partition.state import State
from hashmix.partition.target import Target


@numba.njit(nogil=True, error_model="numpy")
def naive_scan(X, sides, n, s, q, kappa, shape, mean, rate, uniforms):
    """The restricted scan as one writes it first: sums per side, a Student-t density per column and side: four logarithms."""
    m, d = X.shape
    log_q = 0.0
    for i in range(m):
        side = sides[i]
        n[side] -= 1
        for j in range(d):
            s[side, j] -= X[i, j]
            q[side, j] -= X[i, j] ** 2
        weight = np.empty(2)
        for c in range(2):
            k, a = kappa + n[c], shape + 0.5 * n[c]
            total = math.log(n[c]) + d * (math.lgamma(a + 0.5) - math.lgamma(a))
            for j in range(d):
                centre = (kappa * mean[j] + s[c, j]) / k
                b = rate[j] + 0.5 * (q[c, j] + kappa * mean[j] ** 2 - k * centre**2)
                nu, scale = 2.0 * a, b * (k + 1.0) / (a * k)
                total -= 0.5 * math.log(nu * math.pi * scale) + 0.5 * (nu + 1.0) * math.log(
                    1.0 + (X[i, j] - centre) ** 2 / (nu * scale)
                )
            weight[c] = total
        p = 1.0 / (1.0 + math.exp(weight[0] - weight[1]))
        side = 1 if uniforms[i] < p else 0
        log_q += math.log(p if side == 1 else 1.0 - p) if 0.0 < p < 1.0 else 0.0
        sides[i] = side
        n[side] += 1
        for j in range(d):
            s[side, j] += X[i, j]
            q[side, j] += X[i, j] ** 2
    return log_q


@numba.njit(nogil=True)
def deal(rng, arrays, target, n):
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    a, b = spare(arrays.partition, 1), spare(arrays.partition, 0)
    clear(target.model, arrays.slots, a)
    clear(target.model, arrays.slots, b)
    toss_coins(rng, arrays, n)
    fill_sides(arrays, target, Sides(0, -1, a, b, n))


@numba.njit(nogil=True)
def scan(rng, arrays, target, n):
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    sides = Sides(0, -1, spare(arrays.partition, 1), spare(arrays.partition, 0), n)
    return restricted_scan(rng, arrays, target, sides, False)


def two_clusters(n, d, dtype):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, d))
    X[rng.permutation(n)[: n // 2]] += 8.0 / np.sqrt(d)
    return as_dense(X.astype(dtype)).values


def least(repeats, run):
    times = []
    for r in range(repeats):
        begin = time.perf_counter()
        run(r)
        times.append(time.perf_counter() - begin)
    return min(times)


def scans(n, d, repeats, dtype=np.float64, family="gaussian"):
    """Seconds of a converged restricted scan over n rows, in sequential and in random order."""
    X = two_clusters(n, d, dtype)
    component = hm.components.resolve_component(family, X).component
    state = State(Target.of(X, component, hm.priors.DirichletProcess(1.0)), np.zeros(n, int))
    result = {}
    for order in ("sequential", "random"):
        points = np.arange(n) if order == "sequential" else np.random.default_rng(1).permutation(n)
        state.scratch.rows[:] = points
        deal(stream(0), state.arrays, state.target, n)
        for r in range(3):
            scan(stream(1, r), state.arrays, state.target, n)
        result[order] = least(repeats, lambda r: scan(stream(2, r), state.arrays, state.target, n))
    return result


def naive(n, d, repeats):
    X = two_clusters(n, d, np.float64)
    component = hm.components.resolve_component("gaussian", X).component
    rng = np.random.default_rng(2)
    sides = rng.integers(0, 2, n).astype(np.int8)
    counts = np.bincount(sides, minlength=2).astype(np.int64)
    s = np.stack([X[sides == c].sum(axis=0) for c in range(2)])
    q = np.stack([(X[sides == c] ** 2).sum(axis=0) for c in range(2)])
    hyper = (component.kappa, component.shape, component.mean, component.rate)
    for _ in range(2):
        naive_scan(X, sides, counts, s, q, *hyper, rng.random(n))
    return least(repeats, lambda r: naive_scan(X, sides, counts, s, q, *hyper, rng.random(n)))


def moves(family, d, n):
    """Ns of a predictive in a Gibbs scan over 20 clusters, and of a point in a proposed split, by SAMS and RGSM."""
    rng = np.random.default_rng(3)
    labels = rng.integers(0, 20, n)
    X = rng.normal(size=(20, d))[labels] * 6 / np.sqrt(d) + rng.normal(size=(n, d))
    target = Target.of(X, hm.components.resolve_component(family, X).component, hm.priors.DirichletProcess(1.0))
    state = State(target, labels)
    out = {}
    hm.moves.Gibbs().apply(state, stream(0))
    begin = time.perf_counter()
    hm.moves.Gibbs().apply(state, stream(1))
    out["Gibbs, ns per predictive"] = (time.perf_counter() - begin) / (n * (state.n_clusters + 1)) * 1e9
    # Splits of one cluster of all rows, which is what both cost; rejected or not, the state is rebuilt each time.
    for name, move in (("SAMS, ns per row", hm.moves.SAMS()), ("RGSM(5), ns per row", hm.moves.RGSM(5))):
        times = []
        for r in range(4):
            state = State(target, np.zeros(n, int))
            begin = time.perf_counter()
            move.apply(state, stream(2, r))
            times.append(time.perf_counter() - begin)
        out[name] = min(times[1:]) / n * 1e9
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows")
    shrink = 10 if parser.parse_args().quick else 1
    n = 100_000 // shrink
    results = {"machine": platform.processor() or platform.machine(), "n": n}

    ours, slow = scans(n, 64, 5), naive(n, 64, 2)
    single = scans(n, 64, 5, dtype=np.float32)
    results["restricted scan, D = 64, diagonal, ns per row"] = {
        "naive (Student-t per column)": slow / n * 1e9,
        "ours, sequential order": ours["sequential"] / n * 1e9,
        "ours, random order": ours["random"] / n * 1e9,
        "ours, sequential order, float32": single["sequential"] / n * 1e9,
        "ratio to naive, sequential": ours["sequential"] / slow,
        "ratio to naive, random": ours["random"] / slow,
    }
    for family in ("gaussian", "gaussian-full"):
        for d in (8, 32, 64):
            rows = n if family == "gaussian" else n // 10
            cost = scans(rows, d, 3, family=family)
            entry = {f"restricted scan, {order}, ns per row": seconds / rows * 1e9 for order, seconds in cost.items()}
            results[f"{family}, D = {d}"] = entry | moves(family, d, rows // 2)
    for name, entry in results.items():
        if isinstance(entry, dict):
            print(name)
            for what, value in entry.items():
                print(f"  {what:45s} {value:10.3f}" if value < 1 else f"  {what:45s} {value:10.0f}")
    write_results("kernels", results)


if __name__ == "__main__":
    main()
