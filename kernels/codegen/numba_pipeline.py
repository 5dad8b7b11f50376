"""How numba compiles kernels: what it does for every function that kernels do not need is left out.

The code of a kernel is the same as numba's own; the function that Python calls is shorter, and
calls it with arrays that are only lent to it.
"""

from __future__ import annotations

import contextlib
import gc
import os
from collections.abc import Iterator
from typing import Any

from numba.core import codegen, compiler, compiler_lock, funcdesc, ir_utils, types
from numba.core import compiler_machinery as machinery
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.postproc import PostProcessor

from ..support.fork_safe_lock import lock
from .numba_lowering import Lower, owns_arrays
from .numba_shortcuts import shortcuts
from .target import machine


class _Pauses:
    """How many threads are compiling, and whether the collector was at work before."""

    def __init__(self) -> None:
        self.lock = lock()
        self.count = 0
        self.collects = False

    def forget(self) -> None:
        """Let the collector work again: a forked child has none of the threads that compile."""
        if self.count and self.collects:
            gc.enable()
        self.count = 0


_pauses = _Pauses()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_pauses.forget)


@contextlib.contextmanager
def undisturbed() -> Iterator[None]:
    """No collection of garbage meanwhile: it finds little among numba's many small objects, and
    takes a seventh of the time of compiling."""
    with _pauses.lock:
        if _pauses.count == 0:
            _pauses.collects = gc.isenabled()
            gc.disable()
        _pauses.count += 1
    try:
        yield
    finally:
        with _pauses.lock:
            _pauses.count -= 1
            if _pauses.count == 0 and _pauses.collects:
                gc.enable()


class _Symbols:
    """The names of functions in machine code, which no other process gives.

    numba tells functions of one name apart by a number, counted from 1 in each process. Where two
    processes had given one number to two functions, of whose code both reached the cache, a third
    process that loaded both called one for the other.
    """

    def __init__(self) -> None:
        self.tag = ""
        self.begin()

    def begin(self) -> None:
        """A tag for this process; a forked child has one of its own."""
        self.tag = f"p{os.urandom(6).hex()}"

    def mangle(
        self, name: str, kinds: Any, *, abi_tags: tuple[str, ...] = (), uid: int | None = None
    ) -> str:
        """numba's name for a function of these types, with the tag."""
        tags = (self.tag, *abi_tags)
        return str(funcdesc.default_mangler(name, kinds, abi_tags=tags, uid=uid))


_symbols = _Symbols()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_symbols.begin)


class Library(codegen.JITCodeLibrary):
    """Machine code of a kernel, for the processor that :mod:`.target` names."""

    def _finalize_final_module(self) -> None:
        made = machine(self._codegen, self._final_module).emit_object(self._final_module)
        self._set_compiled_object(made)
        super()._finalize_final_module()
        self._compiled_object = made  # numba gave its reference to LLVM

    def _optimize_functions(self, module: Any) -> None:
        """The passes over single functions, for those that have a body."""
        module.data_layout = self._codegen._data_layout
        for function in module.functions:
            if not function.is_declaration:
                passes, builder = self._codegen._function_pass_manager()
                passes.run(function, builder)


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed.BaseNativeLowering):
    _name: Any = "mindtorch_lowering"

    @property
    def lowering_class(self) -> Any:
        return Lower


_CLOSURES = frozenset({"make_function", "build_list"})
_CALLS = frozenset({"binop", "inplace_binop", "unary", "call"})


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _InlineClosures(untyped.InlineClosureLikes):
    """Closures and comprehensions as loops, where there are any."""

    _name: Any = "mindtorch_inline_closures"

    def run_pass(self, state: Any) -> bool:
        blocks = state.func_ir.blocks
        if any(each.op in _CLOSURES for block in blocks.values() for each in block.find_exprs()):
            return bool(super().run_pass(state))
        ir_utils.fixup_var_define_in_scope(blocks)
        return True


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _JoinArrays(typed.NopythonRewrites):
    """Arithmetic of whole arrays as one loop, where there is any."""

    _name: Any = "mindtorch_join_arrays"

    def run_pass(self, state: Any) -> bool:
        for block in state.func_ir.blocks.values():
            for each in block.find_exprs():
                kind = state.calltypes.get(each) if each.op in _CALLS else None
                if (
                    kind is not None
                    and isinstance(kind.return_type, types.Array)
                    and any(isinstance(a, (types.Array, types.List)) for a in kind.args)
                ):
                    return bool(super().run_pass(state))
        return False


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _Legalize(typed.IRLegalization):
    """Where variables end: their arrays are let go of there, if the function has any of its own."""

    _name: Any = "mindtorch_legalize"

    def run_pass(self, state: Any) -> bool:
        if owns_arrays(state):
            return bool(super().run_pass(state))
        state.targetctx.enable_nrt = False
        return False


# numba follows variables anew after each pass; the passes after these do read it
_FOLLOWED = {untyped.ReconstructSSA}
_PASSES: tuple[Any, ...] = (
    untyped.TranslateByteCode,
    untyped.FixupArgs,
    untyped.IRProcessing,
    _InlineClosures,
    untyped.RewriteSemanticConstants,
    untyped.DeadBranchPrune,
    untyped.GenericRewrites,
    untyped.RewriteDynamicRaises,
    untyped.MakeFunctionToJitFunction,
    untyped.InlineInlinables,
    untyped.DeadBranchPrune,
    untyped.FindLiterallyCalls,
    untyped.LiteralUnroll,
    untyped.ReconstructSSA,
    untyped.DeadBranchPrune,
    untyped.LiteralPropagationSubPipelinePass,
    typed.NopythonTypeInference,
    typed.PreLowerStripPhis,
    typed.InlineOverloads,
    _JoinArrays,
    typed.NoPythonSupportedFeatureValidation,
    _Legalize,
    _Lowering,
    typed.NoPythonBackend,
)


class _Manager(machinery.PassManager):
    """Runs passes, and little between them."""

    def _runPass(self, index: int, each: Any, state: Any) -> None:
        with compiler_lock.global_compiler_lock:
            each.analysis = self._analysis
            changed = each.run_pass(state)
            if changed and type(each) in _FOLLOWED:
                PostProcessor(state.func_ir).run()


class Compiler(compiler.CompilerBase):
    """numba's compiler with the passes that kernels need."""

    def __init__(self, typing: Any, target: Any, *args: Any) -> None:
        super().__init__(typing, target.subtarget(mangler=_symbols.mangle), *args)

    def _compile_core(self) -> Any:
        code = self.state.targetctx.codegen()
        usual, code._tm = code._tm, machine(code)  # numba's lock is held
        try:
            with shortcuts():
                return super()._compile_core()
        finally:
            code._tm = usual

    def define_pipelines(self) -> list[Any]:
        state = self.state
        if state.library is None:
            state.library = Library(state.targetctx.codegen(), state.func_id.func_qualname)
            state.library.enable_object_caching()
        manager = _Manager("kernel")
        for each in _PASSES:
            manager.add_pass(each)
        manager.finalize()
        return [manager]
