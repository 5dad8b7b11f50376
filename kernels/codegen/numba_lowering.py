"""From numba's intermediate code to LLVM's, with fewer instructions for what kernels do most.

A kernel is given arrays that others own, takes elements and parts of them, and counts through
ranges. numba counts references to each part, empties each variable at its end, and keeps a range in
six variables of memory: half of the instructions, all of which LLVM has to read, and removes again.
"""

from __future__ import annotations

import operator
from collections import Counter
from typing import Any

from llvmlite import ir
from numba.core import callwrapper, cgutils, lowering, types
from numba.core import ir as numba_ir
from numba.np import arrayobj

SIMPLE = (types.Integer, types.Float, types.Boolean, types.NoneType)
NUMBERS = (types.Number, types.Boolean, types.IntegerLiteral)
OPERATORS = frozenset(
    getattr(operator, name)
    for name in (
        "add sub mul truediv floordiv mod lt le gt ge eq ne and_ or_ xor lshift rshift neg "
        "iadd isub imul ifloordiv imod ilshift irshift"
    ).split()
)
_PARTS = (types.Integer, types.SliceType, types.NoneType, types.EllipsisType)
# what gives a variable an array that somebody else keeps alive
_LENT = frozenset({"getitem", "static_getitem", "cast", "build_tuple"})


def owns_arrays(state: Any) -> bool:
    """Whether a function makes an array, or gives one away: references to arrays are counted then.

    Args:
        state: numba's state of compiling it, with types.
    """
    models, kinds = state.targetctx.data_model_manager, state.typemap

    def counted(kind: Any) -> bool:
        return bool(models[kind].contains_nrt_meminfo())

    if counted(state.return_type) or state.func_ir.is_generator:
        return True
    if not (state.flags.no_cpython_wrapper or isinstance(state.return_type, SIMPLE)):
        return True  # numba's own way of taking arguments counts
    for block in state.func_ir.blocks.values():
        for each in block.body:
            if isinstance(each, (numba_ir.SetItem, numba_ir.StaticSetItem)):
                if counted(kinds[each.value.name]) or not _is_part(_index_of(each, kinds)):
                    return True  # what overlaps is copied first
            elif isinstance(each, numba_ir.Assign):
                if counted(kinds[each.target.name]) and not _lent(each.value, kinds):
                    return True
            elif not isinstance(each, _FLOW):
                return True
    return False


_FLOW = (numba_ir.Del, numba_ir.Branch, numba_ir.Jump, numba_ir.Return, numba_ir.StaticRaise,
         numba_ir.PopBlock)  # fmt: skip


def _index_of(item: Any, kinds: Any) -> Any:
    fixed = isinstance(item, numba_ir.StaticSetItem) or getattr(item, "op", "") == "static_getitem"
    variable = item.index_var if fixed else item.index
    return kinds[variable.name] if variable is not None else types.intp


def _is_part(index: Any) -> bool:
    """Whether an index names an element, or a part that lies in the same memory."""
    return all(isinstance(each, _PARTS) for each in _axes(index))


def _axes(index: Any) -> tuple[Any, ...]:
    """The types of an index, one for each axis."""
    several = isinstance(index, types.BaseTuple)
    return tuple(index) if several else (index,)


def _lent(value: Any, kinds: Any) -> bool:
    if isinstance(value, (numba_ir.Arg, numba_ir.Var)):
        return True
    if not isinstance(value, numba_ir.Expr) or value.op not in _LENT:
        return False
    return not value.op.endswith("getitem") or _is_part(_index_of(value, kinds))


class CallFromPython(callwrapper.PyCallWrapper):
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


