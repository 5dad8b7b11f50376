"""Attention in blocks of queries and keys, against PyTorch's in float64."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import torch as real

import mindtorch.torch as torch


def laid(x: Any, order: str) -> Any:
    """[batch, head, row, column] with rows, heads or columns outermost in memory."""
    if order == "heads inside":
        return np.ascontiguousarray(x.transpose(0, 2, 1, 3)).transpose(0, 2, 1, 3)
    if order == "columns outside":
        return np.ascontiguousarray(x.transpose(0, 1, 3, 2)).transpose(0, 1, 3, 2)
    return x


def attended(api: Any, arrays: Any, kind: str, mask: Any = None, causal: bool = False) -> Any:
    """The result, and the gradients of a sum of it, of arrays in the order in which they lie."""
    inputs = [api.from_numpy(x).to(getattr(api, kind)).requires_grad_(True) for x in arrays]
    given = None if mask is None else api.from_numpy(mask).to(getattr(api, kind))
    y = api.nn.functional.scaled_dot_product_attention(*inputs, attn_mask=given, is_causal=causal)
    weights = (api.arange(y.numel()) % 7).reshape(y.shape).to(y.dtype) - 3
    return y.detach(), *api.autograd.grad(y, inputs, weights)


def random(rng: Any, queries: int, keys: int, width: int, out: int, order: str = "") -> Any:
    sizes = ((queries, width), (keys, width), (keys, out))
    return [laid(rng.standard_normal((2, 3, *size)), order) for size in sizes]


SIZES = [(17, 17, 8, 8), (5, 300, 20, 33), (70, 600, 16, 16), (130, 40, 64, 64), (1, 1, 1, 1)]


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("sizes", SIZES)
@pytest.mark.parametrize("kind", ["float32", "float64"])
def test_blocks_give_the_whole_matrix(kind: str, sizes: Any, causal: bool) -> None:
    arrays = random(np.random.default_rng(0), *sizes)
    found = attended(torch, arrays, kind, causal=causal)
    expected = attended(real, arrays, "float64", causal=causal)
    for ours, theirs in zip(found, expected, strict=True):
        most = float(theirs.abs().max())
        tolerance = (3e-6 if kind == "float32" else 2e-14) * max(most, 1.0)
        assert np.abs(ours.numpy() - theirs.numpy()).max() <= tolerance


def test_scores_of_later_blocks_may_be_larger_and_whole_blocks_barred() -> None:
    rng = np.random.default_rng(1)
    arrays = random(rng, 9, 700, 16, 16)
    mask = np.zeros((9, 700))
    mask[0, :400], mask[1, 400:], mask[2], mask[3, 600:] = -math.inf, -math.inf, -math.inf, 80
    found = attended(torch, arrays, "float32", mask)
    expected = attended(real, arrays, "float64", mask)
    assert not found[0][:, :, 2].any()  # nothing to look at
    for ours, theirs in zip(found, expected, strict=True):
        tolerance = 5e-6 * float(theirs.abs().max())
        assert np.abs(ours.numpy() - theirs.numpy()).max() <= tolerance


@pytest.mark.parametrize("scale", [-0.5, 0.0, 2.0])
def test_scale_of_any_sign(scale: float) -> None:
    arrays = [x.astype(np.float32) for x in random(np.random.default_rng(2), 20, 30, 8, 8)]
    ours, theirs = (
        api.nn.functional.scaled_dot_product_attention(*map(api.from_numpy, arrays), scale=scale)
        for api in (torch, real)
    )
    assert np.abs(ours.numpy() - theirs.numpy()).max() <= 2e-6


def test_nan_stays_in_its_query() -> None:
    arrays = [x.astype(np.float32) for x in random(np.random.default_rng(3), 20, 30, 8, 8)]
    arrays[0][0, 1, 4] = np.nan
    found = torch.nn.functional.scaled_dot_product_attention(*map(torch.from_numpy, arrays))
    barred = np.isnan(found.numpy()).any(-1)
    assert barred[0, 1, 4]
    assert barred.sum() == 1


@pytest.mark.parametrize("order", ["", "heads inside", "columns outside"])
def test_results_lie_as_torchs(order: str) -> None:
    arrays = random(np.random.default_rng(4), 20, 30, 16, 16, order)
    found, expected = (attended(api, arrays, "float64") for api in (torch, real))
    pairs = list(zip(found, expected, strict=True))
    # where PyTorch takes its composed form, gradients lie as its products leave them
    for ours, theirs in pairs[: 1 if order == "columns outside" else None]:
        assert ours.stride() == theirs.stride()
    for ours, theirs in pairs:
        assert np.abs(ours.numpy() - theirs.numpy()).max() <= 1e-13


def test_a_projections_parts_are_read_where_they_lie() -> None:
    values = np.random.default_rng(5).standard_normal((2, 11, 3, 4, 8)).astype(np.float32)
    results = []
    for api in (torch, real):
        given = api.from_numpy(values.copy()).requires_grad_(True)
        y = api.nn.functional.scaled_dot_product_attention(*given.permute(2, 0, 3, 1, 4))
        y.transpose(1, 2).reshape(2, 11, 32).square().sum().backward()
        results.append((y, given.grad))
    (ours, gradient), (theirs, expected) = results
    assert ours.stride() == theirs.stride()
    assert np.abs(gradient.numpy() - expected.numpy()).max() <= 1e-5
