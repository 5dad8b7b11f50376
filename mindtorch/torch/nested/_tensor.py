"""Nested tensors: a list of tensors of one type and number of axes, as one tensor.

A nested tensor has no derivation of its own: its parts are ordinary tensors, with autodiff's
history, and everything is computed part by part.
"""

from __future__ import annotations

from typing import Any, NoReturn

import mindtorch.torch as torch
from mindtorch.engine import dtypes
from mindtorch.engine.aval import aval
from mindtorch.engine.devices.device import cpu
from mindtorch.engine.tensor import Tensor as EngineTensor

from .._api.arguments import as_dtype
from .._api.publish import FUNCTIONS, answered, first_given, method_of, put_over
from .._tensor.size_and_formats import strided
from .._tensor.tensor import Tensor
from .._tensor_str import with_suffixes
from ..nn import functional

_SIZES = "Internal error: NestedTensorImpl doesn't support {}. Please file an issue."


def missing(name: str) -> NoReturn:
    """Raise for an op that nested tensors do not have."""
    raise NotImplementedError(
        f"Could not run 'aten::{name}' with arguments from the 'NestedTensorCPU' backend: "
        "mindtorch does not have it for nested tensors. Use to_padded_tensor() or unbind() first."
    )


class NestedTensor(Tensor):
    """Several tensors of one number of axes, the parts, along a first axis.

    Attributes:
        parts: the tensors.
    """

    parts: list[Any]

    def __new__(cls, parts: list[Any]) -> NestedTensor:
        made: NestedTensor = object.__new__(cls)
        first = parts[0].aval if parts else aval((0,), dtypes.default)
        sizes = (len(parts), *(0 for _ in first.shape))
        # steps unlike any dense layout, so that no kernel takes it for one
        made.aval = aval(sizes, first.dtype, (0,) * len(sizes), first.device)
        made._node = None
        made.parts = parts
        return made

    def each(self, function: Any) -> NestedTensor:
        """``function`` of every part."""
        return NestedTensor([function(part) for part in self.parts])

    @property
    def flat(self) -> Any:
        missing("op")

    # --- description -------------------------------------------------------------------------

    is_nested = True
    layout = strided

    @property
    def shape(self) -> Any:
        raise RuntimeError(_SIZES.format("sizes"))

    def size(self, dim: int | None = None) -> Any:
        """The length of an axis along which all parts are alike."""
        if dim is None:
            raise RuntimeError(_SIZES.format("sizes"))
        axis = dim + self.aval.ndim if dim < 0 else dim
        if axis == 0:
            return len(self.parts)
        lengths = {part.aval.shape[axis - 1] for part in self.parts}
        if len(lengths) != 1:
            raise RuntimeError(f"Given dimension {axis} is irregular and does not have a size.")
        return lengths.pop()

    def stride(self, dim: int | None = None) -> Any:
        raise RuntimeError(_SIZES.format("strides"))

    tolist = stride

    def __len__(self) -> int:
        raise RuntimeError(_SIZES.format("sizes"))

    def __iter__(self) -> Any:
        raise RuntimeError(_SIZES.format("sizes"))

    def numpy(self, *, force: bool = False) -> Any:
        raise RuntimeError(_SIZES.format("sizes"))

    def numel(self) -> int:
        return sum(part.numel() for part in self.parts)

    def is_contiguous(self, memory_format: Any = None) -> bool:
        return all(part.is_contiguous() for part in self.parts)

    def unbind(self, dim: int = 0) -> Any:
        """The parts."""
        if dim not in (0, -self.aval.ndim):
            raise RuntimeError(
                f"NestedTensor can only be unbound along dimension 0 got dimension {dim} instead."
            )
        return tuple(self.parts)

    def __getitem__(self, index: Any) -> Any:
        """A part, or what the further indices choose from it."""
        first, *others = index if isinstance(index, tuple) else (index,)
        if not isinstance(first, int):
            missing("slice")
        part = self.parts[first]
        return part[tuple(others)] if others else part

    def values(self) -> Any:
        """The elements of all parts, one after another."""
        return FUNCTIONS["cat"]([part.reshape(-1) for part in self.parts])

    def to_padded_tensor(self, padding: float, output_size: Any = None) -> Any:
        """(parts, longest lengths...), what is missing filled with ``padding``."""
        ndim = self.aval.ndim - 1
        longest = [max(p.aval.shape[i] for p in self.parts) for i in range(ndim)]
        target = longest if output_size is None else list(output_size)[1:]
        if any(t < n for t, n in zip(target, longest, strict=True)):
            raise RuntimeError(
                "Value in output_size is less than NestedTensor padded size. Truncation is not "
                "supported."
            )

        def padded(part: Any) -> Any:
            widths = []
            for n, wanted in zip(reversed(part.aval.shape), reversed(target), strict=True):
                widths += [0, wanted - n]
            return functional.pad(part, widths, value=padding)

        whole = FUNCTIONS["stack"]([padded(part) for part in self.parts])
        if output_size is None or output_size[0] == len(self.parts):
            return whole
        widths = [0, 0] * ndim + [0, output_size[0] - len(self.parts)]
        return functional.pad(whole, widths, value=padding)

    # --- autodiff ----------------------------------------------------------------------------

    @property  # type: ignore[misc]
    def requires_grad(self) -> bool:
        return any(part.requires_grad for part in self.parts)

    def requires_grad_(self, requires_grad: bool = True) -> NestedTensor:
        for part in self.parts:
            part.requires_grad_(requires_grad)
        return self

    @property
    def is_leaf(self) -> bool:
        return all(part.is_leaf for part in self.parts)

    @property  # type: ignore[misc]
    def grad(self) -> Any:
        """The gradients of the parts."""
        if any(part.grad is None for part in self.parts):
            return None
        return self.each(lambda part: part.grad)

    @property
    def grad_fn(self) -> Any:
        return next((p.grad_fn for p in self.parts if p.grad_fn is not None), None)

    # --- arithmetic --------------------------------------------------------------------------

    def _binary(self, name: str, other: Any, swapped: bool = False) -> NestedTensor:
        function = FUNCTIONS[name]

        def of_two(a: Any, b: Any) -> Any:
            return function(b, a) if swapped else function(a, b)

        if isinstance(other, EngineTensor) and other.aval.ndim:
            if not isinstance(other, NestedTensor):
                kinds = ("non-nested", "nested") if swapped else ("nested", "non-nested")
                raise RuntimeError(
                    f"Expected both self and other to be nested, but got a {kinds[0]} self and "
                    f"{kinds[1]} other"
                )
            pairs = zip(self.parts, other.parts, strict=True)
            return NestedTensor([of_two(a, b) for a, b in pairs])
        return self.each(lambda part: of_two(part, other))

    def matmul(self, other: Any) -> NestedTensor:
        """Part by part."""
        if not isinstance(other, NestedTensor):
            raise RuntimeError(
                "Expected both to be nested, but got a nested self and non-nested other"
            )
        return self._binary("matmul", other)

    bmm = __matmul__ = matmul  # type: ignore[assignment]

    def sum(self, dim: Any = None, keepdim: bool = False, *, dtype: Any = None) -> Any:
        """Along the last axis, which stays with length 1."""
        if dim not in (-1, self.aval.ndim - 1) or not keepdim:
            missing("sum other than along the last axis with keepdim=True")
        return self.each(lambda part: part.sum(-1, keepdim=True, dtype=dtype))

    def transpose(self, dim0: int, dim1: int) -> NestedTensor:
        """Two axes of every part exchanged."""
        ndim = self.aval.ndim
        first, second = (d + ndim if d < 0 else d for d in (dim0, dim1))
        if 0 in (first, second):
            raise RuntimeError("Nested tensor dimension 0 cannot be transposed")
        return self.each(lambda part: part.transpose(first - 1, second - 1))

    def softmax(self, dim: int, dtype: Any = None) -> NestedTensor:
        """Over an axis of every part."""
        axis = dim + self.aval.ndim if dim < 0 else dim
        if axis == 0:
            raise RuntimeError("Cannot apply softmax across nested dimension 0")
        return self.each(lambda part: part.softmax(axis - 1, dtype))

    def to(self, *args: Any, **kwargs: Any) -> NestedTensor:
        return self.each(lambda part: part.to(*args, **kwargs))

    def __deepcopy__(self, memo: Any) -> NestedTensor:
        found = self.each(lambda part: part.detach().clone().requires_grad_(part.requires_grad))
        memo[id(self)] = found
        return found

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        texts = [repr(p if p.is_leaf else p.detach()) for p in self.parts]
        lines = ",\n".join("\n".join(f"  {line}" for line in t.split("\n")) for t in texts)
        suffixes = []
        if self.grad_fn is not None:
            suffixes.append(f"grad_fn=<{self.grad_fn.name()}>")
        elif self.requires_grad:
            suffixes.append("requires_grad=True")
        prefix = "nested_tensor("
        return with_suffixes(f"{prefix}[\n{lines}\n]", suffixes, len(prefix))


