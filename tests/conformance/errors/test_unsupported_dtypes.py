"""Element types that PyTorch's kernels refuse are refused here, with its errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch as real

import mindtorch.torch as ours

WHOLE = ("bool", "uint8", "int16", "int32", "int64")
SIGNAL, IMAGE, VOLUME = (1, 2, 4), (1, 2, 4, 4), (1, 2, 4, 4, 4)

# what is called on ``F`` and ``x``, the shape of ``x``, and the types that PyTorch refuses
REFUSED: dict[str, tuple[tuple[int, ...], tuple[str, ...]]] = {
    "x @ x": ((2, 2), ("bool",)),
    "x @ x.sum(0, dtype=x.dtype)": ((2, 2), ("bool",)),
    "x.flatten() @ x.flatten()": ((2, 2), ("bool",)),
    "x[None] @ x[None]": ((2, 2), ("bool",)),
    "F.relu(x)": ((4,), ("bool",)),
    "F.threshold(x, 1, 0)": ((4,), ("bool",)),
    "F.softsign(x)": ((4,), ("bool",)),
    "F.tanhshrink(x)": ((4,), ("bool",)),
    "F.prelu(x, x[:1])": ((4,), WHOLE),
    "F.dropout(x)": ((4,), WHOLE),
    "F.dropout2d(x, inplace=True)": (IMAGE, WHOLE),
    "F.mse_loss(x, x)": ((4,), WHOLE),
    "F.smooth_l1_loss(x, x)": ((4,), WHOLE),
    "F.huber_loss(x, x)": ((4,), WHOLE),
    "F.cosine_similarity(x, x, 0)": ((4,), WHOLE),
    "F.pdist(x)": ((4, 2), WHOLE),
    "F.multi_margin_loss(x, x[:, 0].long() * 0)": ((2, 4), WHOLE),
    "F.multilabel_margin_loss(x, x.long() * 0)": ((2, 4), WHOLE),
    "F.batch_norm(x, None, None, training=True)": (IMAGE, WHOLE),
    "F.instance_norm(x)": (IMAGE, WHOLE),
    "F.group_norm(x, 2)": (IMAGE, WHOLE),
    "F.avg_pool2d(x, 2)": (IMAGE, ("bool", "uint8", "int32")),
    "F.avg_pool3d(x, 2)": (VOLUME, ("bool", "uint8", "int32")),
    "F.max_pool1d(x, 2)": (SIGNAL, WHOLE),
    "F.max_pool2d(x, 2)": (IMAGE, ("bool",)),
    "F.adaptive_avg_pool1d(x, 2)": (SIGNAL, WHOLE),
    "F.adaptive_avg_pool3d(x, 2)": (VOLUME, WHOLE),
    "F.adaptive_max_pool2d(x, 2)": (IMAGE, WHOLE),
    "F.interpolate(x, scale_factor=2)": (IMAGE, ("bool", "int16", "int32", "int64")),
    "F.interpolate(x, scale_factor=2, mode='linear')": (SIGNAL, WHOLE),
    "F.interpolate(x, scale_factor=2, mode='area')": (VOLUME, WHOLE),
    "F.unfold(x, 2)": (IMAGE, ("uint8", "int16", "int64")),
    "F.fold(x, (3, 3), 2)": ((1, 4, 4), ("uint8", "int16", "int64")),
    "F.grid_sample(x, (x[:, 0, :, :2] * 0).float()[:, None], align_corners=False)": (
        IMAGE, ("bool", "int64")
    ),
    "F.conv2d(x, x)": (IMAGE, ("bool",)),
    "F.linear(x, x)": ((4, 4), ("bool",)),
    "F.lp_pool1d(x, 2, 2)": (SIGNAL, ("uint8", "int32")),
    "F.embedding_bag((x[:1] != x[:1]).long(), x)": ((4, 4), (*WHOLE, "complex64")),
    "x.bmm(x)": ((2, 4, 4), ("bool",)),
    "x.abs()": ((4,), ("bool",)),
    "x.kthvalue(1)": ((4,), ("bool",)),
    "x.div(x, rounding_mode='trunc')": ((4,), ("bool",)),
    "x.hypot(x)": ((4,), WHOLE),
    "x.nextafter(x.short())": ((4,), WHOLE),
    "x.frac()": ((4,), WHOLE),
    "x.lerp(x, 1)": ((4,), WHOLE),
    "x.lerp(x, x)": ((4,), WHOLE),
    "x.round(decimals=1)": ((4,), ("int16", "int64")),
    "x.logcumsumexp(0)": ((4,), WHOLE),
    "x.dist(x)": ((4,), WHOLE),
    "x - 1": ((4,), ("bool",)),
    "x.float() - x": ((4,), ("bool",)),
    "x.float().sub_(True)": ((4,), ("float32",)),
    "x.pow(x)": ((4,), ("bool",)),
    "x.median()": ((4,), ("bool",)),
    "x.clamp(x, x)": ((4,), ("bool",)),
    "x.maximum(x)": ((4,), ("complex64",)),
    "x.scatter_reduce(0, x.real.long(), x, 'amax')": ((2,), ("complex64",)),
    "F.elu(x)": ((4,), ("complex64",)),
    "F.hardtanh(x)": ((4,), ("complex64",)),
    "F.max_unpool2d(x, x.long(), 1)": (IMAGE, WHOLE),
    "F.conv_transpose2d(x, x)": (IMAGE, ("bool", "int32")),
    "F.avg_pool3d(x, 2) ": (VOLUME, ("float16",)),
    "F.hardshrink(x)": ((4,), WHOLE),
    "x.cholesky()": ((2, 2), (*WHOLE, "float16")),
    "x.det()": ((2, 2), (*WHOLE, "bfloat16")),
    "x.topk(1)": ((4,), ("bool",)),
    "x.nansum()": ((4,), ("complex64",)),
    "x.isposinf()": ((4,), ("complex64",)),
    "x.deg2rad()": ((4,), ("complex64",)),
    "x.add(x, alpha=300)": ((4,), ("uint8",)),
}


def outcome(library: Any, call: str, shape: tuple[int, ...], dtype: str) -> tuple[str, str]:
    x = library.ones(shape, dtype=getattr(library, dtype))
    try:
        eval(call, {"F": library.nn.functional, "x": x})
    except Exception as error:
        return type(error).__name__, str(error)
    return "", ""


@pytest.mark.parametrize("call", REFUSED)
def test_a_type_that_torchs_kernel_lacks_is_refused(call: str) -> None:
    """Type and text of the error are torch's, for each type in the list."""
    shape, dtypes = REFUSED[call]
    for dtype in dtypes:
        expected = outcome(real, call, shape, dtype)
        assert expected[0], f"torch takes {dtype}"
        assert outcome(ours, call, shape, dtype) == expected


