"""What hashed proposals cost and how often they are accepted, half by half, beside RGSM and SDDS.

    python benchmarks/hashed_moves.py [--quick]

Prints one table, writes benchmarks/results/hashed_moves.json. Data: n = 100,000 rows of D = 64 columns in K = 100 diagonal
Gaussian clusters, two of which are typically 9 standard deviations apart. Every move runs at the true partition, and from
the same worse one: every third cluster split by coins, every fourth merged with its neighbour. "Cost" is of a proposal that
evaluates something; draws that end as null moves count as nothing.
"""

from __future__ import annotations

import argparse
import time
import warnings

import numba
import numpy as np
from report import write_results

import hashmix as hm
from hashmix.components.contract import clear
from hashmix.core.compiling import borrowed
from hashmix.core.rng import stream
from hashmix.moves.allocation import URN, Allocation, fill_sides, gather, restricted_scan
from hashmix.moves.anchored import Anchored
from hashmix.moves.anchors import SIMILAR, Anchors
from hashmix.moves.driver import Sides, Unions, run_proposals
from hashmix.moves.tally import ACCEPTED, PROPOSED, SPLITS_ACCEPTED, SPLITS_PROPOSED, new_tally
from hashmix.paper import make_mixture
from hashmix.partition.members import spare
from hashmix.partition.state import State
from hashmix.partition.target import Target


def worse(labels, k, seed=1):
    """Every third cluster split by coins, every fourth merged with its neighbour."""
    rng = np.random.default_rng(seed)
    labels = labels.copy()
    for c in range(0, k, 4):
        labels[labels == c] = (c + 1) % k
    for c in range(0, k, 3):
        labels[(labels == c) & (rng.random(len(labels)) < 0.5)] = k + c
    return np.unique(labels, return_inverse=True)[1]


def urn_merges(state, n_proposals, repeats=3):
    """Seconds of a merge that is evaluated and rejected, without splits; and the number of null draws per merge."""
    law = Anchored(Anchors(SIMILAR, 1e-300, hm.moves.UrnMerge().table_arrays(state)), Allocation(URN))
    least, nulls = np.inf, 0.0
    for r in range(repeats):
        tally = new_tally()
        begin = time.perf_counter()
        run_proposals(stream(3, r), law, state.arrays, state.target, Unions.none(), 0, n_proposals, tally)
        seconds = time.perf_counter() - begin
        least = min(least, seconds / (tally[PROPOSED] - tally[ACCEPTED]))
        nulls = n_proposals / tally[PROPOSED] - 1.0
    return least, nulls


@numba.njit(nogil=True)
def scan_cluster(rng, arrays, target, slot):
    """One restricted scan of a cluster's rows, from sides that were dealt before the clock starts."""
    rng, arrays, target = borrowed(rng), borrowed(arrays), borrowed(target)
    m = gather(arrays, slot, slot, -1, -1)
    sides = Sides(0, -1, spare(arrays.partition, 1), spare(arrays.partition, 0), m)
    return restricted_scan(rng, arrays, target, sides, False)


@numba.njit(nogil=True)
def deal(arrays, target, slot):
    arrays, target = borrowed(arrays), borrowed(target)
    m = gather(arrays, slot, slot, -1, -1)
    for j in range(m):
        arrays.scratch.sides[j] = j % 2
    sides = Sides(0, -1, spare(arrays.partition, 1), spare(arrays.partition, 0), m)
    clear(target.model, arrays.slots, sides.a)
    clear(target.model, arrays.slots, sides.b)
    fill_sides(arrays, target, sides)


def scans_and_bucket_splits(state, n_splits):
    """Seconds a point of one restricted scan, and of a rejected bucket-launched split, of the same clusters, both warm."""
    move = hm.moves.BucketSplit()
    counts = new_tally()
    p = state.partition

    def split(step):
        move.run_units(stream(4, step), state, 0, 1, counts)

    split(0)
    deal(state.arrays, state.target, p.active[0])
    scan_cluster(stream(1), state.arrays, state.target, p.active[0])
    call = least_seconds(lambda: move.run_units(stream(0), state, 0, 0, counts))
    split_time = scan_time = 0.0
    points = step = 0
    while counts[SPLITS_PROPOSED] < 2 * n_splits:
        step += 1
        before = counts.copy()
        split(step)
        if counts[SPLITS_PROPOSED] == before[SPLITS_PROPOSED] or counts[ACCEPTED] > before[ACCEPTED]:
            continue  # no split, or an accepted one
        slot = p.labels[state.scratch.rows[0]]  # the cluster that was to be split
        points += int(p.sizes[slot])
        # The same proposal again, its rows in the cache.
        split_time += timed(lambda: split(step)) - call  # noqa: B023
        deal(state.arrays, state.target, slot)
        scan_time += timed(lambda: scan_cluster(stream(5, step), state.arrays, state.target, slot)) - call  # noqa: B023
    return scan_time / points, split_time / points


