"""Running chains to their end, or until something stops them, and the draws that there are then."""

from __future__ import annotations

import threading
import time
import warnings
from concurrent.futures import FIRST_EXCEPTION, ThreadPoolExecutor, wait
from typing import Any

from hashmix.core.progress import progress_bar
from hashmix.posterior import Posterior
from hashmix.run.settings import RunSettings

__all__ = ["finish", "run_chains"]


def run_chains(chains: list[Any], settings: RunSettings, begin: float) -> str | None:
    """Run all chains to their end; return what stopped them earlier, if anything did."""
    stop = threading.Event()
    stopped_by = None
    deadline = None if settings.max_seconds is None else begin + settings.max_seconds
    n_workers = min(settings.n_jobs, len(chains))

    def work(mine: list[Any]) -> None:
        # Chains of one worker take turns, so that they are equally long when they are stopped.
        while mine := [chain for chain in mine if not chain.finished]:
            for chain in mine:
                if stop.is_set():
                    return
                chain.sweep(stop)

    total, done_before = len(chains) * settings.total_sweeps, sum(chain.sweeps for chain in chains)
    with (
        progress_bar(total, done_before, settings.progress) as show,
        ThreadPoolExecutor(n_workers, thread_name_prefix="hashmix") as pool,
    ):
        pending = {pool.submit(work, chains[w::n_workers]) for w in range(n_workers)}
        try:
            while pending:
                left = 0.1 if deadline is None else min(0.1, max(0.0, deadline - time.perf_counter()))
                done, pending = wait(pending, timeout=left, return_when=FIRST_EXCEPTION)
                for future in done:
                    future.result()
                show(sum(chain.sweeps for chain in chains), *chains[0].seen)
                if stop.is_set() and stopped_by is None:
                    stopped_by = "callback"
                if pending and not stop.is_set() and deadline is not None and time.perf_counter() >= deadline:
                    stopped_by = "max_seconds"
                    stop.set()
        except KeyboardInterrupt:
            stopped_by = "interrupt"
        finally:
            stop.set()
    return stopped_by


def finish(record: Posterior, chains: list[Any], stopped_by: str | None) -> Posterior:
    """The draws that were made; if chains were stopped during warm-up, the state they were in."""
    if stopped_by is None or all(chain.finished for chain in chains):
        return record
    word = {"interrupt": "Interrupted", "max_seconds": "Out of time (max_seconds)", "callback": "Stopped by the callback"}[
        stopped_by
    ]
    if not any(chain.draws for chain in chains):
        for chain in chains:
            chain.write_draw()
        warnings.warn(
            f"{word} after {chains[0].sweeps} sweeps, before the first draw: the state reached is returned as the only draw, "
            "and is not a sample from the posterior.",
            UserWarning,
            stacklevel=4,
        )
        return record.rectangle(range(len(chains)), 1)
    lengths = sorted((chain.draws for chain in chains), reverse=True)
    # The rectangle (chains × draws) with the most draws.
    n_kept = max(range(1, len(lengths) + 1), key=lambda k: k * lengths[k - 1])
    shortest = lengths[n_kept - 1]
    kept = [chain.number for chain in chains if chain.draws >= shortest][:n_kept]
    warnings.warn(
        f"{word}: {shortest} of {record.n_draws} draws in {n_kept} of {len(chains)} chains are returned.",
        UserWarning,
        stacklevel=4,
    )
    return record.rectangle(kept, shortest)
