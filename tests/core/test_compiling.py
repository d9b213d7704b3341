"""Kernels: dispatch on types, and a cache that never returns code of other sources."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import NamedTuple

import numba
import numpy as np
import pytest
from numba.core.errors import TypingError

from hashmix.core import compiling, sources
from hashmix.core.compiling import fallback, helper, hot_helper, implements, kernel
from hashmix.core.locks import FileLock

# ---- dispatch --------------------------------------------------------------------------------------------------------


class Point(NamedTuple):
    x: float


class Square(NamedTuple):
    side: float


def no_area(shape):
    return 0.0


def square_area(shape):
    return shape.side**2


@pytest.mark.parametrize("fallback_first", [True, False])
def test_implementation_takes_precedence_over_fallback(fallback_first):
    def area(shape):
        pass

    decorated = [(fallback(area), no_area), (implements(area, Square), square_area)]
    for decorator, function in decorated if fallback_first else decorated[::-1]:
        assert decorator(function) is function

    @kernel
    def area_of(shape):
        return area(shape)

    assert area_of(Point(3.0)) == 0.0
    assert area_of(Square(3.0)) == 9.0


@pytest.mark.parametrize("fallback_first", [True, False])
def test_implementation_for_another_argument_takes_precedence_too(fallback_first):
    def choose(a, b):
        pass

    decorated = [(fallback(choose), lambda a, b: 0.0), (implements(choose, Square, argument=1), lambda a, b: b.side)]
    for decorator, function in decorated if fallback_first else decorated[::-1]:
        decorator(function)

    @kernel
    def chosen(a, b):
        return choose(a, b)

    assert chosen(Point(1.0), Point(2.0)) == 0.0
    assert chosen(Point(1.0), Square(2.0)) == 2.0


def test_class_implemented_after_first_compilation_for_another():
    def area(shape):
        pass

    @kernel
    def area_of(shape):
        return area(shape)

    fallback(area)(no_area)
    assert area_of(Point(3.0)) == 0.0
    implements(area, Square)(square_area)
    assert area_of(Square(3.0)) == 9.0


def test_fallback_looks_at_the_given_argument_and_takes_named_tuples_alone():
    def second(a, b):
        pass

    fallback(second, argument=1, inline=True)(lambda a, b: 1.0)

    @kernel
    def asked(a, b):
        return second(a, b)

    assert asked(0.0, Point(1.0)) == 1.0
    with pytest.raises(TypingError):
        asked(Point(1.0), 0.0)


@pytest.mark.parametrize(
    ("keywords", "inlined", "reorders"),
    [({}, False, False), ({"inline": True}, True, False), ({"hot": True}, True, True)],
)
def test_options_of_implementations(keywords, inlined, reorders):
    def area(shape):
        pass

    implements(area, Square, **keywords)(square_area)
    fallback(area, **keywords)(no_area)
    for entry in sources.IMPLEMENTATIONS[-2:]:
        assert entry.options.get("forceinline", False) == inlined
        assert entry.options["fastmath"] == ({"contract", "reassoc"} if reorders else False)

    @kernel
    def area_of(shape):
        return area(shape)

    assert area_of(Square(3.0)) == 9.0


# ---- the cache -------------------------------------------------------------------------------------------------------

# A miniature of the package, its core and one kernel, with an extension. Edits of a file must change the answer.
FILES = {
    "hashmix/__init__.py": "",
    "hashmix/far.py": "BASE = 0.0\n",
    "hashmix/near.py": "from hashmix import (\n    far,\n)\nSHIFT = far.BASE\n",
    "hashmix/report.py": "from hashmix import own\n",
    "hashmix/own.py": """
from typing import NamedTuple
from hashmix import near
from hashmix.core.compiling import fallback, implements, kernel

class Own(NamedTuple):
    x: float

def value(model):
    pass

def bonus(model):
    pass

@implements(value, Own)
def _value(model):
    return model.x

@fallback(bonus)
def _bonus(model):
    return near.SHIFT

@kernel
def total(model):
    return value(model) + bonus(model)

@kernel
def nested(pair):
    return total(pair[1][0])
""",
    "extension/__init__.py": "from extension import implementations\n",
    "extension/constants.py": """
import numpy as np

SHIFT = 0.0
SCALE = 0.0
TABLE = np.array([0.0, 0.0])
DEFAULT = 0.0
ENCLOSED = 0.0
""",
    "extension/settings.py": """
