"""Primitives: functions as classes, ``ops.MatMul(transpose_b=True)(x, y)``."""

from __future__ import annotations

import functools
from typing import Any

from mindtorch.engine import dtypes

from .. import communication
from ..common.dtype import as_dtype
from ..common.tensor import F, as_tensor, t
from . import composite, function

DECLARED: list[str] = []


class Primitive:
    """Base of the primitives. ``name`` is the class's unless given."""

    def __init__(self, name: str | None = None) -> None:
        self.name = type(self).__name__ if name is None else name
        self.settings: tuple[Any, ...] = ()

    def __call__(self, *args: Any) -> Any:
        raise NotImplementedError

    def shard(self, in_strategy: Any = None, out_strategy: Any = None) -> Primitive:
        """Of primitives that are functions of tensors: cut their inputs over the processes.

        Args:
            in_strategy, out_strategy: see :func:`mindspore.shard`.

        Raises:
            NotImplementedError: another primitive.
        """
        raise NotImplementedError(f"{self.name}.shard(): its inputs are not cut over processes")

    def __repr__(self) -> str:
        return f"Prim[{self.name}]<{', '.join(map(str, self.settings))}>"


def declare(name: str, run: Any, **defaults: Any) -> None:
    """Define a primitive: ``run(*inputs, **settings)``, the settings by position or name."""

    def __init__(self: Any, *args: Any, **kwargs: Any) -> None:  # noqa: N807
        Primitive.__init__(self)
        unknown = set(kwargs) - set(defaults)
        if len(args) > len(defaults) or unknown:
            raise TypeError(f"{name}() takes the settings {list(defaults)}, got {args} {kwargs}")
        given = dict(zip(defaults, args, strict=False))
        self.keywords = {**defaults, **given, **kwargs}
        self.settings = tuple(self.keywords.items())
        self.strategies = None

    def shard(self: Any, in_strategy: Any = None, out_strategy: Any = None) -> Any:
        """Cut the inputs over the processes when it is called; gives the primitive back.

        Args:
            in_strategy, out_strategy: see :func:`mindspore.shard`.
        """
        self.strategies = (in_strategy, out_strategy)
        return self

    def __call__(self: Any, *inputs: Any) -> Any:  # noqa: N807
        if self.strategies is None:
            return run(*inputs, **self.keywords)
        labels = _product_labels(self.strategies[0], **self.keywords) if run is _matmul else None
        sharded = communication.sharding().sharded
        return sharded(functools.partial(run, **self.keywords), *self.strategies, labels)(*inputs)

    meaning = f"The function ``{getattr(run, '__name__', name)}`` as an object."
    fields = {
        "__init__": __init__, "__call__": __call__, "shard": shard, "__doc__": meaning
    }  # fmt: skip
    globals()[name] = type(name, (Primitive,), {**fields, "__module__": __name__})
    DECLARED.append(name)


_ELEMENTWISE = {
    "Abs": "abs", "Add": "add", "Sub": "sub", "Mul": "mul", "Div": "true_divide",
    "RealDiv": "true_divide", "FloorDiv": "floor_divide", "FloorMod": "remainder",
    "Mod": "fmod", "Pow": "pow", "Exp": "exp", "Log": "log", "Sqrt": "sqrt", "Rsqrt": "rsqrt",
    "Square": "square", "Neg": "neg", "Reciprocal": "reciprocal",
    "Equal": "eq", "NotEqual": "ne", "Greater": "gt", "GreaterEqual": "ge",
    "Less": "lt", "LessEqual": "le", "LogicalAnd": "logical_and", "LogicalOr": "logical_or",
    "LogicalNot": "logical_not", "Sigmoid": "sigmoid", "Tanh": "tanh", "Sin": "sin", "Cos": "cos",
    "Tan": "tan", "Erf": "erf", "Floor": "floor", "Ceil": "ceil", "Round": "round", "Sign": "sign",
    "ReLU": "relu", "IsFinite": "isfinite", "IsNan": "isnan", "IsInf": "isinf",
    "ZerosLike": "zeros_like", "OnesLike": "ones_like", "Select": "where",
}  # fmt: skip
for _name, _function in _ELEMENTWISE.items():
    declare(_name, getattr(t, _function))


def _matmul(x: Any, y: Any, transpose_a: bool, transpose_b: bool) -> Any:
    x = t.transpose(x, -2, -1) if transpose_a else x
    return t.matmul(x, t.transpose(y, -2, -1) if transpose_b else y)


