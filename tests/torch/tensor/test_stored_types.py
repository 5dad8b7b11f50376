"""Floats of 8 bits and complex32: what PyTorch's CPU has of them, and its errors for the rest."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch as real

import mindtorch.torch as ours

pytestmark = [
    pytest.mark.filterwarnings("ignore:ComplexHalf support is experimental"),
    pytest.mark.filterwarnings("ignore:Casting complex values to real"),
]
FLOATS = (
    "float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "float8_e8m0fnu",
)  # fmt: skip
TYPES = (*FLOATS, "complex32")
# x, y and m are of the type d; b is a mask
EXPRESSIONS = """
x.float() | x.clone() | y == y | x != x | x == 2 | y.eq(x) | y.ne(1) | x.isnan() | y.any() | y.all()
t.zeros(3, dtype=d) | t.ones(3, dtype=d) | t.full((3,), 2.5, dtype=d)
t.tensor([1., 2.5], dtype=d)
t.zeros_like(x) | t.full_like(x, 3) | y.new_tensor([1.]) | t.cat([x, y]) | t.stack([x, y]) | x[1:3]
x[b] | x[t.tensor([0, 2])] | x.reshape(2, 3).t().contiguous() | x.view(t.uint8) | x.view(t.int8)
x.copy_(y) | x.copy_(t.ones(6)) | t.ones(6).copy_(y) | x.fill_(3) | x.zero_() | y[0:2].fill_(1)
y.index_select(0, t.tensor([0, 1])) | y.masked_select(b) | t.where(b, x, y)
y.roll(1) | y.repeat(2) | y.expand(2, 6) | y.unbind() | y.split(2) | y.bool() | y.int() | y.half()
y.bfloat16() | y.double() | y.long() | y.to(t.complex64) | t.tensor([1 + 1j]).to(d) | y.char()
t.tensor([True]).to(d) | t.tensor([300]).to(d) | y.element_size() | d.is_signed | d.itemsize
d.is_floating_point | d.is_complex | t.finfo(d).max | t.finfo(d).eps | t.nn.Parameter(y).dtype
t.promote_types(d, d) | t.promote_types(d, t.float32) | t.promote_types(d, t.int32)
t.promote_types(d, t.float16) | t.result_type(x, x.float()) | x.float() + y | y + y.float()
t.can_cast(d, t.float32) | t.can_cast(t.float32, d) | bool(y[0]) | float(y[0]) | int(y[1]) | y[0]
y[1].item() | y.untyped_storage().tolist() | t.nn.functional.embedding(t.tensor([0]), m) | y.diff()
y.detach() | y.unfold(0, 2, 1) | t.hstack([y, y]) | y.__setitem__(0, 5.) | y.to(t.float8_e5m2)
y.to(t.float8_e4m3fn) | y.to(t.float8_e8m0fnu) | y.to(t.complex32) | y.numpy() | x < y | x > 1
x + y | x + 1 | x * 2.0 | x - y | x / y | -x | x.sum() | x.mean() | x.argmax() | 2 + y | y ** 2
t.arange(3, dtype=d) | t.linspace(0, 1, 3, dtype=d) | y.gather(0, t.tensor([1]))
y.masked_fill(b, 0)
y.flip(0) | y.sort() | y.topk(2) | y.unique() | x.isfinite() | x.isinf() | y.equal(y)
t.equal(x, y)
y.relu().dtype if d.is_floating_point else 0 | y.exp() | y.sqrt() | y.clamp(0, 1) | y.round()
y.add_(1) | y.mul_(2) | y.uniform_().dtype if d.is_floating_point else 0 | y.nonzero().shape
y.index_fill(0, t.tensor([1]), 2.) | y.index_add(0, t.tensor([1]), y[:1]) | y.real | y.conj()
y.masked_scatter(b, y) | y.lerp(x, .5) | y % 2 | y >= x | y.prod() | y.softmax(0) | m.tril()
t.view_as_real(y) | t.view_as_complex(m) | t.set_default_dtype(d) | t.allclose(y, y) | y.norm()
t.view_as_real_copy(y)
"""
CASES = [case.strip() for line in EXPRESSIONS.split("\n") for case in line.split(" | ") if case]
# what differs, and is left: (type, expression)
LEFT = {
    # PyTorch says that NaN is finite, and gives the largest exponent for its negation
    ("float8_e8m0fnu", "x.isfinite()"), ("float8_e8m0fnu", "x.isinf()"),
    ("complex32", "y.gather(0, t.tensor([1]))"),  # PyTorch names the kernel of scatter
}  # fmt: skip


def shown(value: Any) -> Any:
    """A result as text that both have."""
    if isinstance(value, (real.Tensor, ours.Tensor)):
        resolved = value.detach().resolve_conj()
        return f"{value.dtype} {tuple(value.shape)} {value.stride()} {resolved.tolist()}"
    if isinstance(value, (list, tuple)):
        return [shown(each) for each in value]
    return repr(value)


def outcome(t: Any, name: str, case: str) -> Any:
    d = getattr(t, name)
    names = {
        "t": t, "d": d, "x": t.tensor([0.1, 1.7, -3.3, 300.0, float("nan"), 1e-4]).to(d),
        "y": t.tensor([1.0, 2.0, -3.0, 4.0, 5.0, 0.0]).to(d), "b": t.tensor([True, False] * 3),
        "m": t.tensor([[1.0, 2.0], [3.0, 4.0]]).to(d),
    }  # fmt: skip
    try:
        return shown(eval(case, names))
    except Exception as error:
        return f"{type(error).__name__}: {str(error).splitlines()[0]}"


@pytest.mark.parametrize("name", TYPES)
def test_what_torch_has_of_a_type_is_the_same(name: str) -> None:
    """Storing, moving, converting and comparing; what it refuses, by its type and text."""
    wrong = []
    for case in CASES:
        if (name, case) in LEFT:
            continue
        theirs, found = outcome(real, name, case), outcome(ours, name, case)
        if theirs != found:
            wrong.append(f"{case}\n  torch {theirs}\n  ours  {found}")
    assert not wrong, "\n".join(wrong)


def numbers() -> Any:
    """All bfloat16 numbers, and float32's that lie beside the ties between them."""
    top = np.arange(1 << 16, dtype=np.uint32) << 16
    low = np.array([0, 1, 0x7FFF, 0x8000, 0x8001, 0xFFFF], np.uint32)
    return (top[:, None] | low).view(np.float32).reshape(-1)