from typing import NamedTuple

class Settings(NamedTuple):
    offset: float

SETTINGS = Settings(0.0)
""",
    "extension/helpers.py": """
from numba import njit
from extension import constants
from extension.deep import deep

@njit
def helped(x, extra=constants.DEFAULT):
    return x + extra + deep(x)

def enclosing(number):
    @njit
    def enclosed(x):
        return number * x
    return enclosed

enclosed = enclosing(constants.ENCLOSED)
""",
    "extension/deep.py": """
from numba import njit

@njit
def deep(x):
    return 0.0 * x

@njit
def below_value(x):
    return 0.0 * x
""",
    "extension/models.py": """
from typing import NamedTuple

class Model(NamedTuple):
    x: float

def described(model):
    pass

def overloaded(x):
    pass
""",
    "extension/implementations.py": """
from numba.extending import overload
from hashmix.core.compiling import implements
from hashmix.own import Own, value
from extension.deep import below_value
from extension.models import Model, described, overloaded

@implements(value, Model)
def _value(model):
    return 2.0 * model.x + below_value(model.x)

@implements(described, Own)
def _described(model):
    return 0.0

@overload(overloaded)
def _overloaded(x):
    return lambda x: 0.0 * x
""",
    "extension/kernels.py": """
import extension.settings
from extension import constants
from extension.constants import SHIFT, TABLE
from extension.helpers import enclosed, helped
from extension.models import Model, described, overloaded
from hashmix.core.compiling import kernel
from hashmix.own import Own, value

@kernel
def answer(x):
    known = helped(x) + enclosed(x) + SHIFT + constants.SCALE + TABLE[1] + extension.settings.SETTINGS.offset
    return known + overloaded(x) + value(Model(x)) + described(Own(x))
""",
    "extension/late.py": """
from hashmix.core.compiling import implements
from hashmix.own import Own, bonus

@implements(bonus, Own)
def _bonus(model):
    return 50.0
