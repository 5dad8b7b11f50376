"""Strides and values of results of inputs that do not lie in C order, against torch: eager ops,
random fills, and a training step that runs eagerly and compiled."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours

SHAPE = (2, 6, 4, 6)


def numbers(library: Any, shape: tuple[int, ...], seed: int = 0) -> Any:
    return library.from_numpy(np.random.RandomState(seed).randn(*shape).astype(np.float32))


def channels_last(library: Any) -> Any:
    return numbers(library, SHAPE).to(memory_format=library.channels_last)


LAYOUTS = {
    "channels last": channels_last,
    "volumes": lambda t: numbers(t, (2, 6, 3, 4, 6)).to(memory_format=t.channels_last_3d),
    "permuted": lambda t: numbers(t, (6, 4, 2, 6)).permute(2, 0, 3, 1),
    "rows": lambda t: numbers(t, (2, 6, 4)).transpose(1, 2),
    "gaps": lambda t: channels_last(t)[:, :, ::2],
    "one channel": lambda t: channels_last(t)[:, :1],
    "expanded": lambda t: numbers(t, (2, 4, 1, 6)).permute(0, 2, 3, 1).expand(2, 6, 6, 4),
}


def spread(library: Any, x: Any) -> Any:
    return library.arange(x.shape[1]).reshape(-1, *[1] * (x.dim() - 2)).float()


EVERYWHERE = {
    "exp": lambda t, x: x.exp(),
    "scaled": lambda t, x: x * 2,
    "of channels": lambda t, x: x * spread(t, x),
    "in C order": lambda t, x: x.contiguous() + x,
    "broadcast": lambda t, x: x[:, :1] - x[:1],
    "where": lambda t, x: t.where(x > 0, x, 0.0),
    "log_sigmoid": lambda t, x: t.nn.functional.logsigmoid(x),
    "complex": lambda t, x: t.complex(x, x),
    "softmax": lambda t, x: x.softmax(1),
    "mean": lambda t, x: x.mean(-1, keepdim=True),
    "max": lambda t, x: x.max(1),
    "sort": lambda t, x: x.sort(-1),
    "cat": lambda t, x: t.cat([x, x], 1),
    "stack": lambda t, x: t.stack([x, x], 1),
    "stack in front": lambda t, x: t.stack([x, x]),
    "out": lambda t, x: t.add(x, 1, out=t.empty(0)),
    "clone": lambda t, x: x.clone(),
    "double": lambda t, x: x.double(),
    "usual": lambda t, x: x.to(memory_format=t.contiguous_format),
    "roll": lambda t, x: x.roll(1, 2),
    "flip": lambda t, x: x.flip(1),
    "pad": lambda t, x: t.nn.functional.pad(x, (1, 2)),
    "index": lambda t, x: x[t.tensor([1, 0])],
    "index inside": lambda t, x: x[:, :, t.tensor([1, 0])],
    "scatter": lambda t, x: x.scatter(1, t.zeros(x.shape, dtype=t.int64), 1.0),
    "fill": lambda t, x: x.index_fill(1, t.tensor([0]), 3.0),
    "empty_like": lambda t, x: t.zeros_like(x),
    "randn_like": lambda t, x: t.randn_like(x),
    "randint_like": lambda t, x: t.randint_like(x, 9),
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.4),
    "native dropout": lambda t, x: t.native_dropout(x, 0.4, True),
    "gumbel": lambda t, x: t.nn.functional.gumbel_softmax(x, dim=1),
    "poisson": lambda t, x: t.poisson(x.abs()),
    "batch_norm": lambda t, x: t.nn.functional.batch_norm(x, None, None, training=True),
    "instance_norm by averages": lambda t, x: t.nn.functional.instance_norm(
        x, t.zeros(x.shape[1]), t.ones(x.shape[1]), use_input_stats=False),
    "layer_norm": lambda t, x: t.nn.functional.layer_norm(x, x.shape[-1:]),
    "rms_norm": lambda t, x: t.nn.functional.rms_norm(x, x.shape[-1:]),
}
PICTURES = {
    "conv": lambda t, x: t.nn.functional.conv2d(x, numbers(t, (4, x.shape[1], 2, 3))),
    "conv of points": lambda t, x: t.nn.functional.conv2d(x, numbers(t, (4, x.shape[1], 1, 1))),
    "conv by weight": lambda t, x: t.nn.functional.conv2d(
        x, numbers(t, (4, x.shape[1], 2, 3)).to(memory_format=t.channels_last)
    ),
    "conv_transpose": lambda t, x: t.nn.functional.conv_transpose2d(
        x, numbers(t, (x.shape[1], 2, 2, 2))
    ),
    "max_pool": lambda t, x: t.nn.functional.max_pool2d(x, 2, return_indices=True),
    "unpool": lambda t, x: t.nn.functional.max_unpool2d(
        *t.nn.functional.max_pool2d(x, 2, return_indices=True), 2
    ),
    "avg_pool": lambda t, x: t.nn.functional.avg_pool2d(x, 2),
    "adaptive": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 1),
    "nearest": lambda t, x: t.nn.functional.interpolate(x, scale_factor=2),
    "bilinear": lambda t, x: t.nn.functional.interpolate(x, size=(3, 5), mode="bilinear"),
    "smooth": lambda t, x: t.nn.functional.interpolate(
        x, size=(2, 3), mode="bilinear", antialias=True
    ),
    "reflect": lambda t, x: t.nn.functional.pad(x, (1, 1, 1, 1), mode="reflect"),
    "pixel_unshuffle": lambda t, x: t.nn.functional.pixel_unshuffle(x, 2),
    "group_norm": lambda t, x: t.nn.functional.group_norm(x, 1),
}
VOLUMES = {
    "conv3d": lambda t, x: t.nn.functional.conv3d(x, numbers(t, (4, 6, 2, 2, 2))),
    "conv3d of doubles": lambda t, x: t.nn.functional.conv3d(
        x.double(), numbers(t, (4, 6, 2, 2, 2)).double()),
    "conv_transpose3d of doubles": lambda t, x: t.nn.functional.conv_transpose3d(
        x.double(), numbers(t, (6, 4, 2, 2, 2)).double()),
    "max_pool3d": lambda t, x: t.nn.functional.max_pool3d(x, 2),
    "avg_pool3d": lambda t, x: t.nn.functional.avg_pool3d(x, 2),
    "to a point": lambda t, x: t.nn.functional.adaptive_avg_pool3d(x, 1),
}
ROWS = {
    "avg_pool1d": lambda t, x: t.nn.functional.avg_pool1d(x, 2),
    "conv1d": lambda t, x: t.nn.functional.conv1d(x, numbers(t, (4, 4, 2))),
}


def results(value: Any) -> list[Any]:
    return list(value) if isinstance(value, (tuple, list)) else [value]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_results_lie_as_torch_s_do(layout: str) -> None:
    """Each call's strides and values; the list of what differs is empty."""
    given = LAYOUTS[layout]
    own_calls = {3: ROWS, 4: PICTURES, 5: VOLUMES}[given(torch).dim()]
    differing = []
    for name, call in (EVERYWHERE | own_calls).items():
        for library in (torch, ours):
            library.manual_seed(3)
        theirs, mine = results(call(torch, given(torch))), results(call(ours, given(ours)))
        assert len(theirs) == len(mine)
        for a, b in zip(theirs, mine, strict=True):
            if a.shape != b.shape or a.stride() != b.stride():
                differing.append(f"{name}: {a.stride()} ours {b.stride()}")
            elif not np.allclose(a.numpy(), b.numpy(), rtol=2e-5, atol=2e-6):
                differing.append(f"{name}: values")
    assert differing == []


