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

from llvmlite import ir
from numba.core import (
    callwrapper,
    codegen,
    compiler,
    compiler_lock,
    funcdesc,
    ir_utils,
    lowering,
    types,
)
from numba.core import compiler_machinery as machinery
from numba.core import typed_passes as typed
from numba.core import untyped_passes as untyped
from numba.core.postproc import PostProcessor

from ..support.fork_safe_lock import lock
from .numba_shortcuts import shortcuts
from .target import machine

_SIMPLE = (types.Integer, types.Float, types.Boolean, types.NoneType)


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


class _Call(callwrapper.PyCallWrapper):
    """The function that Python calls. Its result is a number or nothing."""

    def build_wrapper(self, api: Any, builder: Any, closure: Any, args: Any, kws: Any) -> None:
        kinds = self.fndesc.argtypes
        objects = [api.alloca_obj() for _ in kinds]
        count = len(kinds)
        given = api.unpack_tuple(args, self.fndesc.qualname, count, count, *objects)
        failed = builder.append_basic_block("failed")
        self._go_on(builder, builder.icmp_unsigned("!=", given, given.type(0)), failed)
        values, wrong = self._arguments(api, builder, objects, failed)
        if wrong:
            for each in wrong[1:]:
                wrong[0] = builder.or_(wrong[0], each)
            with builder.if_then(wrong[0], likely=False):
                api.err_set_string("PyExc_TypeError", "an argument of a kernel is no such array")
                builder.branch(failed)
        state = api.save_thread() if self.release_gil else None
        convention = self.context.call_conv
        status, result = convention.call_function(
            builder, self.func, self.fndesc.restype, kinds, values, attrs=("noinline",)
        )
        if state is not None:
            api.restore_thread(state)
        with builder.if_then(status.is_ok, likely=True):
            with builder.if_then(status.is_none):
                api.return_none()
            builder.ret(api.from_native_return(self.fndesc.restype, result, None))
        convention.raise_error(builder, api, status)
        builder.branch(failed)
        builder.position_at_end(failed)
        builder.ret(api.get_null_object())

    def _arguments(self, api: Any, builder: Any, objects: Any, failed: Any) -> Any:
        """The native arguments, and for each array whether it is none of its type."""
        values, wrong, numbers = [], [], False
        for place, kind in zip(objects, self.fndesc.argtypes, strict=True):
            item = builder.load(place)
            if isinstance(kind, types.Array):
                value, error = self._array(api, builder, item, kind)
                wrong.append(error)
            elif kind == types.int64:
                whole = api.number_long(item)  # numpy's truth values are no indices
                none = builder.icmp_unsigned("==", whole, whole.type(None))
                value = api.long_as_longlong(builder.select(none, item, whole))
                api.decref(whole)
                numbers = True
            elif kind == types.float64:
                value = api.float_as_double(item)
                numbers = True
            else:
                native = api.to_native_value(kind, item)
                value = native.value
                self._go_on(builder, builder.not_(native.is_error), failed)
            values.append(value)
        if numbers:
            error = api.err_occurred()
            self._go_on(builder, builder.icmp_unsigned("==", error, error.type(None)), failed)
        return values, wrong

    def _array(self, api: Any, builder: Any, item: Any, kind: Any) -> Any:
        """An array as the kernel sees it, lent: nothing counts that the kernel refers to it."""
        array = self.context.make_array(kind)(self.context, builder)
        adapt = ir.FunctionType(ir.IntType(32), [api.pyobj, api.voidptr])
        function = api._get_function(adapt, name="numba_adapt_ndarray")
        error = builder.call(function, (item, builder.bitcast(array._getpointer(), api.voidptr)))
        size = self.context.get_abi_sizeof(self.context.get_data_type(kind.dtype))
        bad = builder.icmp_unsigned("!=", error, error.type(0))
        other = builder.icmp_unsigned("!=", array.itemsize, array.itemsize.type(size))
        return array._getvalue(), builder.or_(bad, other)

    @staticmethod
    def _go_on(builder: Any, good: Any, failed: Any) -> None:
        following = builder.append_basic_block()
        builder.cbranch(good, following, failed)
        builder.position_at_end(following)


class _Lower(lowering.Lower):
    """From numba's intermediate code to LLVM's."""

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        if self.genlower or not isinstance(self.fndesc.restype, _SIMPLE):
            super().create_cpython_wrapper(release_gil)
            return
        module = self.context.create_module("wrapper")
        kind = self.context.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        callee = ir.Function(module, kind, self.fndesc.llvm_func_name)
        _Call(
            self.context, module, callee, self.fndesc, self.env, self.call_helper, release_gil
        ).build()
        self.library.add_ir_module(module)


@machinery.register_pass(mutates_CFG=True, analysis_only=False)
class _Lowering(typed.BaseNativeLowering):
    _name: Any = "mindtorch_lowering"

    @property
    def lowering_class(self) -> Any:
        return _Lower


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
    typed.IRLegalization,
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
