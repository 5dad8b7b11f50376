"""MindSpore's Tensor: torch's, with MindSpore's constructor, arguments and text.

Nothing is computed here: every method calls the one of :class:`mindtorch.torch.Tensor`, with the
arguments under torch's names, and gives its result this class.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array
from mindtorch.torch._tensor.tensor import TensorMeta

from ._adopting import OURS, F, T, TorchTensor, adopt, adopt_as, adopting, difference, t
from ._elements import numbers, turned
from .dtype import as_dtype, text_of
from .initializer import initializer

__all__ = ["OURS", "F", "T", "Tensor", "adopt", "adopting", "as_tensor", "difference", "t"]


class AnyTensor(TensorMeta):
    """Tensors of torch's namespace count as MindSpore's, as in the original package."""

    def __instancecheck__(cls, value: Any) -> bool:
        if cls is Tensor:
            return isinstance(value, EngineTensor)
        return type.__instancecheck__(cls, value)


def _array(data: Any) -> Any:
    """Numbers as an array of the type that MindSpore takes for them."""
    if isinstance(data, EngineTensor):
        return data.array()
    array = np.asarray(data)
    if array.dtype == np.float64 and not isinstance(data, (np.ndarray, np.generic)):
        array = array.astype(np.float32)  # Python's numbers are float32; arrays keep their type
    if array.dtype.kind in "OUS":
        raise TypeError(f"a tensor is not made of {type(data).__name__} with {array.dtype}")
    return array


def _torch_words(**words: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """A decorator of methods, which take torch's names of these arguments as well."""

    def decorate(method: Callable[..., Any]) -> Callable[..., Any]:
        @functools.wraps(method)
        def call(self: Any, *args: Any, **kwargs: Any) -> Any:
            if kwargs:
                kwargs = {words.get(name, name): value for name, value in kwargs.items()}
            return method(self, *args, **kwargs)

        return call

    return decorate


_KEEPDIMS = _torch_words(dim="axis", keepdim="keepdims")
_KEEP_DIMS = _torch_words(dim="axis", keepdim="keep_dims", keepdims="keep_dims")
_AXIS = _torch_words(dim="axis")


