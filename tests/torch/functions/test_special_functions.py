"""Special functions against other sources than torch, and their errors."""

from __future__ import annotations

import math
import os
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.special
import torch

import mindtorch.torch as mt
from mindtorch.kernels.cpu import processor
from mindtorch.kernels.cpu.scalar_math import erfinv

BESSEL = {
    "bessel_j0": lambda x: scipy.special.jv(0, x), "bessel_j1": lambda x: scipy.special.jv(1, x),
    "bessel_y0": lambda x: scipy.special.yv(0, x), "bessel_y1": lambda x: scipy.special.yv(1, x),
}  # fmt: skip


@pytest.mark.parametrize("name", BESSEL)
def test_bessel_functions_agree_with_another_algorithm(name: str) -> None:
    """In double precision torch's are good to 9e-7 only, so they cannot be the measure."""
    x = np.linspace(0.05, 60, 1000)
    found = getattr(mt.special, name)(mt.from_numpy(x)).numpy()
    np.testing.assert_allclose(found, BESSEL[name](x), rtol=0, atol=4e-15)


def test_erfinv_of_draws_has_torchs_bits() -> None:
    """MKL gives the farther of two neighbours for some inputs, which kernels/cpu lists for each of
    its three kernel sets; the processor decides which one it takes. Initial weights come from
    erfinv of numbers between -1 and 1, or from a part of that range."""
    for low, high in ((-1.0, 1.0), (-0.9545, 0.9545)):
        x = torch.empty(300_000).uniform_(low, high)
        x[:6] = torch.tensor([0.0, -0.0, 1.0, -1.0, 1.5, torch.nan])
        by_kernels = {name: np.empty(x.shape, np.float32) for name in ("sse", "avx2", "avx512")}
        exact = scipy.special.erfinv(x[6:].numpy().astype(np.float64))
        unit = np.spacing(np.abs(exact).astype(np.float32))
        for name, out in by_kernels.items():
            erfinv.erfinv32(out, x.numpy(), name)
            assert (np.abs(out[6:] - exact) < 0.55 * unit).all()
        found = mt.erfinv(mt.from_numpy(x.numpy())).numpy()
        np.testing.assert_array_equal(mt.from_numpy(x.numpy().copy()).erfinv_().numpy(), found)
        np.testing.assert_array_equal(found, by_kernels[processor.mkl_kernels()])
        if torch.backends.mkl.is_available() and "MKL_CBWR" not in os.environ:
            np.testing.assert_array_equal(found, x.erfinv().numpy())


@pytest.mark.parametrize("name", ["erfc", "lgamma"])
def test_loops_of_polynomials_are_good_to_a_unit_in_the_last_place(name: str) -> None:
    """All exponents, what is near the zeros, poles, and where the pieces of the loops meet."""
    numbers = np.random.default_rng(0).integers(0, 0xFF800000, 200_000).astype(np.uint32)
    numbers = numbers[(numbers & 0x7FFFFFFF) <= 0x7F800000].view(np.float32)
    near = np.linspace(-20, 20, 200_001).astype(np.float32)
    near = near[(near > -1) | (name == "erfc")]
    zeros = np.array([[1], [2]], np.float32) + np.array([-1e-7, 0, 1e-7, 1e-4], np.float32)
    x = np.concatenate([numbers, near, zeros.ravel(), np.arange(-9, 9, dtype=np.float32)])
    if name == "lgamma":  # below, scipy's own error near the zeros is larger
        x = x[~((x < -1) & (x > -40))]
    with np.errstate(all="ignore"):
        exact = getattr(scipy.special, {"lgamma": "gammaln"}.get(name, name))(x.astype(np.float64))
        found, rounded = getattr(mt, name)(mt.from_numpy(x)).numpy(), exact.astype(np.float32)
    ends = ~np.isfinite(rounded)
    np.testing.assert_array_equal(found[ends], rounded[ends])
    off = np.abs(found[~ends] - exact[~ends]) / np.spacing(np.abs(rounded[~ends]))
    assert off.max() < 0.6


