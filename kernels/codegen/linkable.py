"""Functions that kernels call, compiled for linking alone.

numba makes every compiled function callable from Python: it is optimised and turned into machine
code by itself, with a wrapper that takes its arguments apart, and then once more within each
caller. What a kernel calls needs only the last: its intermediate code is kept, and the passes over
whole modules see it in the caller. A first run is shorter by a tenth.

Passes over single functions stay: without them the loops of some callers are not vectorised, a
largest element of each row takes half as long again.
"""

from __future__ import annotations

from typing import Any

import llvmlite.binding
from numba.core import registry

from .numba_pipeline import Compiler, Library
from .numba_shortcuts import Overloads


class LinkedLibrary(Library):
    """Intermediate code for callers to link with; never machine code.

    Args:
        owner: numba's code generator.
        name: what the library is called.
        intermediate: LLVM's bitcode, where the function comes from the cache.
    """

    def __init__(self, owner: Any, name: str, intermediate: bytes = b"") -> None:
        super().__init__(owner, name)
        self._intermediate = intermediate
        self._finalized = bool(intermediate)

    def _optimize_final_module(self) -> None:
        """The callers' optimisers do."""

    def _finalize_final_module(self) -> None:
        self._finalize_dynamic_globals()
        self._finalized = True

    def _get_module_for_linking(self) -> Any:
        if self._shared_module is None and self._intermediate:
            self._shared_module = llvmlite.binding.parse_bitcode(self._intermediate)
        return super()._get_module_for_linking()

    def serialize_using_object_code(self) -> Any:
        return self.name, "bitcode", self._get_module_for_linking().as_bitcode()


class _Compiler(Compiler):
    """numba's compiler up to the intermediate code."""

    def define_pipelines(self) -> Any:
        state = self.state
        state.flags.no_compile = True
        state.library = LinkedLibrary(state.targetctx.codegen(), state.func_id.func_qualname)
        return super().define_pipelines()


class LinkedOverload(registry.CPUDispatcher):
    """A function of numba's own as kernels see it. It cannot be called from Python."""

    def __init__(self, function: Any, options: dict[str, Any]) -> None:
        settings = {**options, "no_cpython_wrapper": True, "no_cfunc_wrapper": True}
        super().__init__(function, targetoptions=settings, pipeline_class=_Compiler)

    def add_overload(self, result: Any) -> None:
        if result.entry_point is None:  # compiled just now
            target = result.target_context
            result.library._ensure_finalized()
            result = result._replace(entry_point=key())
            target.insert_user_function(result.entry_point, result.fndesc, [result.library])
        self.overloads[tuple(result.signature.args)] = result


class Linked(LinkedOverload):
    """A function as other kernels see it, whose code is kept in the cache."""

    def compile(self, sig: Any) -> Any:
        """The intermediate code for a signature: from the cache, or compiled now."""
        try:
            return super().compile(sig)
        finally:
            self._cache.release()


Overloads.dispatcher = LinkedOverload


def key() -> object:
    """What numba finds a linked function by, in place of the function that Python calls."""
    return object()
