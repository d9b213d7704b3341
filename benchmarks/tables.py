"""Write the tables of README and docs from the JSON files in ``benchmarks/results/``.

    python benchmarks/tables.py            # rewrite the pages
    python benchmarks/tables.py --check    # only say whether they are up to date

A page marks where a table goes by ``<!-- table: NAME -->`` and ``<!-- end table -->``. Below each table stands what
it was measured with. If the sources that a fit runs have changed since, it says "measured at an earlier version".
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from report import FOLDER, hash_of_sources

from hashmix.paper.comparison import PAPER
from hashmix.paper.methods import METHODS

ROOT = Path(__file__).parent.parent
PAGES = [
    ROOT / "README.md",
    *(ROOT / "docs" / f"{page}.md" for page in ("results", "how_many_clusters", "exactness", "paper", "scaling_out")),
]
_MARKED = re.compile(r"(<!-- table: (\w+) -->\n).*?(<!-- end table -->)", re.DOTALL)


def rendered(text: str, sources: str) -> str:
    """A page with its tables written anew."""
    return _MARKED.sub(lambda found: f"{found[1]}\n{table(found[2], sources)}\n\n{found[3]}", text)


def table(name: str, sources: str) -> str:
    """A table in Markdown, and what it was measured with."""
    files, make = TABLES[name]
    if not all((FOLDER / f"{file}.json").exists() for file in files):
        return "*Not measured yet.*"
    results = [json.loads((FOLDER / f"{file}.json").read_text(encoding="utf-8")) for file in files]
    header, *rows = make(*results)
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join([*("| " + " | ".join(line) + " |" for line in lines), "", note(results, sources)])


def note(results: list[dict[str, Any]], sources: str) -> str:
    """With which version, and on what, the results were measured."""
    notes = set()
    for result in results:
        if (measured := result.get("measured")) is None:
            notes.add("measured at an earlier version")
            continue
        which = f"{measured['version']}, commit {measured['commit']}, {measured['date']}, {measured['machine']}"
        notes.add(f"measured {'with this version' if measured['sources'] == sources else 'at an earlier version'} ({which})")
    text = "; ".join(sorted(notes))
    return f"*{text[0].upper()}{text[1:]}.*"


# ---- the tables: a header and rows of texts ----------------------------------------------------------------------------------

Lines = Iterable[list[str]]


def front_page(results: dict[str, Any]) -> Lines:
    sets = results["sets"]
    yield ["", *(f"{name} ({found['classes']})" for name, found in sets.items())]
    for method in next(iter(sets.values()))["methods"]:
        cells = []
        for found in sets.values():
            own = found["methods"][method]
            best = max(other["ARI"] for other in found["methods"].values())
            index = f"**{own['ARI']:.2f}**" if own["ARI"] >= best - 0.005 else f"{own['ARI']:.2f}"
            cells.append(index if "told" in method else f"{index} ({own['K']})")
        yield [method, *cells]


def fits(level: dict[str, Any], whole: dict[str, Any], texts: dict[str, Any]) -> Lines:
    yield ["data", "what", "seconds", "`KMeans(500, n_init=1)` of the same run, seconds"]
    starts = {"runs": "from one cluster", "from scratch": "from scratch", "from one cluster": "from one cluster"}
    for name in [each for each in starts if each in level]:
        what = f"{starts[name]} to NMI ≥ .99 and K within 2 %"
        seconds = _range(run["seconds"] for run in level[name])
        yield ["100,000 × 32, K = 500", what, seconds, f"{level['KMeans seconds']:.1f}"]
    for name, runs in whole.items():
        if isinstance(runs, list) and name != "measured":
            other = f"{whole['KMeans seconds']:.1f}" if "K = 500" in name else ""
            yield [name.replace(" x ", " × "), "a whole fit with defaults", _range(run["seconds"] for run in runs), other]
    for topics, found in texts.items():
        if topics != "measured":
            what = f"a whole fit with defaults: {found['clusters']:,} clusters, NMI {found['NMI']:.2f}"
            yield [f"117,000 texts of 6 words, {topics}", what, f"{found['seconds']:.0f}", ""]


def kddbio(results: dict[str, Any]) -> Lines:
    """Log joint against time on protein data, from one cluster."""
    yield ["after", "clusters", "log joint"]
    seconds, level = results["seconds to it"], results["level of RGSM(5) + Gibbs after 600 s"]
    yield ["never" if seconds is None else f"{seconds:.1f} s", "", f"{level:,.0f}, where RGSM with Gibbs scans is after 600 s"]
    for found in results["after"]:
        yield [f"{found['seconds']:.0f} s", str(found["clusters"]), f"{found['log joint']:,.0f}"]


def sweeps(results: dict[str, Any]) -> Lines:
    yield ["rows × 16, clusters", "seconds per sweep"]
    yield from ([name, f"{seconds:.3f}"] for name, seconds in results.items() if name != "measured")


def opposite(results: dict[str, Any]) -> Lines:
    """Whether chains from opposite starts agree where clusters overlap."""
    yield ["component", "seconds", "median clusters of the two chains", "R̂ of K", "of the entropy", "of the log joint"]
    for name in ("gaussian", "gaussian-full"):
        found = results[name]
        medians, rhat = (" and ".join(f"{k:.0f}" for k in found["median clusters"]), found["R-hat"])
        values = [f"{rhat[key]:.2f}" for key in ("n_clusters", "entropy", "log_joint")]
        yield [f'`"{name}"`, learned', f"{found['seconds']:.0f}", medians, *values]


def crossover(results: dict[str, Any]) -> Lines:
    yield ["columns", "products of columns, ns", "triangular roots, ns"]
    for name, found in results.items():
        if name != "measured":
            yield [name.removeprefix("D = "), f"{found['products']:.1f}", f"{found['roots']:.1f}"]


def threads(gaussian: dict[str, Any], counts: dict[str, Any]) -> Lines:
    yield ["what", "one thread, s", f"{gaussian['threads']} threads, s", "times faster"]
    for data, results in (("10⁶ × 32, K = 500", gaussian), ("10⁶ documents, K = 1000", counts)):
        for name, found in results.items():
            if isinstance(found, dict) and "times" in found:
                one, many = found["seconds, 1 thread"], found["seconds, all"]
                yield [f"{data}: {'a sweep' if name == 'auto' else name}", f"{one:.2f}", f"{many:.2f}", f"{found['times']:.1f}"]


def large(rows: dict[str, Any], million: dict[str, Any], pubmed: dict[str, Any]) -> Lines:
    yield ["data", "seconds", "clusters found", "NMI", "peak memory / data"]
    memory = f"{rows['peak memory / data']:.1f}"
    yield ["10⁷ × 16 float32, K = 1000", f"{rows['seconds']:.0f}", str(rows["clusters"]), f"{rows['NMI']:.4f}", memory]
    for found in (million, pubmed):
        data = f"{found['documents'] / 1e6:.1f}·10⁶ documents, {found['non-zeros'] / 1e6:.0f}·10⁶ counts, K = {found['true K']}"
        seconds = f"{found['all, s']:.0f} ({found['to NMI 0.95, s']:.0f} to NMI .95)"
        yield [data, seconds, str(found["clusters at the end"]), f"{found['NMI at the end']:.4f}", f"{found['peak / CSR']:.1f}"]


def breast_cancer(results: dict[str, Any]) -> Lines:
    yield ["view", "clusters", "adjusted Rand index with the classes", "largest"]
    for name, found in results["views"].items():
        yield [f"`{name}`", str(found["clusters"]), f"{found['ARI']:.2f}", ", ".join(map(str, found["largest"]))]


_METHODS = {
    "hashmix labels": "hashmix, `labels_`",
    "hashmix reproducible": 'hashmix, `cut("reproducible")`',
    "hashmix cut at K": "hashmix, `cut(K)`",
}


def metric_cost(metric: dict[str, Any], tree: dict[str, Any]) -> Lines:
    yield ["what", "seconds", "times the cost without"]
    for data, found in metric.items():
        if data != "measured":
            yield [f"a sweep with a learned metric, {data}", f"{found['learned']:.2f}", f"{found['ratio']:.2f}"]
    for k, seconds in tree.items():
        if k != "measured":
            yield [f"the tree of {int(k):,} clusters", f"{seconds:.2f}", ""]


def mixture_levels(results: dict[str, Any]) -> Lines:
    yield ["data", "component", "clusters", "NMI", "reproducible", "its NMI", "NMI of labels by the true densities"]
    for data, found in results.items():
        if data != "measured":
            nmi = [f"{found[name]:.4f}" for name in ("NMI", "NMI, reproducible", "NMI of the true densities")]
            yield [data, found["component"], str(found["clusters"]), nmi[0], str(found["reproducible"]), *nmi[1:]]


def tree_rules(results: dict[str, Any]) -> Lines:
    sets = results["sets"]
    rules = sorted((rule for rule in results["means"] if rule != "uncut"), key=lambda rule: -results["means"][rule])
    yield ["rule", *(f"{name} ({found['K']})" for name, found in sets.items()), "mean"]
    for rule in [*rules, "uncut"]:
        each = [f"{found[rule]:.2f}" for found in sets.values()]
        yield [
            {"small first": "**small first, then Ward with distances**"}.get(rule, rule),
            *each,
            f"{results['means'][rule]:.2f}",
        ]


def resolutions(results: dict[str, Any]) -> Lines:
    yield ["method", "told K", "mean adjusted Rand index"]
    for name, mean in results["means"].items():
        if "median" not in name:
            told = "yes" if "told K" in name or name == "hashmix cut at K" else "no"
            yield [_METHODS.get(name, name.replace(" told K", "")), told, f"{mean:.2f}"]


def each_set(results: dict[str, Any]) -> Lines:
    yield [
        "data",
        "classes",
        "`labels_`",
        "clusters",
        "reproducible",
        "clusters",
        "`cut(K)`",
        "best peer told K",
        "best peer not told K",
    ]
    told = ("k-means told K", "Gaussian mixture told K", "Ward told K")
    free = ("Gaussian mixture by BIC", "BayesianGaussianMixture", "HDBSCAN", "fast_hdbscan")
    for name, found in results["sets"].items():
        best = [f"{max(found[method] for method in methods if method in found):.2f}" for methods in (told, free)]
        labels = [f"{found['hashmix labels']:.2f}", str(found["K labels"])]
        coarser = [f"{found['hashmix reproducible']:.2f}", str(found["K reproducible"]), f"{found['hashmix cut at K']:.2f}"]
        yield [name, str(found["K"]), *labels, *coarser, *best]


def whole(results: dict[str, Any]) -> Lines:
    yield ["data", "classes", "seconds", "`labels_`", "clusters", "reproducible", "clusters", "`cut(K)`", "k-means told K"]
    for name, found in results["sets"].items():
        labels = [f"{found['hashmix labels']:.2f}", str(found["K labels"])]
        coarser = [f"{found['hashmix reproducible']:.2f}", str(found["K reproducible"]), f"{found['hashmix cut at K']:.2f}"]
        yield [name, str(found["K"]), f"{found['seconds fit']:.0f}", *labels, *coarser, f"{found['k-means told K']:.2f}"]


def texts(results: dict[str, Any]) -> Lines:
    methods = {"hashmix": "hashmix", "gibbs": "Gibbs sampler", "KMeans": "k-means told K", "LDA": "LDA told K"}
    yield ["set", "texts", "classes", "hashmix: clusters", *(f"{name}: NMI" for name in methods.values())]
    for name, found in results["sets"].items():
        scores = [None if found[method]["NMI"] is None else found[method]["NMI"] for method in methods]
        best = max(score for score in scores if score is not None)
        cells = ["–" if s is None else f"**{s:.2f}**" if s >= best - 0.005 else f"{s:.2f}" for s in scores]
        yield [name, f"{found['n']:,}", str(found["true K"]), str(found["hashmix"]["K"]), *cells]


def mixed(kinds: dict[str, Any], blanks: dict[str, Any], csv: dict[str, Any]) -> Lines:
    yield ["what", "seconds", "NMI with the true clusters", "clusters"]
    for found in [*kinds["rows"], *blanks["rows"]]:
        if found["NMI"] is None:
            yield [found["what"], found["why"], "–", "–"]
        else:
            seconds = "–" if found["seconds"] is None else f"{found['seconds']:.1f}"
            yield [found["what"], seconds, f"{found['NMI']:.3f}", str(found["K"])]
    yield [f"read {csv['rows']:,} × 10 numbers from CSV", f"{csv['seconds']:.1f}", "", ""]


def verdicts(results: dict[str, Any]) -> Lines:
    yield ["fits", "how many", "verdict"]
    for found in results["easy"]:
        clean = f"{found['clean']} say that chains agree"
        yield [f"five blobs in {found['D']} columns, defaults", str(found["fits"]), clean]
    for found in results["apart"]:
        warned = f"{found['warned']} warn that chains disagree"
        yield [f"chains that are still apart, {found['draws']} draws", str(found["fits"]), warned]


def starting_scale(results: dict[str, Any]) -> Lines:
    factors = [f"× {factor:g}" for factor in results["factors"]]
    yield ["set", "classes", *(f"{kind}: {factor}" for kind in ("learned", "fixed") for factor in factors)]
    for name, found in results.items():
        if isinstance(found, dict) and name != "measured":
            yield [name, str(found["true K"]), *map(str, found["learned"]), *map(str, found["fixed"])]


def calibration(results: dict[str, Any]) -> Lines:
    yield ["sampler", "replications", "scalars", "smallest p", "times their number", "largest mean change, standard errors"]
    for sampler, scalars in results["samplers"].items():
        least = min(found["p"] for found in scalars.values())
        replications = sum(next(iter(scalars.values()))["counts"])
        name = sampler if ", " in sampler else f"{sampler} covariances"
        corrected, change = min(1.0, least * len(scalars)), max(map(abs, results["mean changes"][sampler].values()))
        yield [name, f"{replications:,}", str(len(scalars)), _p_value(least), _p_value(corrected), f"{change:.1f}"]


def soak(results: dict[str, Any]) -> Lines:
    chain, fits = results["one chain"], results["many fits"]
    yield ["soak", "resident memory, MB", "growth"]
    chain_name = f"one chain, {chain['minutes']:.0f} minutes, {chain['sweeps']:,} sweeps"
    yield [chain_name, f"{chain['resident memory, MB']:.0f}", f"{chain['growth, % per hour']:.2f} % per hour"]
    per_fit = f"{fits['growth per fit, bytes'] / 1e3:.1f} kB per fit"
    yield [f"{fits['fits']:,} fits in one process", f"{fits['resident memory, MB']:.0f}", per_fit]


def engines(time: dict[str, Any], kills: dict[str, Any]) -> Lines:
    workers, travelled = time["workers"], (time["sent per sweep, bytes"], time["received per sweep, bytes"])
    yield ["what", f"`Threads({workers})`", f"Dask, {workers} workers of one thread"]
    data = f"{time['rows']:,} × {time['columns']}, K = {time['clusters']}"
    dask = f"{time['dask, s']:.2f} ({time['dask / threads']:.2f} times)"
    yield [f"{data}: seconds per sweep", f"{time['threads, s']:.2f}", dask]
    yield ["to and from all workers per sweep, MB", "–", " and ".join(f"{size / 1e6:.1f}" for size in travelled)]
    multiple = time["times (statistics + parameters) x workers"]
    yield ["the same, times (statistics + parameters) · workers", "–", f"{multiple:.1f}"]
    ended = f"{kills['same draws']} of {kills['kills']}"
    yield ["runs with a worker killed at a random moment that ended in the same draws", "–", ended]


def disk(results: dict[str, Any]) -> Lines:
    """Rows beyond the memory of the workers."""
    yield ["what", "", "most of any worker", "client"]
    size = f"{results['rows']:,} × {results['columns']} float32 in parquet, {results['workers']} workers of one thread"
    yield [size, f"{results['rows, bytes'] / 1e9:.2f} GB", "", ""]
    yield ["memory allowed, GB", "", f"{results['limit per worker, bytes'] / 1e9:.2f}", "–"]
    for what in ("before", "at its peak"):
        workers, client = max(results[f"worker {what}, bytes"]), results[f"client {what}, bytes"]
        yield [f"memory {what}, GB", "", f"{workers / 1e9:.2f}", f"{client / 1e9:.2f}"]
    yield ["workers that Dask ended", "", str(results["workers ended by Dask"]), ""]
    yield [f"seconds per sweep, {results['clusters found']} clusters", f"{results['sweep, s']:.0f}", "", ""]


def paper_speed(*parts: dict[str, Any]) -> Lines:
    """How much sooner each sampler is at the level at which the better baseline ends."""
    methods = [name for name in _titles(*parts) if name not in ("rgsm", "sdds")]
    yield ["", "the better baseline, there after", *(_titles(*parts)[name] for name in methods)]
    for part in parts:
        for data, (method, _, seconds) in part["settings"]["levels"].items():
            found = {line["method"]: line for line in part["lines"] if line["data"] == data}
            yield [data, f"{METHODS[method].title}, {seconds:.3g} s", *(_speed_up(found.get(name)) for name in methods)]


def _speed_up(line: dict[str, Any] | None) -> str:
    if line is None:
        return "–"
    if line["speedup"] is None:
        return "never" if line["proposals"] else "no proposal finished"
    spread = line["speedup_range"]
    return f"{_rounded(line['speedup'])} ×" + (f" ({_rounded(spread[0])} – {_rounded(spread[1])})" if spread else "")


def _rounded(value: float) -> str:
    """Two digits, or all before the decimal point."""
    return f"{value:,.0f}" if value >= 10 else f"{value:.2g}"


def paper_quality(*parts: dict[str, Any]) -> Lines:
    """NMI and accuracy of the last state, and the paper's."""
    columns = [(part, name) for part in parts for name, each in part["settings"]["about"].items() if each["nmi"] is not None]
    yield ["", *(name for _, name in columns)]
    for method, title in _titles(*parts).items():
        yield [title, *(_quality(part, data, method) for part, data in columns)]
    oracles = [part["settings"]["about"][data] for part, data in columns]
    yield ["labels by the true densities", *(f"{each['nmi']:.2f} / {each['accuracy']:.2f}" for each in oracles)]