SAME: dict[str, Callable[[Any], Any]] = {
    "dropout of nothing keeps bool": lambda t: t.nn.functional.dropout(t.tensor([True]), 0.0),
    "threshold cuts its numbers to whole ones": (
        lambda t: t.nn.functional.threshold(t.arange(4), 0.5, 1.5)
    ),
    "a batch's sum has its type": lambda t: t.addbmm(
        t.full((1, 1), 2).byte(), t.full((3, 1, 2), 9).byte(), t.full((3, 2, 1), 7).byte()
    ),
    "bilinear of small ints": lambda t: t.nn.functional.bilinear(
        *(t.full(shape, 5).to(t.int8) for shape in ((2, 2), (2, 2), (3, 2, 2)))
    ),
    "places beyond a small type": lambda t: t.stack(
        t.unravel_index(t.tensor([127], dtype=t.int8), (2, 200))
    ),
    "a power of whole numbers": lambda t: t.linalg.matrix_power(t.ones(2, 2).int(), 3),
    "a multiple of bool": lambda t: t.add(t.arange(2) > 0, t.arange(2) > 0, alpha=2),
    "a common type with its weight": lambda t: t.lerp(t.ones(2).int(), t.ones(2).int(), t.ones(())),
    "hypot with a type of floats": lambda t: t.hypot(t.ones(2).int(), t.ones(2)),
    "a vector of weights": lambda t: t.nn.functional.linear(t.ones(2, 3, 4), t.arange(4.0)),
    "a number of numbers": lambda t: t.stack([t.add(1.5, 2.5), t.mul(1.5, 2), t.sub(2.5, 1)]),
    "shifts by more than the type has bits": lambda t: t.stack([
        op(t.tensor([-5, 5, 100]), t.tensor(by))
        for op in (t.bitwise_left_shift, t.bitwise_right_shift) for by in (-1, 3, 63, 64, 100)
    ]),
    "a margin between whole numbers": lambda t: t.nn.functional.margin_ranking_loss(
        t.tensor([1, 2]), t.tensor([2, 1]), t.tensor([1, 1])
    ),
    "columns of nonzero lie together": lambda t: t.tensor([
        *t.ones(3, 2).nonzero().stride(), *[p.stride(0) for p in t.where(t.ones(3, 2) > 0)]
    ]),
    "clamp between nans": lambda t: t.clamp(
        t.tensor([1.0, 2.0, 3.0]), t.tensor([float("nan"), 0.0, 5.0]),
        t.tensor([1.0, float("nan"), 4.0]),
    ),
}