_KEPT = ("dim", "element_size", "is_floating_point", "is_complex", "is_signed", "get_device")
_UNARY = ("abs", "relu", "sin", "cos", "neg", "tanh", "sgn", "isnan", "isinf", "logical_not",
          "clone", "detach", "contiguous", "float", "double", "half", "bfloat16", "int", "long",
          "bool", "cpu", "fill_", "zero_", "relu_", "neg_", "abs_")  # fmt: skip
_BINARY = {"add": "add", "sub": "sub", "mul": "mul", "div": "div", "truediv": "div"}


def _define_methods() -> None:
    def unary(name: str) -> Any:
        def method(self: Any, *args: Any, **kwargs: Any) -> Any:
            found = self.each(lambda part: getattr(part, name)(*args, **kwargs))
            return self if name.endswith("_") else found

        return method

    def binary(name: str, swapped: bool) -> Any:
        return lambda self, other: self._binary(name, other, swapped)

    def refusing(name: str) -> Any:
        return lambda self, *args, **kwargs: missing(name)

    own: Any = NestedTensor
    for name in _UNARY:
        setattr(own, name, unary(name))
    own.__neg__ = own.neg
    for name, function in _BINARY.items():
        setattr(own, f"__{name}__", binary(function, False))
        setattr(own, f"__r{name}__", binary(function, True))
        setattr(own, name, binary(function, False))
    for name in dir(Tensor):
        public = not name.startswith("_") or name in ("__eq__", "__lt__", "__gt__", "__setitem__")
        defined = name in NestedTensor.__dict__ or name in _KEPT
        if public and not defined and callable(getattr(Tensor, name)):
            setattr(own, name, refusing(name.strip("_") if name.startswith("_") else name))
    own.__hash__ = lambda self: id(self)