""",
}

ANSWER = """
from extension.kernels import answer as called
print(called(1.0))
"""
TOTAL = """
from extension.models import Model
from hashmix.own import total as called
print(called(Model(1.0)))
"""
NESTED = """
from extension.models import Model
from hashmix.own import nested as called
print(called((0, (Model(1.0),))))
"""
OWN = """
from hashmix.own import Own, total as called
print(called(Own(1.0)))
"""
HITS = "print(sum(called.stats.cache_hits.values()))"


class Folder:
    """The files above in a folder; runs code there in new processes that share a cache."""

    def __init__(self, path):
        self.path, self.cache = path, path / "cache"
        for name, text in FILES.items():
            (path / name).parent.mkdir(exist_ok=True)
            (path / name).write_text(text)
        core = Path(compiling.__file__).parent
        shutil.copytree(core, path / "hashmix" / "core", ignore=shutil.ignore_patterns("__pycache__"))

    def run(self, code, file=None, **environment):
        """What a new process prints: the answer and how many signatures it found in the cache."""
        return self.result(self.start(code, file, **environment))

    def start(self, code, file=None, **environment):
        code = code + HITS
        if file is not None:
            file.write_text(code)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith(("HASHMIX", "NUMBA"))},
            "PYTHONPATH": str(self.path),
            "PYTHONDONTWRITEBYTECODE": "1",  # two edits in one second would look the same to Python
            "HASHMIX_CACHE_DIR": str(self.cache),
            **environment,
        }
        command = [sys.executable, "-c", code] if file is None else [sys.executable, str(file)]
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.PIPE}
        return subprocess.Popen(command, env=environment, text=True, cwd=self.path, **pipes)

    def result(self, process, timeout=100.0):
        """The same for a process that was started; less than what a process waits for a lock."""
        try:
            output, errors = process.communicate(timeout=timeout)
        finally:
            process.kill()
        assert process.returncode == 0, errors
        answer, hits = output.split()
        return float(answer), int(hits)

    def edit(self, name, old, new):
        text = (self.path / name).read_text()
        assert text.count(old) == 1
        (self.path / name).write_text(text.replace(old, new))

    def cached(self):
        return list(self.path.rglob("*.nbi"))


@pytest.fixture
def folder(tmp_path):
    return Folder(tmp_path)


@pytest.fixture(scope="module")
def used_folder(tmp_path_factory):
    folder = Folder(tmp_path_factory.mktemp("extension"))
    assert folder.run(ANSWER) == (3.0, 0)
    assert folder.run(TOTAL) == (2.0, 0)
    assert folder.run(NESTED) == (2.0, 0)
    return folder


@pytest.mark.parametrize("code", [ANSWER, TOTAL, NESTED], ids=["foreign kernel", "foreign class", "nested class"])
def test_unchanged_sources_are_served_from_the_cache(used_folder, code):
    before = len(used_folder.cached())
    assert used_folder.run(code, PYTHONHASHSEED="7")[1] == 1
    assert len(used_folder.cached()) == before


@pytest.mark.parametrize(
    ("name", "old", "new"),
    [
        ("extension/kernels.py", "return known", "return 100.0 + known"),
        ("extension/helpers.py", "return x", "return 100.0 + x"),
        ("extension/deep.py", "def deep(x):\n    return 0.0", "def deep(x):\n    return 100.0"),
        ("extension/helpers.py", "return number * x", "return 100.0 + number * x"),
        ("extension/constants.py", "SHIFT = 0.0", "SHIFT = 100.0"),
        ("extension/constants.py", "SCALE = 0.0", "SCALE = 100.0"),
        ("extension/constants.py", "[0.0, 0.0]", "[0.0, 100.0]"),
        ("extension/constants.py", "DEFAULT = 0.0", "DEFAULT = 100.0"),
        ("extension/constants.py", "ENCLOSED = 0.0", "ENCLOSED = 100.0"),
        ("extension/settings.py", "Settings(0.0)", "Settings(100.0)"),
        ("extension/implementations.py", "return 2.0", "return 100.0 + 2.0"),
        ("extension/implementations.py", "return 0.0", "return 100.0"),
        ("extension/implementations.py", "lambda x: 0.0", "lambda x: 100.0"),
        ("extension/deep.py", "def below_value(x):\n    return 0.0", "def below_value(x):\n    return 100.0"),
    ],
    ids=[
        "kernel",
        "helper",
        "helper of a helper",
        "closure",
        "imported number",
        "number in a module",
        "array",
        "default of an argument",
        "variable of a closure",
        "named tuple",
        "implementation for a foreign class",
        "implementation of a foreign verb",
        "overload",
        "helper of an implementation",
    ],
)
def test_changed_source_gives_the_new_answer(used_folder, name, old, new):
    used_folder.edit(name, old, new)
    try:
        assert used_folder.run(ANSWER) == (103.0, 0)
    finally:
        used_folder.edit(name, new, old)


@pytest.mark.parametrize(
    ("code", "name", "old", "new"),
    [
        (TOTAL, "extension/implementations.py", "return 2.0", "return 100.0 + 2.0"),
        (NESTED, "extension/deep.py", "def below_value(x):\n    return 0.0", "def below_value(x):\n    return 100.0"),
    ],
    ids=["implementation", "its helper"],
)
def test_own_kernel_called_with_a_changed_class_gives_the_new_answer(used_folder, code, name, old, new):
    used_folder.edit(name, old, new)
    try:
        assert used_folder.run(code)[0] == 102.0
    finally:
        used_folder.edit(name, new, old)


def test_change_that_a_call_does_not_use_keeps_its_cache(used_folder):
    used_folder.edit("extension/helpers.py", "return x", "return 100.0 + x")
    try:
        assert used_folder.run(TOTAL) == (2.0, 1)
    finally:
        used_folder.edit("extension/helpers.py", "return 100.0 + x", "return x")


def test_change_in_the_package_gives_the_new_answer(folder):
    assert folder.run(ANSWER) == (3.0, 0)
    assert folder.run(OWN) == (1.0, 0)
    folder.edit("hashmix/own.py", "return value(model)", "return 100.0 + value(model)")
    assert folder.run(OWN) == (101.0, 0)
    assert folder.run(ANSWER) == (3.0, 0)
    assert len([path for path in folder.cache.iterdir() if path.is_dir()]) == 2


def test_change_in_what_a_file_of_the_package_imports_gives_the_new_answer(folder):
    assert folder.run(ANSWER) == (3.0, 0)
    folder.edit("hashmix/far.py", "0.0", "10.0")
    assert folder.run(TOTAL) == (12.0, 0)
    assert folder.run(OWN) == (11.0, 0)


def test_change_in_the_package_that_a_kernel_does_not_import_keeps_its_cache(folder):
    assert folder.run(TOTAL) == (2.0, 0)
    folder.edit("hashmix/report.py", "own", "own, far")
    assert folder.run(TOTAL) == (2.0, 1)


def test_cache_serves_processes_without_the_extension(folder):
    """Numba reads the types in an index; a process that cannot import a class must not meet it there."""
    assert folder.run(TOTAL) == (2.0, 0)
    shutil.rmtree(folder.path / "extension")
    assert folder.run(OWN) == (1.0, 0)
    assert folder.run(OWN) == (1.0, 1)


def test_extension_that_implements_for_a_class_of_the_package(folder):
    """Nothing in the call is foreign here, only what was registered for it."""
    late = "import extension.late\n" + OWN
    assert folder.run(OWN) == (1.0, 0)
    assert folder.run(late) == (51.0, 0)
    assert folder.run(late) == (51.0, 1)
    folder.edit("extension/late.py", "50.0", "60.0")
    assert folder.run(late) == (61.0, 0)
    assert folder.run(OWN) == (1.0, 1)


def test_values_changed_while_a_process_runs_stay_in_it(folder):
    """Both the global and the file are changed after the import, before compiling."""
    changed = "import extension.kernels\nextension.kernels.SHIFT = 7.0\n"
    assert folder.run(changed + ANSWER) == (10.0, 0)
    edited = """
