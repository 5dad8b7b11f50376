"""Tensors that carry a mask: what is masked out takes no part in anything.

A masked tensor has no derivation of its own: its data is an ordinary tensor, with autodiff's
history.
"""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

import mindtorch.torch as torch
from mindtorch.engine import dtypes
from mindtorch.engine.aval import aval
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.publish import FUNCTIONS, answered, method_of, put_over
from .._tensor.tensor import Tensor
from .._tensor.wrapper import HeldTensor
from . import _reductions


def missing(name: str) -> NoReturn:
    """Raise for a function that masked tensors do not have."""
    raise TypeError(
        f"mindtorch does not have {name} for masked tensors. Use to_tensor(value), or get_data() "
        "and get_mask()."
    )


def check_masks(data: Any, mask: Any) -> None:
    for name, value in (("data", data), ("mask", mask)):
        if not isinstance(value, EngineTensor):
            raise TypeError(f"{name} must be a Tensor")
    if mask.aval.dtype is not dtypes.bool_:
        raise TypeError("mask must have dtype bool.")
    if data.aval.shape != mask.aval.shape:
        raise ValueError("data.size() must equal mask.size()")


def warn_of_prototype() -> None:
    """Warn once that masked tensors may change, as torch does."""
    warnings.warn(
        "The PyTorch API of MaskedTensors is in prototype stage and will change in the near "
        "future. Please open a Github issue for features requests and see our documentation on "
        "the torch.masked module for further information about the project.",
        UserWarning,
        stacklevel=3,
    )


class MaskedTensor(HeldTensor):
    """A tensor and a mask of its shape; True keeps an element.

    Attributes:
        held, mask: the data and the mask.
    """

    mask: Any

    def __new__(cls, data: Any, mask: Any, requires_grad: bool = False) -> MaskedTensor:
        check_masks(data, mask)
        warn_of_prototype()
        return cls.of(data.detach().clone().requires_grad_(requires_grad), mask.clone())

    @classmethod
    def of(cls, data: Any, mask: Any) -> MaskedTensor:
        """Of data with its history."""
        made: MaskedTensor = object.__new__(cls)
        # steps unlike any dense layout, so that no kernel takes it for one
        steps = (0,) * data.aval.ndim
        made.aval = aval(data.aval.shape, data.aval.dtype, steps, data.aval.device)
        made._node = None
        made.held, made.mask = data, mask
        return made

    @property
    def flat(self) -> Any:
        missing("this function")

    def get_data(self) -> Any:
        """All elements, those masked out, too."""
        return self.held

    def get_mask(self) -> Any:
        """True where an element counts."""
        return self.mask

    def to_tensor(self, value: Any) -> Any:
        """A dense tensor with ``value`` where elements are masked out."""
        return self.held.masked_fill(~self.mask, value)

    def to_dense(self, dtype: Any = None, *, masked_grad: bool | None = None) -> MaskedTensor:
        return self

    def _refused(self, name: str, more: str = ".") -> NoReturn:
        raise RuntimeError(f".{name}() is not supported for tensor subclasses{more}")

    def numpy(self, *, force: bool = False) -> Any:
        self._refused("numpy")

    def tolist(self) -> Any:
        self._refused("tolist", ", got MaskedTensor")

    # --- autodiff ----------------------------------------------------------------------------

    @property
    def grad(self) -> Any:
        """The gradient, under the same mask."""
        found = self.held.grad
        return None if found is None else MaskedTensor.of(found, self.mask)

    @grad.setter
    def grad(self, value: Any) -> None:
        self.held.grad = value.held if isinstance(value, MaskedTensor) else value

    def backward(self, gradient: Any = None, *args: Any, **kwargs: Any) -> None:
        """Of a single element; or with a gradient, masked or not."""
        plain = gradient.held if isinstance(gradient, MaskedTensor) else gradient
        self.held.backward(plain, *args, **kwargs)

    # --- arithmetic --------------------------------------------------------------------------

    def _binary(self, name: str, other: Any, swapped: bool = False, **options: Any) -> Any:
        if isinstance(other, MaskedTensor):
            if not bool((self.mask == other.mask).all()):
                raise ValueError(
                    "Input masks must match. If you need support for this, please open an issue "
                    "on Github."
                )
            other = other.held
        pair = (other, self.held) if swapped else (self.held, other)
        return MaskedTensor.of(FUNCTIONS[name](*pair, **options), self.mask)

    def _reduced(self, name: str, dim: Any, keepdim: bool, **options: Any) -> Any:
        """By the function of torch.masked; a result counts where an element of its own did."""
        given: dict[str, Any] = {"mask": self.mask, **options}
        if dim is None and name in ("argmax", "argmin"):
            flat = {**given, "mask": self.mask.reshape(-1)}
            found = getattr(_reductions, name)(self.held.reshape(-1), 0, **flat)
        else:
            found = getattr(_reductions, name)(self.held, dim, keepdim=keepdim, **given)
        if name in ("argmax", "argmin"):
            found = found.to(self.aval.dtype)
        if dim is None:
            counts = self.mask.any()
        else:
            counts = self.mask.any(dim, keepdim=keepdim)
        return MaskedTensor.of(found, counts)

    def softmax(self, dim: int, dtype: Any = None) -> Any:
        """Over the elements that count."""
        found = _reductions.softmax(self.held, dim, dtype=dtype, mask=self.mask)
        return MaskedTensor.of(found, self.mask)

    def log_softmax(self, dim: int, dtype: Any = None) -> Any:
        """The logarithm of :meth:`softmax`."""
        found = _reductions.log_softmax(self.held, dim, dtype=dtype, mask=self.mask)
        return MaskedTensor.of(found, self.mask)

    def __getitem__(self, index: Any) -> Any:
        return MaskedTensor.of(self.held[index], self.mask[index])

    def __iter__(self) -> Any:
        return iter([self[i] for i in range(len(self))])

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        data, mask = self.held.detach(), self.mask
        if data.aval.ndim == 0:
            counts = bool(mask)
            return f"MaskedTensor({_number(data.item()) if counts else '--'}, {counts})"
        lines = _rows(data, mask).split("\n")
        return "MaskedTensor(\n" + "\n".join(f"  {line}" for line in lines) + "\n)"


