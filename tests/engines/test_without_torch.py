"""hashmix without PyTorch: it is imported when it is asked for, and missed in one sentence."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

import hashmix as hm


def test_pytorch_is_not_imported():
    code = "import sys, hashmix as hm; hm.engines.Cuda(); import hashmix.cli; assert 'torch' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)


def test_without_pytorch(monkeypatch):
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(ImportError, match=r"^engine='cuda' needs PyTorch: pip install 'hashmix\[cuda\]'\.$"):
        hm.SplitMergeMixture("gaussian", engine="cuda").fit(np.eye(4))
