"""What an installed hashmix must do without its repository, without plots, tables or any other extra."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import version
from pathlib import Path

import numpy as np

import hashmix as hm

TWO_GROUPS = np.array([[1.0], [1.1], [0.9], [7.0], [7.1], [6.9]])


def test_the_version_is_that_of_the_package():
    assert hm.__version__ == version("hashmix")


def test_types_are_announced():
    assert (Path(hm.__file__).parent / "py.typed").exists()


def test_it_clusters():
    component = hm.components.DiagonalGaussian(mean=4.0, kappa=0.1, shape=2.0, rate=0.1)
    model = hm.SplitMergeMixture(component, n_draws=20, n_warmup=20, random_state=0)
    assert model.fit_predict(TWO_GROUPS).tolist() == [0, 0, 0, 1, 1, 1]


def test_the_command_line_answers():
    ran = subprocess.run([sys.executable, "-m", "hashmix.cli", "--version"], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert hm.__version__ in ran.stdout
