"""Compiling ahead: helpers are started once, for what is not compiled yet, and never needed."""

from __future__ import annotations

import json
import sys

import pytest

from hashmix.run import ahead


class Recorded:
    """Stands in for a process: keeps its command."""

    commands: list = []

    def __init__(self, command, **files):
        self.commands.append(command)

    def terminate(self):
        pass


@pytest.fixture
def commands(monkeypatch, tmp_path):
    monkeypatch.setenv("HASHMIX_COMPILE_AHEAD", "1")
    monkeypatch.setattr(ahead, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(ahead.os, "cpu_count", lambda: 3)
    monkeypatch.setattr(ahead.subprocess, "Popen", Recorded)
    monkeypatch.setattr(Recorded, "commands", [])
    return Recorded.commands


def test_helpers_share_what_is_not_compiled_yet(commands, capsys):
    ahead.compile_ahead(["gaussian"], "auto", "float64", say=True)
    assert [json.loads(command[-1]) for command in commands] == [[["gaussian"], "auto", "float64", h, 2] for h in range(2)]
    assert "once" in capsys.readouterr().err


def test_what_was_compiled_is_not_compiled_again(commands, capsys):
    ahead._mark(["gaussian"], "auto", "float64")
    ahead.compile_ahead(["gaussian"], "auto", "float64", say=True)
    assert (commands, capsys.readouterr().err) == ([], "")
    ahead.compile_ahead(["gaussian", "poisson"], "auto", "float64", say=False)
    assert json.loads(commands[0][-1])[0] == ["poisson"]
    ahead.compile_ahead(["gaussian"], "auto", "float32", say=False)
    assert len(commands) == 4


@pytest.mark.parametrize("reason", ["switched off", "no cache", "no process"])
def test_fit_goes_on_without_helpers(reason, commands, monkeypatch):
    def refuse(*arguments, **files):
        raise OSError

    if reason == "switched off":
        monkeypatch.setenv("HASHMIX_COMPILE_AHEAD", "0")
    elif reason == "no cache":
        monkeypatch.setattr(ahead, "cache_folder", lambda: None)
    else:
        monkeypatch.setattr(ahead.subprocess, "Popen", refuse)
    ahead.compile_ahead(["gaussian"], "auto", "float64", say=False)
    assert commands == []


def test_helper_compiles_its_share_and_says_so(monkeypatch, tmp_path):
    asked = []
    monkeypatch.setattr(ahead, "cache_folder", lambda: tmp_path)
    monkeypatch.setattr(ahead, "compile_kernels", lambda *arguments: asked.append(arguments))
    monkeypatch.setattr(sys, "argv", ["-c", json.dumps([["poisson"], "auto", "float64", 0, 1])])
    ahead.main()
    assert asked == [("poisson", "auto", "float64", 0, 1)]
    assert len(list(tmp_path.iterdir())) == 1
