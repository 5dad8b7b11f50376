"""Assertions that values are close."""

from __future__ import annotations

import cmath
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

__all__ = ["assert_allclose", "assert_close", "default_tolerances"]

_PRECISIONS: dict[Any, tuple[float, float]] = {
    torch.float16: (1e-3, 1e-5), torch.bfloat16: (1.6e-2, 1e-5), torch.float32: (1.3e-6, 1e-5),
    torch.float64: (1e-7, 1e-7), torch.complex64: (1.3e-6, 1e-5), torch.complex128: (1e-7, 1e-7),
}  # fmt: skip
_OF_NUMBERS = {float: torch.float64, complex: torch.complex128, int: torch.int64}
_SUFFIX = "The failure occurred for item "


class _Options(NamedTuple):
    """What :func:`assert_close` was asked to check."""

    allow_subclasses: bool
    rtol: float | None
    atol: float | None
    equal_nan: bool
    check_device: bool
    check_dtype: bool
    check_layout: bool
    check_stride: bool
    msg: str | Callable[[str], str] | None

    def tolerances(self, path: tuple[Any, ...], *kinds: Any) -> tuple[float, float]:
        """The given tolerances, or those of the types."""
        if (self.rtol is None) != (self.atol is None):
            missing = "rtol" if self.rtol is None else "atol"
            self.fail(ValueError, path, (
                "Both 'rtol' and 'atol' must be either specified or omitted, but got no "
                f"{missing}."), plain=True)  # fmt: skip
        if self.rtol is not None and self.atol is not None:
            return self.rtol, self.atol
        return default_tolerances(*kinds)

    def fail(
        self, kind: type[Exception], path: tuple[Any, ...], text: str, plain: bool = False
    ) -> None:
        """Raise, with the path to the values and the text that the caller wants."""
        if path:
            text += f"\n\n{_SUFFIX}{''.join(str([item]) for item in path)}"
        if not plain and self.msg is not None:
            text = self.msg(text) if callable(self.msg) else self.msg
        raise kind(text)


def default_tolerances(*inputs: Any) -> tuple[float, float]:
    """The relative and the absolute tolerance of types or tensors: the largest of each."""
    pairs = [_PRECISIONS.get(getattr(i, "dtype", i), (0.0, 0.0)) for i in inputs]
    return max(r for r, _ in pairs), max(a for _, a in pairs)


def assert_close(
    actual: Any, expected: Any, *, allow_subclasses: bool = True, rtol: float | None = None,
    atol: float | None = None, equal_nan: bool = False, check_device: bool = True,
    check_dtype: bool = True, check_layout: bool = True, check_stride: bool = False,
    msg: str | Callable[[str], str] | None = None,
) -> None:  # fmt: skip
    """Assert that abs(actual - expected) <= atol + rtol abs(expected) everywhere.

    Args:
        actual, expected: tensors, numbers, arrays, or sequences and mappings of such.
        allow_subclasses: compare a tensor with one of a derived class.
        rtol, atol: both or none; by default those of the element types.
        equal_nan: whether NaN is close to NaN.
        check_device, check_dtype, check_layout, check_stride: what must be the same besides.
        msg: the text of the error, or a function that makes it of the usual one.

    Raises:
        AssertionError: where something differs.
        TypeError: for values of unrelated types.
        ValueError: for only one tolerance.
    """
    __tracebackhide__ = True
    options = _Options(
        allow_subclasses, rtol, atol, equal_nan, check_device, check_dtype, check_layout,
        check_stride, msg,
    )  # fmt: skip
    # First all structures are looked at, then the values.
    for compare in list(_comparisons(actual, expected, (), options)):
        compare()