import extension.kernels, pathlib
path = pathlib.Path("extension/helpers.py")
path.write_text(path.read_text().replace("return x", "return 100.0 + x"))
"""
    assert folder.run(edited + ANSWER) == (3.0, 0)
    assert folder.run(ANSWER) == (103.0, 0)
    assert folder.run(ANSWER) == (103.0, 1)


MAIN = """
from typing import NamedTuple
from hashmix.core.compiling import implements, kernel
from hashmix.own import total, value

class Mine(NamedTuple):
    x: float

@implements(value, Mine)
def _value(model):
    return model.x

@kernel
def called(x):
    return x + total(Mine(x))

print(called(1.0))
"""


@pytest.mark.parametrize("as_file", [True, False])
def test_main_works_uncached(folder, as_file):
    file = folder.path / "script.py" if as_file else None
    assert folder.run(MAIN, file) == (2.0, 0)
    assert folder.run(MAIN, file) == (2.0, 0)
    assert not folder.cached()


def test_works_where_nothing_can_be_written(folder):
    (folder.path / "file").write_text("not a folder")
    for environment in ({"HASHMIX_CACHE_DIR": str(folder.path / "file" / "cache")}, {"HASHMIX_CACHE": "0"}):
        assert folder.run(ANSWER, **environment) == (3.0, 0)
    assert not folder.cached()


# ---- several processes -----------------------------------------------------------------------------------------------

# Imports, says so, and goes on with what follows when it is told to.
TOGETHER = """
import time
from numba.core.caching import IndexDataCacheFile
from extension.kernels import answer as called

def slowly(function):
    def slow(*arguments):
        time.sleep(2.0)
        return function(*arguments)
    return slow

called._compiler.compile = slowly(called._compiler.compile)
IndexDataCacheFile._save_index = slowly(IndexDataCacheFile._save_index)
print("ready", flush=True)
input()
"""
STUCK = """
def stuck(*arguments):
    print("compiling", flush=True)
    time.sleep(99.0)

