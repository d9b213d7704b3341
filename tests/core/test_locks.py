"""Locks between processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time

import pytest

from hashmix.core import locks
from hashmix.core.locks import FileLock

TAKE = """
import pathlib, signal, sys, time
from hashmix.core.locks import FileLock

# Tests that run in the background would hand down that the signal is ignored.
signal.signal(signal.SIGINT, signal.default_int_handler)
lock = FileLock(pathlib.Path(sys.argv[1]))
print("started", flush=True)
print(lock.acquire(60.0), flush=True)
time.sleep(60.0)
"""


@pytest.fixture
def path(tmp_path):
    return tmp_path / "a.lock"


@pytest.fixture
def other(path):
    """Another process that takes the lock and keeps it."""
    command = [sys.executable, "-c", TAKE, str(path)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline() == "started\n"
        yield process
        process.kill()


def test_waits_for_another_process_only_so_long(path, other):
    assert other.stdout.readline() == "True\n"
    lock = FileLock(path)
    start = time.monotonic()
    assert not lock.acquire(0.5)
    assert time.monotonic() - start >= 0.5


def test_killed_process_releases_its_lock(path, other):
    assert other.stdout.readline() == "True\n"
    lock = FileLock(path)
    assert not lock.acquire()
    other.kill()
    assert lock.acquire(20.0)
    lock.release()


@pytest.mark.skipif(sys.platform == "win32", reason="no SIGINT for one process alone")
def test_waiting_can_be_interrupted(path, request):
    lock = FileLock(path)
    assert lock.acquire()
    other = request.getfixturevalue("other")
    time.sleep(0.5)
    other.send_signal(signal.SIGINT)
    output, errors = other.communicate(timeout=20.0)
    assert output == ""
    assert "KeyboardInterrupt" in errors
    lock.release()


def test_release_twice_or_untaken(path):
    lock, same = FileLock(path), FileLock(path)
    lock.release()
    assert lock.acquire()
    lock.release()
    assert same.acquire()
    lock.release()
    assert not lock.acquire()
    same.release()


def test_released_although_a_forked_process_has_the_file_open(path):
    lock, same = FileLock(path), FileLock(path)
    assert lock.acquire()
    inherited = os.dup(lock._file.fileno())
    try:
        lock.release()
        assert same.acquire()
        same.release()
    finally:
        os.close(inherited)


def test_no_lock_where_files_cannot_be_written_or_locked(path, monkeypatch):
    assert not FileLock(path / "not" / "there").acquire(60.0)

    def unsupported(descriptor):
        raise OSError("no locks on this drive")

    monkeypatch.setattr(locks, "_try_lock", unsupported)
    lock = FileLock(path)
    assert not lock.acquire(60.0)
    lock.release()