_define_methods()


def made_of(given: Any, name: str, dtype: Any, device: Any, copied: bool) -> NestedTensor:
    """A nested tensor of tensors, or of (nested lists of) numbers."""
    if not isinstance(given, (list, tuple)) or (name == "nested_tensor" and not (
        isinstance(given, list)
    )):
        raise TypeError(
            f"Only lists (List[Tensor] and List[List...[Scalar]]) are accepted in {name}"
        )
    parts: list[Any] = []
    for x in given:
        part = x if isinstance(x, EngineTensor) else FUNCTIONS["tensor"](x)
        parts.append(part.detach().clone() if copied and part is x else part)
    for i, part in enumerate(parts):
        if part.aval.ndim != parts[0].aval.ndim:
            raise RuntimeError(
                "All Tensors given to nested_tensor must have the same dimension. Found dimension "
                f"{part.aval.ndim} for Tensor at index {i} and dimension {parts[0].aval.ndim} for "
                "Tensor at index 0."
            )
    if parts:
        kind = parts[0].aval.dtype if dtype is None else as_dtype(dtype)
        place = cpu if device is None else device
        parts = [part.to(device=place, dtype=kind) for part in parts]
    return NestedTensor(parts)


def _part_by_part(function: Any) -> Any:
    """The answer for a function of dense tensors that takes a nested one first, too."""

    def answer(args: Any, kwargs: Any) -> Any:
        nested = first_given(args, kwargs, "input")
        if not isinstance(nested, NestedTensor):
            return NotImplemented
        named = {key: value for key, value in kwargs.items() if key != "input"}
        return nested.each(lambda part: function(part, *args[1:], **named))

    return answer


def _joined(args: Any, kwargs: Any) -> Any:
    """The answer for cat."""
    tensors = first_given(args, kwargs, "tensors")
    several = isinstance(tensors, (tuple, list))
    if not several or not any(isinstance(x, NestedTensor) for x in tensors):
        return NotImplemented
    dim = args[1] if len(args) > 1 else kwargs.get("dim", kwargs.get("axis", 0))
    if dim != 0 or not all(isinstance(x, NestedTensor) for x in tensors):
        missing("cat of other than nested tensors along axis 0")
    return NestedTensor([part for x in tensors for part in x.parts])


def _softmax(args: Any, kwargs: Any) -> Any:
    """The answer for torch.nn.functional.softmax, whose third argument is of no use."""
    nested = first_given(args, kwargs, "input")
    if not isinstance(nested, NestedTensor):
        return NotImplemented
    named = {key: value for key, value in kwargs.items() if key not in ("input", "_stacklevel")}
    return nested.softmax(*args[1:2], *args[3:4], **named)


def install() -> None:
    """Put functions that know nested tensors into the namespace, at torch.nested's first use."""
    namespace, layers = vars(torch), vars(functional)
    for name in ("relu", "neg", "abs", "sin", "cos", "bmm", "matmul", "add", "sub", "mul", "div",
                 "transpose", "tanh", "clone", "softmax"):  # fmt: skip
        FUNCTIONS[name] = answered(FUNCTIONS[name], method_of(NestedTensor, name))
        put_over(namespace, name, FUNCTIONS[name])
    FUNCTIONS["cat"] = answered(FUNCTIONS["cat"], _joined)
    put_over(namespace, "cat", FUNCTIONS["cat"])
    for name in ("relu", "tanh", "gelu", "silu", "dropout", "linear", "layer_norm"):
        put_over(layers, name, answered(layers[name], _part_by_part(layers[name])))
    put_over(layers, "softmax", answered(layers["softmax"], _softmax))