def _number(x: Any) -> str:
    return f"{x:8.4f}" if isinstance(x, float) else str(x)


def _rows(data: Any, mask: Any) -> str:
    """Rows in brackets, -- for what is masked out."""
    if data.aval.ndim == 1:
        words = [_number(x) for x in data.tolist()]
        flags = mask.tolist()
        width = max(len(w) if m else 8 for w, m in zip(words, flags, strict=True))
        shown = [w if m else "--".rjust(width) for w, m in zip(words, flags, strict=True)]
        return f"[{', '.join(shown)}]"
    parts = [_rows(d, m) for d, m in zip(data, mask, strict=True)]
    below = ["\n".join(f"  {line}" for line in part.split("\n")) for part in parts]
    return "[\n" + ",\n".join(below) + "\n]"


_KEPT = {"dim", "size", "numel", "nelement", "element_size", "is_floating_point", "is_complex",
         "is_signed", "get_device", "ndimension", "is_contiguous"}  # fmt: skip
_UNARY = ("abs", "acos", "asin", "atan", "ceil", "cos", "cosh", "erf", "exp", "expm1", "floor",
          "log", "log10", "log1p", "log2", "neg", "reciprocal", "relu", "round", "rsqrt",
          "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "trunc", "isnan",
          "nan_to_num", "float", "double", "half", "bfloat16", "int", "long", "short", "bool",
          "to", "pow", "__pow__", "clamp", "detach")  # fmt: skip
_STRUCTURAL = ("view", "reshape", "transpose", "permute", "t", "unsqueeze", "squeeze", "expand",
               "contiguous", "flatten", "clone", "select", "narrow")  # fmt: skip
_BINARY = ("add", "sub", "mul", "div", "maximum", "minimum", "eq", "ne", "lt", "le", "gt", "ge")
_OPERATORS = {"add": "add", "sub": "sub", "mul": "mul", "truediv": "div", "eq": "eq", "ne": "ne",
              "lt": "lt", "le": "le", "gt": "gt", "ge": "ge"}  # fmt: skip
_REDUCTIONS = ("sum", "prod", "mean", "amax", "amin", "argmax", "argmin", "var", "std")


def _define_methods() -> None:
    def unary(name: str) -> Any:
        return lambda self, *args, **kwargs: MaskedTensor.of(
            getattr(self.held, name)(*args, **kwargs), self.mask
        )

    def structural(name: str) -> Any:
        return lambda self, *args, **kwargs: MaskedTensor.of(
            getattr(self.held, name)(*args, **kwargs), getattr(self.mask, name)(*args, **kwargs)
        )

    def binary(name: str, swapped: bool = False) -> Any:
        return lambda self, other, **options: self._binary(name, other, swapped, **options)

    def reduction(name: str) -> Any:
        def method(self: Any, dim: Any = None, keepdim: bool = False, **options: Any) -> Any:
            return self._reduced(name, dim, keepdim, **options)

        return method

    def refusing(name: str) -> Any:
        return lambda self, *args, **kwargs: missing(name)

    own: Any = MaskedTensor
    for names, make in ((_UNARY, unary), (_STRUCTURAL, structural), (_BINARY, binary),
                        (_REDUCTIONS, reduction)):  # fmt: skip
        for name in names:
            setattr(own, name, make(name))
    own.__neg__ = own.neg
    for name, function in _OPERATORS.items():
        setattr(own, f"__{name}__", binary(function))
        if name in ("add", "sub", "mul", "truediv"):
            setattr(own, f"__r{name}__", binary(function, True))
    for name in dir(Tensor):
        public = not name.startswith("_") or name == "__setitem__"
        defined = name in MaskedTensor.__dict__ or name in _KEPT
        if public and not defined and callable(getattr(Tensor, name)):
            setattr(own, name, refusing(name))
    own.__hash__ = lambda self: id(self)


_define_methods()


def install() -> None:
    """Put functions that know masked tensors into the namespace, at torch.masked's first use."""
    namespace = vars(torch)
    for name in (*_UNARY, *_STRUCTURAL, *_BINARY, *_REDUCTIONS, "softmax", "log_softmax"):
        if name in FUNCTIONS and name in namespace:
            FUNCTIONS[name] = answered(FUNCTIONS[name], method_of(MaskedTensor, name))
            put_over(namespace, name, FUNCTIONS[name])
