"""``hashmix fit`` with an engine: files are read where rows will be, and labels are written part by part."""

from __future__ import annotations

import argparse
import contextlib
import glob
import io
import itertools
import json
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from hashmix.core.files import write_atomically
from hashmix.core.validation import bad_parameter
from hashmix.engines import ENGINES, Cuda, Dask, Engine, Threads
from hashmix.engines.sources import as_source
from hashmix.estimator import SplitMergeMixture

__all__ = ["ENGINE_OPTIONS", "add_engine_options", "fit_with_engine", "uses_engine"]

#: The options, as a run folder keeps them.
ENGINE_OPTIONS = ("engine", "scheduler", "workers", "device")


def add_engine_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say who works on the rows.

    Examples
    --------
    >>> import argparse
    >>> from hashmix.cli_engine import add_engine_options, uses_engine
    >>> parser = argparse.ArgumentParser()
    >>> add_engine_options(parser)
    >>> uses_engine(parser.parse_args(["--workers", "4"]))
    True
    """
    group = parser.add_argument_group("engine", "DATA may then be a pattern of .npy or .parquet files, in quotes")
    group.add_argument("--engine", choices=ENGINES.names, help="where rows are (default: threads)")
    group.add_argument("--scheduler", metavar="ADDRESS", help="the Dask scheduler of a cluster, such as tcp://host:8786")
    group.add_argument("--workers", type=int, metavar="N", help="start N Dask workers on this machine for this fit")
    group.add_argument("--device", metavar="NAME", help="with --engine cuda: the device, such as cuda:1 (default: cuda)")


def uses_engine(options: argparse.Namespace) -> bool:
    """Whether a fit is for Dask workers or a GPU, or for threads that read a pattern of files."""
    others = (options.scheduler, options.workers, options.device)
    here = options.engine is None or (options.engine == "threads" and not _is_pattern(options.data))
    return not here or any(option is not None for option in others)


def check_one_file(data: str) -> None:
    """Raise a FileNotFoundError if a pattern is given to a fit without an engine.

    Examples
    --------
    >>> from hashmix.cli_engine import check_one_file
    >>> check_one_file("people.csv")
    """
    if _is_pattern(data):
        wanted = "--engine threads to read them into memory, or --workers N"
        raise FileNotFoundError(f"There is no file {data!r}. If it is a pattern of .npy or .parquet files, it needs {wanted}.")


def _is_pattern(data: str) -> bool:
    """Whether a name stands for files that match it."""
    return glob.has_magic(data) and not Path(data).exists()


def fit_with_engine(options: argparse.Namespace, model: SplitMergeMixture, folder: Path) -> None:
    """Fit the files where the engine has rows, and write labels and a summary to the folder."""
    began = time.perf_counter()
    with _engine(options) as engine:
        model.set_params(engine=engine, progress=False)
        model.fit(options.data)
        sizes = _write_labels(model, options.data, folder)
    summary: dict[str, Any] = {
        "data": options.data,
        "n_rows": int(sum(sizes)),
        "n_clusters": model.n_clusters_,
        "sizes": sizes,
        "weights": model.weights_.tolist(),
        "means": model.means_.tolist(),
        "posterior_n_clusters": {str(k): p for k, p in model.posterior_.n_clusters_probabilities().items()},
        "verdict": model.posterior_.verdict(),
        "seconds": round(time.perf_counter() - began, 3),
    }
    write_atomically(folder / "summary.json", (json.dumps(summary, indent=2) + "\n").encode())
    print(
        f"{summary['n_rows']} rows, {model.n_features_in_} columns: {model.n_clusters_} clusters in {summary['seconds']:.1f} s"
    )
    print(summary["verdict"])
    print(f"wrote part-*.labels.npy, summary.json to {folder}")


def _write_labels(model: SplitMergeMixture, data: str, folder: Path) -> list[int]:
    """Write the labels of every file of the data to a file of its own; return the sizes of the clusters."""
    sizes = np.zeros(model.n_clusters_, np.int64)
    for k, part in enumerate(_labels_of_files(model.labels_, data)):
        content = io.BytesIO()
        np.save(content, part, allow_pickle=False)
        write_atomically(folder / f"part-{k:06d}.labels.npy", content.getvalue())
        sizes += np.bincount(part, minlength=len(sizes))
    return sizes.tolist()


def _labels_of_files(labels: Any, data: str) -> Iterator[np.ndarray]:
    """The labels of one file after the other; those of a Dask array are computed meanwhile."""
    for begin, end in itertools.pairwise(as_source(data, "hashmix fit").describe(map).firsts):
        yield np.asarray(labels[begin:end])


@contextlib.contextmanager
def _engine(options: argparse.Namespace) -> Iterator[Engine]:
    """The engine that was asked for."""
    if options.engine == "cuda":
        for name in ("scheduler", "workers"):
            if getattr(options, name) is not None:
                raise bad_parameter("hashmix fit", f"--{name}", "left out with --engine cuda", getattr(options, name))
        yield Cuda(options.device or "cuda")
    elif options.engine == "threads" and (options.scheduler, options.workers, options.device) == (None, None, None):
        yield Threads()
    elif options.device is not None:
        raise bad_parameter("hashmix fit", "--device", "left out without --engine cuda", options.device)
    else:
        with _client(options) as client:
            yield Dask(client)


@contextlib.contextmanager
def _client(options: argparse.Namespace) -> Iterator[Any]:
    """A client of the cluster that was asked for; workers that were started for it end with it, whatever happens."""
    if options.scheduler is not None and options.workers is not None:
        raise bad_parameter("hashmix fit", "--workers", "left out if --scheduler is given", options.workers)
    if options.scheduler is None and options.workers is None:
        raise bad_parameter("hashmix fit", "--scheduler", "an address with --engine dask, or --workers a number", None)
    if options.workers is not None and options.workers < 1:
        raise bad_parameter("hashmix fit", "--workers", "an integer ≥ 1", options.workers)
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise ImportError("--engine dask needs Dask: pip install 'hashmix[dask]'.") from None
    with contextlib.ExitStack() as stack:
        if options.scheduler is not None:
            yield stack.enter_context(Client(options.scheduler))
            return
        cluster = stack.enter_context(LocalCluster(n_workers=options.workers, dashboard_address=None, silence_logs=50))
        yield stack.enter_context(Client(cluster, direct_to_workers=True))
