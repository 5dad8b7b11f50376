"""Tensors that carry a mask: what is masked out takes no part in anything.

A masked tensor has no derivation of its own: its data is an ordinary tensor, with autodiff's
history.
"""

from __future__ import annotations

import warnings
from typing import Any, NoReturn

from mindtorch.engine import dtypes
from mindtorch.engine.aval import unstrided
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._tensor.tensor import Tensor
from .._tensor.tensor_classes import implements, refuse_the_rest, torch
from .._tensor.wrapper import HeldTensor
from . import _ops


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


def _operator(function: Any, reflected: bool = False) -> Any:
    def method(self: Any, other: Any) -> Any:
        return function(other, self) if reflected else function(self, other)

    return method


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
        made.aval = unstrided(data.aval.shape, data.aval.dtype, data.aval.device)
        made._node = None
        made.held, made.mask = data, mask
        return made

    @property
    def flat(self) -> Any:
        missing("this function")

    # these ask no more than shape and type
    dim, ndimension, size, element_size = (
        Tensor.dim, Tensor.ndimension, Tensor.size, Tensor.element_size,
    )  # fmt: skip
    numel, nelement, get_device = Tensor.numel, Tensor.nelement, Tensor.get_device
    is_floating_point, is_complex = Tensor.is_floating_point, Tensor.is_complex
    is_signed, is_contiguous = Tensor.is_signed, Tensor.is_contiguous

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

    # --- operators ---------------------------------------------------------------------------

    __add__, __radd__ = _operator(torch.add), _operator(torch.add, True)
    __sub__, __rsub__ = _operator(torch.sub), _operator(torch.sub, True)
    __mul__, __rmul__ = _operator(torch.mul), _operator(torch.mul, True)
    __truediv__, __rtruediv__ = _operator(torch.div), _operator(torch.div, True)
    __eq__, __ne__ = _operator(torch.eq), _operator(torch.ne)
    __lt__, __le__ = _operator(torch.lt), _operator(torch.le)
    __gt__, __ge__ = _operator(torch.gt), _operator(torch.ge)

    def __neg__(self) -> MaskedTensor:
        return MaskedTensor.of(-self.held, self.mask)

    def __pow__(self, exponent: Any) -> MaskedTensor:
        return MaskedTensor.of(self.held**exponent, self.mask)

    def __hash__(self) -> int:
        return id(self)

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


@implements(
    MaskedTensor,
    torch.abs, torch.acos, torch.asin, torch.atan, torch.ceil, torch.cos, torch.cosh, torch.erf,
    torch.exp, torch.expm1, torch.floor, torch.log, torch.log10, torch.log1p, torch.log2, torch.neg,
    torch.reciprocal, torch.relu, torch.round, torch.rsqrt, torch.sigmoid, torch.sign, torch.sin,
    torch.sinh, torch.sqrt, torch.square, torch.tan, torch.tanh, torch.trunc, torch.isnan,
    torch.nan_to_num, torch.pow, torch.clamp, Tensor.detach, Tensor.to, Tensor.float, Tensor.double,
    Tensor.half, Tensor.bfloat16, Tensor.int, Tensor.long, Tensor.short, Tensor.bool,
)  # fmt: skip
def _of_each_element(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    if not isinstance(input, MaskedTensor):
        return NotImplemented
    found = getattr(input.held, function.__name__)(*args, **kwargs)
    return MaskedTensor.of(found, input.mask)


@implements(
    MaskedTensor,
    torch.reshape, torch.transpose, torch.permute, torch.t, torch.unsqueeze, torch.squeeze,
    torch.flatten, torch.clone, torch.select, torch.narrow, Tensor.view, Tensor.expand,
    Tensor.contiguous,
)  # fmt: skip
def _of_data_and_mask(function: Any, input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
    parts = (getattr(x, function.__name__)(*args, **kwargs) for x in (input.held, input.mask))
    return MaskedTensor.of(*parts)


@implements(
    MaskedTensor,
    torch.add, torch.sub, torch.mul, torch.div, torch.maximum, torch.minimum, torch.eq, torch.ne,
    torch.lt, torch.le, torch.gt, torch.ge,
)  # fmt: skip
def _of_two(function: Any, input: Any, other: Any, **options: Any) -> Any:  # noqa: A002
    """Of the data; of two masked tensors the masks must be the same."""
    masks = [x.mask for x in (input, other) if isinstance(x, MaskedTensor)]
    if not bool((masks[0] == masks[-1]).all()):
        raise ValueError(
            "Input masks must match. If you need support for this, please open an issue on Github."
        )
    data = (x.held if isinstance(x, MaskedTensor) else x for x in (input, other))
    found = function(*data, **options)
    return MaskedTensor.of(found, masks[0].expand(found.aval.shape))


@implements(
    MaskedTensor,
    torch.sum, torch.prod, torch.mean, torch.amax, torch.amin, torch.argmax, torch.argmin,
    torch.var, torch.std,
)  # fmt: skip
def _folded(
    function: Any, input: Any, dim: Any = None, keepdim: bool = False, **options: Any  # noqa: A002
) -> Any:
    """By the function of torch.masked; a result counts where an element of its own did."""
    fold = getattr(_ops, function.__name__)
    is_place = function in (torch.argmax, torch.argmin)
    if dim is None and is_place:
        mask = input.mask.reshape(-1)
        found = fold(input.held.reshape(-1), 0, mask=mask, **options)
    else:
        found = fold(input.held, dim, keepdim=keepdim, mask=input.mask, **options)
    if is_place:
        found = found.to(input.aval.dtype)
    counts = input.mask.any() if dim is None else input.mask.any(dim, keepdim=keepdim)
    return MaskedTensor.of(found, counts)


@implements(MaskedTensor, torch.softmax, torch.log_softmax)
def _normalized(function: Any, input: Any, dim: int, dtype: Any = None) -> Any:  # noqa: A002
    """Over the elements that count."""
    over = getattr(_ops, function.__name__)
    return MaskedTensor.of(over(input.held, dim, dtype=dtype, mask=input.mask), input.mask)


refuse_the_rest(MaskedTensor, missing, "__setitem__")
