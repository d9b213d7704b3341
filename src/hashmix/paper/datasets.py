"""The paper's five data sets: three synthetic ones, two from files, and a synthetic stand-in for one of the files."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy.sparse import csr_matrix, issparse

from hashmix.data.counts import as_counts
from hashmix.data.readers import read_docword, read_file
from hashmix.data.rows import as_dense
from hashmix.paper.documents import make_documents
from hashmix.paper.downloads import verify
from hashmix.paper.mixtures import make_mixture

__all__ = ["NAMES", "SEPARATION", "SYNTHETIC", "MissingData", "PaperData", "load", "read_data", "write_data"]

SYNTHETIC = {"S1": 100, "S2": 1_000, "S3": 10_000}
NAMES = (*SYNTHETIC, "KDD", "PubMed")

#: Columns, components and seed of the synthetic mixtures.
_D, _K, _SEED = 25, 10, 0
#: Typical distance of two of their means. The paper does not say how far apart its Gaussians are.
SEPARATION = 9.0
#: Numbers of documents and topics of the stand-in for PubMed.
STAND_IN_DOCUMENTS, _STAND_IN_TOPICS = 100_000, 1000
#: Files to look for in a folder; the first that exists is read.
_FILES = {
    "KDD": ("bio_train.dat", "KDDCUP04Bio.txt", "kdd.npz", "kddbio.npz"),
    "PubMed": ("docword.pubmed.txt.gz", "docword.pubmed.txt", "pubmed.npz"),
}
#: Numeric columns of the KDD file, and columns of the original file before them (block, example and class).
_KDD_COLUMNS, _KDD_IDENTIFIERS = 74, 3


class MissingData(FileNotFoundError):
    """No file to read a data set from was found."""


class PaperData(NamedTuple):
    """A data set.

    Attributes
    ----------
    name : str
        One of :data:`NAMES`.
    X : ndarray or sparse matrix
        The rows.
    y : ndarray or None
        Their true clusters, if known; −1 for rows whose cluster is not.
    oracle : ndarray or None
        The best labels that the rows allow (by the true densities), if known.
    about : str
        One line on where the rows come from.
    """

    name: str
    X: Any
    y: np.ndarray | None
    oracle: np.ndarray | None
    about: str


def load(
    name: str,
    folder: str | Path | None = None,
    file: str | Path | None = None,
    documents: int | None = None,
    separation: float = SEPARATION,
) -> PaperData:
    """Load one of the paper's data sets.

    Parameters
    ----------
    name : {"S1", "S2", "S3", "KDD", "PubMed"}
        S1, S2 and S3 are synthetic: 10 Gaussians in 25 columns, with 100, 1,000 and 10,000 rows.
    folder : path, optional
        Where to look for the files of the other two: ``bio_train.dat``, ``KDDCUP04Bio.txt``, ``kdd.npz`` or ``kddbio.npz``;
        ``docword.pubmed.txt`` (or .gz, with ``vocab.pubmed.txt``) or ``pubmed.npz``. If ``hashmix data`` recorded the
        SHA-256 of a file, it is verified.
    file : path, optional
        The file to read, instead of looking for one.
    documents : int, optional
        Number of PubMed documents to keep, from the first on; by default all. Without a file, a stand-in of that many
        documents is drawn; by default 100,000.
    separation : float, default=9.0
        Typical distance of two means of S1, S2 and S3, in units of about a standard deviation. At 9, hardly any row is
        between clusters; at 3 or 4, many are.

    Returns
    -------
    PaperData

    Examples
    --------
    >>> from hashmix.paper.datasets import load
    >>> load("S2").X.shape
    (1000, 25)
    """
    if name in SYNTHETIC:
        n = SYNTHETIC[name]
        X, y, oracle = make_mixture(n, _D, _K, separation=separation, seed=_SEED, return_oracle=True)
        how = f"make_mixture({n}, {_D}, {_K}, separation={separation:g}, seed={_SEED})"
        return PaperData(name, X, y, oracle, f"synthetic: {how}")
    path = _find(name, folder) if file is None else Path(file)
    if name == "KDD":
        if path is None:
            raise MissingData(
                "KDD needs a file: one of "
                + ", ".join(_FILES["KDD"])
                + " in --data, or --kdd FILE (see also: hashmix data kdd)."
            )
        X = _read_kdd(path)
        return PaperData(name, X, None, None, f"{path.name}, {X.shape[0]:,} rows of {X.shape[1]} numbers")
    if path is None:
        n = documents or STAND_IN_DOCUMENTS
        topics = min(_STAND_IN_TOPICS, n)
        made: Any = make_documents(n, n_topics=topics, seed=_SEED, return_oracle=True)
        X, y, oracle = made
        about = f"a stand-in, not PubMed: make_documents({n:,}, n_topics={topics}, seed={_SEED})"
        return PaperData(name, X, y, oracle, about)
    return _read_pubmed(path, documents)


def _find(name: str, folder: str | Path | None) -> Path | None:
    if folder is None:
        return None
    if not Path(folder).is_dir():
        raise FileNotFoundError(f"--data must be a folder. Got {str(folder)!r} instead.")
    for file in _FILES[name]:
        if (path := Path(folder, file)).is_file():
            return path
    return None


def _read_kdd(path: Path) -> np.ndarray:
    verify(path)
    if path.suffix == ".npz":
        X = np.asarray(read_file(path)[0])
    elif path.is_file():
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("error")  # NumPy only warns of an empty file
                X = np.loadtxt(path, dtype=np.float32)
        except (ValueError, UserWarning) as error:
            raise ValueError(f"{path} is not a table of numbers ({error}).") from None
    else:
        raise MissingData(f"There is no file {str(path)!r}.")
    if X.ndim == 2 and X.shape[1] == _KDD_COLUMNS + _KDD_IDENTIFIERS:
        X = np.ascontiguousarray(X[:, _KDD_IDENTIFIERS:])
    if X.ndim != 2 or X.shape[1] != _KDD_COLUMNS:
        raise ValueError(
            f"{path} must have {_KDD_COLUMNS} columns, or {_KDD_IDENTIFIERS} more before them. Got shape {X.shape}."
        )
    as_dense(X, "hashmix paper")  # raises if a number is not finite
    return X


def _read_pubmed(path: Path, documents: int | None) -> PaperData:
    verify(path)
    y = None
    X = (read_file(path) if path.suffix == ".npz" else read_docword(path))[0]
    if path.suffix == ".npz":
        with np.load(path) as arrays:
            if "y" in arrays and arrays["y"].shape == X.shape[:1]:
                y = arrays["y"]
    if not issparse(X):
        raise ValueError(f"{path} must hold a sparse matrix of counts. Got an array of shape {X.shape}.")
    X = X.tocsr()[:documents]
    as_counts(X, "hashmix paper")  # raises if an entry is not a count
    y = None if y is None else y[: X.shape[0]]
    if y is not None and not (y >= 0).any():
        y = None
    return PaperData("PubMed", X, y, None, f"{path.name}, {X.shape[0]:,} documents, {X.shape[1]:,} words")


# ---- passing data sets to other processes ------------------------------------------------------------------------------


def write_data(path: Path, data: PaperData) -> None:
    """Write a data set to an .npz file that :func:`read_data` reads in another process.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.paper.datasets import load, read_data, write_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_data(Path(folder, "s1.npz"), load("S1"))
    ...     read_data(Path(folder, "s1.npz")).X.shape
    (100, 25)
    """
    X = data.X
    rows: dict[str, Any] = (
        {"data": X.data, "indices": X.indices, "indptr": X.indptr, "shape": np.array(X.shape)} if issparse(X) else {"X": X}
    )
    known: dict[str, Any] = {name: labels for name, labels in (("y", data.y), ("oracle", data.oracle)) if labels is not None}
    np.savez(path, name=data.name, about=data.about, **rows, **known)


def read_data(path: Path) -> PaperData:
    """Read a data set that :func:`write_data` wrote.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> from hashmix.paper.datasets import load, read_data, write_data
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write_data(Path(folder, "s1.npz"), load("S1"))
    ...     read_data(Path(folder, "s1.npz")).name
    'S1'
    """
    with np.load(path) as file:
        arrays = dict(file)
    if "X" in arrays:
        X: Any = arrays["X"]
    else:
        X = csr_matrix((arrays["data"], arrays["indices"], arrays["indptr"]), shape=tuple(arrays["shape"]))
    return PaperData(str(arrays["name"]), X, arrays.get("y"), arrays.get("oracle"), str(arrays["about"]))
