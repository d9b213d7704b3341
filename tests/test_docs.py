"""The examples of the documentation run as they stand, and the pages name what there is."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

import hashmix as hm
from hashmix.data.readers import READERS

DOCS = Path(__file__).parent.parent / "docs"
EXTENDING = re.findall(r"```python\n(.*?)```", (DOCS / "extending.md").read_text(encoding="utf-8"), re.DOTALL)
TITLES = [example.splitlines()[0].strip('"') for example in EXTENDING]


@pytest.mark.parametrize("example", EXTENDING, ids=TITLES)
def test_extending_runs_as_it_stands(example, tmp_path):
    path = tmp_path / "extension.py"
    path.write_text(example, encoding="utf-8")
    ran = subprocess.run([sys.executable, "-W", "error", str(path)], cwd=tmp_path, capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr


def test_there_is_an_example_of_each_kind():
    for base in ("(Component)", "(hm.moves.Proposal)", "(PartitionPrior)", "(hm.hashing.CodeFamily)", "FileFormat("):
        assert sum(base in example for example in EXTENDING) == 1, base


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


def test_the_readme_names_all_choices():
    text = (DOCS.parent / "README.md").read_text(encoding="utf-8")
    for registry in (hm.components.COMPONENTS, hm.priors.PRIORS):
        for name in registry.names:
            maker = registry[name]
            assert f'"{name}"' in text or f"`{maker.__name__}`" in text, name
    assert READERS.names