def _quality(part: dict[str, Any], data: str, method: str) -> str:
    line = next((line for line in part["lines"] if (line["data"], line["method"]) == (data, method)), None)
    if line is None or not line["proposals"]:
        return "no proposal finished"
    theirs = PAPER.get(METHODS[method].in_paper or "", {})
    printed = " ({:.2f} / {:.2f})".format(*theirs[data]) if data in theirs else ""
    return f"{line['nmi']:.2f} / {line['accuracy']:.2f}{printed}"


def paper_hard(results: dict[str, Any]) -> Lines:
    """NMI where clusters overlap, and the largest that the data allow."""
    by_separation = {name: part for name, part in results.items() if name != "measured"}
    titles = _titles(*by_separation.values())
    yield ["", "labels by the true densities", *titles.values()]
    for separation, part in by_separation.items():
        for data, oracle in part["settings"]["about"].items():
            found = {line["method"]: line["nmi"] for line in part["lines"] if line["data"] == data}
            cells = ["–" if found.get(name) is None else f"{found[name]:.2f}" for name in titles]
            yield [f"{data}, separation {separation}", f"{oracle['nmi']:.2f}", *cells]


def paper_texts(results: dict[str, Any]) -> Lines:
    yield ["", "clusters", "log joint", "NMI with the subject headings", "times faster than the better baseline"]
    for line in results["lines"]:
        nmi = "–" if line["nmi"] is None else f"{line['nmi']:.2f}"
        title = METHODS[line["method"]].title
        yield [title, f"{line['n_clusters']:,.0f}", f"{line['log_joint']:,.0f}", nmi, _speed_up(line)]


