"""The command line: ``hashmix fit``, ``resume``, ``report``, ``paper``, ``data`` and ``warmup``."""

from __future__ import annotations

import argparse
import contextlib
import json
import shutil
import sys
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

import hashmix
from hashmix.cli_data import DATA_OPTIONS, add_data_options, ingest, resolved
from hashmix.cli_engine import ENGINE_OPTIONS, add_engine_options, check_one_file, fit_with_engine, uses_engine
from hashmix.cli_results import summarise, write_results
from hashmix.components import COMPONENTS, resolve_component
from hashmix.core.compiling import cache_folder
from hashmix.core.files import write_atomically
from hashmix.core.progress import can_show, counting_bar
from hashmix.data.suspects import SuspiciousCells
from hashmix.estimator import SplitMergeMixture, sampled_rows
from hashmix.estimator_input import some_rows
from hashmix.moves import SCHEDULES
from hashmix.paper.command import add_options as add_paper_options
from hashmix.paper.command import run as run_paper
from hashmix.paper.downloads import download
from hashmix.posterior import Posterior
from hashmix.posterior.run_folder import read_about
from hashmix.priors import PRIORS
from hashmix.sampling import sample

__all__ = ["main"]

#: Number of clusters that are described.
_SHOWN = 20
#: Number of columns that are printed of a cluster of mixed columns: those in which it differs most.
_COLUMNS_SHOWN = 4


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; return the exit status.

    Examples
    --------
    >>> from hashmix.cli import main
    >>> main(["fit", "no-such-file.csv"])
    2
    """
    options = _parser().parse_args(arguments)
    try:
        with warnings.catch_warnings():
            warnings.showwarning = lambda message, *_, **__: print(f"hashmix: {message}", file=sys.stderr)
            return int(options.run(options))
    except (OSError, ValueError, ImportError, MemoryError) as error:
        print(f"hashmix: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("hashmix: interrupted; no results were written.", file=sys.stderr)
        return 130


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="hashmix", description="Bayesian clustering with an unknown number of clusters.")
    parser.add_argument("--version", action="version", version=f"hashmix {hashmix.__version__}")
    commands = parser.add_subparsers(required=True, metavar="COMMAND")
    for add in (_add_fit, _add_resume, _add_report, _add_paper, _add_data, _add_warmup):
        add(commands)
    return parser


def _add_fit(commands: Any) -> None:
    fit = commands.add_parser("fit", help="cluster the rows of a file")
    add_data_options(fit)
    add_engine_options(fit)
    fit.add_argument("-o", "--out", metavar="FOLDER", help="folder for results (default: DATA's name with -clusters)")
    for name, registry, default in (("component", COMPONENTS, "auto"), ("prior", PRIORS, "auto"), ("moves", SCHEDULES, "auto")):
        special = [] if default in registry else [default]
        choices = ", ".join([*special, *registry.names])
        fit.add_argument(f"--{name}", default=default, metavar="NAME", help=f"{choices} (default: {default})")
    fit.add_argument("--init", default="auto", help="auto, single, singletons (default: auto)")
    fit.add_argument("--draws", type=int, help="draws per chain (default: 40 to 200, by number of rows)")
    fit.add_argument("--warmup", type=int, help="sweeps before the first draw (default: 20 to 200, by number of rows)")
    fit.add_argument("--thin", type=int, default=1, help="sweeps per draw (default: 1)")
    fit.add_argument("--chains", type=int, default=2, help="independent chains (default: 2)")
    fit.add_argument(
        "--sample-size", type=int, metavar="M", help="sample the posterior of M random rows, and label all rows by it"
    )
    fit.add_argument("--levels", metavar="K,…", help="also cut the tree of clusters: numbers, or reproducible")
    fit.add_argument("--max-seconds", type=float, help="stop sampling after this time")
    fit.add_argument("--seed", type=int, default=0, help="random seed (default: 0)")
    fit.add_argument("--quiet", action="store_true", help="no progress bar")
    fit.set_defaults(run=_fit)


def _add_resume(commands: Any) -> None:
    resume = commands.add_parser("resume", help="resume a fit that was stopped or killed")
    resume.add_argument("run_folder", metavar="RUN", help="the folder of hashmix fit --out")
    resume.add_argument("--draws", type=int, help="draws per chain, to extend the run")
    resume.add_argument("--max-seconds", type=float, help="stop sampling after this time")
    resume.add_argument("--quiet", action="store_true", help="no progress bar")
    resume.set_defaults(run=_resume)


def _add_report(commands: Any) -> None:
    report = commands.add_parser("report", help="write a one-page report on a run, finished or not")
    report.add_argument("run_folder", metavar="RUN", help="the folder of hashmix fit --out, or any run_dir")
    report.add_argument("-o", "--out", metavar="FILE", help="file to write (default: RUN/report.html)")
    report.set_defaults(run=_report)


def _add_paper(commands: Any) -> None:
    paper = commands.add_parser("paper", help="rerun the comparison of split-merge samplers that hashmix grew from")
    add_paper_options(paper)
    paper.set_defaults(run=run_paper)


def _add_data(commands: Any) -> None:
    data = commands.add_parser("data", help="download a data set of the paper; its checksum is verified on later use")
    data.add_argument("name", metavar="NAME", help="kdd or pubmed")
    data.add_argument("--to", default="data", metavar="FOLDER", help="folder to download to (default: data)")
    data.add_argument("--quiet", action="store_true", help="no progress bar")
    data.set_defaults(run=_data)


def _add_warmup(commands: Any) -> None:
    warmup = commands.add_parser("warmup", help="compile and cache the kernels, so that the first fit is quick")
    warmup.set_defaults(run=_warmup)


# ---- hashmix fit ---------------------------------------------------------------------------------------------------------


#: Settings of a fit that are needed to resume it, stored in its folder.
_KEPT = (
    *DATA_OPTIONS,
    "component",
    "prior",
    "moves",
    "init",
    "draws",
    "warmup",
    "thin",
    "chains",
    "sample_size",
    "levels",
    "seed",
    *ENGINE_OPTIONS,
)
#: Of these, the settings that folders of earlier versions lack.
_KEPT_LATER = ("sample_size", "levels", *DATA_OPTIONS[2:], *ENGINE_OPTIONS)


def _resume(options: argparse.Namespace) -> int:
    folder = Path(options.run_folder)
    fit = argparse.Namespace(**_kept_settings(folder))
    fit.out, fit.max_seconds, fit.quiet = str(folder), options.max_seconds, options.quiet
    fit.draws = fit.draws if options.draws is None else options.draws
    return _fit(fit)


def _kept_settings(folder: Path) -> dict[str, Any]:
    try:
        kept = json.loads((folder / "fit.json").read_text(encoding="utf-8"))
        return {name: kept.get(name) if name in _KEPT_LATER else kept[name] for name in _KEPT}
    except FileNotFoundError:
        raise ValueError(f"{str(folder)!r} is not a folder that hashmix fit has written to: it has no fit.json.") from None
    except (ValueError, KeyError, TypeError) as error:
        raise ValueError(f"fit.json of {folder} cannot be read ({error}).") from None


def _report(options: argparse.Namespace) -> int:
    folder = Path(options.run_folder)
    posterior = Posterior.load(folder)
    X = names = None
    title, about = folder.resolve().name, read_about(folder)
    posterior.settings["n_draws"] = about["n_draws"]
    if (folder / "fit.json").exists():
        fit = argparse.Namespace(**_kept_settings(folder))
        title = Path(fit.data).name
        if fit.draws is not None:  # resumed, perhaps with more
            posterior.settings["n_draws"] = fit.draws
        if uses_engine(fit):
            print("hashmix: the report is written without the rows, which the engine read.", file=sys.stderr)
        elif Path(fit.data).is_file():
            X, names = ingest(fit, False)[:2]
            if fit.sample_size is not None:
                X = some_rows(X, sampled_rows(X.shape[0], fit.sample_size, fit.seed, "hashmix report"))
            source = resolve_component(fit.component, X, "hashmix report").source
            if source.fingerprint() != about["data"]:
                raise ValueError(f"{fit.data} is no longer the data of this run.")
        else:
            print(f"hashmix: {fit.data} does not exist: the report is written without the data.", file=sys.stderr)
    path = Path(options.out) if options.out else folder / "report.html"
    posterior.report(path, X, names, title=title)
    print(f"wrote {path}")
    return 0


def _fit(options: argparse.Namespace) -> int:
    show = not options.quiet and can_show()
    folder = Path(options.out) if options.out else Path(f"{Path(options.data).stem.replace('*', '')}-clusters")
    _check_folder(folder)
    model = _model(options, folder, show)
    kept = {name: getattr(options, name) for name in _KEPT} | resolved(options)
    text = json.dumps(kept, indent=2, ensure_ascii=False) + "\n"
    if uses_engine(options):
        with _started(folder, text):
            fit_with_engine(options, model, folder)
        return 0
    check_one_file(options.data)
    data = ingest(options, show)
    X, names = data.X, data.names
    print(*data.lines, sep="\n", end="\n" if data.lines else "")
    wanted = _wanted_levels(options.levels)
    begin = time.perf_counter()
    with _started(folder, text), warnings.catch_warnings():
        warnings.simplefilter("ignore", SuspiciousCells)  # these were named with the lines above
        model.fit(X)
    seconds = time.perf_counter() - begin
    cuts = {f"level_{level}": _cut(model, level) for level in wanted}
    summary = summarise(model, options.data, X, names, seconds)
    summary |= {"levels": {name: int(labels.max()) + 1 for name, labels in cuts.items()}} if cuts else {}
    written = write_results(folder, model, data, summary, Path(options.data).name, cuts)
    _print_result(model, X, summary, seconds)
    print(f"wrote {', '.join(written)} to {folder}")
    return 0


def _model(options: argparse.Namespace, folder: Path, show: bool) -> SplitMergeMixture:
    return SplitMergeMixture(
        component=options.component,
        prior=options.prior,
        moves=options.moves,
        n_draws="auto" if options.draws is None else options.draws,
        n_warmup="auto" if options.warmup is None else options.warmup,
        thin=options.thin,
        n_chains=options.chains,
        sample_size=options.sample_size,
        max_seconds=options.max_seconds,
        init=options.init,
        random_state=options.seed,
        progress=show,
        run_dir=folder,
    )


@contextlib.contextmanager
def _started(folder: Path, text: str) -> Iterator[None]:
    """Keep the settings of a fit in its folder; a folder that was made for a fit that failed at once is removed."""
    new = not folder.exists()
    folder.mkdir(exist_ok=True)
    if not (folder / "fit.json").exists():
        write_atomically(folder / "fit.json", text.encode())
    try:
        yield
    except BaseException:
        if new and not list(folder.glob("chain-*/checkpoint.npz")):
            shutil.rmtree(folder)
        raise
    write_atomically(folder / "fit.json", text.encode())


def _wanted_levels(text: str | None) -> list[int | str]:
    """The levels of ``--levels``."""
    out: list[int | str] = []
    for part in text.split(",") if text else []:
        if part.strip() != "reproducible" and not (part.strip().isdigit() and int(part) > 0):
            raise ValueError(f"--levels must be whole numbers above 0 or reproducible, with commas. Got {part!r} instead.")
        out.append(int(part) if part.strip().isdigit() else part.strip())
    return out


def _cut(model: SplitMergeMixture, level: int | str) -> np.ndarray:
    """Labels at a level; all clusters if there are fewer."""
    return model.cut(level if isinstance(level, str) else min(level, model.n_clusters_))


def _check_folder(folder: Path) -> None:
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"--out must be a folder. Got the file {str(folder)!r} instead.")
    if not folder.resolve().parent.is_dir():
        raise ValueError(f"--out must be inside an existing folder. Got {str(folder)!r} instead.")


def _print_result(model: SplitMergeMixture, X: Any, summary: dict[str, Any], seconds: float) -> None:
    shares = ", ".join(f"{k}: {p:.0%}" for k, p in sorted(model.posterior_.n_clusters_probabilities().items()))
    found = "1 cluster" if model.n_clusters_ == 1 else f"{model.n_clusters_} clusters"
    print(f"{X.shape[0]} rows, {X.shape[1]} columns: {found} in {seconds:.1f} s")
    print(f"component: {model.posterior_.settings.get('chosen') or type(model.component_).__name__}")
    if spread := model.posterior_.settings.get("dequantised"):
        print(f"columns with values that many rows share, which were spread within their cells: {len(spread)}")
    print(f"posterior of the number of clusters: {shares}")
    print(model.posterior_.verdict())
    for cluster in sorted(summary["clusters"], key=lambda cluster: -cluster["size"])[:_SHOWN]:
        if "top_words" in cluster:
            words = ", ".join(word["name"] for word in cluster["top_words"][:8])
            print(f"  {cluster['size']:7d} rows in cluster {cluster['label']}: {words}")
        elif "columns" in cluster:
            typical = ", ".join(_typical(column) for column in cluster["columns"][:_COLUMNS_SHOWN])
            print(f"  {cluster['size']:7d} rows in cluster {cluster['label']}: {typical}")


def _typical(column: dict[str, Any]) -> str:
    """What a column is like in a cluster, in a few characters."""
    if "typical" not in column:
        return (
            f"{column['column']} –"
            if column["mean"] is None
            else f"{column['column']} {column['mean']:.4g} ± {column['sd']:.2g}"
        )
    if column["share"] is None:
        return f"{column['column']} –"
    return f"{column['column']} {column['typical']} ({column['share']:.0%}, lift {column['lift']:.2g})"


# ---- hashmix data and hashmix warmup ---------------------------------------------------------------------------------------


def _data(options: argparse.Namespace) -> int:
    for path in download(options.name, options.to, show=not options.quiet and can_show()):
        print(f"{path}: {path.stat().st_size:,} bytes, SHA-256 as in SHA256SUMS")
    return 0


def _warmup(options: argparse.Namespace) -> int:
    """Compile what a default fit of every component needs, in both precisions."""
    rng = np.random.default_rng(0)
    numbers, ones = rng.normal(size=(20, 2)), rng.integers(0, 2, (20, 3))
    runs: list[tuple[str, np.ndarray]] = []
    for name in COMPONENTS.names:
        family: Any = COMPONENTS[name]
        data: list[np.ndarray] = [ones] if family.takes_counts else [numbers, numbers.astype(np.float32)]
        runs += [(name, X) for X in data]
    with counting_bar("kernels", " fits", can_show(), len(runs)) as show:
        for name, X in runs:
            sample(X, name, n_draws=2, init="auto", random_state=0).point_estimate()
            show(1)
    folder = cache_folder()
    print(f"kernels are cached in {folder}" if folder else "kernels are not cached (HASHMIX_CACHE=0, or no writable folder)")
    return 0


if __name__ == "__main__":
    sys.exit(main())