def _comparisons(
    actual: Any, expected: Any, path: tuple[Any, ...], options: _Options
) -> Iterator[Callable[[], None]]:
    """The comparisons of all pairs in two structures."""
    if _is_sequence(actual) and _is_sequence(expected):
        if len(actual) != len(expected):
            options.fail(AssertionError, path, (
                f"The length of the sequences mismatch: {len(actual)} != {len(expected)}"
            ))  # fmt: skip
        for i, (one, other) in enumerate(zip(actual, expected, strict=True)):
            yield from _comparisons(one, other, (*path, i), options)
    elif isinstance(actual, Mapping) and isinstance(expected, Mapping):
        one, other = set(actual), set(expected)
        if one != other:
            options.fail(AssertionError, path, (
                "The keys of the mappings do not match:\n"
                f"Missing keys in the actual mapping: {sorted(other - one)}\n"
                f"Additional keys in the actual mapping: {sorted(one - other)}"
            ))  # fmt: skip
        try:
            keys = sorted(one)
        except TypeError:
            keys = list(one)
        for key in keys:
            yield from _comparisons(actual[key], expected[key], (*path, key), options)
    else:
        yield _comparison(actual, expected, path, options)


def _is_sequence(value: Any) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str)


def _comparison(
    actual: Any, expected: Any, path: tuple[Any, ...], options: _Options
) -> Callable[[], None]:
    """How two single values are compared."""
    both = (actual, expected)
    if actual is None or expected is None:
        return lambda: _compare_none(actual, expected, path, options)
    if all(isinstance(v, (bool, np.bool_)) for v in both):
        return lambda: _compare_flags(bool(actual), bool(expected), path, options)
    if all(isinstance(v, (int, float, complex, np.number)) for v in both):
        one, other = (v.item() if isinstance(v, np.number) else v for v in both)
        kinds = (_OF_NUMBERS.get(type(v), torch.int64) for v in (one, other))
        tolerances = options.tolerances(path, *kinds)
        return lambda: _compare_numbers(one, other, tolerances, path, options)
    related = isinstance(actual, type(expected)) or isinstance(expected, type(actual))
    same = options.allow_subclasses or type(actual) is type(expected)
    if related and same:
        first, second = (_as_tensor(v) for v in both)
        if first is not None and second is not None:
            tolerances = options.tolerances(path, first, second)
            return lambda: _compare_tensors(first, second, tolerances, path, options)
    options.fail(TypeError, path, (
        f"No comparison pair was able to handle inputs of type {type(actual)} and "
        f"{type(expected)}."), plain=True)  # fmt: skip
    raise AssertionError


def _as_tensor(value: Any) -> Any:
    if isinstance(value, EngineTensor):
        return value
    try:
        return torch.as_tensor(value)
    except (TypeError, ValueError, RuntimeError):
        return None


def _compare_none(actual: Any, expected: Any, path: tuple[Any, ...], options: _Options) -> None:
    if actual is not expected:
        options.fail(AssertionError, path, f"None mismatch: {actual} is not {expected}")


def _compare_flags(one: bool, other: bool, path: tuple[Any, ...], options: _Options) -> None:
    if one is not other:
        options.fail(AssertionError, path, f"Booleans mismatch: {one} is not {other}")


def _compare_numbers(
    actual: Any, expected: Any, tolerances: tuple[float, float], path: tuple[Any, ...],
    options: _Options,
) -> None:  # fmt: skip
    if options.check_dtype and type(actual) is not type(expected):
        options.fail(
            AssertionError, path,
            f"The (d)types do not match: {type(actual)} != {type(expected)}.",
        )  # fmt: skip
    if actual == expected:
        return
    if options.equal_nan and cmath.isnan(actual) and cmath.isnan(expected):
        return
    rtol, atol = tolerances
    distance = abs(actual - expected)
    if not (cmath.isfinite(distance) and distance <= atol + rtol * abs(expected)):
        options.fail(AssertionError, path, _number_text(actual, expected, tolerances))


