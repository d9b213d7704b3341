"""What every file format declares, and the column selection that formats share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from hashmix.core.declared import Declared
from hashmix.core.registry import Registry
from hashmix.core.validation import bad_parameter
from hashmix.core.wording import counted

__all__ = ["FileFormat", "FormatRegistry", "check_extent", "check_is_file", "column_positions", "numbered"]

#: A sparse matrix may have so many rows or columns, and so many more for every entry. Rows and columns without entries take
#: memory too, and a single damaged number can announce billions of them.
_EXTENT, _EXTENT_PER_ENTRY = 1_000_000, 1_000


class FileFormat(Declared):
    """A format of data files: how to recognise a file and how to read it.

    Add it to :data:`hashmix.data.readers.READERS` to make :func:`~hashmix.data.readers.read_file` and the command line use it.

    Parameters
    ----------
    suffixes : sequence of str
        The ends of file names, such as ``(".csv", ".tsv")``. Upper and lower case are equal.
    read : callable
        Called as ``read(path, columns, progress)``: a :class:`pathlib.Path` of an existing file, the columns asked for
        (a list of str, or None for all), and whether to show a progress bar. Returns the names of the columns after a
        matrix, dense or sparse, or the :class:`~hashmix.data.frames.RawColumns` of a file with columns of any kind.
    help : str, default=""
        One line about the format.
    gzip : bool, default=False
        Whether ``.gz`` may follow the suffix.
    pattern : str, optional
        A glob pattern for whole file names, such as ``"docword.*"``. Patterns take precedence over suffixes.
    selects_columns : bool, default=False
        Whether ``read`` returns only the columns asked for. If not, columns are selected from the matrix it returns.
    zstd : bool, default=False
        Whether ``.zst`` may follow the suffix.
    takes_header : bool, default=False
        Whether ``read`` takes ``header=True`` or ``header=False``, which say what the first line is.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import numpy as np
    >>> from hashmix.data.readers import FileFormat
    >>> def read_bytes(path, columns, progress):
    ...     return np.frombuffer(path.read_bytes(), np.uint8).reshape(-1, 2), ["low", "high"]
    >>> pairs = FileFormat(suffixes=(".pairs",), read=read_bytes, help="pairs of bytes")
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a.pairs")
    ...     _ = path.write_bytes(b"abcd")
    ...     pairs(path, columns=["high"])
    (array([[ 98],
           [100]], dtype=uint8), ['high'])
    """

    suffixes: Any
    read: Any
    help: str
    gzip: bool
    pattern: str | None
    selects_columns: bool
    zstd: bool
    takes_header: bool

    def __init__(
        self,
        suffixes: Sequence[str],
        read: Callable[..., tuple[Any, list[str]]],
        help: str = "",
        gzip: bool = False,
        pattern: str | None = None,
        selects_columns: bool = False,
        zstd: bool = False,
        takes_header: bool = False,
    ) -> None:
        if isinstance(suffixes, str) or not all(isinstance(suffix, str) and suffix[:1] == "." for suffix in suffixes):
            raise bad_parameter("FileFormat", "suffixes", "a sequence of strings that start with a dot", suffixes)
        if not suffixes and pattern is None:
            raise bad_parameter("FileFormat", "suffixes", "at least one suffix if there is no pattern", suffixes)
        self.suffixes = tuple(suffix.lower() for suffix in suffixes)
        self.read, self.help, self.gzip = read, help, gzip
        self.pattern, self.selects_columns = pattern, selects_columns
        self.zstd, self.takes_header = zstd, takes_header

    @property
    def endings(self) -> list[str]:
        """The suffixes and the pattern, as help texts and error messages show them."""
        return [*self.suffixes, *([] if self.pattern is None else [self.pattern])]

    @property
    def compressions(self) -> list[str]:
        """What may follow the suffixes of compressed files."""
        return [*([".gz"] if self.gzip else []), *([".zst"] if self.zstd else [])]

    def matches_pattern(self, path: Path) -> bool:
        """Return whether the whole file name matches the pattern."""
        return self.pattern is not None and fnmatchcase(path.name.lower(), self.pattern.lower())

    def matches_suffix(self, path: Path) -> bool:
        """Return whether the file name ends in one of the suffixes, or in one of them and a compression that is allowed."""
        endings = [suffix + after for suffix in self.suffixes for after in ("", *self.compressions)]
        return path.name.lower().endswith(tuple(endings))

    def __call__(
        self, path: Path, columns: Sequence[str] | None = None, progress: bool = False, header: bool | None = None
    ) -> tuple[Any, list[str]]:
        """Read a file and keep the columns asked for."""
        if header is not None and not self.takes_header:
            raise ValueError(f"--header and --no-header are for delimited text. Got {path.name!r} instead.")
        wanted = None if columns is None else [str(column) for column in columns]
        said = {} if header is None else {"header": header}
        X, names = self.read(path, wanted, progress, **said)
        if wanted is None or self.selects_columns:
            return X, names
        keep = column_positions(wanted, names, path)
        return X[:, keep], [names[j] for j in keep]


class FormatRegistry(Registry[tuple[Any, list[str]]]):
    """The file formats, by name; files are looked up by the name of the file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hashmix.data.readers.contract import FileFormat, FormatRegistry
    >>> formats = FormatRegistry()
    >>> formats.add("image", FileFormat(suffixes=(".png",), read=lambda path, columns, progress: ([[0]], ["0"])))
    >>> formats.find(Path("holiday.PNG")).suffixes
    ('.png',)
    """

    def __init__(self) -> None:
        super().__init__("format", FileFormat)

    def add(self, name: str, maker: Callable[..., tuple[Any, list[str]]]) -> None:
        """Add a :class:`FileFormat` under a name; a suffix or pattern can belong to one format only.

        Examples
        --------
        >>> from hashmix.data.readers.contract import FileFormat, FormatRegistry
        >>> formats = FormatRegistry()
        >>> formats.add("image", FileFormat(suffixes=(".png",), read=lambda path, columns, progress: ([[0]], ["0"])))
        >>> formats.endings
        ['.png']
        """
        if not isinstance(maker, FileFormat):
            raise bad_parameter("READERS.add", "maker", "a FileFormat", maker)
        for ending in maker.endings:
            if ending in self.endings:
                raise ValueError(f"There already is a format for {ending}.")
        super().add(name, maker)

    def __getitem__(self, name: str) -> FileFormat:
        found = super().__getitem__(name)
        assert isinstance(found, FileFormat)  # by ``add``
        return found

    @property
    def formats(self) -> list[FileFormat]:
        """All formats, in the order they were added."""
        return [self[name] for name in self.names]

    @property
    def endings(self) -> list[str]:
        """The suffixes and patterns of all formats."""
        return [ending for each in self.formats for ending in each.endings]

    def find(self, path: Path) -> FileFormat:
        """Return the format of a file by its name, or raise a ValueError.

        Examples
        --------
        >>> from pathlib import Path
        >>> from hashmix.data.readers import READERS
        >>> READERS.find(Path("docword.nips.txt.gz")) is READERS["docword"]
        True
        """
        # Patterns first: docword.nips.txt is a bag of words, not delimited text.
        for matches in (FileFormat.matches_pattern, FileFormat.matches_suffix):
            for each in self.formats:
                if matches(each, path):
                    return each
        raise ValueError(f"The file must be one of {', '.join(self.endings)}. Got {path.name!r} instead.")


def column_positions(columns: Sequence[str] | None, names: Sequence[str], path: Path) -> list[int]:
    """Return the positions of columns, given by name, by number from 0 or by range of numbers; None stands for all columns.

    A name takes precedence over a number. The first of several columns with the same name is used.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hashmix.data.readers.contract import column_positions
    >>> column_positions(["height", "0"], ["age", "height"], Path("people.csv"))
    [1, 0]
    >>> column_positions(["1-2"], ["age", "height", "weight"], Path("people.csv"))
    [1, 2]
    """
    if columns is None:
        return list(range(len(names)))
    positions = {name: j for j, name in reversed(list(enumerate(names)))}
    keep: list[int] = []
    missing = []
    for column in columns:
        first, _, last = column.partition("-")
        if column in positions:
            keep.append(positions[column])
        elif column.isdecimal() and int(column) < len(names):
            keep.append(int(column))
        elif first.isdecimal() and last.isdecimal() and int(first) <= int(last) < len(names):
            keep += range(int(first), int(last) + 1)
        else:
            missing.append(column)
    if missing:
        raise ValueError(f"{path.name} has no column {', '.join(map(repr, missing))}; it has {', '.join(names[:20])}.")
    return keep


def numbered(n_columns: int) -> list[str]:
    """Return the names of columns that have none: their numbers from 0.

    Examples
    --------
    >>> from hashmix.data.readers.contract import numbered
    >>> numbered(3)
    ['0', '1', '2']
    """
    return [str(j) for j in range(n_columns)]


def check_is_file(path: Path) -> None:
    """Raise an OSError that says what is wrong if a path is not that of a file.

    Examples
    --------
    >>> from pathlib import Path
    >>> from hashmix.data.readers.contract import check_is_file
    >>> check_is_file(Path("no-such-file.csv"))
    Traceback (most recent call last):
    ...
    FileNotFoundError: There is no file 'no-such-file.csv'.
    """
    if path.is_dir():
        raise IsADirectoryError(f"{str(path)!r} is a folder: name a file in it.")
    if not path.is_file():
        raise FileNotFoundError(f"There is no file {str(path)!r}.")


def check_extent(file_name: str, n_rows: int, n_columns: int, n_entries: int) -> None:
    """Raise a ValueError if a sparse matrix has so few entries for its size that a number in its file must be wrong.

    Examples
    --------
    >>> from hashmix.data.readers.contract import check_extent
    >>> check_extent("a.mtx", 10**9, 5, 2)
    Traceback (most recent call last):
    ...
    ValueError: a.mtx announces 1,000,000,000 rows and 5 columns for 2 numbers: it is damaged.
    """
    most = min(_EXTENT + _EXTENT_PER_ENTRY * n_entries, 2**31 - 1)
    if not (0 <= n_rows <= most and 0 <= n_columns <= most):
        what = f"{counted(n_rows, 'row')} and {counted(n_columns, 'column')} for {counted(n_entries, 'number')}"
        raise ValueError(f"{file_name} announces {what}: it is damaged.")