class Lower(lowering.Lower):
    """Writes LLVM's intermediate code of a function."""

    def __init__(self, *args: Any, **options: Any) -> None:
        super().__init__(*args, **options)
        self._ranges: dict[str, Any] = {}  # start, stop and step of variables that hold ranges
        self._counters: dict[str, Any] = {}  # place of the number and of the count, and the step
        self._assigned = Counter(
            each.target.name
            for block in self.func_ir.blocks.values()
            for each in block.find_insts(numba_ir.Assign)
        )

    def create_cpython_wrapper(self, release_gil: bool = False) -> None:
        if self.genlower or not isinstance(self.fndesc.restype, SIMPLE):
            super().create_cpython_wrapper(release_gil)
            return
        module = self.context.create_module("wrapper")
        kind = self.context.call_conv.get_function_type(self.fndesc.restype, self.fndesc.argtypes)
        callee = ir.Function(module, kind, self.fndesc.llvm_func_name)
        CallFromPython(
            self.context, module, callee, self.fndesc, self.env, self.call_helper, release_gil
        ).build()
        self.library.add_ir_module(module)

    # variables

    def _counts(self, name: str) -> bool:
        """Whether references to the value of a variable are counted."""
        model = self.context.data_model_manager[self.typeof(name)]
        return bool(self.context.enable_nrt and model.contains_nrt_meminfo())

    def alloca_lltype(self, name: str, lltype: Any, datamodel: Any = None) -> Any:
        if self._disable_sroa_like_opt:
            return super().alloca_lltype(name, lltype, datamodel)
        return cgutils.alloca_once(self.builder, lltype, name=name)  # numba asks for its size, too

    def delvar(self, name: str) -> None:
        if self.genlower or self._disable_sroa_like_opt or self._counts(name):
            super().delvar(name)

    def storevar(self, value: Any, name: str, argidx: int | None = None) -> None:
        if (
            argidx is not None
            or self._disable_sroa_like_opt
            or name in self._singly_assigned_vars
            or self._counts(name)
        ):
            super().storevar(value, name, argidx)
            return
        self._alloca_var(name, self.typeof(name))
        self.builder.store(value, self.getvar(name))

    # arithmetic

    def lower_binop(self, resty: Any, expr: Any, op: Any) -> Any:
        left, right = self.typeof(expr.lhs.name), self.typeof(expr.rhs.name)
        if op not in OPERATORS or not (isinstance(left, NUMBERS) and isinstance(right, NUMBERS)):
            return super().lower_binop(resty, expr, op)
        context, signature = self.context, self.fndesc.calltypes[expr]
        function = context.typing_context.resolve_value_type(op)
        called = function.get_call_type(context.typing_context, signature.args, {})
        values = (
            context.cast(self.builder, self.loadvar(expr.lhs.name), left, signature.args[0]),
            context.cast(self.builder, self.loadvar(expr.rhs.name), right, signature.args[1]),
        )
        result = context.get_function(function, called)(self.builder, values)
        return context.cast(self.builder, result, signature.return_type, resty)

    # elements

    def lower_getitem(self, resty: Any, expr: Any, value: Any, index: Any, signature: Any) -> Any:
        kind = self.typeof(value.name)
        if not self._is_element(kind, signature.args[1]) or signature.args[0] != kind:
            return super().lower_getitem(resty, expr, value, index, signature)
        place = self._element(kind, value, index, signature.args[1])
        item = arrayobj.load_item(self.context, self.builder, kind, place)
        return self.context.cast(self.builder, item, kind.dtype, resty)

    def lower_setitem(self, target_var: Any, index_var: Any, value_var: Any, signature: Any) -> Any:
        kind, given = self.typeof(target_var.name), self.typeof(value_var.name)
        if not (
            self._is_element(kind, signature.args[1])
            and signature.args[0] == kind
            and isinstance(given, NUMBERS)
        ):
            return super().lower_setitem(target_var, index_var, value_var, signature)
        value = self.context.cast(
            self.builder, self.loadvar(value_var.name), given, signature.args[2]
        )
        value = self.context.cast(self.builder, value, signature.args[2], kind.dtype)
        place = self._element(kind, target_var, index_var, signature.args[1])
        return arrayobj.store_item(self.context, self.builder, kind, value, place)

    def _is_element(self, kind: Any, index: Any) -> bool:
        """Whether an index names one number of an array."""
        if type(kind) is not types.Array or not isinstance(kind.dtype, NUMBERS):
            return False
        axes = _axes(index)
        whole = all(isinstance(each, types.Integer) for each in axes)
        return whole and len(axes) == kind.ndim and not self.context.enable_boundscheck

    def _element(self, kind: Any, array: Any, index: Any, index_kind: Any) -> Any:
        """The address of an element."""
        builder, context = self.builder, self.context
        value = context.cast(builder, self.loadvar(index.name), self.typeof(index.name), index_kind)
        several = isinstance(index_kind, types.BaseTuple)
        given = cgutils.unpack_tuple(builder, value, kind.ndim) if several else [value]
        model, aggregate = context.data_model_manager[kind], self.loadvar(array.name)
        field = {name: model.get_field_position(name) for name in ("data", "shape", "strides")}

        def each(name: str) -> list[Any]:
            axes = range(kind.ndim)
            return [builder.extract_value(aggregate, (field[name], axis)) for axis in axes]

        data, shape = builder.extract_value(aggregate, field["data"]), each("shape")
        places = [
            arrayobj.fix_integer_index(context, builder, of, at, size)
            for of, at, size in zip(_axes(index_kind), given, shape, strict=True)
        ]
        if kind.ndim == 1 and kind.layout == "C":
            return builder.gep(data, places)
        strides = [] if kind.layout in "CF" else each("strides")
        return cgutils.get_item_pointer2(
            context, builder, data, shape, strides, kind.layout, places
        )

    # ranges

    def lower_assign(self, ty: Any, inst: Any) -> Any:
        value, target = inst.value, inst.target.name
        if self._assigned[target] == 1 and isinstance(value, numba_ir.Var):
            for known in (self._ranges, self._counters):
                if value.name in known:
                    known[target] = known[value.name]
        elif self._assigned[target] == 1 and isinstance(value, numba_ir.Expr):
            made = self._of_range(ty, target, value)
            if made is not None:
                return made
        return super().lower_assign(ty, inst)

    def _of_range(self, kind: Any, target: str, expr: Any) -> Any:
        """What a step of counting through a range gives, or None: numba does it."""
        if expr.op == "call" and isinstance(kind, types.RangeType):
            return self._range(kind, target, expr)
        if expr.op == "getiter" and expr.value.name in self._ranges:
            return self._counter(kind, target, *self._ranges[expr.value.name])
        if expr.op == "iternext" and expr.value.name in self._counters:
            return self._next(kind, *self._counters[expr.value.name])
        if expr.op in ("pair_first", "pair_second"):
            pair = self.loadvar(expr.value.name)
            return self.builder.extract_value(pair, int(expr.op == "pair_second"))
        return None

    def _range(self, kind: Any, target: str, expr: Any) -> Any:
        function, signature = self.typeof(expr.func.name), self.fndesc.calltypes[expr]
        if not isinstance(function, types.Function) or function.typing_key is not range:
            return None
        given = self.fold_call_args(function, signature, expr.args, expr.vararg, expr.kws)
        start, stop, step = self.context.get_constant(kind.dtype, 0), given[-1], 1
        if len(given) > 1:
            start, stop = given[:2]
        if len(given) > 2:
            step_kind = self.typeof(expr.args[2].name)
            step = getattr(step_kind, "literal_value", 0)
            if step <= 0:  # not known, or counting down
                return None
        self._ranges[target] = (start, stop, step)
        whole = self.context.get_constant(kind.dtype, step)
        return cgutils.make_anonymous_struct(self.builder, (start, stop, whole))

    def _counter(self, kind: Any, target: str, start: Any, stop: Any, step: int) -> Any:
        """The iterator of a range: how many numbers are left, and the next one."""
        builder = self.builder
        zero, width = start.type(0), start.type(step)
        span = builder.sub(stop, start)
        count = span
        if step > 1:
            rest = builder.icmp_signed(">", builder.srem(span, width), zero)
            count = builder.add(builder.sdiv(span, width), builder.zext(rest, start.type))
        count = builder.select(builder.icmp_signed(">", span, zero), count, zero)
        at = cgutils.alloca_once(builder, start.type)
        left = cgutils.alloca_once(builder, start.type)
        builder.store(start, at)
        builder.store(count, left)
        self._counters[target] = (at, left, width)
        proxy = self.context.make_helper(builder, kind)
        proxy.iter, proxy.stop, proxy.step, proxy.count = at, stop, width, left
        return proxy._getvalue()

    def _next(self, kind: Any, at: Any, left: Any, step: Any) -> Any:
        """The next number, and whether there is one. After the last one nobody asks again."""
        builder = self.builder
        count, value = builder.load(left), builder.load(at)
        there = builder.icmp_signed(">", count, count.type(0))
        builder.store(builder.sub(count, count.type(1), flags=["nsw"]), left)
        builder.store(builder.add(value, step), at)
        pair = ir.Constant(self.context.get_value_type(kind), ir.Undefined)
        return builder.insert_value(builder.insert_value(pair, value, 0), there, 1)
