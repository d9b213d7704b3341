"""The examples of the documentation run as they stand, and the pages name what there is."""

from __future__ import annotations

import importlib
import inspect
import os
import re
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import hashmix as hm
from hashmix.cli_data import DATA_OPTIONS
from hashmix.moves.hashed.hashed_gibbs import OPENING, STRAY

DOCS = Path(__file__).parent.parent / "docs"
EXTENDING = re.findall(r"```python\n(.*?)```", (DOCS / "extending.md").read_text(encoding="utf-8"), re.DOTALL)
READING = re.findall(r"```python\n(.*?)```", (DOCS / "reading_files.md").read_text(encoding="utf-8"), re.DOTALL)
PAGES = [DOCS.parent / "README.md", *(DOCS / name for name in ("index.md", "install.md", "quick_start.md"))]
PAGES += sorted(page for page in (DOCS / "guide").glob("*.md") if "```python" in page.read_text(encoding="utf-8"))
TITLES = [example.splitlines()[0].strip('"') for example in EXTENDING]


@pytest.mark.parametrize("example", EXTENDING, ids=TITLES)
def test_extending_runs_as_it_stands(example, tmp_path):
    path = tmp_path / "extension.py"
    path.write_text(example, encoding="utf-8")
    ran = subprocess.run([sys.executable, "-W", "error", str(path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


@pytest.mark.parametrize("example", READING, ids=lambda example: example.splitlines()[0].strip('"'))
def test_reading_files_runs_as_it_stands(example, tmp_path):
    path = tmp_path / "reading.py"
    path.write_text(example, encoding="utf-8")
    ran = subprocess.run([sys.executable, "-W", "error", str(path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_reading_files_names_all_options():
    page = (DOCS / "reading_files.md").read_text(encoding="utf-8")
    for option in DATA_OPTIONS[1:]:
        assert f"`--{option}" in page, option


def test_there_is_an_example_of_each_kind():
    for base in ("(Component)", "(hm.moves.Proposal)", "(PartitionPrior)", "(hm.hashing.CodeFamily)", "FileFormat("):
        assert any(base in example for example in EXTENDING), base


def test_docstrings_name_all_choices():
    """The strings users type come from registries; the docstrings that list them must list them all."""
    for registry, text in (
        (hm.components.COMPONENTS, hm.SplitMergeMixture.__doc__),
        (hm.priors.PRIORS, hm.SplitMergeMixture.__doc__),
        (hm.moves.SCHEDULES, hm.SplitMergeMixture.__doc__),
        (hm.moves.SCHEDULES, hm.moves.resolve_moves.__doc__),
        (hm.hashing.FAMILIES, hm.moves.hashed.tables.HashedMove.__doc__),
    ):
        for name in registry.names:
            assert f'"{name}"' in text, (registry.parameter, name)


def test_the_guide_names_all_choices():
    text = (DOCS / "guide" / "components.md").read_text(encoding="utf-8")
    for registry in (hm.components.COMPONENTS, hm.priors.PRIORS):
        for name in registry.names:
            maker = registry[name]
            assert f'"{name}"' in text, name
            assert f"`{maker.__name__}`" in text, name


def test_the_guide_names_all_commands_and_formats():
    text = (DOCS / "guide" / "command_line.md").read_text(encoding="utf-8")
    for command in ("fit", "resume", "report", "paper", "data", "warmup"):
        assert f"hashmix {command}" in text, command


def blocks(page):
    """The Python of a page, as one script, and what the page says that it prints."""
    found = re.findall(r"^```(python|text)\n(.*?)^```", page.read_text(encoding="utf-8"), re.DOTALL | re.MULTILINE)
    code, printed = ("\n".join(text for kind, text in found if kind == wanted) for wanted in ("python", "text"))
    return code, printed


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pages_run_and_print_what_they_show(page, tmp_path):
    """The blocks of a page are one script. If some of its output is shown, all of that is printed, in this order."""
    code, shown = blocks(page)
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    ran = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=False, env=environment
    )
    assert ran.returncode == 0, ran.stderr
    printed = iter(ran.stdout.splitlines())
    missing = [line for line in shown.splitlines() if line and line not in printed]
    assert not missing, ran.stdout


def test_the_reference_has_every_public_name():
    text = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
    sections = dict(re.findall(r"currentmodule:: ([\w.]+)\n(.*?)```", text, re.DOTALL))
    for name, listed in sections.items():
        public = set(importlib.import_module(name).__all__)
        if name == "hashmix":
            public = {each for each in public if not inspect.ismodule(getattr(hm, each))}
        named = set(re.findall(r"^   (\w+)$", listed, re.MULTILINE)) | ({"Schedule"} if "Schedule" in text else set())
        assert public <= named, (name, public - named)


def test_tables_are_those_of_the_results():
    """A page differs from its results, or the code that fits run has changed and the page does not say so."""
    ran = subprocess.run(
        [sys.executable, str(DOCS.parent / "benchmarks" / "tables.py"), "--check"], capture_output=True, text=True
    )
    assert ran.returncode == 0, f"{ran.stdout}{ran.stderr}Run: python benchmarks/tables.py"


@pytest.mark.slow
@pytest.mark.parametrize("example", sorted((DOCS.parent / "examples").glob("plot_*.py")), ids=lambda path: path.stem)
def test_gallery_runs(example, tmp_path):
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    command = [sys.executable, "-W", "error", str(example)]
    ran = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert ran.returncode == 0, ran.stderr


def files_called(work):
    """The files of the package whose functions are called, in the order of their first call; core is left out."""
    root = Path(hm.__file__).parent
    seen: dict[str, None] = {}

    def note(frame, event, _):
        path = Path(frame.f_code.co_filename)
        if event == "call" and root in path.parents and frame.f_code.co_name not in ("<module>", "<lambda>"):
            inside = path.relative_to(root).as_posix()
            if not inside.startswith("core/") and inside != "__init__.py":
                seen.setdefault(inside)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        work()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)  # type: ignore[arg-type]
    return list(seen)


def test_how_it_works_lists_the_calls_of_fit_in_their_order():
    page = (DOCS / "how_it_works.md").read_text(encoding="utf-8")
    walk = page.split("<!-- walk -->")[1]
    listed = re.findall(r"^\d+\. `([\w/.]+\.py)` `([\w.]+)`", walk, re.MULTILINE)
    X = np.random.default_rng(0).normal(size=(90, 3)) + np.repeat([[-6.0], [0.0], [6.0]], 30, axis=0)
    model = hm.SplitMergeMixture(n_draws=30, n_warmup=20, random_state=0)
    model.fit(X)  # compiles
    called = files_called(lambda: model.fit(X))
    assert [path for path, _ in listed] == called
    for path, name in listed:
        source = (Path(hm.__file__).parent / path).read_text(encoding="utf-8")
        assert re.search(rf"def {name.split('.')[-1]}\b", source), name


def test_exactness_states_the_rates_of_hashed_gibbs():
    page = (DOCS / "exactness.md").read_text(encoding="utf-8")
    rates = dict(re.findall(r"^(OPENING|STRAY) = ([\d.]+)$", page, re.MULTILINE))
    assert {name: float(value) for name, value in rates.items()} == {"OPENING": OPENING, "STRAY": STRAY}