@pytest.mark.parametrize("name", TYPES)
def test_conversions_have_torchs_bits(name: str) -> None:
    """To the nearest, ties as PyTorch breaks them, overflow and NaN as it has them; and back."""
    values = numbers()
    codes: list[Any] = []
    for t in (real, ours):
        made = t.from_numpy(values.copy()).to(getattr(t, name))
        codes.append(made.view(t.uint8).numpy().reshape(len(values), -1))
    if name == "complex32":  # a NaN's bits are its processor's
        parts = [each.copy().view(np.float16) for each in codes]
        np.testing.assert_array_equal(*parts)
        return
    np.testing.assert_array_equal(*codes)
    every = np.arange(256, dtype=np.uint8)
    back = [
        t.from_numpy(every.copy()).view(getattr(t, name)).to(kind).numpy()
        for t, kind in ((real, real.float32), (ours, ours.float32))
    ]
    np.testing.assert_array_equal(*back)


@pytest.mark.parametrize("name", TYPES)
def test_both_read_each_others_files(name: str) -> None:
    """Bytes and a type, as PyTorch writes types that have no storage class."""
    pairs: tuple[tuple[Any, Any], ...] = ((real, ours), (ours, real))
    for writer, reader in pairs:
        file = io.BytesIO()
        kept = writer.tensor([[1.0, 2.0, 4.0], [8.0, 0.5, 0.25]]).to(getattr(writer, name)).t()
        writer.save({"w": kept}, file)
        file.seek(0)
        found = reader.load(file)["w"]
        assert shown(found) == shown(kept)


@pytest.mark.parametrize("name", ["float8_e4m3fn", "complex32"])
def test_gradients_go_through_a_conversion(name: str) -> None:
    """As of any cast: the gradient has the type of what was converted."""

    def gradient(t: Any) -> Any:
        w = t.tensor([1.0, 2.0], requires_grad=True)
        (w.to(getattr(t, name)).float() * t.tensor([3.0, 4.0])).sum().backward()
        return shown(w.grad)

    assert gradient(real) == gradient(ours)


def test_gradients_go_through_halves_seen_as_complex_numbers() -> None:
    """The cotangents of complex32 become pairs of halves, and pairs complex numbers."""

    def gradient(t: Any) -> Any:
        pairs = t.tensor([[1.0, 2.0], [3.0, 4.0]]).half().requires_grad_()
        t.view_as_real(t.view_as_complex(pairs)).backward(pairs.detach() + 4)
        return shown(pairs.grad)

    assert gradient(real) == gradient(ours)


def test_a_compiled_call_converts_as_an_eager_one() -> None:
    """Fused loops leave these types to the ops' own kernels."""

    def call(x: Any, w: Any) -> Any:
        short = (x * 2).to(ours.float8_e4m3fn)
        half = ours.view_as_complex(w).to(ours.complex32) * 2
        return short.float() * 2 + 1, short, half + 1, short == short

    compiled, x, w = ours.compile(call), ours.randn(8), ours.randn(4, 2)
    for _ in range(3):
        assert shown(compiled(x, w)) == shown(call(x, w))


def test_complex32_adds_and_multiplies_through_complex64() -> None:
    """Each result is rounded once to half precision."""
    draws = np.random.default_rng(0).standard_normal((2, 40, 2)).astype(np.float32)

    def made(t: Any, compute: Callable[[Any, Any], Any]) -> Any:
        a, b = (t.view_as_complex(t.from_numpy(part.copy())).to(t.complex32) for part in draws)
        return t.view_as_real(compute(a, b)).float().numpy()

    for compute in (lambda a, b: a + b, lambda a, b: a - b, lambda a, b: a * b, lambda a, b: -a):
        np.testing.assert_allclose(made(ours, compute), made(real, compute), rtol=2e-3, atol=2e-3)
