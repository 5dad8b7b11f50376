"""Printed tensors are, byte for byte, those of PyTorch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import ml_dtypes
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import mindtorch.torch as mt
import mindtorch.torch._tensor_str as ours

torch = pytest.importorskip("torch")

FLOATS = ["float16", "bfloat16", "float32", "float64"]
INTEGERS = ["uint8", "int8", "int16", "int32", "int64", "uint16", "uint32", "uint64"]
DTYPES = [*FLOATS, *INTEGERS, "bool", "complex64", "complex128"]
SHAPES = [(), (1,), (7,), (2, 3), (3, 1, 4), (1, 1, 1, 1), (2, 2, 2, 2), (40,), (1001,), (33, 33)]
SHAPES += [(7, 200), (3, 7, 8, 9), (1200, 1), (1, 1100)]


@pytest.fixture(autouse=True)
def _default_options() -> Iterator[None]:
    yield
    for module in (ours, torch):
        module.set_printoptions(profile="default")


def to_array(tensor: Any) -> np.ndarray[Any, Any]:
    if tensor.dtype == torch.bfloat16:
        return tensor.detach().view(torch.int16).numpy().view(ml_dtypes.bfloat16)
    return tensor.detach().resolve_conj().numpy()


def our_repr(tensor: Any, **facts: Any) -> str:
    shape, dtype = tuple(tensor.shape), str(tensor.dtype)
    facts.setdefault("default_dtype", str(torch.get_default_dtype()))
    return ours.tensor_repr(to_array(tensor), shape, dtype, **facts)


def both_options(**options: Any) -> None:
    for module in (ours, torch):
        module.set_printoptions(**options)


def make(shape: tuple[int, ...], dtype: str, seed: int, scale: float = 1.0) -> Any:
    generator = torch.Generator().manual_seed(seed)
    normal = torch.randn(shape, generator=generator, dtype=torch.float64) * scale
    if dtype.startswith("complex"):
        second = torch.randn(shape, generator=generator, dtype=torch.float64)
        return torch.complex(normal, second).to(getattr(torch, dtype))
    if dtype.startswith("uint"):
        normal = normal.abs()
    return (normal * (1 if dtype in FLOATS else 50)).to(getattr(torch, dtype))


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", SHAPES, ids=str)
def test_every_type_and_shape_prints_alike(shape: tuple[int, ...], dtype: str) -> None:
    """Shapes below and above the summary threshold, for each element type."""
    for seed, scale in enumerate([1.0, 1e-5, 3e4]):
        if dtype not in FLOATS and scale != 1.0:
            continue
        tensor = make(shape, dtype, seed, scale)
        assert our_repr(tensor) == repr(tensor)


SPECIAL = [0.0, -0.0, 1.0, -1.0, 2.5, 1e-4, 9.9e-5, 1e8, 1.1e8, 1e-30, 3e38, 999.99995, 12345.0]
SPECIAL += [float("inf"), -float("inf"), float("nan"), 0.1, 1 / 3, 1000.0, 1e-7, 5e-324, 65504.0]


@given(
    values=st.lists(st.sampled_from(SPECIAL) | st.floats(width=32), min_size=1, max_size=24),
    dtype=st.sampled_from([*FLOATS, "complex64", "complex128"]),
    precision=st.sampled_from([None, 0, 1, 3, 8]),
    sci_mode=st.sampled_from([None, None, True, False]),
    linewidth=st.sampled_from([None, 1, 20, 120]),
)
@settings(max_examples=400, deadline=None)
def test_any_mixture_of_numbers_prints_alike(
    values: list[float], dtype: str, precision: Any, sci_mode: Any, linewidth: Any
) -> None:
    """Notation and width depend on the extremes, on integrality, on infinities and NaNs."""
    tensor = torch.tensor(values, dtype=torch.float64).to(getattr(torch, dtype))
    if dtype.startswith("complex") and len(values) > 1:
        tensor = torch.complex(tensor.real, tensor.real.flip(0))
    with ours.printoptions(precision=precision, sci_mode=sci_mode, linewidth=linewidth):
        mine = our_repr(tensor), our_repr(tensor[0]), our_repr(tensor.reshape(-1, 1, 1))
    with torch._tensor_str.printoptions(
        precision=precision, sci_mode=sci_mode, linewidth=linewidth
    ):
        assert mine == (repr(tensor), repr(tensor[0]), repr(tensor.reshape(-1, 1, 1)))


@given(
    shape=st.lists(st.integers(1, 9), max_size=4),
    threshold=st.sampled_from([0, 1, 10, 1000, float("inf")]),
    edgeitems=st.integers(0, 4),
    dtype=st.sampled_from(["float32", "int64", "bool", "complex64"]),
    seed=st.integers(0, 99),
)
@settings(max_examples=200, deadline=None)
def test_any_shortening_prints_alike(
    shape: list[int], threshold: float, edgeitems: int, dtype: str, seed: int
) -> None:
    """The shown elements alone decide the width, and axes are shortened independently."""
    tensor = make(tuple(shape), dtype, seed)
    options = {"threshold": threshold, "edgeitems": edgeitems}
    with ours.printoptions(**options), torch._tensor_str.printoptions(**options):
        assert our_repr(tensor) == repr(tensor)


@pytest.mark.parametrize("profile", ["default", "short", "full", "no such profile"])
def test_profiles_set_the_same_options(profile: str) -> None:
    """A profile applies before single options; sci_mode is reset by every call."""
    both_options(precision=6, sci_mode=True)
    both_options(profile=profile, edgeitems=1)
    assert ours.get_printoptions() == torch._tensor_str.get_printoptions()
    tensor = make((20, 60), "float32", 3)
    assert our_repr(tensor) == repr(tensor)


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("shape", [(0,), (0, 3), (2, 0, 3)], ids=str)
def test_empty_tensors_show_their_shape_and_type(shape: tuple[int, ...], dtype: str) -> None:
    """No element shows the type, so even int64 is named; (0,) alone needs no size."""
    tensor = torch.empty(shape, dtype=getattr(torch, dtype))
    assert our_repr(tensor) == repr(tensor)


@pytest.mark.parametrize("default", [torch.float32, torch.float64])
@pytest.mark.parametrize("dtype", DTYPES)
def test_the_default_type_is_not_named(dtype: str, default: Any) -> None:
    """set_default_dtype decides which types, the complex one included, need no suffix."""
    torch.set_default_dtype(default)
    try:
        for tensor in (make((2, 2), dtype, 1), torch.empty(0, dtype=getattr(torch, dtype))):
            assert our_repr(tensor) == repr(tensor)
    finally:
        torch.set_default_dtype(torch.float32)


@pytest.mark.parametrize("length", range(1, 30))
def test_suffixes_wrap_where_the_line_is_full(length: int) -> None:
    """grad_fn moves to a line of its own when it would pass the line width."""
    leaf = make((length,), "float32", 0).requires_grad_()
    assert our_repr(leaf, requires_grad=True) == repr(leaf)
    result = leaf.double() + 1
    assert our_repr(result, requires_grad=True, grad_fn="AddBackward0") == repr(result)
    for linewidth in (10, 30):
        both_options(linewidth=linewidth)
        assert our_repr(result, grad_fn="AddBackward0") == repr(result)


def test_a_meta_tensor_prints_its_shape_only() -> None:
    """Without values there are dots, the device, the size and the type."""
    for dtype in (torch.float32, torch.int64):
        tensor = torch.empty(2, 3, device="meta", dtype=dtype)
        text = ours.tensor_repr(None, (2, 3), str(dtype), device="meta")
        assert text == repr(tensor)


def test_a_subclass_prints_its_own_name_and_indents_by_it() -> None:
    """The prefix is the class name, and following lines start below the first value."""

    class Reading(torch.Tensor):  # type: ignore[name-defined]
        pass

    tensor = make((2, 30), "float32", 5).as_subclass(Reading)
    plain = tensor.as_subclass(torch.Tensor)
    assert our_repr(plain, class_name="Reading") == repr(tensor)


def test_a_tensor_prints_what_its_values_say() -> None:
    """``repr`` and ``str`` of our own tensors: values, type, shape, gradient, subclass."""

    class Reading(mt.Tensor):
        pass

    class TorchReading(torch.Tensor):  # type: ignore[name-defined]
        pass

    TorchReading.__name__ = "Reading"
    for lib, subclass in ((mt, Reading), (torch, TorchReading)):
        base = lib.arange(6.0).reshape(2, 3)
        shown = [base, base.t(), base[1], base[0, 1], lib.zeros(0, 3), lib.tensor([True])]
        shown += [lib.ones(2, dtype=lib.bfloat16), lib.ones(2, requires_grad=True)]
        shown += [lib.ones(2, 3, device="meta"), base.as_subclass(subclass)]
        texts = [repr(tensor) for tensor in shown] + [str(base), f"{base[0, 1]:.3f}", f"{base}"]
        if lib is mt:
            ours_texts = texts
    assert ours_texts == texts
