"""``hashmix data NAME``: download published files, record their checksums, and verify them on later use."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from hashmix.core.files import write_atomically
from hashmix.core.progress import counting_bar

__all__ = ["SOURCES", "download", "verify"]

SOURCES = {
    "kdd": ("http://cs.joensuu.fi/sipu/datasets/KDDCUP04Bio.txt",),
    "pubmed": (
        "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/vocab.pubmed.txt",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/docword.pubmed.txt.gz",
    ),
}
#: The file with the SHA-256 of every download of a folder, in the format of ``sha256sum``.
_RECORD = "SHA256SUMS"
_BLOCK, _TIMEOUT = 1 << 20, 30.0


def download(name: str, folder: str | os.PathLike[str], show: bool = False, sources: Any = None) -> list[Path]:
    """Download the files of a data set; files that exist are verified instead.

    The SHA-256 of a file is recorded in ``SHA256SUMS`` when it is first downloaded. A file that differs from its record is an
    error. A download that fails leaves no file.

    Parameters
    ----------
    name : {"kdd", "pubmed"}
        The data set.
    folder : path
        Where the files go; created if it does not exist.
    show : bool, default=False
        Whether to show a progress bar (needs tqdm).
    sources : dict, optional
        Data sets and the addresses of their files, to use instead of :data:`SOURCES`.

    Returns
    -------
    list of Path
        The files.

    Examples
    --------
    >>> from hashmix.paper.downloads import download
    >>> download("moon", "data")
    Traceback (most recent call last):
    ...
    ValueError: NAME must be one of kdd, pubmed. Got 'moon' instead.
    """
    known = SOURCES if sources is None else sources
    if name not in known:
        raise ValueError(f"NAME must be one of {', '.join(sorted(known))}. Got {name!r} instead.")
    folder = Path(folder)
    new = not folder.exists()
    paths = []
    for address in known[name]:
        path = folder / address.rsplit("/", 1)[-1]
        if not path.exists():
            folder.mkdir(parents=True, exist_ok=True)
            try:
                digest = _fetch(address, path, show)
            except BaseException:
                if new and not any(folder.iterdir()):
                    folder.rmdir()
                raise
            record = _recorded(folder)
            if record.setdefault(path.name, digest) != digest:
                path.unlink()
                raise ValueError(
                    f"{address} has changed since it was first downloaded: its SHA-256 is {digest}, not {record[path.name]}."
                )
            lines = "".join(f"{sha}  {file}\n" for file, sha in sorted(record.items()))
            write_atomically(folder / _RECORD, lines.encode())
        verify(path)
        paths.append(path)
    return paths


def verify(path: str | os.PathLike[str]) -> None:
    """Verify a file against ``SHA256SUMS`` in its folder; raise a ValueError if its SHA-256 differs.

    A file without a record passes.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.paper.downloads import verify
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     _ = Path(folder, "a.txt").write_text("changed")
    ...     _ = Path(folder, "SHA256SUMS").write_text(f"{'0' * 64}  a.txt\\n")
    ...     verify(Path(folder, "a.txt"))
    Traceback (most recent call last):
    ...
    ValueError: ...a.txt is not the file that was downloaded: its SHA-256 is ...
    """
    path = Path(path)
    wanted = _recorded(path.parent).get(path.name)
    if wanted is None or not path.is_file():
        return
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() != wanted:
        raise ValueError(f"{path} is not the file that was downloaded: its SHA-256 is {digest.hexdigest()}, not {wanted}.")


def _recorded(folder: Path) -> dict[str, str]:
    """Return the recorded SHA-256 of every file of a folder."""
    try:
        lines = (folder / _RECORD).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _fetch(address: str, path: Path, show: bool) -> str:
    """Download one file and return its SHA-256."""
    digest = hashlib.sha256()

    def copy(file: Any) -> None:
        with (
            urllib.request.urlopen(address, timeout=_TIMEOUT) as answer,
            counting_bar(path.name, "B", show, answer.length) as more,
        ):
            received = 0
            while block := answer.read(_BLOCK):
                file.write(block)
                digest.update(block)
                more(len(block))
                received += len(block)
            if answer.length:  # the part of the announced length that did not arrive
                raise ValueError(f"{address} broke off after {received:,} bytes; nothing was kept.")

    try:
        write_atomically(path, copy)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise ConnectionError(f"{address} cannot be reached ({reason}); nothing was kept.") from None
    return digest.hexdigest()