@pytest.mark.parametrize("kind", [np.float32, np.float64])
def test_nextafter_has_the_librarys_bits(kind: Any) -> None:
    """Every pair of special numbers and of some others, zeros of both signs told apart."""
    info = np.finfo(kind)
    some = [0.0, 1.0, 1.5, info.max, info.tiny, info.smallest_subnormal, np.inf, np.nan]
    x, y = (a.ravel() for a in np.meshgrid(*[np.array([*some, *np.negative(some)], kind)] * 2))
    found = mt.nextafter(mt.from_numpy(x), mt.from_numpy(y)).numpy()
    expected = torch.nextafter(torch.from_numpy(x), torch.from_numpy(y)).numpy()
    np.testing.assert_array_equal(found, expected)
    signs = [np.signbit(a[~np.isnan(a)]) for a in (found, expected)]
    np.testing.assert_array_equal(*signs)


def _message(call: Callable[[], Any]) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        call()
    return type(caught.value).__name__, str(caught.value)


LACKING = [
    ("entr", "complex64"), ("erfcx", "bfloat16"), ("i0", "complex64"), ("i1e", "complex64"),
    ("ndtri", "float16"), ("log_ndtr", "complex64"), ("bessel_j0", "bfloat16"),
    ("airy_ai", "float16"), ("digamma", "complex64"), ("erfinv", "complex64"),
    ("spherical_bessel_j0", "complex64"), ("ndtr", "complex64"),
]  # fmt: skip


@pytest.mark.parametrize(("name", "dtype"), LACKING)
def test_types_that_torch_lacks_raise_its_error(name: str, dtype: str) -> None:
    """A type that scipy happens to know must not slip through."""

    def call(t: Any) -> Any:
        return getattr(t.special, name)(t.ones(2, dtype=getattr(t, dtype)))

    assert _message(lambda: call(mt)) == _message(lambda: call(torch))


CALLS: list[Callable[[Any], Any]] = [
    lambda t: t.special.entr(1.0),
    lambda t: t.special.bessel_j0("a"),
    lambda t: t.special.zeta(1.0, 2.0),
    lambda t: t.special.xlog1py(t.ones(2), None),
    lambda t: t.special.chebyshev_polynomial_t(1.0, 2.0),
    lambda t: t.special.hermite_polynomial_h(t.ones(2), None),
    lambda t: t.special.gammainc(t.ones(2), 2.0),
    lambda t: t.igamma(t.ones(2, dtype=t.int64), t.ones(2)).item(),
    lambda t: t.igamma(t.ones(2, dtype=t.int64), t.ones(2, dtype=t.int64)),
    lambda t: t.special.zeta(t.ones(2, dtype=t.float16), t.ones(2)).item(),
    lambda t: t.special.zeta(t.ones(2, requires_grad=True), t.ones(2)).sum().backward(),
    lambda t: t.igammac(t.ones(2, requires_grad=True), t.ones(2)).sum().backward(),
    lambda t: t.special.bessel_y0(t.ones(2, requires_grad=True)).sum().backward(),
]


@pytest.mark.parametrize("number", range(len(CALLS)))
def test_errors_have_torchs_type_and_text(number: int) -> None:
    """Wrong arguments, wrong types, and derivatives that torch does not have either."""
    assert _message(lambda: CALLS[number](mt)) == _message(lambda: CALLS[number](torch))


def test_complex_sums_of_exponentials_at_infinity_are_torchs() -> None:
    """logaddexp and logcumsumexp: an infinite real part that both have, nan in either part."""
    reals, imaginary = (-math.inf, -800.0, 0.0, math.inf, math.nan), (0.0, -3.0, math.inf, math.nan)
    numbers = [complex(a, b) for a in reals for b in imaginary]
    pairs = np.array([[x, y] for x in numbers for y in numbers])
    results = []
    for t in (mt, torch):
        x = t.from_numpy(pairs)
        results.append((t.logaddexp(x[:, 0], x[:, 1]).numpy(), t.logcumsumexp(x, 1).numpy()))
    for mine, theirs in zip(*results, strict=True):
        np.testing.assert_allclose(mine, theirs, rtol=1e-14)


def test_orders_of_polygamma_whose_factorial_no_float_holds() -> None:
    """The factor is infinite then, and the zeta function beside it may be 0."""
    found = [
        t.polygamma(order, t.tensor([0.5, 1.0, 1e3], dtype=t.float64)).numpy()
        for t in (torch, mt)
        for order in (170, 171, 200)
    ]
    np.testing.assert_allclose(found[3:], found[:3], rtol=1e-12)
