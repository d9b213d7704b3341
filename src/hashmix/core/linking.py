"""Compile helpers only as parts of kernels.

Numba optimises every function and generates machine code for it before it links the function into its callers, where both
are done again. A kernel here has dozens of helpers, several levels deep, that Python never calls: most of the time to compile
it would go into machine code that is never used. The compilers below stop earlier: they lower a function to LLVM's
intermediate representation, and optimise it or not. The kernel that it is linked into is compiled once, as a whole.

This relies on internals of Numba. If they are not as expected, helpers are compiled in Numba's usual way.
"""

from __future__ import annotations

from typing import Any

from numba import _dynfunc
from numba.core.compiler import CompilerBase, DefaultPassBuilder

try:
    from numba.core.codegen import JITCodeLibrary
    from numba.core.compiler_machinery import register_pass
    from numba.core.typed_passes import NativeLowering

    AVAILABLE = all(hasattr(JITCodeLibrary, name) for name in ("_optimize_final_module", "_finalize_final_module", "finalize"))
except ImportError:  # another layout of Numba's modules
    AVAILABLE = False

__all__ = ["link_only"]


def _no_executable(library: Any, fndesc: Any, env: Any) -> Any:
    """What Numba keeps as the function for Python to call; there is none."""
    return _dynfunc.make_function(fndesc.lookup_module(), fndesc.qualname, "linked into kernels only", 0, env, (library,))


if AVAILABLE:

    class _LinkedLibrary(JITCodeLibrary):
        """Code to be linked into a kernel; no machine code is generated for it on its own."""

        def _finalize_final_module(self) -> None:
            self._finalize_dynamic_globals()
            self._finalized = True

    class _RawLibrary(_LinkedLibrary):
        """The same, and it is optimised only as part of the kernel."""

        def _optimize_final_module(self) -> None:
            pass

    class _LinkedLowering(NativeLowering):
        """Lower a function into a library that is only linked."""

        library_class: type[Any] = _LinkedLibrary

        def run_pass(self, state: Any) -> bool:
            state.library = self.library_class(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
            # Numba's compiler lock is held: no other function is lowered meanwhile.
            state.targetctx.get_executable = _no_executable
            try:
                return super().run_pass(state)
            finally:
                del state.targetctx.get_executable

    @register_pass(mutates_CFG=True, analysis_only=False)
    class _OptimisedLowering(_LinkedLowering):
        _name = "hashmix_optimised_lowering"

    @register_pass(mutates_CFG=True, analysis_only=False)
    class _RawLowering(_LinkedLowering):
        _name = "hashmix_raw_lowering"
        library_class = _RawLibrary

    class _LinkedCompiler(CompilerBase):
        """Numba's pipeline, with its last step replaced."""

        lowering: type[Any] = _OptimisedLowering

        def define_pipelines(self) -> list[Any]:
            pipeline = DefaultPassBuilder.define_nopython_pipeline(self.state)
            pipeline.passes = [(self.lowering if step is NativeLowering else step, what) for step, what in pipeline.passes]
            pipeline.finalize()
            return [pipeline]

    class _RawCompiler(_LinkedCompiler):
        lowering = _RawLowering


def link_only(optimised: bool) -> dict[str, Any]:
    """Options for ``numba.njit`` that compile a function only as part of the kernels that call it.

    Parameters
    ----------
    optimised : bool
        Optimise the function before it is linked, too. That pays for small functions with loops: if they are optimised only
        inside a large kernel, some loops are not vectorised.

    Examples
    --------
    >>> import numba
    >>> from hashmix.core.linking import link_only
    >>> @numba.njit(**link_only(optimised=True))
    ... def square(x):
    ...     return x * x
    >>> @numba.njit
    ... def sum_of_squares(x, y):
    ...     return square(x) + square(y)
    >>> sum_of_squares(1.0, 2.0)
    5.0
    """
    if not AVAILABLE:
        return {}
    return {"pipeline_class": _LinkedCompiler if optimised else _RawCompiler}