class Tensor(TorchTensor, metaclass=AnyTensor):
    """A multi-dimensional array.

    Args:
        input_data: a tensor, an array, a number, nested lists of numbers; None with ``shape`` and
            ``init``.
        dtype: of the elements. Without it Python's floats are float32, its ints int64, and arrays
            keep their type.
        shape, init: make a tensor of this shape by an initialiser, of zeros without one. With None
            or -1 among the lengths of ``shape`` and without ``init`` it stands for tensors of any
            such length: `mindspore.export` and `Cell.set_inputs` take it, nothing computes with it.
    """

    __slots__ = ()

    def __new__(
        cls, input_data: Any = None, dtype: Any = None, shape: Any = None, init: Any = None,
        const_arg: bool = False, device: Any = None,
    ) -> Any:  # fmt: skip
        if device not in (None, "CPU", "CPU:0"):
            raise ValueError(f"device {device!r}: tensors are on the CPU")
        if input_data is None:
            if shape is not None and init is None and not isinstance(shape, int):
                places = tuple(i for i, n in enumerate(shape) if n is None or n == -1)
                if places:
                    return OpenTensor.of(tuple(shape), places, dtype)
            return _initialized(shape, dtype, init)
        if init is not None:
            raise ValueError("'input_data' and 'init' can not be given together")
        made = from_array(np.array(_array(input_data), order="C"))
        if dtype is not None:
            made = made.to(as_dtype(dtype))
        if shape is not None:
            made = made.reshape(_axes(shape))
        return adopt(made)

    @staticmethod
    def from_numpy(array: np.ndarray) -> Any:
        """A tensor that shares the array's memory.

        Raises:
            TypeError: not an array of numpy's.
        """
        if not isinstance(array, np.ndarray):
            raise TypeError("Expected a NumPy array.")
        return adopt(torch.from_numpy(array))

    # --- description -------------------------------------------------------------------------

    @property
    def size(self) -> int:
        """The number of elements."""
        return self.aval.size

    @property
    def shape(self) -> tuple[int, ...]:
        return self.aval.shape

    @property
    def strides(self) -> tuple[int, ...]:
        """Steps in bytes along the axes."""
        return tuple(s * self.aval.dtype.itemsize for s in self.aval.strides)

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        text = numbers(self.asnumpy())
        line = "\n" if self.aval.ndim > 1 else " "
        return (
            f"Tensor(shape={list(self.aval.shape)}, dtype={text_of(self.aval.dtype)}, "
            f"value={line}{text})"
        )

    def __str__(self) -> str:
        return str(self.asnumpy())

    def __format__(self, form: str) -> str:
        return format(self.item(), form) if form else str(self)

    def __hash__(self) -> int:
        return id(self)

    # --- values ------------------------------------------------------------------------------

    def numpy(self) -> Any:
        """The same as ``asnumpy``."""
        return self.asnumpy()

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        array = self.asnumpy()
        return array if dtype is None else array.astype(dtype)

    def value(self) -> Any:
        """The tensor itself."""
        return self

    def copy(self) -> Any:
        """A tensor of its own with the same elements."""
        return self.clone()

    def init_data(self, *args: Any) -> Any:
        """The tensor itself: initialisers run at once here."""
        return self

    def set_dtype(self, dtype: Any) -> Any:
        """The tensor cast to ``dtype``."""
        return self.astype(as_dtype(dtype))

    def astype(self, dtype: Any, copy: bool = True) -> Any:
        """The tensor cast to ``dtype``."""
        target = as_dtype(dtype)
        return self.clone() if copy and target is self.aval.dtype else self.to(target)

    # --- reductions --------------------------------------------------------------------------

    @_KEEPDIMS
    def sum(
        self, axis: Any = None, dtype: Any = None, keepdims: bool = False, initial: Any = None
    ) -> Any:
        """The sum along ``axis``, plus ``initial``."""
        result = T.sum(self, _axes(axis), keepdim=keepdims, dtype=dtype)
        return adopt(result if initial is None else result + initial)

    @_KEEP_DIMS
    def mean(self, axis: Any = None, keep_dims: bool = False, *, dtype: Any = None) -> Any:
        """The mean along ``axis``; whole numbers have a whole one, rounded towards zero."""
        if dtype is not None:
            return T.mean(self, _axes(axis), keepdim=keep_dims, dtype=as_dtype(dtype))
        from ..ops import function

        return function.mean(self, axis, keep_dims)

    @_KEEP_DIMS
    def prod(self, axis: Any = None, keep_dims: bool = False, dtype: Any = None) -> Any:
        """The product along ``axis``, of all elements when None."""
        if axis is None:
            result = T.prod(self, dtype=dtype)
            return adopt(result.reshape((1,) * self.aval.ndim) if keep_dims else result)
        return T.prod(self, axis, keepdim=keep_dims, dtype=dtype)

    def max(self, *dim: Any, **words: Any) -> Any:
        """The largest elements; see ``_extreme``."""
        return _extreme(self, "max", *dim, **words)

    def min(self, *dim: Any, **words: Any) -> Any:
        """The smallest elements; see ``_extreme``."""
        return _extreme(self, "min", *dim, **words)

    @_KEEPDIMS
    def argmax(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """Where the largest element is, along ``axis`` or among all."""
        return T.argmax(self, axis, keepdims)

    @_KEEPDIMS
    def argmin(self, axis: int | None = None, keepdims: bool = False) -> Any:
        """Where the smallest element is, along ``axis`` or among all, as int32."""
        return T.argmin(self, axis, keepdims).int()

    @_KEEPDIMS
    def var(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """The variance along ``axis``: squares over (number - ``ddof``)."""
        result = T.var(self, dim=_axes(axis), correction=int(ddof), keepdim=keepdims)
        return adopt(result)

    @_KEEPDIMS
    def std(self, axis: Any = None, ddof: int = 0, keepdims: bool = False) -> Any:
        """The square root of :meth:`var`."""
        result = T.std(self, dim=_axes(axis), correction=int(ddof), keepdim=keepdims)
        return adopt(result)

    @_KEEP_DIMS
    def all(self, axis: Any = None, keep_dims: bool = False) -> Any:
        """Whether all elements along ``axis`` are true."""
        return T.all(self, _axes(axis), keepdim=keep_dims)

    @_KEEP_DIMS
    def any(self, axis: Any = None, keep_dims: bool = False) -> Any:
        """Whether some element along ``axis`` is true."""
        return T.any(self, _axes(axis), keepdim=keep_dims)

    # --- shapes ------------------------------------------------------------------------------

    def transpose(self, *axes: Any, **pair: int) -> Any:
        """The axes in another order, reversed when none is given; two numbers (``dim0``, ``dim1``)
        are axes to exchange."""
        if pair or (len(axes) == 2 and type(axes[0]) is int):
            return T.transpose(self, *axes, **pair)
        order = axes[0] if len(axes) == 1 and isinstance(axes[0], (tuple, list)) else axes
        if not order:
            order = tuple(range(self.aval.ndim))[::-1]
        return T.permute(self, *order)

    @_AXIS
    def expand_dims(self, axis: int) -> Any:
        """A new axis of length 1."""
        return T.unsqueeze(self, axis)

    @_AXIS
    def squeeze(self, axis: Any = None) -> Any:
        """Without the axes of length 1, or without those of ``axis`` that have this length."""
        return T.squeeze(self) if axis is None else T.squeeze(self, _axes(axis))

    def flatten(self, order: Any = "C", end_dim: int = -1, *, start_dim: int = 0) -> Any:
        """The axes from ``start_dim`` (or a first number) to ``end_dim`` as one, in row order or
        ("F") column order."""
        if type(order) is int:
            order, start_dim = "C", order
        if order not in ("C", "F"):
            raise ValueError(f"For 'flatten', the 'order' should be 'C' or 'F', but got {order!r}")
        given = self if order == "C" else self.transpose()
        return T.flatten(given, start_dim, end_dim)

    @_AXIS
    def repeat(self, repeats: Any, axis: int | None = None) -> Any:
        """Each element ``repeats`` times, along ``axis`` or in a flat row."""
        if isinstance(repeats, (tuple, list)):
            repeats = Tensor(repeats, dtypes.int64) if len(repeats) > 1 else repeats[0]
        return T.repeat_interleave(self, repeats, axis)

    def tile(self, *reps: Any) -> Any:
        """The whole tensor repeated along each axis."""
        given = reps[0] if len(reps) == 1 and isinstance(reps[0], (tuple, list)) else reps
        return T.tile(self, tuple(given))

    @_torch_words(dim="axis", split_size="split_size_or_sections")
    def split(self, split_size_or_sections: Any, axis: int = 0) -> Any:
        """Pieces of a length, or of several lengths, along ``axis``."""
        return T.split(self, split_size_or_sections, axis)

    # --- others whose arguments differ -------------------------------------------------------

    @_AXIS
    def argsort(self, axis: int = -1, descending: bool = False) -> Any:
        """The order that sorts along ``axis``."""
        return T.argsort(self, axis, descending).int()

    @_AXIS
    def sort(self, axis: int = -1, descending: bool = False) -> Any:
        """The sorted elements along ``axis``, and where they were."""
        values, places = T.sort(self, axis, descending)
        return values, places.int()

    def topk(self, k: int, dim: Any = None, largest: bool = True, sorted: bool = True) -> Any:  # noqa: A002
        """The ``k`` largest elements along ``dim``, and where they were."""
        values, places = T.topk(self, k, -1 if dim is None else dim, largest, sorted)
        return values, places.int()

    def gather_elements(self, dim: int, index: Any) -> Any:
        """The elements that ``index`` names along ``dim``."""
        return T.gather(self, dim, index.long())

    def gather(self, *args: Any, **words: Any) -> Any:
        """``gather(input_indices, axis, batch_dims=0)``: the slices that the indices name;
        ``gather(dim, index)``: torch's, see :meth:`gather_elements`."""
        if "dim" in words or "index" in words or (args and type(args[0]) is int):
            return self.gather_elements(*args, **words)
        from ..ops import function

        return function.gather(self, *args, **words)

    def select(self, *args: Any, **words: Any) -> Any:
        """``select(dim, index)``: a place along an axis; ``select(condition, y)``: this tensor's
        element where the condition holds, else that of ``y``."""
        if "condition" in words or (args and isinstance(args[0], EngineTensor)):
            return self._chosen(*args, **words)
        return T.select(self, *args, **words)

    def _chosen(self, condition: Any, y: Any) -> Any:
        return T.where(self, condition, y)

    def itemset(self, *args: Any) -> Any:
        """A tensor with another element: ``itemset(place, value)``, the place a number among all
        elements or a tuple."""
        *place, value = args
        result = self.clone()
        if len(place) == 1 and isinstance(place[0], int):
            result.view(-1)[place[0]] = value
        else:
            result[place[0] if place else ...] = value
        return result

    def norm(
        self,
        ord: Any = None,
        dim: Any = None,
        keepdim: bool = False,
        *,
        dtype: Any = None,  # noqa: A002
    ) -> Any:
        """The norm, see ``ops.norm``."""
        from ..ops import function

        return function.norm(self, ord, dim, keepdim, dtype=dtype)

    def cumsum(self, axis: Any = None, dtype: Any = None, **words: Any) -> Any:
        """Running sums along ``axis``, or of all elements in a row."""
        from ..ops import function

        axis = words.pop("dim", axis)
        x = T.reshape(self, (-1,)) if axis is None else self
        return function.cumsum(x, 0 if axis is None else axis, dtype, **words)

    def type(self, dtype: Any = None) -> Any:
        """The name of the elements' type, or the tensor cast to ``dtype``."""
        return text_of(self.aval.dtype) if dtype is None else self.astype(dtype)

    def real(self) -> Any:
        """The real parts."""
        return t.real(self)

    def imag(self) -> Any:
        """The imaginary parts."""
        return t.imag(self)

    # --- elements ----------------------------------------------------------------------------

    def __getitem__(self, item: Any) -> Any:
        try:
            return adopt(TorchTensor.__getitem__(self, item))
        except ValueError:
            given = turned(self, item)
            if given is None:
                raise
            return adopt(TorchTensor.__getitem__(*given))

    def __setitem__(self, item: Any, value: Any) -> None:
        value = Tensor(value) if type(value) in _ROWS else value
        if isinstance(value, EngineTensor) and value.aval.dtype is not self.aval.dtype:
            value = value.to(self.aval.dtype)
        TorchTensor.__setitem__(self, item, value)

    def __round__(self, decimals: int = 0) -> Any:
        return self.round(decimals=decimals)

    def register_hook(self, hook: Callable[[Any], Any]) -> Any:
        """Call ``hook(gradient)`` in backward; what it returns takes the gradient's place."""
        return TorchTensor.register_hook(self, lambda gradient: hook(adopt(gradient)))

    def new_zeros(self, size: Any, dtype: Any = None) -> Any:
        """Zeros of this tensor's type."""
        return T.new_zeros(self, size, dtype=dtype)

    def new_ones(self, size: Any, dtype: Any = None) -> Any:
        """Ones of this tensor's type."""
        return T.new_ones(self, size, dtype=dtype)


def _axes(axis: Any) -> Any:
    """Axes as torch takes them: lists as tuples, no axes at all as None."""
    if isinstance(axis, list):
        axis = tuple(axis)
    return None if axis == () else axis


def _extreme(x: Any, name: str, *args: Any, **words: Any) -> Any:
    """The largest or smallest elements as MindSpore has them: ``x.max(1)``, ``x.max(dim=1)`` and
    ``x.max(1, keepdim=True)`` give them and where they are, ``x.max(axis=1, keepdims=True)`` them
    alone, but for ``return_indices``; ``x.max(other)`` is the greater element of each two.

    Args:
        initial, where: a value to begin with, and which elements take part.
    """
    if args and isinstance(args[0], EngineTensor):
        return getattr(T, name + "imum")(x, *args, **words)
    as_torch = "dim" in words or "keepdim" in words or bool(args and type(args[0]) is int)
    if as_torch and words.keys() <= {"dim", "keepdim"}:
        return getattr(T, name)(x, *args, **words)
    return _extreme_along(x, name, *args, **words)


def _extreme_along(
    x: Any, name: str, axis: Any = None, keepdims: bool = False, *, initial: Any = None,
    where: Any = True, return_indices: bool = False,
) -> Any:  # fmt: skip
    if where is not True:
        if initial is None:
            raise ValueError(f"For 'Tensor.{name}', 'where' needs 'initial'")
        x = T.where(x, where, initial)
    if axis is None:
        found = getattr(T, name)(x)
        result = adopt(found.reshape((1,) * x.aval.ndim) if keepdims else found)
        places = getattr(x, "arg" + name)() if return_indices else None
    elif isinstance(axis, (tuple, list)):
        result, places = getattr(T, "a" + name)(x, _axes(axis), keepdims), None
    else:
        result, places = getattr(T, name)(x, axis, keepdims)
    if initial is not None:
        result = getattr(T, name + "imum")(result, as_tensor(initial).to(x.aval.dtype))
    return (result, places) if return_indices else result


def _initialized(shape: Any, dtype: Any, init: Any) -> Any:
    if shape is None or (init is None and dtype is None):
        raise TypeError("a tensor needs 'input_data', or 'shape' and 'dtype' or 'init'")
    return initializer(
        "zeros" if init is None else init, shape, dtypes.float32 if dtype is None else dtype
    )


class OpenTensor(Tensor):
    """What stands for tensors some of whose lengths may be any; it has no elements.

    Attributes:
        open_axes: the axes of these lengths.
    """

    __slots__ = ()
    open_axes: tuple[int, ...]

    @staticmethod
    def of(shape: tuple[Any, ...], places: tuple[int, ...], dtype: Any) -> Any:
        """A tensor of this shape.

        Args:
            shape: None or -1 at the open axes.
            places: these.
            dtype: of the elements.
        """
        if dtype is None:
            raise TypeError("a tensor needs 'input_data', or 'shape' and 'dtype' or 'init'")
        lengths = [_OPEN_LENGTH if i in places else n for i, n in enumerate(shape)]
        made = EngineTensor.__new__(OpenTensor)
        made.aval, made._node = _initialized(lengths, dtype, None).aval, None
        made.open_axes = places
        return made

    @property
    def shape(self) -> tuple[int, ...]:
        return tuple(-1 if i in self.open_axes else n for i, n in enumerate(self.aval.shape))

    def __repr__(self, *, tensor_contents: Any = None) -> str:
        return f"Tensor(shape={list(self.shape)}, dtype={text_of(self.aval.dtype)}, value= <open>)"

    __str__ = __repr__

    @property
    def flat(self) -> Any:  # what ops read and write
        raise RuntimeError(_NO_ELEMENTS)

    _shared = flat


_OPEN_LENGTH = 1
_NO_ELEMENTS = "a tensor with open lengths has no elements: it stands for others in export"


def as_tensor(value: Any) -> Any:
    """``value`` if it is a tensor, else a tensor of it."""
    return value if isinstance(value, EngineTensor) else Tensor(value)


_OPERATORS = """
    __abs__ __add__ __and__ __eq__ __floordiv__ __ge__ __gt__ __invert__ __le__
    __lshift__ __lt__ __matmul__ __mod__ __mul__ __ne__ __neg__ __or__ __pos__ __pow__ __radd__
    __rand__ __rfloordiv__ __rmatmul__ __rmod__ __rmul__ __ror__ __rpow__ __rshift__ __rsub__
    __rtruediv__ __sub__ __truediv__ __xor__ __rxor__
""".split()
# ``x += y`` makes a new tensor: what else was x stays
_AUGMENTED = "add and floordiv lshift matmul mod mul or pow rshift sub truediv xor".split()
# those that MindSpore has as well with lists and tuples of numbers
_WITH_ROWS = {
    f"__{r}{name}__" for r in ("", "r") for name in "add sub mul truediv floordiv mod".split()
}
_ROWS = frozenset((list, tuple))
_PROPERTIES = ("H", "T", "data", "grad", "mH", "mT")
# what tells about a tensor, in numbers or otherwise: nothing to adopt
_PLAIN = {"as_subclass", "asnumpy", "item", "numel", "tolist", "backward", "data_ptr"}


def _adopted_property(name: str) -> property:
    base = getattr(TorchTensor, name)

    def read(self: Any) -> Any:
        return adopt(base.__get__(self))

    return property(read, base.fset, base.fdel, base.__doc__)


def _operand(value: Any) -> Any:
    """What stands beside a tensor: numpy's arrays are tensors, too."""
    if isinstance(value, np.ndarray):
        return from_array(np.asarray(value, order="C"))
    return bool(value) if isinstance(value, np.bool_) else value


_DIFFERENCES: dict[str, Any] = {
    "__sub__": difference, "__rsub__": lambda x, y: difference(y, x)
}


def _adopted_operator(name: str) -> Any:
    """An operator calls its op and no methods: its arguments may stay what they are."""
    operator = _DIFFERENCES.get(name) or getattr(TorchTensor, name)

    def call(self: Any, *args: Any) -> Any:
        return adopt(operator(self, *map(_operand, args)))

    def call_with_rows(self: Any, other: Any) -> Any:
        return adopt(operator(self, Tensor(other) if type(other) in _ROWS else _operand(other)))

    made = call_with_rows if name in _WITH_ROWS else call
    made.__name__ = name
    return made


def _complete() -> None:
    """Every method of torch's that is not redefined above, with adopted results."""
    own = set(Tensor.__dict__)
    for name in dir(TorchTensor):
        method = getattr(TorchTensor, name)
        if name.startswith("_") or name in own or name in _PLAIN or isinstance(method, type):
            continue
        if callable(method) and hasattr(method, "__get__"):
            setattr(Tensor, name, getattr(T, name))
    for name in _OPERATORS:
        setattr(Tensor, name, _adopted_operator(name))
    for name in _AUGMENTED:
        setattr(Tensor, f"__i{name}__", getattr(Tensor, f"__{name}__"))
    for name in _PROPERTIES:
        setattr(Tensor, name, _adopted_property(name))
    Tensor.result_type = Tensor  # type: ignore[attr-defined]
    adopt_as(Tensor)


_complete()
