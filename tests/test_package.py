"""The package as installed: public names, documentation that runs, a cache that is never stale."""

from __future__ import annotations

import inspect
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import hashmix as hm


def test_public_names():
    for module in (hm, hm.components, hm.priors, hm.moves):
        for public in module.__all__:
            assert getattr(module, public) is not None
    with pytest.raises(AttributeError, match="no attribute 'Mixture'"):
        hm.Mixture  # noqa: B018


def public_objects():
    import hashmix.data.readers
    import hashmix.plot
    import hashmix.testing

    for module in (hm, hm.components, hm.priors, hm.moves, hashmix.plot, hashmix.data.readers, hashmix.testing):
        for public in module.__all__:
            thing = getattr(module, public)
            if inspect.isclass(thing) or inspect.isfunction(thing):
                yield f"{module.__name__}.{public}", thing


@pytest.mark.parametrize(("where", "thing"), list(public_objects()), ids=lambda value: value if isinstance(value, str) else "")
def test_public_objects_have_an_example(where, thing):
    assert thing.__doc__
    abstract = inspect.isabstract(thing) or where == "hashmix.testing.Script"
    assert abstract or ">>>" in thing.__doc__


def copy_of_package(folder):
    shutil.copytree(Path(hm.__file__).parent, folder / "hashmix", ignore=shutil.ignore_patterns("__pycache__"))
    return folder / "hashmix"


LOG_JOINT = """
import numpy as np
from hashmix.partition.state import State
from hashmix.partition.target import Target
from hashmix.components import DiagonalGaussian
from hashmix.priors import DirichletProcess
target = Target.of(np.arange(6.0).reshape(6, 1), DiagonalGaussian(0.0, 0.1, 2.0, 0.1), DirichletProcess(1.0))
print(State(target, [0, 0, 0, 1, 1, 1]).log_likelihood())
"""


def run(code, folder, **environment):
    environment = {**os.environ, "PYTHONPATH": str(folder), **environment}
    ran = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True)
    return float(ran.stdout)


def test_cache_never_serves_stale_code(tmp_path):
    """Change a helper in one file; a kernel in another file, cached before, must give the new result."""
    package = copy_of_package(tmp_path)
    cache = {"HASHMIX_CACHE_DIR": str(tmp_path / "cache")}
    before = run(LOG_JOINT, tmp_path, **cache)
    assert run(LOG_JOINT, tmp_path, **cache) == before
    folders = set((tmp_path / "cache").iterdir())
    assert list((tmp_path / "cache").rglob("*.nbc"))
    source = package / "components" / "gaussian" / "diagonal_kernels.py"
    changed = source.read_text().replace("return _marginal_constant(model, n) -", "return 1.0 + _marginal_constant(model, n) -")
    assert changed != source.read_text()
    source.write_text(changed)
    assert run(LOG_JOINT, tmp_path, **cache) == pytest.approx(before + 2.0)  # one for each of two clusters
    assert set((tmp_path / "cache").iterdir()) > folders


FOREIGN = """
import sys, numpy as np, hashmix as hm
from hashmix.partition.state import State
from hashmix.partition.target import Target
from tests.truth.no_data import NoData
print(State(Target.of(np.zeros((4, 1)), NoData(), hm.priors.DirichletProcess(1.0)), [0, 0, 1, 1]).log_likelihood())
"""


def test_the_package_cache_takes_no_types_from_elsewhere(tmp_path):
    """A user's own component must not end up where a process that cannot import it would look."""
    copy_of_package(tmp_path)
    cache = {"HASHMIX_CACHE_DIR": str(tmp_path / "cache")}
    repository = Path(__file__).parents[1]
    assert run(FOREIGN, f"{tmp_path}{os.pathsep}{repository}", **cache) == 0.0
    run(LOG_JOINT, tmp_path, **cache)
    indices = b"".join(path.read_bytes() for path in (tmp_path / "cache").rglob("*.nbi") if "extension-" not in str(path))
    assert b"DiagonalModel" in indices
    assert b"NoData" not in indices


def test_works_where_nothing_can_be_cached(tmp_path):
    (tmp_path / "file").write_text("not a folder")
    there = run(LOG_JOINT, tmp_path, HASHMIX_CACHE_DIR=str(tmp_path / "file" / "cache"))
    assert there == run(LOG_JOINT, tmp_path, HASHMIX_CACHE="0")
