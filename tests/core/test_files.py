"""Atomic writes."""

from __future__ import annotations

import pytest

from hashmix.core.files import write_atomically


@pytest.mark.parametrize("content", [b"new", lambda file: file.write(b"new")], ids=["bytes", "function"])
def test_creates_and_replaces(content, tmp_path):
    path = tmp_path / "a.txt"
    for _ in range(2):
        write_atomically(str(path), content)
        assert path.read_bytes() == b"new"
        assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]
        path.write_bytes(b"something longer")


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_errors_leave_the_old_file(error, tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def fail(file):
        file.write(b"half of the n")
        raise error

    with pytest.raises(error):
        write_atomically(path, fail)
    assert path.read_bytes() == b"old"
    assert [each.name for each in tmp_path.iterdir()] == ["a.txt"]


def test_readers_see_the_old_file_until_the_new_one_is_complete(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"old")

    def check(file):
        file.write(b"new")
        file.flush()
        assert path.read_bytes() == b"old"

    write_atomically(path, check)
    assert path.read_bytes() == b"new"


def test_missing_folder(tmp_path):
    with pytest.raises(FileNotFoundError):
        write_atomically(tmp_path / "none" / "a.txt", b"")