def _product_labels(strategy: Any, transpose_a: bool, transpose_b: bool) -> Any:
    """Which axes of a product's factors belong together, for a strategy of numbers."""
    given = strategy or ()
    if len(given) != 2 or not all(isinstance(each, tuple) for each in given):
        return None
    pairs = [["rows", "sums"], ["sums", "columns"]]
    turned = (transpose_a, transpose_b)
    return [
        [*range(2 - len(cuts), 0), *(pair[::-1] if turn else pair)]
        for cuts, pair, turn in zip(strategy, pairs, turned, strict=True)
    ]


def _reduction(name: str) -> Any:
    reduce = {"Max": "amax", "Min": "amin"}.get(name, name.lower())

    def run(x: Any, axis: Any = (), *, keep_dims: bool = False, **_: Any) -> Any:
        chosen = tuple(range(x.aval.ndim)) if axis in ((), None) else axis
        if isinstance(chosen, list):
            chosen = tuple(chosen)
        if reduce == "prod" and isinstance(chosen, tuple):
            for each in sorted((a % x.aval.ndim for a in chosen), reverse=True):
                x = t.prod(x, each, keepdim=keep_dims, dtype=x.aval.dtype)
            return x
        if reduce in ("sum", "mean"):
            return function._kept(reduce, x, chosen, keep_dims)
        return getattr(t, reduce)(x, chosen, keepdim=keep_dims)

    return run


def _with_value(name: str) -> Any:
    def run(x: Any, *, axis: int, keep_dims: bool) -> Any:
        values, places = getattr(t, name)(x, axis, keepdim=keep_dims)
        return places, values

    return run


def _conv2d(x: Any, weight: Any, **s: Any) -> Any:
    given = {k: s[k] for k in ("stride", "dilation", "pad_mode")}
    return function.conv2d(x, weight, None, padding=s["pad"], groups=s["group"], **given)


def _pool(kind: str) -> Any:
    def run(x: Any, *, kernel_size: Any, strides: Any, pad_mode: str) -> Any:
        from ..nn import pooling

        return getattr(pooling, kind)(kernel_size, strides, pad_mode)(x)

    return run


declare("Maximum", function.maximum)
declare("Minimum", function.minimum)
declare("MatMul", _matmul, transpose_a=False, transpose_b=False)
declare("BatchMatMul", _matmul, transpose_a=False, transpose_b=False)
for _name in ("Sum", "Mean", "Max", "Min", "Prod", "All", "Any"):
    declare("Reduce" + _name, _reduction(_name), keep_dims=False)
declare("ArgMaxWithValue", _with_value("max"), axis=0, keep_dims=False)
declare("ArgMinWithValue", _with_value("min"), axis=0, keep_dims=False)
declare(
    "Argmax", lambda x, axis, output_type: t.argmax(x, axis).to(output_type), axis=-1,
    output_type=dtypes.int32,
)  # fmt: skip
declare("Softmax", lambda x, axis: F.softmax(x, axis), axis=-1)
declare("LogSoftmax", lambda x, axis: F.log_softmax(x, axis), axis=-1)
declare("GeLU", lambda x: F.gelu(x, approximate="tanh"))
declare("ReLU6", lambda x: F.relu6(x))
declare("Elu", lambda x, alpha: F.elu(x, alpha), alpha=1.0)
declare("Cast", function.cast)
declare("Concat", lambda x, axis: function.cat(x, axis), axis=0)
declare("Stack", lambda x, axis: function.stack(x, axis), axis=0)
declare("Unstack", lambda x, axis: function.unstack(x, axis), axis=0)
declare(
    "Split", lambda x, axis, output_num: t.chunk(x, output_num, axis), axis=0, output_num=1
)
declare("Transpose", function.transpose)
declare("Reshape", function.reshape)
declare("ExpandDims", function.expand_dims)
declare("Squeeze", lambda x, axis: function.squeeze(x, axis or None), axis=())
declare("Flatten", function.flatten)
declare("Tile", function.tile)
declare("BroadcastTo", lambda x, shape: t.broadcast_to(x, shape), shape=())
declare("Gather", lambda x, i, axis, batch_dims: function.gather(x, i, axis, batch_dims),
           batch_dims=0)  # fmt: skip
declare("GatherNd", function.gather_nd)
declare("OneHot", lambda i, depth, on, off, axis: function.one_hot(i, depth, on, off, axis),
           axis=-1)  # fmt: skip