called._compiler.compile = stuck
"""


def start_together(folder, *codes):
    processes = [folder.start(TOGETHER + code) for code in codes]
    for process in processes:
        assert process.stdout.readline() == "ready\n"
    for process in processes:
        process.stdin.write("go\n")
        process.stdin.flush()
    return processes


def test_one_process_compiles_and_the_other_waits(folder):
    processes = start_together(folder, ANSWER, ANSWER)
    assert sorted(folder.result(process) for process in processes) == [(3.0, 0), (3.0, 1)]


def test_kernel_of_a_killed_process_is_compiled_by_the_next(folder):
    (first,) = start_together(folder, STUCK + ANSWER)
    assert first.stdout.readline() == "compiling\n"
    (second,) = start_together(folder, ANSWER)
    time.sleep(1.0)
    assert second.poll() is None
    first.kill()
    first.communicate()
    assert folder.result(second) == (3.0, 0)


def test_two_signatures_saved_at_once_are_both_kept(folder):
    """Numba alone would write both to the same file."""
    codes = [ANSWER.replace("1.0", number) for number in ("1.0", "1")]
    for process in start_together(folder, *codes):
        assert folder.result(process) == (3.0, 0)
    for code in codes:
        assert folder.run(code) == (3.0, 1)


@pytest.fixture
def empty_cache(tmp_path, monkeypatch):
    monkeypatch.setattr(compiling, "_FOLDER", tmp_path)
    monkeypatch.setattr(compiling, "_PATIENCE", 30.0)
    return tmp_path


def free_locks(folder):
    """For each lock of the cache, whether another process could take it now."""
    found = []
    for path in folder.rglob("*.lock"):
        lock = FileLock(path)
        found.append(lock.acquire())
        lock.release()
    return found


def half(x):
    return 0.5 * x


@pytest.mark.parametrize("error", [TypingError, KeyboardInterrupt])
def test_failed_compilation_releases_the_lock(error, empty_cache, monkeypatch):
    halved = kernel(half)

    def fail(*arguments):
        assert free_locks(empty_cache) == [False]
        raise error("failed")

    with monkeypatch.context() as patch:
        patch.setattr(halved._compiler, "compile", fail)
        with pytest.raises(error, match="failed"):
            halved(3.0)
    assert free_locks(empty_cache) == [True]
    assert halved(3.0) == 1.5
    assert free_locks(empty_cache) == [True, True]  # one is that of the index


@pytest.fixture
def taken(empty_cache):
    """The lock of ``half`` for a float, as if another process were compiling it."""
    kernel(half)(3.0)
    (path,) = (path for path in empty_cache.rglob("*.lock") if not path.with_suffix(".nbi").exists())
    for file in empty_cache.rglob("*.nb?"):
        file.unlink()
    lock = FileLock(path)
    assert lock.acquire()
    yield lock
    lock.release()


def test_waiting_ends(taken, monkeypatch):
    monkeypatch.setattr(compiling, "_PATIENCE", 1.0)
    start = time.monotonic()
    assert kernel(half)(3.0) == 1.5
    assert time.monotonic() - start > 1.0


def test_kernel_compiled_for_another_does_not_wait(taken):
    """Otherwise two processes could wait for each other."""
    halved = kernel(half)

    @kernel
    def above(x):
        return halved(x) + 1.0

    start = time.monotonic()
    assert above(3.0) == 2.5
    assert time.monotonic() - start < compiling._PATIENCE


def test_only_foreign_code_counts_as_an_extension():
    kernel_of_the_package = compiling.cache_folder
    assert (
        sources.source_hashes(kernel_of_the_package, [numba.float64[:], numba.types.UniTuple(numba.int64, 2)]).extension == ""
    )
    point = sources.source_hashes(kernel_of_the_package, [numba.typeof(Point(1.0))]).extension
    assert point
    assert point == sources.source_hashes(kernel_of_the_package, [numba.typeof((1, (Point(1.0),)))]).extension
    assert point != sources.source_hashes(kernel_of_the_package, [numba.typeof(Square(1.0))]).extension
    assert sources.source_hashes(square_area, [numba.float64]).extension


def test_class_that_cannot_be_imported_has_no_source():
    class Local(NamedTuple):
        x: float

    with pytest.raises(sources.SourceNotFoundError, match="cannot be imported"):
        sources.source_hashes(compiling.cache_folder, [numba.typeof(Local(1.0))])


def test_call_with_a_function_as_argument_is_not_cached():
    with pytest.raises(sources.SourceNotFoundError, match="functions as arguments"):
        sources.source_hashes(compiling.cache_folder, [numba.typeof(numba.njit(no_area))])


@helper
def _sum_in_order(x):
    total = 0.0
    for value in x:
        total += value
    return total


@hot_helper
def _sum_in_hot_code(x):
    return _sum_in_order(x)


def test_what_is_rounded_does_not_depend_on_who_needs_a_helper_first():
    """Numba lets a helper take the fast mathematics of its first caller, unless it is told otherwise."""
    numba.njit(lambda x: _sum_in_hot_code(x))(np.ones(3))
    (compiled,) = _sum_in_order.overloads.values()
    code = compiled.library.get_llvm_str()
    assert "fadd" in code
    assert "reassoc" not in code
