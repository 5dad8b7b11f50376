"""Printing: the text of ``repr(tensor)``, and the options that shape it.

The layout is decided on numpy arrays (`format_array`), the suffixes on plain facts (`tensor_repr`);
only `_str` knows tensors.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

__all__ = ["get_printoptions", "printoptions", "set_printoptions"]

Array = np.ndarray[Any, Any]
FormatValue = Callable[[Any], str]


class _PrintOptions:
    def __init__(self) -> None:
        self.precision = 4
        self.threshold: float = 1000
        self.edgeitems = 3
        self.linewidth = 80
        self.sci_mode: bool | None = None


_options = PRINT_OPTS = _PrintOptions()

_PROFILES: dict[str, dict[str, float]] = {
    "default": {"precision": 4, "threshold": 1000, "edgeitems": 3, "linewidth": 80},
    "short": {"precision": 2, "threshold": 1000, "edgeitems": 2, "linewidth": 80},
    "full": {"precision": 4, "threshold": math.inf, "edgeitems": 3, "linewidth": 80},
}


def set_printoptions(
    precision: int | None = None,
    threshold: float | None = None,
    edgeitems: int | None = None,
    linewidth: int | None = None,
    profile: str | None = None,
    sci_mode: bool | None = None,
) -> None:
    """Change how tensors are printed. An option left at None keeps its value, except ``sci_mode``.

    Args:
        precision: digits after the decimal point (4 at first).
        threshold: tensors with more elements are shortened (1000).
        edgeitems: elements shown at each end of a shortened axis (3).
        linewidth: characters on a line before it is broken (80).
        profile: ``"default"``, ``"short"`` or ``"full"``: sets the four above before they apply;
            an unknown name changes nothing.
        sci_mode: True or False force or forbid scientific notation; None lets each tensor decide.
    """
    if profile is not None:
        for name, value in _PROFILES.get(profile, {}).items():
            setattr(_options, name, value)
    given = (
        ("precision", precision), ("threshold", threshold),
        ("edgeitems", edgeitems), ("linewidth", linewidth),
    )  # fmt: skip
    for name, option in given:
        if option is not None:
            setattr(_options, name, option)
    _options.sci_mode = sci_mode


def get_printoptions() -> dict[str, Any]:
    """The options as a dictionary that `set_printoptions` accepts as keyword arguments."""
    return dict(vars(_options))


@contextmanager
def printoptions(**options: Any) -> Iterator[None]:
    """`set_printoptions` for the length of a ``with`` block."""
    before = get_printoptions()
    set_printoptions(**options)
    try:
        yield
    finally:
        set_printoptions(**before)


class _NumberFormat:
    """How the numbers of one tensor are written: notation and width, chosen from ``values``."""

    def __init__(self, values: Array, floating: bool) -> None:
        self.floating = floating
        self.integral = True
        self.scientific = False
        self.width = 1
        if not floating:
            self.width = max((len(str(value)) for value in values.ravel().tolist()), default=1)
        else:
            self._choose(values.ravel().astype(np.float64))

    def _choose(self, values: Array) -> None:
        values = values[np.isfinite(values) & (values != 0)]
        if not values.size:
            return
        magnitudes = np.abs(values)
        smallest, largest = float(magnitudes.min()), float(magnitudes.max())
        self.integral = bool((values == np.ceil(values)).all())
        if _options.sci_mode is None:
            with np.errstate(over="ignore"):
                ratio = np.float64(largest) / np.float64(smallest)
            self.scientific = bool(ratio > 1000.0 or largest > 1.0e8 or smallest < 1.0e-4)
        else:
            self.scientific = _options.sci_mode
        if self.scientific:
            pattern, extra = f"{{:.{_options.precision}e}}", 0
        elif self.integral:
            pattern, extra = "{:.0f}", 1
        else:
            pattern, extra = f"{{:.{_options.precision}f}}", 0
        self.width = max(len(pattern.format(value)) for value in values.tolist()) + extra

    def __call__(self, value: Any) -> str:
        if not self.floating:
            text = str(value)
        elif self.scientific:
            text = f"{value:.{_options.precision}e}"
        elif self.integral:
            text = f"{value:.0f}" + ("." if math.isfinite(value) else "")
        else:
            text = f"{value:.{_options.precision}f}"
        return text.rjust(self.width)


def _edges(array: Array) -> Array:
    """The elements that a shortened print shows (all of an axis where it is not shortened)."""
    count = _options.edgeitems
    if not count:
        return array if array.ndim < 2 else array[:0]
    for axis, length in enumerate(array.shape):
        if length > 2 * count:
            shown = np.r_[0:count, length - count : length]
            array = np.take(array, shown, axis)
    return array


def _formatter(array: Array, shorten: bool) -> tuple[FormatValue, int]:
    """The function that writes one value of ``array``, and the width it fills."""
    sample = _edges(array) if shorten else array
    if array.dtype.kind != "c":
        plain = _NumberFormat(sample, floating=array.dtype.kind not in "iub")
        return plain, plain.width
    real = _NumberFormat(sample.real, floating=True)
    imaginary = _NumberFormat(sample.imag, floating=True)

    def write(value: complex) -> str:
        second = (imaginary(value.imag) + "j").lstrip()
        return real(value.real) + ("" if second[0] in "+-" else "+") + second

    return write, real.width + imaginary.width + 1


def format_array(array: Array, indent: int = 0) -> str:
    """The bracketed values of ``array`` as torch writes them, by the current print options.

    Args:
        array: a numpy array of any shape, of bool, integer, floating (float16, float32, float64,
            ml_dtypes' bfloat16) or complex type.
        indent: the column at which the text starts; continuation lines are indented by it.
    """
    if array.size == 0:
        return "[]"
    if array.dtype.kind == "V":  # ml_dtypes: its scalars are not Python numbers
        array = array.astype(np.float32)
    shorten = array.size > _options.threshold
    write, width = _formatter(array, shorten)
    return _nested(array, indent, shorten, write, width)


def _nested(array: Array, indent: int, shorten: bool, write: FormatValue, width: int) -> str:
    if array.ndim == 0:
        return write(array.item())
    if array.ndim == 1:
        return _row(array, indent, shorten, write, width)
    count = _options.edgeitems
    if shorten and len(array) > 2 * count:
        head, tail = list(array[:count]), list(array[len(array) - count :])
    else:
        head, tail = list(array), None
    parts = [_nested(part, indent + 1, shorten, write, width) for part in head]
    if tail is not None:
        parts.append("...")
        parts += [_nested(part, indent + 1, shorten, write, width) for part in tail]
    separator = "," + "\n" * (array.ndim - 1) + " " * (indent + 1)
    return "[" + separator.join(parts) + "]"


def _row(array: Array, indent: int, shorten: bool, write: FormatValue, width: int) -> str:
    count = _options.edgeitems
    if shorten and not count:
        words = ["..."]
    elif shorten and len(array) > 2 * count:
        words = [write(value) for value in array[:count].tolist()]
        words.append(" ...")
        words += [write(value) for value in array[-count:].tolist()]
    else:
        words = [write(value) for value in array.tolist()]
    per_line = max(1, math.floor((_options.linewidth - indent) / (width + 2)))
    lines = [", ".join(words[i : i + per_line]) for i in range(0, len(words), per_line)]
    return "[" + (",\n" + " " * (indent + 1)).join(lines) + "]"


def tensor_repr(
    array: Array | None,
    shape: tuple[int, ...],
    dtype: str,
    *,
    default_dtype: str = "torch.float32",
    device: str | None = None,
    requires_grad: bool = False,
    grad_fn: str | None = None,
    class_name: str = "tensor",
    tangent: str | None = None,
    contents: str | None = None,
) -> str:
    """The whole text: ``tensor([...], size=..., dtype=..., grad_fn=<AddBackward0>)``.

    Args:
        array: the values, or None for a tensor without any (device ``meta``).
        shape: the tensor's shape.
        dtype: its element type as printed, ``"torch.float32"``.
        default_dtype: the current default floating type, which is not printed.
        device: the device to print, None for the default one.
        requires_grad: printed when there is no ``grad_fn``.
        grad_fn: the name of the node that produced the tensor, ``"AddBackward0"``.
        class_name: ``"tensor"``, or the name of a subclass.
        tangent: the text of the forward-mode tangent, if any.
        contents: a text that takes the place of the values.
    """
    prefix = class_name + "("
    suffixes = [] if device is None else [f"device='{device}'"]
    size = f"size={tuple(shape)}"
    complex_default = "complex128" if default_dtype == "torch.float64" else "complex64"
    unmarked = (default_dtype, "torch." + complex_default, "torch.int64", "torch.bool")
    if array is None:
        suffixes.append(size)
        if dtype != default_dtype:
            suffixes.append("dtype=" + dtype)
    elif array.size == 0:
        if len(shape) != 1:
            suffixes.append(size)
        if dtype != default_dtype:
            suffixes.append("dtype=" + dtype)
    else:
        if not _options.edgeitems:
            suffixes.append(size)
        if dtype not in unmarked:
            suffixes.append("dtype=" + dtype)
    if contents is None:
        contents = "..." if array is None else format_array(array, len(prefix))
    if grad_fn is not None:
        suffixes.append(f"grad_fn=<{grad_fn}>")
    elif requires_grad:
        suffixes.append("requires_grad=True")
    if tangent is not None:
        suffixes.append(f"tangent={tangent}")
    return with_suffixes(prefix + contents, suffixes, len(prefix))


def with_suffixes(
    text: str, suffixes: list[str], indent: int, first_below: bool = False
) -> str:
    """The suffixes after the text, on new lines where the line would be too long.

    Args:
        first_below: the first one is on a new line anyway.
    """
    parts = [text]
    column = len(text) - text.rfind("\n") + 1
    for suffix in suffixes:
        if first_below or column + len(suffix) + 2 > _options.linewidth:
            first_below = False
            parts.append(",\n" + " " * indent + suffix)
            column = indent + len(suffix)
        else:
            parts.append(", " + suffix)
            column += len(suffix) + 2
    return "".join(parts) + ")"


def _tensor_str(self: Any, indent: int) -> str:
    """The bracketed values of a tensor, for libraries that print their own."""
    return format_array(self.detach().cpu().numpy(), indent)


_add_suffixes = with_suffixes