def trained(library: Any, compiled: bool) -> list[Any]:
    """Losses, and where parameters, gradients and states lie, of a small network in channels
    last, whose dropout draws in that order."""
    nn = library.nn
    library.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Dropout(0.3),
        nn.Conv2d(8, 8, 3, groups=8), nn.GroupNorm(2, 8), nn.AdaptiveAvgPool2d(2), nn.Dropout(0.3),
        nn.Flatten(), nn.Linear(32, 3),
    ).to(memory_format=library.channels_last)  # fmt: skip
    optimizer = library.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    x = library.randn(4, 3, 12, 12).to(memory_format=library.channels_last)
    y = library.tensor([0, 1, 2, 0])

    def step() -> Any:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return loss

    run = library.compile(step) if compiled else step
    found: list[Any] = [run().item() for _ in range(4)]
    found += [model[:4](x).stride()]
    for p in model.parameters():
        kept = optimizer.state[p]["momentum_buffer"]
        found += [p.stride(), p.grad.stride(), kept.stride()]
    return found


@pytest.mark.parametrize("compiled", [False, True])
def test_training_in_channels_last(compiled: bool) -> None:
    theirs, mine = trained(torch, False), trained(ours, compiled)
    assert mine[:4] == pytest.approx(theirs[:4], rel=1e-5)
    assert mine[4:] == theirs[4:]


