"""``hashmix paper``: load the data sets, run the samplers, write the report."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hashmix.core.progress import can_show
from hashmix.paper import datasets
from hashmix.paper.experiment import Settings, run_all
from hashmix.paper.measures import accuracy, nmi
from hashmix.paper.methods import METHODS
from hashmix.paper.report import write_report

__all__ = ["add_options", "run"]

#: Seconds per chain.
_FULL = {"S1": 5.0, "S2": 15.0, "S3": 30.0, "KDD": 300.0, "PubMed": 300.0}
_QUICK = {"S1": 1.0, "S2": 3.0, "S3": 6.0, "KDD": 10.0, "PubMed": 10.0}


def add_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of ``hashmix paper``.

    Examples
    --------
    >>> import argparse
    >>> from hashmix.paper.command import add_options
    >>> parser = argparse.ArgumentParser()
    >>> add_options(parser)
    >>> parser.parse_args(["--quick"]).separation
    9.0
    """
    parser.add_argument("-o", "--out", default="paper", metavar="FOLDER", help="folder for results (default: paper)")
    parser.add_argument("--quick", action="store_true", help="S1, S2 and S3 only, for seconds instead of minutes")
    parser.add_argument("--only", metavar="A,B,…", help=f"data sets: {', '.join(datasets.NAMES)}")
    parser.add_argument("--methods", metavar="A,B,…", help=f"samplers: {', '.join(METHODS)}")
    parser.add_argument(
        "--separation",
        type=float,
        default=datasets.SEPARATION,
        metavar="S",
        help=f"distance of two means of S1, S2 and S3; at 3 or 4, clusters overlap (default: {datasets.SEPARATION:g})",
    )
    parser.add_argument("--data", metavar="FOLDER", help="folder of the KDD and PubMed files")
    parser.add_argument("--kdd", metavar="FILE", help="bio_train.dat, KDDCUP04Bio.txt or an .npz with X")
    parser.add_argument("--pubmed", metavar="FILE", help="docword.pubmed.txt[.gz] or a sparse .npz")
    parser.add_argument("--documents", type=int, metavar="N", help="use this many documents only (stand-in: 100,000)")
    parser.add_argument("--seconds", type=float, help="seconds per chain (default: 5, 15, 30; 300 on KDD and PubMed)")
    parser.add_argument("--seeds", type=int, default=3, help="chains per sampler (default: 3)")
    parser.add_argument("--jobs", type=int, default=1, help="chains at a time; they slow each other down (default: 1)")
    parser.add_argument("--gibbs", action="store_true", help="a Gibbs scan after every sweep of proposals")
    parser.add_argument("--quiet", action="store_true", help="no progress")


def run(options: argparse.Namespace) -> int:
    """Run the chains that are missing and write the report; return the exit status.

    After Ctrl-C, the report covers the chains that have ended.

    Parameters
    ----------
    options : Namespace
        The parsed options of ``hashmix paper``.

    Examples
    --------
    >>> from hashmix.cli import main
    >>> main(["paper", "--only", "S9"])  # there is no such data set
    2
    """
    names = _chosen(options.only, datasets.NAMES, "--only")
    if options.only is None and options.quick:
        names = list(datasets.SYNTHETIC)
    methods = _chosen(options.methods, tuple(METHODS), "--methods")
    for option in ("seeds", "jobs", "documents", "seconds", "separation"):
        value = getattr(options, option)
        if value is not None and value <= 0:
            raise ValueError(f"--{option} must be a number above 0. Got {value} instead.")
    times = _QUICK if options.quick else _FULL
    seconds = {name: times[name] if options.seconds is None else options.seconds for name in names}
    folder = Path(options.out)
    if not folder.resolve().parent.is_dir() or folder.is_file():
        raise ValueError(f"--out must be a folder inside an existing folder. Got {str(folder)!r} instead.")
    settings = Settings(seconds, options.seeds, options.gibbs)
    loaded = _Loaded(options, names)
    results: list[dict[str, Any]] = []

    begin, interrupted = time.perf_counter(), False
    with _Progress(len(methods) * settings.seeds * sum(seconds.values()), seconds, not options.quiet) as progress:

        def tell(result: dict[str, Any] | None, what: str) -> None:
            if result is not None:
                results.append(result)
            progress.tell(result, what)

        try:
            run_all(loaded, methods, settings, folder / "runs", options.jobs, tell)
        except KeyboardInterrupt:
            interrupted = True
    if not results:
        raise ValueError("Nothing was run: there is no data set.") if not interrupted else KeyboardInterrupt
    order = {name: place for place, name in enumerate(METHODS)}
    results.sort(key=lambda result: (datasets.NAMES.index(result["data"]), order[result["method"]], result["seed"]))
    about = {name: each for name, each in loaded.about.items() if any(result["data"] == name for result in results)}
    known = {"about": about, "seconds": seconds, "gibbs": options.gibbs, "seeds": options.seeds, "jobs": options.jobs}
    paths = write_report(folder, results, known | {"left_out": loaded.left_out})
    written = ", ".join(path.name for path in paths)
    print(f"{len(results)} chains, {time.perf_counter() - begin:.0f} s; wrote {written} to {folder}")
    if interrupted:
        print(
            "hashmix: interrupted; the report covers the chains that ended. Repeat the command to run the others.",
            file=sys.stderr,
        )
    return 130 if interrupted else 0