def _titles(*parts: dict[str, Any]) -> dict[str, str]:
    run = {line["method"] for part in parts for line in part["lines"]}
    return {name: method.title for name, method in METHODS.items() if name in run}


def _p_value(p: float) -> str:
    return f"{p:.2f}" if p >= 0.01 else f"{p:.4f}" if p >= 0.0001 else f"{p:.0e}"


def _range(seconds: Iterable[float | None]) -> str:
    known = sorted(value for value in seconds if value is not None)
    if not known:
        return "not reached"
    low, high = (f"{value:.1f}" for value in (known[0], known[-1]))
    return low if low == high else f"{low} to {high}"


#: Name of a table: the JSON files it is made from, and the function that makes it.
TABLES: dict[str, tuple[list[str], Callable[..., Lines]]] = {
    "front_page": (["front_page"], front_page),
    "fits": (["parallel_level", "parallel_fits", "parallel_texts"], fits),
    "kddbio": (["parallel_kddbio"], kddbio),
    "sweeps": (["parallel_sweeps"], sweeps),
    "opposite": (["parallel_opposite"], opposite),
    "crossover": (["parallel_crossover"], crossover),
    "threads": (["parallel_threads", "parallel_documents"], threads),
    "large": (["parallel_large", "documents", "documents_pubmed"], large),
    "breast_cancer": (["breast_cancer"], breast_cancer),
    "metric_cost": (["metric_cost", "tree_cost"], metric_cost),
    "mixture_levels": (["mixture_levels"], mixture_levels),
    "tree_rules": (["tree_rules"], tree_rules),
    "resolutions": (["resolutions_tuned"], resolutions),
    "each_set": (["resolutions_tuned"], each_set),
    "kept_aside": (["resolutions_kept"], resolutions),
    "each_kept": (["resolutions_kept"], each_set),
    "whole": (["resolutions_whole"], whole),
    "mixed": (["tables_mixed", "tables_blanks", "tables_csv"], mixed),
    "verdicts": (["verdicts"], verdicts),
    "texts": (["texts"], texts),
    "starting_scale": (["starting_scale"], starting_scale),
    "calibration": (["sbc"], calibration),
    "soak": (["soak"], soak),
    "engines": (["engines_time", "engines_kills"], engines),
    "disk": (["engines_disk"], disk),
    "paper_speed": (["paper_main"], paper_speed),
    "paper_quality": (["paper_main"], paper_quality),
    "paper_hard": (["paper_hard"], paper_hard),
    "paper_texts": (["paper_texts"], paper_texts),
}


def main() -> int:
    check, sources, stale = "--check" in sys.argv[1:], hash_of_sources(), 0
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        if (new := rendered(text, sources)) != text:
            stale += 1
            print(f"{page.relative_to(ROOT)} {'differs from the results' if check else 'is written anew'}")
            if not check:
                page.write_text(new, encoding="utf-8")
    return int(check and stale > 0)


if __name__ == "__main__":
    sys.exit(main())
