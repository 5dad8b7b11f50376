"""Places, distinct slices and unpacked sequences lie in memory as torch's do."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch.torch as ours


def _layouts(found: Any) -> Any:
    if isinstance(found, (tuple, list)):
        return [_layouts(each) for each in found]
    return tuple(found.shape), found.stride(), found.storage_offset(), found.tolist()


def _packed(t: Any, ordered: bool) -> Any:
    x = t.arange(24.0).view(3, 4, 2)
    return t.nn.utils.rnn.pack_padded_sequence(
        x, [4, 2, 2] if ordered else [2, 1, 4], batch_first=True, enforce_sorted=ordered
    )


CALLS: dict[str, Callable[[Any], Any]] = {
    "nonzero of two axes": lambda t: t.nonzero(t.tensor([[1, 0, 1], [0, 1, 1]])),
    "nonzero of one axis": lambda t: t.argwhere(t.tensor([1, 0, 1])),
    "nonzero of one place": lambda t: t.nonzero(t.ones(1, 1)),
    "nonzero of none": lambda t: t.nonzero(t.zeros(2, 3)),
    "nonzero of a number": lambda t: [t.nonzero(t.tensor(n)) for n in (0, 1)],
    "nonzero as a tuple": lambda t: t.nonzero(t.ones(2, 2, 2), as_tuple=True),
    "where": lambda t: t.where(t.tensor([[True, False], [True, True]])),
    "unravel_index": lambda t: t.unravel_index(t.tensor([[1, 2], [7, 3]]), (2, 4)),
    "unravel_index of a number": lambda t: t.unravel_index(t.tensor(4), (3, 2)),
    "unique along the last": lambda t: t.unique(
        t.tensor([[1, 1, 2], [3, 3, 4]]), dim=-1, return_counts=True
    ),
    "unique in the middle": lambda t: t.unique(t.arange(24).view(2, 3, 4) // 8, dim=1),
    "runs along the last": lambda t: t.unique_consecutive(t.arange(24).view(2, 3, 4), dim=2),
    "unpacked": lambda t: t.nn.utils.rnn.pad_packed_sequence(_packed(t, False), True),
    "unpacked and in order": lambda t: t.nn.utils.rnn.pad_packed_sequence(_packed(t, True), True),
    "unpadded": lambda t: t.nn.utils.rnn.unpack_sequence(_packed(t, False)),
}


@pytest.mark.parametrize("name", CALLS)
def test_layout_is_torchs(name: str) -> None:
    assert _layouts(CALLS[name](ours)) == _layouts(CALLS[name](torch))


def test_unpadded_sequences_are_copies() -> None:
    x = ours.zeros(2, 3)
    ours.nn.utils.rnn.unpad_sequence(x, ours.tensor([2, 3]), batch_first=True)[0].fill_(1)
    assert not x.any()


def test_names_of_nodes() -> None:
    x = ours.zeros(2, 3, 1, requires_grad=True)
    packed = ours.nn.utils.rnn.pack_padded_sequence(x, [3, 1], batch_first=True)
    assert type(packed.data.grad_fn).__name__ == "PackPaddedSequenceBackward0"


@pytest.mark.parametrize("of", ["input", "weight"])
def test_gradients_of_convolutions_have_gradients(of: str) -> None:
    results = []
    for t in (torch, ours):
        x = t.arange(6.0).view(1, 2, 3).requires_grad_()
        w = t.arange(4.0).view(2, 2, 1).requires_grad_()
        g = (t.arange(6.0).view(1, 2, 3) - 2).requires_grad_()
        if of == "input":
            found = t.nn.grad.conv1d_input(x.shape, w, g)
        else:
            found = t.nn.grad.conv1d_weight(x, w.shape, g)
        node = type(found.grad_fn).__name__
        found.square().sum().backward()
        kept = [None if y.grad is None else y.grad.tolist() for y in (x, w, g)]
        results.append((found.tolist(), node, kept))
    assert results[0] == results[1]
    assert results[0][1] == "ConvolutionBackwardBackward0"


def test_gradients_of_convolutions_are_not_recorded_without_need() -> None:
    g, w = ours.ones(1, 2, 3), ours.ones(2, 2, 1, requires_grad=True)
    with ours.no_grad():
        assert not ours.nn.grad.conv1d_input((1, 2, 3), w, g).requires_grad
    assert not ours.nn.grad.conv1d_input((1, 2, 3), w.detach(), g).requires_grad