def _chosen(text: str | None, allowed: tuple[str, ...], option: str) -> list[str]:
    """Return the names in a comma-separated list, in the order of ``allowed``; all of them if there is no list."""
    if text is None:
        return list(allowed)
    by_name = {name.lower(): name for name in allowed}
    chosen = [by_name.get(part.strip().lower(), part) for part in text.split(",")]
    for name in chosen:
        if name not in allowed:
            raise ValueError(f"{option} must be some of {', '.join(allowed)}. Got {name!r} instead.")
    return [name for name in allowed if name in chosen]


class _Loaded:
    """The data sets, each loaded when its turn comes; those without a file are left out unless they were asked for."""

    def __init__(self, options: argparse.Namespace, names: list[str]) -> None:
        self.options, self.names = options, names
        #: By data set: where it comes from and how good its oracle is; why it was left out.
        self.about: dict[str, dict[str, Any]] = {}
        self.left_out: dict[str, str] = {}

    def __iter__(self) -> Iterator[datasets.PaperData]:
        options = self.options
        for name in self.names:
            file = {"KDD": options.kdd, "PubMed": options.pubmed}.get(name)
            try:
                data = datasets.load(name, options.data, file, options.documents, options.separation)
            except datasets.MissingData as error:
                if options.only is not None or file is not None:
                    raise
                self.left_out[name] = str(error)
                print(f"hashmix: {name} is left out. {error}", file=sys.stderr)
                continue
            each: dict[str, Any] = {"about": data.about, "nmi": None, "accuracy": None}
            self.about[name] = each
            line = f"{name}: {data.about}"
            if data.y is not None and data.oracle is not None:
                each |= {"nmi": nmi(data.y, data.oracle), "accuracy": accuracy(data.y, data.oracle)}
                line += f"; oracle: NMI {each['nmi']:.3f}, accuracy {each['accuracy']:.3f}"
            print(line, flush=True)
            yield data


class _Progress:
    """Progress of the comparison: in a terminal a bar of the sampling time, elsewhere a line per chain that ended."""

    def __init__(self, total: float, seconds: dict[str, float], wanted: bool) -> None:
        self.seconds, self.wanted, self.bar = seconds, wanted, None
        if wanted and can_show():
            from tqdm import tqdm

            form = "{desc}: {percentage:3.0f}%|{bar}| {n:.0f}/{total:.0f} s of sampling [{elapsed}, {remaining} left]"
            self.bar = tqdm(total=total, bar_format=form, dynamic_ncols=True)

    def __enter__(self) -> _Progress:
        return self

    def __exit__(self, *_: Any) -> None:
        if self.bar is not None:
            self.bar.close()

    def tell(self, result: dict[str, Any] | None, what: str) -> None:
        """Show that a chain ended (``what`` says how), or that the sampler ``what`` starts (``result`` is None)."""
        if self.bar is not None:
            if result is None:
                self.bar.set_description(what)
            else:
                self.bar.update(self.seconds[result["data"]])
        elif self.wanted and result is not None:
            curve = result["curve"]
            found = f"{curve['n_clusters'][-1]} clusters, log joint {curve['log_joint'][-1]:,.0f}"
            found = found if result["proposals"] else "no proposal finished"
            print(
                f"  {result['data']}, {METHODS[result['method']].title}, seed {result['seed']} ({what}): {found}",
                file=sys.stderr,
                flush=True,
            )
