"""flex_attention: scores changed by functions, against scaled_dot_product_attention with masks."""

from importlib import import_module
from typing import Any

import numpy as np
import pytest
import torch as real

import mindtorch.torch as torch
from mindtorch.torch.nn.attention.flex_attention import (
    AuxRequest,
    and_masks,
    create_block_mask,
    create_mask,
    flex_attention,
    or_masks,
)

LENGTH = 32


def inputs() -> Any:
    torch.manual_seed(0)
    return [torch.randn(2, 4, LENGTH, 8, requires_grad=True) for _ in range(3)]


def causal(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q >= kv


def near(b: Any, h: Any, q: Any, kv: Any) -> Any:
    return q - kv <= 8


def test_functions_of_scores_are_added_masks() -> None:
    """ALiBi and a causal mask, by a function and as tensors: output and gradients."""
    slopes = torch.tensor([0.5, 0.25, 0.125, 0.0625])

    def alibi(score: Any, b: Any, h: Any, q: Any, kv: Any) -> Any:
        return torch.where(q >= kv, score + slopes[h] * (kv - q), -float("inf"))

    q, k, v = inputs()
    place = torch.arange(LENGTH)
    bias = slopes[:, None, None] * (place[None, :] - place[:, None])
    bias = bias.masked_fill(place[:, None] < place[None, :], -float("inf"))
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=bias)
    found, more = flex_attention(q, k, v, alibi, return_aux=AuxRequest(lse=True))
    assert torch.allclose(found, expected, atol=1e-6)
    assert more.max_scores is None and more.lse.shape == (2, 4, LENGTH)
    wanted = torch.autograd.grad(expected.square().sum(), [q, k, v])
    for ours, theirs in zip(
        torch.autograd.grad(found.square().sum(), [q, k, v]), wanted, strict=True
    ):
        assert torch.allclose(ours, theirs, atol=1e-5)


def test_block_masks_are_masks() -> None:
    """A causal window: PyTorch's counts of blocks, its drawing, and the same attention."""
    window = and_masks(causal, near)
    mask = create_block_mask(window, None, None, LENGTH, LENGTH, "cpu", BLOCK_SIZE=8)
    assert mask.shape == (1, 1, LENGTH, LENGTH) and mask.sparsity() == 56.25
    assert mask.kv_num_blocks.tolist() == [[[1, 2, 2, 2]]]
    assert mask.q_num_blocks.tolist() == [[[2, 2, 2, 1]]]
    drawn = "(0, 0)\n██      \n████    \n  ████  \n    ████\n"
    assert str(mask) == f"BlockMask(shape=(1, 1, 32, 32), sparsity=56.25%, \n{drawn})"
    q, k, v = inputs()
    dense = create_mask(window, 1, 1, LENGTH, LENGTH, "cpu")
    expected = torch.nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=dense)
    assert torch.allclose(flex_attention(q, k, v, block_mask=mask), expected, atol=1e-6)
    half = slice(0, 2)
    grouped = flex_attention(q, k[:, half], v[:, half], block_mask=mask, enable_gqa=True)
    assert torch.allclose(grouped[:, 0], expected[:, 0], atol=1e-6)
    either = or_masks(causal, near)
    everything = create_block_mask(either, 2, 4, LENGTH, LENGTH, "cpu", BLOCK_SIZE=8)
    assert everything.full_kv_num_blocks.sum() == 2 * 4 * 16


def test_parts_of_masks_and_rows_without_scores() -> None:
    """A row of blocks has to be given a function of its own; rows without scores are zeros."""
    q, k, v = inputs()
    mask = create_block_mask(causal, None, None, LENGTH, LENGTH, "cpu", BLOCK_SIZE=8)
    row = mask[:, :, 1]
    with pytest.raises(RuntimeError, match="Cannot use mask_mod from a sliced BlockMask"):
        flex_attention(q[:, :, 8:16], k, v, block_mask=row)
    row.mask_mod, row.seq_lengths = lambda b, h, q, kv: q + 8 >= kv, (8, LENGTH)
    whole = flex_attention(q, k, v, block_mask=mask)
    part = flex_attention(q[:, :, 8:16], k, v, block_mask=row)
    assert torch.allclose(part, whole[:, :, 8:16], atol=1e-6)
    late = create_block_mask(lambda b, h, q, kv: q > 4, None, None, LENGTH, LENGTH, "cpu")
    found = flex_attention(q, k, v, block_mask=late)
    assert not found[:, :, :5].any() and found[:, :, 5:].all()
    assert torch.isfinite(torch.autograd.grad(found.sum(), q)[0]).all()
    cropped = mask._adjust(20, 20)
    assert cropped.shape == (1, 1, 20, 20)
    assert torch.allclose(
        flex_attention(q[:, :, :20], k[:, :, :20], v[:, :, :20], block_mask=cropped),
        whole[:, :, :20],
        atol=1e-6,
    )


def test_what_flex_attention_refuses() -> None:
    """PyTorch's errors: other numbers of heads, other lengths than the mask's."""
    q, k, v = inputs()
    mask = create_block_mask(causal, None, None, LENGTH, LENGTH, "cpu", BLOCK_SIZE=8)
    with pytest.raises(ValueError, match="Try setting enable_gqa=True for GQA"):
        flex_attention(q, k[:, :2], v[:, :2])
    with pytest.raises(ValueError, match="was created for a larger length"):
        flex_attention(q[:, :, :16], k, v, block_mask=mask)
    with pytest.raises(NotImplementedError, match="must be 4D tensors"):
        flex_attention(q[0], k[0], v[0])


@pytest.mark.parametrize("variant", ["causal_upper_left", "causal_lower_right"])
@pytest.mark.parametrize("keys", [3, 5])
def test_causal_biases_are_torchs(variant: str, keys: int) -> None:
    """In attention, and printed; not together with ``is_causal``."""
    results: list[Any] = []
    for t in (torch, real):
        bias = getattr(import_module(f"{t.__name__}.nn.attention.bias"), variant)(3, keys)
        q, k = t.arange(12.0).reshape(1, 1, 3, 4).sin(), t.arange(4.0 * keys).reshape(1, 1, -1, 4)
        attention = t.nn.functional.scaled_dot_product_attention
        with pytest.raises(ValueError, match="CausalBias should not be used"):
            attention(q, k, k, bias, is_causal=True)
        results.append((repr(bias), attention(q, k, k, attn_mask=bias).numpy()))
    assert results[0][0] == results[1][0]
    np.testing.assert_allclose(results[0][1], results[1][1], rtol=1e-6)
