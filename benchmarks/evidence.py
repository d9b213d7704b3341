"""Measure the figures that README and docs publish, and write them into the pages.

    make evidence                             # everything that makes its own data; hours, on an idle machine
    make evidence ARGS=--quick                # what takes minutes
    make evidence ARGS="--data FOLDER"        # also the labelled sets and texts in FOLDER
    make evidence ARGS="--only front_page"

Each benchmark writes a JSON file to ``benchmarks/results/``, with commit, date, machine, versions and a hash of the
sources it measured. ``benchmarks/tables.py`` then writes the tables of all pages from these files.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

HERE = Path(__file__).parent


class Benchmark(NamedTuple):
    """A command, without Python; ``quick`` if it takes minutes; {data} and {cores} are filled in."""

    command: str
    quick: bool = False


BENCHMARKS = [
    Benchmark("front_page.py", quick=True),
    Benchmark("how_many_pictures.py", quick=True),
    Benchmark("parallel.py level", quick=True),
    Benchmark("parallel.py fits sweeps rate crossover opposite texts"),
    Benchmark("parallel.py kddbio --kddbio {data}/kddbio.npz"),
    Benchmark("parallel.py threads documents large --threads {cores}"),
    Benchmark("verdicts.py"),
    Benchmark("mixed.py"),
    Benchmark("paper.py main hard"),
    Benchmark("paper.py large texts --data {data}"),
    Benchmark("peers.py --part synthetic"),
    Benchmark("documents.py --sweeps 25"),
    Benchmark("documents.py --clusters"),
    Benchmark("posterior.py"),
    Benchmark("memory.py"),
    Benchmark("start_up.py"),
    Benchmark("sbc.py --jobs {cores}"),
    Benchmark("soak.py"),
    Benchmark("engines.py time kills disk k_means"),
    Benchmark("metric_cost.py"),
    Benchmark("tree_rules.py --data {data}"),
    Benchmark("resolutions.py --data {data}"),
    Benchmark("resolutions.py --data {data} --half kept"),
    Benchmark("resolutions.py --data {data} --half whole"),
    Benchmark("texts.py --cap 60 --data {data}"),
]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="only what takes minutes")
    parser.add_argument("--data", metavar="FOLDER", help="folder of the labelled sets and texts")
    parser.add_argument("--only", metavar="A,B,…", help="names of scripts, such as front_page")
    options = parser.parse_args()
    only = None if options.only is None else options.only.split(",")
    for benchmark in BENCHMARKS:
        name = benchmark.command.split(".py")[0]
        if (only and name not in only) or (options.quick and not benchmark.quick):
            continue
        if "{data}" in benchmark.command and options.data is None:
            print(f"left out, because it needs --data: {benchmark.command}")
            continue
        print(f"== {benchmark.command}", flush=True)
        script, *arguments = benchmark.command.format(data=options.data, cores=os.cpu_count()).split()
        subprocess.run([sys.executable, str(HERE / script), *arguments], check=True)
    subprocess.run([sys.executable, str(HERE / "tables.py")], check=True)


if __name__ == "__main__":
    main()
