"""Fetching rows from memory ahead of time.

The rows of a region are far apart in memory, and a kernel that waits for each of them waits most of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from hashmix.core.compiling import implements
from hashmix.data.rows import DenseArrays, SparseArrays

__all__ = ["fetch", "fetch_address", "fetch_row"]

#: Bytes of a row that are fetched; the processor sees what comes next by itself.
_MOST_BYTES, _LINE = 512, 64


@intrinsic
def fetch(typing_context: Any, array: Any, index: Any) -> Any:
    """Ask for an entry of an array's memory to be fetched, without waiting for it. Nothing is read: it need not exist."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(signature.args[0])(context, builder, arguments[0])
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        prefetch = builder.module.declare_intrinsic(
            "llvm.prefetch", [byte], ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        )
        place = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte)
        builder.call(prefetch, [place, number(0), number(3), number(1)])  # to read, keep it close, data
        return context.get_dummy_value()

    return types.void(array, types.intp), generate


def fetch_address(data: Any, i: Any) -> Any:
    """Fetch where row i is, if that has to be looked up."""


def fetch_row(data: Any, i: Any) -> Any:
    """Fetch row i; :func:`fetch_address` was called some time before."""


@implements(fetch_address, DenseArrays, inline=True)
def _fetch_address_dense(data, i):
    pass


@implements(fetch_row, DenseArrays, inline=True)
def _fetch_row_dense(data, i):
    d = data.values.shape[1]
    for j in range(0, min(d, _MOST_BYTES // data.values.itemsize), _LINE // data.values.itemsize):
        fetch(data.values, np.int64(i) * d + j)


@implements(fetch_address, SparseArrays, inline=True)
def _fetch_address_sparse(data, i):
    fetch(data.begins, np.int64(i))


@implements(fetch_row, SparseArrays, inline=True)
def _fetch_row_sparse(data, i):
    begin, end = data.begins[i], data.begins[i + 1]
    for at in range(begin, min(end, begin + _MOST_BYTES // data.columns.itemsize), _LINE // data.columns.itemsize):
        fetch(data.columns, at)
    fetch(data.values, begin)
