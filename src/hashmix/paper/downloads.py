"""``hashmix data NAME``: files from where they are published, with what was got written down and checked ever after."""

from __future__ import annotations

import hashlib
import os
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

from hashmix.files import write_atomically
from hashmix.progress import counting_bar

__all__ = ["SOURCES", "download", "verify"]

SOURCES = {
    "kdd": ("http://cs.joensuu.fi/sipu/datasets/KDDCUP04Bio.txt",),
    "pubmed": (
        "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/vocab.pubmed.txt",
        "https://archive.ics.uci.edu/ml/machine-learning-databases/bag-of-words/docword.pubmed.txt.gz",
    ),
}
#: Where a folder's SHA-256 are written down, in the form of ``sha256sum``.
_RECORD = "SHA256SUMS"
_BLOCK, _TIMEOUT = 1 << 20, 30.0


def download(name: str, folder: str | os.PathLike, show: bool = False, sources: Any = None) -> list[Path]:
    """Fetch a data set's files into a folder; those that are there already are checked instead.

    The first time, the SHA-256 of what came is written to ``SHA256SUMS`` in that folder. A file that later differs from it is
    refused. Nothing half-fetched is left.

    Parameters
    ----------
    name : {"kdd", "pubmed"}
    folder : path
        Made if it is not there.
    show : bool, default=False
        A progress bar (needs tqdm).
    sources : dict, optional
        Names and addresses to use instead of the published ones.

    Returns
    -------
    list of Path

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
                    f"{address} is no longer the file of before: its SHA-256 is {digest}, not {record[path.name]}."
                )
            lines = "".join(f"{sha}  {file}\n" for file, sha in sorted(record.items()))
            write_atomically(folder / _RECORD, lines.encode())
        verify(path)
        paths.append(path)
    return paths


def verify(path: str | os.PathLike) -> None:
    """Raise ValueError if a file is not what the ``SHA256SUMS`` beside it says; if that says nothing, do nothing."""
    path = Path(path)
    wanted = _recorded(path.parent).get(path.name)
    if wanted is None or not path.is_file():
        return
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    if digest.hexdigest() != wanted:
        raise ValueError(f"{path} is not the file that was fetched: its SHA-256 is {digest.hexdigest()}, not {wanted}.")


def _recorded(folder: Path) -> dict[str, str]:
    try:
        lines = (folder / _RECORD).read_text(encoding="utf-8").splitlines()
    except FileNotFoundError:
        return {}
    return {name: digest for digest, _, name in (line.partition("  ") for line in lines)}


def _fetch(address: str, path: Path, show: bool) -> str:
    digest = hashlib.sha256()

    def copy(file: Any) -> None:
        with (
            urllib.request.urlopen(address, timeout=_TIMEOUT) as answer,
            counting_bar(path.name, "B", show, answer.length) as more,
        ):
            got = 0
            while block := answer.read(_BLOCK):
                file.write(block)
                digest.update(block)
                more(len(block))
                got += len(block)
            if answer.length:  # what is left of the length that was announced
                raise ValueError(f"{address} broke off after {got:,} bytes; nothing was kept.")

    try:
        write_atomically(path, copy)
    except (urllib.error.URLError, TimeoutError, ConnectionError) as error:
        reason = getattr(error, "reason", error)
        raise ConnectionError(f"{address} cannot be reached ({reason}); nothing was kept.") from None
    return digest.hexdigest()
