"""Progress bars: shown only when wanted and visible, and needed only then."""

from __future__ import annotations

import sys

import pytest

from hashmix.core.progress import can_show, counting_bar, is_watched, progress_bar


def test_nothing_is_shown_unless_wanted(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "tqdm", None)  # and tqdm is not needed
    monkeypatch.setitem(sys.modules, "tqdm.auto", None)
    with counting_bar("a.txt", "B", wanted=False) as show:
        show(10)
    with progress_bar(10, 0, wanted=False) as show_sweep:
        show_sweep(5, 3, -100.0)
    assert capsys.readouterr() == ("", "")
    for bar in (counting_bar("a.txt", "B", True), progress_bar(10, 0, True)):
        with pytest.raises(ImportError, match=r"needs tqdm: pip install 'hashmix\[progress\]'"), bar:
            pass


def test_counting_bar(capsys):
    with counting_bar("a.txt", "B", wanted=True, total=2000) as show:
        show(1500)
        show(500)
    err = capsys.readouterr().err
    assert "a.txt: 100%" in err
    assert "2.00k/2.00k" in err


def test_progress_bar_in_a_terminal(capsys, monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    with progress_bar(10, 4, wanted=True) as show:
        show(10, 1234, -5678.91)
    err = capsys.readouterr().err
    assert "10/10" in err
    assert "1,234 clusters, log joint -5,678.9" in err


def test_progress_bar_is_hidden_without_a_terminal(capsys):
    with progress_bar(10, 0, wanted=True) as show:
        show(10, 3, -1.0)
    assert capsys.readouterr().err == ""


def test_a_notebook_is_watched_like_a_terminal(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    monkeypatch.delitem(sys.modules, "ipykernel", raising=False)
    assert not is_watched()
    monkeypatch.setitem(sys.modules, "ipykernel", sys)
    assert is_watched()
    monkeypatch.delitem(sys.modules, "ipykernel")
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert is_watched()


def test_can_show(monkeypatch):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: False)
    assert not can_show()
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    assert can_show()
    monkeypatch.setattr("hashmix.core.progress.find_spec", lambda name: None)
    assert not can_show()
