"""Memory that will be read soon.

Rows of a cell or of a cluster are anywhere in memory: each of them has to be waited for, unless it was asked for before its
turn.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from hashmix.core.compiling import hot_helper

__all__ = ["fetch_ahead"]

#: How many rows before its turn a row is fetched.
_AHEAD = 16

_READ, _KEEP, _DATA = 0, 3, 1  # what LLVM's prefetch is told: to be read, again and again, and no code


@intrinsic
def _fetch(typing_context: Any, array: Any, i: Any) -> Any:
    """Begin to load the first and the last entry of ``array[i]`` into the cache, without waiting; nothing else changes."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        view = context.make_array(array)(context, builder, arguments[0])
        at = context.cast(builder, arguments[1], i, types.intp)
        zero, shape = ir.Constant(at.type, 0), cgutils.unpack_tuple(builder, view.shape, array.ndim)
        last = [builder.sub(length, ir.Constant(length.type, 1)) for length in shape[1:]]
        byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
        ask = builder.module.declare_intrinsic("llvm.prefetch", [byte], kind)
        for rest in ([zero] * (array.ndim - 1), last) if array.ndim > 1 else ([],):
            entry = cgutils.get_item_pointer(context, builder, array, view, [at, *rest], wraparound=False)
            words = [ir.Constant(number, word) for word in (_READ, _KEEP, _DATA)]
            builder.call(ask, [builder.bitcast(entry, byte), *words])
        return context.get_dummy_value()

    return types.void(array, i), generate


@hot_helper
def fetch_ahead(array, rows, at):
    """Begin to load the entry of ``array`` that a loop over ``array[rows[at]]`` will come to some steps later."""
    if at + _AHEAD < len(rows):
        _fetch(array, rows[at + _AHEAD])