@pytest.mark.parametrize("name", SAME)
def test_what_torch_takes_gives_its_values_and_type(name: str) -> None:
    """The neighbours of what is refused."""
    expected, found = SAME[name](real), SAME[name](ours)
    assert str(found.dtype) == str(expected.dtype)
    assert repr(found.tolist()) == repr(expected.tolist())


SLOPES: dict[str, Callable[[Any, Any], Any]] = {
    "hardtanh": lambda t, x: t.nn.functional.hardtanh(x),
    "elu": lambda t, x: t.nn.functional.elu(x),
    "hardshrink": lambda t, x: t.nn.functional.hardshrink(x),
    "softshrink": lambda t, x: t.nn.functional.softshrink(x),
    "hardswish": lambda t, x: t.nn.functional.hardswish(x),
    "maximum": lambda t, x: t.maximum(x, t.ones_like(x)),
    "minimum": lambda t, x: t.minimum(t.zeros_like(x), x),
    "huber_loss": lambda t, x: t.nn.functional.huber_loss(x, t.zeros_like(x), reduction="none"),
    "smooth_l1_loss": (
        lambda t, x: t.nn.functional.smooth_l1_loss(x, t.zeros_like(x), reduction="none")
    ),
}


@pytest.mark.parametrize("name", SLOPES)
def test_slopes_at_nan_and_infinity_are_torchs(name: str) -> None:
    """Found by the inputs of torch's references; 32 elements, as many as its vectors take."""
    numbers = [float("nan"), float("inf"), float("-inf"), 0.25, -0.25, 1.0, 4.0, -4.0] * 4
    found = []
    for library in (real, ours):
        x = library.tensor(numbers, requires_grad=True)
        y = SLOPES[name](library, x)
        (slope,) = library.autograd.grad(y, x, library.full((32,), 2.0))
        found.append((y.detach(), slope))
    for theirs, mine in zip(*found, strict=True):
        real.testing.assert_close(real.tensor(mine.tolist()), theirs, equal_nan=True)


@pytest.mark.parametrize(
    ("index", "source", "kind"),
    [([5], (1, 3), "IndexError"), ([-1], (1, 3), "IndexError"), ([0], (2, 3), "RuntimeError"),
     ([0.0], (1, 3), "RuntimeError")],
)  # fmt: skip
@pytest.mark.filterwarnings("ignore:index_reduce")
def test_index_reduce_checks_its_places(index: list[Any], source: Any, kind: str) -> None:
    """Places outside, as many places as slices, and whole-number places."""

    def error_of(library: Any) -> tuple[str, str]:
        with pytest.raises((IndexError, RuntimeError)) as caught:
            library.ones(2, 3).index_reduce(
                0, library.tensor(index), library.ones(source), "prod"
            )
        return caught.type.__name__, str(caught.value)

    assert error_of(ours) == error_of(real)
    assert error_of(ours)[0] == kind
