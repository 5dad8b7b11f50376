"""Results of Fourier transforms lie in memory as torch's do: what draws afterwards shows it."""

from __future__ import annotations

import itertools
from collections.abc import Iterable
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours

SHAPES = [(5,), (3, 4, 5), (2, 1, 3, 4)]
ONE_AXIS = ("fft", "ifft", "rfft", "irfft", "hfft", "ihfft")
SEVERAL = ("fft2", "ifft2", "rfft2", "irfft2", "fftn", "ifftn", "rfftn", "irfftn", "hfftn",
           "ihfftn", "hfft2", "ihfft2")  # fmt: skip
REAL_ONLY = ("rfft", "ihfft", "rfft2", "rfftn", "ihfft2", "ihfftn")


def _layouts(library: Any, shape: tuple[int, ...], complex_numbers: bool, cast: bool) -> Any:
    values = np.random.RandomState(0).randn(2, *shape).astype(np.float32)
    x = library.from_numpy(values[0])
    if complex_numbers:
        x = library.complex(x, library.from_numpy(values[1]))
    yield x
    for axes in itertools.islice(itertools.permutations(range(len(shape))), 1, 24, 9):
        yield x.permute(axes)
    if len(shape) > 1:
        yield x[..., ::2]
        if complex_numbers or not cast:  # torch transforms real numbers without a copy
            yield x[:1].expand(3, *shape[1:])


def _some(orders: Iterable[tuple[int, ...]]) -> Iterable[tuple[int, ...]]:
    """Each fifth of many."""
    found = list(orders)
    return found if len(found) < 8 else found[::5]


def _calls(name: str, ndim: int) -> Any:
    axes = range(ndim)
    if name in ONE_AXIS:
        yield from ({"dim": dim, "norm": "ortho"} for dim in axes)
        yield {"n": 6, "dim": 0}
        yield {"n": 2}
    elif name.endswith("2"):
        yield from ({"dim": dims} for dims in _some(itertools.permutations(axes, 2)))
    else:
        yield {"norm": "forward"}
        yield from ({"dim": dims} for dims in _some(itertools.permutations(axes, min(ndim, 3))))
        yield from ({"dim": dims, "s": (4,)} for dims in itertools.combinations(axes, 1))


def _seen(x: Any, but_of_one: bool) -> tuple[int, ...]:
    pairs = zip(x.stride(), x.shape, strict=True)
    return tuple(s for s, n in pairs if n != 1 or not but_of_one)


def _refused(call: Any) -> Any:
    """The result, None where it is refused."""
    try:
        return call()
    except RuntimeError:
        return None


@pytest.mark.parametrize("name", [*ONE_AXIS, *SEVERAL])
def test_strides_are_torchs(name: str) -> None:
    compared = 0
    for shape in SHAPES:
        for complex_numbers in (False, True) if name not in REAL_ONLY else (False,):
            cast = name not in REAL_ONLY
            sides = [_layouts(t, shape, complex_numbers, cast) for t in (torch, ours)]
            pairs, calls = list(zip(*sides, strict=True)), list(_calls(name, len(shape)))
            for (x, y), options in itertools.product(pairs, calls):
                assert y.stride() == x.stride()
                expected = _refused(lambda: getattr(torch.fft, name)(x, **options))  # noqa: B023
                found = _refused(lambda: getattr(ours.fft, name)(y, **options))  # noqa: B023
                label = (shape, x.stride(), complex_numbers, options)
                assert (found is None) == (expected is None), label
                if expected is None:
                    continue
                # hfft and ihfft conjugate, which torch does without a copy: that shows where n is 1
                once = "hfft" in name
                assert _seen(found, once) == _seen(expected, once), label
                np.testing.assert_allclose(
                    found.resolve_conj().numpy(), expected.resolve_conj().numpy(), atol=1e-5
                )
                compared += 1
    assert compared > 20


@pytest.mark.parametrize("compiled", [False, True])
def test_a_network_with_a_fourier_layer_draws_torchs_mask(compiled: bool) -> None:
    values = np.random.RandomState(1).randn(4, 6, 8).astype(np.float32)

    def mixed(library: Any) -> Any:
        def mix(x: Any) -> Any:
            spectrum = library.fft.fft(library.fft.fft(x, dim=-1), dim=-2).real
            return library.nn.functional.dropout(spectrum, 0.5)

        run = library.compile(mix) if compiled and library is ours else mix
        library.manual_seed(3)
        return run(library.from_numpy(values)).numpy()

    np.testing.assert_array_equal(mixed(ours) != 0, mixed(torch) != 0)