def timed(run):
    begin = time.perf_counter()
    run()
    return time.perf_counter() - begin


def least_seconds(run, repeats=50):
    return min(timed(run) for _ in range(repeats))


def halves(move, state, seconds):
    """Acceptance and mean microseconds of splits and of merges: least squares over batches of proposals."""
    batch = {"PublishedMinSM": 200, "PublishedLSHSM": 1}.get(move.name, 25)  # 200 share their centres
    counts = new_tally()
    move.run_units(stream(9), state, 0, 1, counts)
    counts[:] = 0
    call = least_seconds(lambda: move.run_units(stream(9), state, 0, 0, counts))
    log_joint = state.log_joint()
    spent, made = [], []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        state.ensure_spare()
        before = counts.copy()
        spent.append(timed(lambda: move.run_units(stream(7, len(spent)), state, 0, batch, counts)) - call)
        more = counts - before
        proposed, splits = more[PROPOSED], more[SPLITS_PROPOSED]
        made.append([splits, proposed - splits])
    split, merge = np.linalg.lstsq(np.array(made), np.array(spent), rcond=None)[0]
    proposed, accepted = counts[PROPOSED].item(), counts[ACCEPTED].item()
    splits, splits_accepted = counts[SPLITS_PROPOSED].item(), counts[SPLITS_ACCEPTED].item()
    return {
        "splits": splits,
        "split accepted": splits_accepted / max(1, splits),
        "split, us": split * 1e6 if splits > 20 else float("nan"),
        "merges": proposed - splits,
        "merge accepted": (accepted - splits_accepted) / max(1, proposed - splits),
        "merge, us": merge * 1e6 if proposed - splits > 20 else float("nan"),
        "gain in log joint": state.log_joint() - log_joint,
        "seconds": seconds,
    }


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="a tenth of the rows, and of the time for each move")
    quick = parser.parse_args().quick
    n, d, k = (10_000 if quick else 100_000), 64, 100
    seconds = 1.0 if quick else 10.0
    X, labels = make_mixture(n, d, k)
    component = hm.components.resolve_component("gaussian", X).component
    target = Target.of(X, component, hm.priors.DirichletProcess(1.0))
    results = {"n": n, "D": d, "K": k}

    state = State(target, labels, key=1)
    urn_merges(state, 100, 1)
    merge, nulls = urn_merges(state, 20_000 if quick else 200_000)
    scan, split = scans_and_bucket_splits(state, 50 if quick else 300)
    results["targets"] = {
        "urn merge, evaluated and rejected, us, its null draws included (target 5)": merge * 1e6,
        "null draws per merge": nulls,
        "restricted scan, ns per row": scan * 1e9,
        "bucket-launched split, ns per row": split * 1e9,
        "split / scan (target 1.5)": split / scan,
    }
    for what, value in results["targets"].items():
        print(f"{what:75s} {value:10.3f}")

    moves = {
        "RGSM": hm.moves.RGSM(),
        "SDDS": hm.moves.SDDS(),
        "LSHSM: DissimilarSplit": hm.moves.DissimilarSplit(),
        "LSHSM: UrnMerge": hm.moves.UrnMerge(),
        "MinSM: BucketSplit": hm.moves.BucketSplit(),
        "MinSM: BucketCut": hm.moves.BucketCut(),
        "MinSM: EnvelopeCut": hm.moves.EnvelopeCut(),
        "MinSM: UrnMerge": hm.moves.UrnMerge(1, 10, family="minhash"),
        "lss: UrnMerge": hm.moves.UrnMerge(32, 16, None, "neighbours"),
        "lss: NeighbourMerge": hm.moves.NeighbourMerge(),
        "lss: WithinSplit": hm.moves.WithinSplit(),
        "PublishedLSHSM": hm.moves.PublishedLSHSM(),
        "PublishedMinSM": hm.moves.PublishedMinSM(),
    }
    warnings.simplefilter("ignore")
    columns = ["splits", "split accepted", "split, us", "merges", "merge accepted", "merge, us", "gain in log joint"]
    for start, begin in (("true partition", labels), ("worse partition", worse(labels, k))):
        print(f"\n{start:24s}" + "".join(f"{column:>18s}" for column in columns))
        for name, move in moves.items():
            entry = halves(move, State(target, begin, key=1), seconds)
            results[f"{start}, {name}"] = entry
            print(f"{name:24s}" + "".join(f"{entry[column]:18.4g}" for column in columns), flush=True)
    write_results("hashed_moves", results)


if __name__ == "__main__":
    main()
