"""``hashmix paper``: load, run, report."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from hashmix.paper import datasets
from hashmix.paper.experiment import Settings, run_all
from hashmix.paper.measures import accuracy, nmi
from hashmix.paper.methods import METHODS
from hashmix.paper.report import write_report
from hashmix.progress import can_show

__all__ = ["run"]

#: Seconds of a chain.
_FULL = {"S1": 5.0, "S2": 15.0, "S3": 30.0, "KDD": 300.0, "PubMed": 300.0}
_QUICK = {"S1": 1.0, "S2": 3.0, "S3": 6.0, "KDD": 10.0, "PubMed": 10.0}


def run(options: argparse.Namespace) -> int:
    """Run what is missing and write the report; after Ctrl-C, of what there is."""
    names = _chosen(options.only, datasets.NAMES, "--only")
    if options.only is None and options.quick:
        names = list(datasets.SYNTHETIC)
    methods = _chosen(options.methods, tuple(METHODS), "--methods")
    for option in ("seeds", "jobs", "documents", "seconds"):
        value = getattr(options, option)
        if value is not None and value <= 0:
            raise ValueError(f"--{option} must be a number above 0. Got {value} instead.")
    times = _QUICK if options.quick else _FULL
    seconds = {name: times[name] if options.seconds is None else options.seconds for name in names}
    folder = Path(options.out)
    if not folder.resolve().parent.is_dir() or folder.is_file():
        raise ValueError(f"--out must be a folder inside an existing folder. Got {str(folder)!r} instead.")
    settings = Settings(seconds, options.seeds, options.gibbs)
    about: dict[str, Any] = {}
    left_out: dict[str, str] = {}
    results: list[dict[str, Any]] = []

    def loaded() -> Iterator[datasets.PaperData]:
        for name in names:
            file = {"KDD": options.kdd, "PubMed": options.pubmed}.get(name)
            try:
                data = datasets.load(name, options.data, file, options.documents)
            except datasets.MissingData as error:
                if options.only is not None or file is not None:
                    raise
                left_out[name] = str(error)
                print(f"hashmix: {name} is left out. {error}", file=sys.stderr)
                continue
            known = data.y is not None and data.oracle is not None
            about[name] = {
                "about": data.about,
                "nmi": nmi(data.y, data.oracle) if known else None,
                "accuracy": accuracy(data.y, data.oracle) if known else None,
            }
            if known:
                print(f"{name}: {data.about}; oracle: NMI {about[name]['nmi']:.3f}, accuracy {about[name]['accuracy']:.3f}")
            else:
                print(f"{name}: {data.about}")
            sys.stdout.flush()
            yield data

    begin, interrupted = time.perf_counter(), False
    with _Progress(len(methods) * settings.seeds * sum(seconds.values()), seconds, not options.quiet) as progress:

        def tell(result: dict[str, Any] | None, what: str) -> None:
            if result is not None:
                results.append(result)
            progress.tell(result, what)

        try:
            run_all(loaded(), methods, settings, folder / "runs", options.jobs, tell)
        except KeyboardInterrupt:
            interrupted = True
    if not results:
        raise ValueError("Nothing was run: there is no data set.") if not interrupted else KeyboardInterrupt
    order = {name: place for place, name in enumerate(METHODS)}
    results.sort(key=lambda result: (datasets.NAMES.index(result["data"]), order[result["method"]], result["seed"]))
    shown = {name: about[name] for name in about if any(result["data"] == name for result in results)}
    known = {"about": shown, "seconds": seconds, "gibbs": options.gibbs, "seeds": options.seeds, "jobs": options.jobs}
    paths = write_report(folder, results, known | {"left_out": left_out})
    written = ", ".join(path.name for path in paths)
    print(f"{len(results)} chains, {time.perf_counter() - begin:.0f} s; wrote {written} to {folder}")
    if interrupted:
        print("hashmix: interrupted; the report is of what was run. The same command goes on from here.", file=sys.stderr)
    return 130 if interrupted else 0


def _chosen(text: str | None, allowed: tuple[str, ...], option: str) -> list[str]:
    if text is None:
        return list(allowed)
    by_name = {name.lower(): name for name in allowed}
    chosen = [by_name.get(part.strip().lower(), part) for part in text.split(",")]
    for name in chosen:
        if name not in allowed:
            raise ValueError(f"{option} must be some of {', '.join(allowed)}. Got {name!r} instead.")
    return [name for name in allowed if name in chosen]


class _Progress:
    """A bar of the seconds that chains will take, in a terminal; elsewhere a line for every chain that ended."""

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
