"""Does memory grow: over one long chain, and over many fits in one process?

    python benchmarks/soak.py                          # an hour, and ten thousand fits
    python benchmarks/soak.py --minutes 5 --fits 1000

The chain writes its draws to a run folder, as long runs do, and there are few draws: their scalars and hyperparameters stay in
memory, which is meant to be. So only what should not be kept can grow. Fits are small and
of all kinds of data in turn, each followed by predictions and a point estimate. Both begin with a tenth that does not count,
in which kernels are loaded and caches fill. What grows after that is the slope of a line through the resident memory.

Needs Linux. Prints one table, and writes benchmarks/results/soak.json.
"""

from __future__ import annotations

import argparse
import gc
import os
import tempfile
import threading
import time
import warnings
from pathlib import Path

import numpy as np
from report import write_results
from scipy.sparse import csr_matrix

import hashmix as hm
from hashmix.data.mixed import Column, MixedRows

_PAGE = os.sysconf("SC_PAGE_SIZE")
#: Share of a soak that does not count.
_WARM_UP = 0.1
#: Seconds between two readings of memory during the chain.
_EVERY = 0.5


def resident() -> int:
    """Bytes of memory that this process holds now."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * _PAGE


def open_things() -> dict[str, int]:
    """What a process may run out of, besides memory."""
    return {"open files": len(os.listdir("/proc/self/fd")), "threads": threading.active_count()}


def growth(at: np.ndarray, memory: np.ndarray) -> tuple[float, float]:
    """Slope of a line through memory, and its mean, after the part that does not count."""
    late = at >= at[0] + _WARM_UP * (at[-1] - at[0])
    return float(np.polyfit(at[late], memory[late], 1)[0]), float(memory[late].mean())


def soak_chain(minutes: float) -> dict[str, float]:
    """Growth of memory, in percent per hour, while one chain runs."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 8)) + 4.0 * rng.normal(size=(12, 8))[rng.integers(12, size=2000)]
    times, memory, sweeps = [], [], 0

    def watch(sweep):
        nonlocal sweeps
        sweeps = sweep.number
        now = time.perf_counter()
        if not times or now - times[-1] > _EVERY:
            times.append(now)
            memory.append(resident())

    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that time is up
        hm.sample(
            X, "gaussian-full", n_draws=100_000, thin=2_000, n_warmup=100, init="auto", random_state=0,
            max_seconds=60.0 * minutes, run_dir=Path(folder) / "run", callback=watch,
        )  # fmt: skip
    slope, mean = growth(np.array(times), np.array(memory))
    return {
        "minutes": minutes,
        "sweeps": sweeps,
        "resident memory, MB": mean / 1e6,
        "growth, % per hour": 100.0 * 3600.0 * slope / mean,
    }


def data_of_all_kinds(rng):
    """A small data set of each kind, and the component that it is for."""
    group = rng.integers(0, 3, 60)
    numbers = rng.normal(size=(60, 3)) + 6.0 * group[:, None]
    counts = rng.poisson(np.where(np.arange(20) % 3 == group[:, None], 3.0, 0.2))
    table = np.column_stack([numbers[:, 0], group, np.where(rng.random(60) < 0.1, np.nan, group == 1)])
    columns = [
        Column("size", "numeric"),
        Column("kind", "categorical", ("a", "b", "c")),
        Column("ill", "binary", ("no", "yes")),
    ]
    return [
        ("gaussian", numbers),
        ("gaussian-full", numbers),
        ("multinomial", csr_matrix(counts)),
        ("poisson", counts),
        ("bernoulli", csr_matrix(counts > 0)),
        ("mixed", MixedRows(table, columns)),
    ]


def soak_fits(n_fits: int) -> dict[str, float]:
    """Growth of memory per fit."""
    rng = np.random.default_rng(0)
    memory, began = [], time.perf_counter()
    before: dict[str, int] = {}
    while len(memory) < n_fits:
        for component, X in data_of_all_kinds(rng):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of chains that are too short to agree
                model = hm.SplitMergeMixture(component, n_draws=10, n_warmup=10, random_state=len(memory)).fit(X)
            model.predict(X)
            model.cut(n_clusters=2)
            del model
            gc.collect()
            memory.append(resident())
        if len(memory) >= _WARM_UP * n_fits and not before:
            before = open_things()
    slope, mean = growth(np.arange(len(memory), dtype=float), np.array(memory))
    after = open_things()
    return {
        "fits": len(memory),
        "minutes": (time.perf_counter() - began) / 60.0,
        "resident memory, MB": mean / 1e6,
        "growth per fit, bytes": slope,
        "growth per 10,000 fits, %": 100.0 * 1e4 * slope / mean,
        **{f"more {name}": after[name] - before[name] for name in after},
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60.0, help="of the chain")
    parser.add_argument("--fits", type=int, default=10_000)
    args = parser.parse_args()
    results: dict[str, dict[str, float]] = {}
    for what, soak in (("one chain", lambda: soak_chain(args.minutes)), ("many fits", lambda: soak_fits(args.fits))):
        results[what] = soak()
        for name, value in results[what].items():
            print(f"{what:12s} {name:28s} {value:12,.2f}", flush=True)
    write_results("soak", results)


if __name__ == "__main__":
    main()