def _compare_tensors(
    actual: Any, expected: Any, tolerances: tuple[float, float], path: tuple[Any, ...],
    options: _Options,
) -> None:  # fmt: skip
    checks = (
        ("shape", True, actual.shape, expected.shape),
        ("layout", options.check_layout, actual.layout, expected.layout),
        ("stride()", options.check_stride, actual.stride(), expected.stride()),
        ("device", options.check_device, actual.device, expected.device),
        ("dtype", options.check_dtype, actual.dtype, expected.dtype),
    )
    for name, wanted, one, other in checks:
        if wanted and one != other:
            options.fail(
                AssertionError, path,
                f"The values for attribute '{name}' do not match: {one} != {other}.",
            )  # fmt: skip
    if actual.dtype != expected.dtype:
        dtype = torch.promote_types(actual.dtype, expected.dtype)
        actual, expected = actual.to(dtype), expected.to(dtype)
    actual, expected = actual.detach(), expected.detach()
    rtol, atol = tolerances
    close = torch.isclose(actual, expected, rtol=rtol, atol=atol, equal_nan=options.equal_nan)
    if bool(close.all()):
        return
    if actual.dim() == 0:
        text = _number_text(actual.item(), expected.item(), tolerances)
    else:
        text = _tensor_text(actual, expected, close.numpy(), tolerances)
    options.fail(AssertionError, path, text)


def _header(what: str, tolerances: tuple[float, float]) -> str:
    return f"{what} are not {'equal' if tolerances == (0, 0) else 'close'}!\n\n"


def _allowed(tolerances: tuple[float, float], tolerance: float) -> str:
    return "" if tolerances == (0, 0) else f" (up to {tolerance} allowed)"


def _number_text(actual: Any, expected: Any, tolerances: tuple[float, float]) -> str:
    distance = abs(actual - expected)
    relative = float("inf") if expected == 0 else distance / abs(expected)
    rtol, atol = tolerances
    return (
        f"{_header('Scalars', tolerances)}Expected {expected} but got {actual}.\n"
        f"Absolute difference: {distance}{_allowed(tolerances, atol)}\n"
        f"Relative difference: {relative}{_allowed(tolerances, rtol)}"
    )


def _tensor_text(
    actual: Any, expected: Any, close: Any, tolerances: tuple[float, float]
) -> str:
    if not actual.is_floating_point() and not actual.is_complex():
        actual, expected = actual.long(), expected.long()
    distance = (actual - expected).abs().masked_fill(torch.from_numpy(close), 0)
    relative = (distance / expected.abs()).masked_fill(torch.from_numpy(close), 0)
    rtol, atol = tolerances
    wrong = int((~close).sum())
    lines = [f"Mismatched elements: {wrong} / {close.size} ({wrong / close.size:.1%})"]
    for name, values, tolerance in (
        ("absolute", distance, atol), ("relative", relative, rtol)
    ):  # fmt: skip
        flat = values.flatten()
        place = int(flat.argmax())
        at = tuple(int(i) for i in np.unravel_index(place, close.shape))
        lines.append(
            f"Greatest {name} difference: {flat[place].item()} at index {at}"
            f"{_allowed(tolerances, tolerance)}"
        )
    return _header("Tensor-likes", tolerances) + "\n".join(lines)


def assert_allclose(
    actual: Any, expected: Any, rtol: float | None = None, atol: float | None = None,
    equal_nan: bool = True, msg: str = "",
) -> None:  # fmt: skip
    """The deprecated form of :func:`assert_close`, which checks neither types nor devices.

    Args:
        actual, expected: tensors, or what makes them.
        rtol, atol, equal_nan, msg: as of :func:`assert_close`.
    """
    warnings.warn(
        "`torch.testing.assert_allclose()` is deprecated since 1.12 and will be removed in a "
        "future release. Please use `torch.testing.assert_close()` instead. You can find detailed "
        "upgrade instructions in https://github.com/pytorch/pytorch/issues/61844.",
        FutureWarning,
        stacklevel=2,
    )
    actual, expected = (
        v if isinstance(v, EngineTensor) else torch.tensor(v) for v in (actual, expected)
    )
    if rtol is None and atol is None:
        rtol, atol = default_tolerances(actual, expected)
    assert_close(
        actual, expected, rtol=rtol, atol=atol, equal_nan=equal_nan, check_device=True,
        check_dtype=False, check_stride=False, msg=msg or None,
    )  # fmt: skip
