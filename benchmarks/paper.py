"""The paper's comparison, by ``hashmix paper``: which figures reproduce, and how soon each sampler is there.

    python benchmarks/paper.py main               # S1, S2 and S3
    python benchmarks/paper.py hard               # the same with clusters that overlap: separations 3, 4 and 6
    python benchmarks/paper.py large --data DIR   # KDD, and documents that stand in for PubMed
    python benchmarks/paper.py texts --data DIR   # abstracts of PubMed: pubmed_medline.npz
    python benchmarks/paper.py main large --seconds 300 --seeds 3 --jobs 2

Writes one line per sampler and data set to benchmarks/results/paper_<part>.json, and the pictures to docs/images. Chains are
kept in --out; a run that was interrupted continues.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path

from report import write_results

from hashmix.cli import main as hashmix

ROOT = Path(__file__).parent.parent
#: Separations of the mixtures whose clusters overlap; with 9, as in "main", they do not.
SEPARATIONS = (3, 4, 6)


def compared(folder: Path, options: argparse.Namespace, *arguments: str) -> dict:
    """Run ``hashmix paper`` in a folder; return its settings and one line per sampler and data set."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    status = hashmix(
        ["paper", "-o", str(folder), "--quiet", "--seeds", str(options.seeds), "--jobs", str(options.jobs), *arguments]
    )
    if status:
        sys.exit(status)
    results = json.loads((folder / "results.json").read_text(encoding="utf-8"))
    return {"settings": results["settings"], "lines": results["comparison"]}


def main_sets(out: Path, options: argparse.Namespace) -> dict:
    results = compared(out / "main", options, "--only", "S1,S2,S3")
    keep_pictures(out / "main", ["S1", "S2", "S3"])
    return results


def hard(out: Path, options: argparse.Namespace) -> dict:
    return {
        str(separation): compared(out / f"separation_{separation}", options, "--quick", "--separation", str(separation))
        for separation in SEPARATIONS
    }


def large(out: Path, options: argparse.Namespace) -> dict:
    results = compared(
        out / "large", options, "--only", "KDD,PubMed", "--kdd", f"{options.data}/kddbio.npz", "--seconds", str(options.seconds)
    )
    keep_pictures(out / "large", ["KDD", "PubMed"])
    return results


def texts(out: Path, options: argparse.Namespace) -> dict:
    file = f"{options.data}/pubmed_medline.npz"
    return compared(out / "texts", options, "--only", "PubMed", "--pubmed", file, "--seconds", str(options.seconds))


def keep_pictures(folder: Path, names: list[str]) -> None:
    for name in names:
        shutil.copy(folder / f"{name}.png", ROOT / "docs" / "images" / f"paper_{name}.png")


PARTS = {"main": main_sets, "hard": hard, "large": large, "texts": texts}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("parts", nargs="+", choices=list(PARTS))
    parser.add_argument("--data", help="folder of kddbio.npz and pubmed_medline.npz")
    parser.add_argument("--seconds", type=float, default=300.0, help="per chain, for large data (default: 300)")
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("paper_runs"), help="folder of the chains (default: paper_runs)")
    options = parser.parse_args()
    for name in options.parts:
        if name in ("large", "texts") and options.data is None:
            parser.error(f"{name} needs --data, the folder of kddbio.npz and pubmed_medline.npz.")
        write_results(f"paper_{name}", PARTS[name](options.out, options))


if __name__ == "__main__":
    main()