def bits(library: Any, call: Any, x: Any, last: bool) -> list[bytes]:
    """A result and the gradient for ``x``, of images whose channels lie last or not."""
    kind = library.channels_last if last else library.contiguous_format
    given = library.from_numpy(x.copy()).to(memory_format=kind).requires_grad_()
    y = call(library, given)
    slope = numbers(library, tuple(y.shape), 1).to(memory_format=kind)
    y.backward(slope)
    return [np.ascontiguousarray(v.detach().numpy()).tobytes() for v in (y, given.grad)]


def convolved(library: Any, x: Any, stride: int, groups: int) -> Any:
    weight = numbers(library, (20 if groups == 1 else 2 * x.shape[1], x.shape[1] // groups, 3, 3))
    return library.nn.functional.conv2d(x, weight.to(memory_format=library.channels_last), None,
                                        stride, 1, 1, groups)  # fmt: skip


SAME_SUMS: dict[str, Any] = {
    "convolution": lambda t, x: convolved(t, x, 1, 1),
    "with a stride, in groups": lambda t, x: convolved(t, x, 2, 2),
    "depthwise": lambda t, x: convolved(t, x, 2, x.shape[1]),
    "largest": lambda t, x: t.nn.functional.max_pool2d(x, 3, 2, 1, ceil_mode=True),
    "means": lambda t, x: t.nn.functional.avg_pool2d(x, 3, 2, 1, count_include_pad=False),
    "adaptive means": lambda t, x: t.nn.functional.adaptive_avg_pool2d(x, 3),
}


@pytest.mark.parametrize("name", SAME_SUMS)
def test_sums_are_the_same_with_channels_last(name: str) -> None:
    """Kernels walk either order, and add in one: the same bits."""
    x = np.random.RandomState(2).randn(2, 22, 9, 7).astype(np.float32)
    x[0, 1, 2, 3] = np.nan if name == "largest" else x[0, 1, 2, 3]
    assert bits(ours, SAME_SUMS[name], x, True) == bits(ours, SAME_SUMS[name], x, False)


@pytest.mark.parametrize("last", [False, True])
def test_depthwise_convolution_has_torchs_bits(last: bool) -> None:
    """One result for each channel; of one thread, as all sums of convolutions."""
    x = np.random.RandomState(3).randn(2, 20, 9, 7).astype(np.float32)

    def call(library: Any, x: Any) -> Any:
        return library.nn.functional.conv2d(x, numbers(library, (20, 1, 3, 3)), groups=20)

    found, expected = bits(ours, call, x, last), bits(torch, call, x, last)
    assert found[1] == expected[1]
    if not last:
        assert found[0] == expected[0]


def test_batch_norm_with_channels_last_has_torchs_sums() -> None:
    """torch adds rows there, one by one in their own type."""
    x = np.random.RandomState(4).randn(2, 6, 9, 7).astype(np.float32)

    def call(library: Any, x: Any) -> Any:
        return library.nn.functional.batch_norm(x, None, None, training=True)

    threads = torch.get_num_threads(), ours.get_num_threads()
    torch.set_num_threads(1)
    ours.set_num_threads(1)
    try:
        assert bits(ours, call, x, True)[0] == bits(torch, call, x, True)[0]
    finally:
        torch.set_num_threads(threads[0])
        ours.set_num_threads(threads[1])