declare("TopK", lambda x, k, sorted: function.topk(x, k, sorted=sorted), sorted=True)
declare("BiasAdd", lambda x, b, data_format: function.bias_add(x, b), data_format="NCHW")
declare("Zeros", function.zeros)
declare("Ones", function.ones)
declare("Fill", function.fill)
declare("Eye", lambda n, m, kind: t.eye(n, m, dtype=as_dtype(kind)))
declare("Shape", function.shape)
declare("Size", function.size)
declare("Rank", function.rank)
declare("DType", function.dtype)
declare("Print", function.print_)
declare("Depend", function.depend)
declare("Assign", composite.assign)
declare("AssignAdd", composite.assign_add)
declare("AssignSub", composite.assign_sub)
declare("L2Loss", lambda x: t.sum(t.square(x)) / 2)
declare(
    "CumSum", lambda x, axis, exclusive, reverse: _running(x, axis, exclusive, reverse),
    exclusive=False, reverse=False,
)  # fmt: skip
declare(
    "Conv2D", _conv2d, out_channel=0, kernel_size=1, mode=1, pad_mode="valid", pad=0, stride=1,
    dilation=1, group=1,
)  # fmt: skip
declare("MaxPool", _pool("MaxPool2d"), kernel_size=1, strides=1, pad_mode="valid")
declare("AvgPool", _pool("AvgPool2d"), kernel_size=1, strides=1, pad_mode="valid")


def _running(x: Any, axis: int, exclusive: bool, reverse: bool) -> Any:
    x = t.flip(x, (axis,)) if reverse else x
    total = t.cumsum(x, axis)
    total = total - x if exclusive else total
    return t.flip(total, (axis,)) if reverse else total


# --- collectives -------------------------------------------------------------------------------


class ReduceOp:
    """How elements of different processes become one."""

    SUM, MAX, MIN, PROD = "sum", "max", "min", "prod"


class _Collective(Primitive):
    def __init__(self, group: str | None = None) -> None:
        super().__init__()
        self.group = group
        self.settings = (("group", group),)

    def _distributed(self) -> tuple[Any, Any, int]:
        size = communication.get_group_size(self.group)
        return communication._distributed(), communication._group(self.group), size


class AllReduce(_Collective):
    """The sum ("max", "min", "prod") over all processes."""

    def __init__(self, op: str = ReduceOp.SUM, group: str | None = None) -> None:
        super().__init__(group)
        self.op = op

    def __call__(self, input_x: Any) -> Any:
        return communication.all_reduced(as_tensor(input_x), self.group, self.op)


class AllGather(_Collective):
    """The tensors of all processes, one after another along axis 0."""

    def __call__(self, input_x: Any) -> Any:
        distributed, group, size = self._distributed()
        x = as_tensor(input_x)
        parts = [t.empty_like(x) for _ in range(size)]
        distributed.all_gather(parts, x.detach(), group)
        return t.cat(parts, 0)


class ReduceScatter(_Collective):
    """The sum over all processes, of which each gets its part along axis 0."""

    def __init__(self, op: str = ReduceOp.SUM, group: str | None = None) -> None:
        super().__init__(group)
        self.op = op

    def __call__(self, input_x: Any) -> Any:
        size = communication.get_group_size(self.group)
        total = communication.all_reduced(as_tensor(input_x), self.group, self.op)
        if total.aval.shape[0] % size:
            raise ValueError(
                f"For 'ReduceScatter', axis 0 ({total.aval.shape[0]}) is not divisible by {size}"
            )
        return t.chunk(total, size, 0)[communication.get_rank(self.group)].clone()


class Broadcast(_Collective):
    """The tensors of process ``root_rank``, given and returned as a tuple."""

    def __init__(self, root_rank: int, group: str | None = None) -> None:
        super().__init__(group)
        self.root_rank = root_rank

    def __call__(self, input_x: Any) -> Any:
        distributed, group, _ = self._distributed()
        copies = []
        for x in input_x if isinstance(input_x, (tuple, list)) else (input_x,):
            copy = as_tensor(x).detach().clone()
            distributed.broadcast(copy, self.root_rank, group)
            copies.append(copy)
        return tuple(copies)


__all__ = [  # noqa: PLE0604
    "AllGather", "AllReduce", "Broadcast", "Primitive", "ReduceOp", "ReduceScatter", *DECLARED
]  # fmt: skip
