"""Damaged data files: each is read as something that can be clustered, or refused in one sentence."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
import scipy.io
import scipy.sparse
from sklearn.datasets import dump_svmlight_file

from hashmix.data.ingest import read_data
from hashmix.data.mixed import MixedRows
from tests.fuzzing import damaged, outcome

RNG = np.random.default_rng(0)
NUMBERS = RNG.normal(size=(12, 3)).round(3)
COUNTS = scipy.sparse.csr_matrix(RNG.poisson(0.7, (12, 9)))


def written(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def docword():
    entries = COUNTS.tocoo()
    order = np.lexsort((entries.col, entries.row))
    lines = [f"{entries.row[k] + 1} {entries.col[k] + 1} {entries.data[k]}" for k in order]
    return "\n".join([*map(str, (*COUNTS.shape, COUNTS.nnz)), *lines, ""]).encode()


TABLE = "id,size,colour,ill,visits,day\n" + "".join(
    f"c{i},{x:.2f},{'red' if x > 0 else 'blue'},{'yes' if i % 3 else 'no'},{i % 5},2020-01-{i + 1:02d}\n"
    for i, x in enumerate(NUMBERS[:, 0])
)
PLAIN = "\n".join(",".join(map(str, row)) for row in NUMBERS) + "\n"
FILES = {
    "table.csv": TABLE.encode(),
    "plain.csv": PLAIN.encode(),
    "german.csv": PLAIN.replace(",", ";").replace(".", ",").encode(),
    "utf16.csv": TABLE.encode("utf-16"),
    "zipped.csv.gz": gzip.compress(TABLE.encode(), mtime=0),
    "spaces.txt": PLAIN.replace(",", "  ").encode(),
    "texts.txt": ("The cat sat on the mat.\nDogs and cats: a story\nA dog\n" * 3).encode(),
    "dense.npy": written(lambda file: np.save(file, NUMBERS)),
    "dense.npz": written(lambda file: np.savez(file, X=NUMBERS)),
    "sparse.npz": written(lambda file: scipy.sparse.save_npz(file, COUNTS)),
    "counts.svm": written(lambda file: dump_svmlight_file(COUNTS, np.zeros(12), file)),
    "counts.mtx": written(lambda file: scipy.io.mmwrite(file, COUNTS)),
    "array.mtx": written(lambda file: scipy.io.mmwrite(file, NUMBERS)),
    "docword.counts.txt": docword(),
}


def assert_sound(data):
    """Data in the form that rows are made of."""
    X = data.X.values if isinstance(data.X, MixedRows) else data.X
    assert X.ndim == 2
    assert X.shape[1] == len(data.names)
    assert X.dtype.kind in "fiub"
    assert data.ids is None or len(data.ids) == X.shape[0]
    if scipy.sparse.issparse(X):
        X.check_format(full_check=True)
    assert all(isinstance(line, str) for line in data.lines)


def assert_survived(name, n_cases, folder, first=0):
    path = folder / name
    for case in range(first, first + n_cases):
        content = damaged(FILES[name], np.random.default_rng([case, list(FILES).index(name)]))
        path.write_bytes(content)
        try:
            data = outcome(lambda: read_data(path))
            if data is not None:
                assert_sound(data)
        except BaseException as error:
            raise AssertionError(f"case {case} of {name}: {content[:300]!r}") from error


@pytest.mark.parametrize("name", FILES)
def test_whole_files_are_read(name, tmp_path):
    (tmp_path / name).write_bytes(FILES[name])
    assert_sound(read_data(tmp_path / name))


@pytest.mark.parametrize("name", FILES)
def test_damaged_files(name, tmp_path):
    assert_survived(name, 30, tmp_path)


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_ten_thousand_damaged_files(name, tmp_path):
    assert_survived(name, -(-10_000 // len(FILES)), tmp_path, first=1000)
