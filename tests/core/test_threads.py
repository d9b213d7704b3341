"""Threads of one chain."""

from __future__ import annotations

import threading

import numpy as np
import pytest
from threadpoolctl import threadpool_info

from hashmix.core import threads as module
from hashmix.core.threads import Threads, one_blas_thread


def blas_threads():
    np.ones((2, 2)) @ np.ones((2, 2))
    return {library["num_threads"] for library in threadpool_info() if library["user_api"] == "blas"}


@pytest.mark.parametrize("n", [1, 2, 5])
def test_results_are_in_the_order_of_the_tasks(n):
    waits = [threading.Event() for _ in range(4)]

    def work(task):
        if n > 1 and task > 0:
            waits[task - 1].set()
        if n > 1 and task < 2:
            assert waits[task].wait(10)  # the first tasks end last
        return task * task

    assert Threads(n).map(work, iter(range(4 if n > 2 else 3))) == [0, 1, 4, 9][: 4 if n > 2 else 3]
    assert Threads(n).map(work, []) == []


def test_one_thread_is_the_callers():
    assert set(Threads(1).map(lambda _: threading.get_ident(), range(5))) == {threading.get_ident()}
    assert Threads(3).map(lambda _: threading.get_ident(), [0]) == [threading.get_ident()]
    assert threading.get_ident() not in Threads(3).map(lambda _: threading.get_ident(), range(5))


def test_an_error_in_a_task_is_raised():
    def work(task):
        raise ZeroDivisionError(task)

    for n in (1, 2):
        threads = Threads(n)
        with pytest.raises(ZeroDivisionError):
            threads.map(work, range(3))
        assert threads.map(abs, [-1, 2]) == [1, 2]
    assert module._INSIDE == 0


def test_tasks_find_one_blas_thread_and_others_the_number_there_was():
    before = blas_threads()
    for n in (1, 2):
        assert Threads(n).map(lambda _: blas_threads(), range(3)) == [{1}] * 3
        assert blas_threads() == before


def test_the_limit_stays_until_the_last_has_left():
    before = blas_threads()
    outer, inner = one_blas_thread(), one_blas_thread()
    outer.__enter__()
    inner.__enter__()
    outer.__exit__(None, None, None)
    assert blas_threads() == {1}
    inner.__exit__(None, None, None)
    assert blas_threads() == before
