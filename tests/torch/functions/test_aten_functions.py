"""Antialiased resizing, segments, layouts and what ``torch.ops.aten`` finds, against torch's."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours


def image(*shape: int) -> Any:
    """The same random image for both libraries."""
    return np.random.default_rng(0).standard_normal(shape)


@pytest.mark.parametrize("mode", ["bilinear", "bicubic", "lanczos"])
@pytest.mark.parametrize("size", [(3, 5), (17, 2), (1, 1)])
def test_smoothed_images_and_their_slopes_are_torchs(mode: str, size: tuple[int, int]) -> None:
    """Shrinking weighs all covered pixels, growing interpolates; each axis for itself."""
    theirs = torch.tensor(image(2, 3, 10, 7), requires_grad=True)
    mine = ours.tensor(image(2, 3, 10, 7), requires_grad=True)
    for align in (False, True):
        options: dict[str, Any] = {"size": size, "mode": mode, "antialias": True}
        options["align_corners"] = align
        if mode == "lanczos" and align:
            continue
        a = torch.nn.functional.interpolate(theirs, **options)
        b = ours.nn.functional.interpolate(mine, **options)
        np.testing.assert_allclose(b.detach().numpy(), a.detach().numpy(), 1e-12, 1e-12)
        (first,) = torch.autograd.grad((a * a).sum(), theirs)
        (second,) = ours.autograd.grad((b * b).sum(), mine)
        np.testing.assert_allclose(second.numpy(), first.numpy(), 1e-12, 1e-12)


def test_smoothing_other_modes_and_types_is_refused_as_in_torch() -> None:
    """Nearest pixels cannot be smoothed, and torch has no half kernel."""
    for library in (torch, ours):
        x = library.zeros(1, 1, 4, 4)
        with pytest.raises(ValueError, match="Anti-alias option is restricted"):
            library.nn.functional.interpolate(x, (2, 2), antialias=True)
        with pytest.raises(NotImplementedError, match="not implemented for 'Half'"):
            library.nn.functional.interpolate(x.half(), (2, 2), mode="bilinear", antialias=True)


@pytest.mark.parametrize("kind", ["sum", "mean", "max", "min", "prod"])
def test_segments_reduce_as_in_torch(kind: str) -> None:
    """Empty segments, two rows of lengths and unused elements included."""
    lengths = np.array([[2, 0, 3], [1, 1, 3]])
    values = {"lengths": lengths, "offsets": np.cumsum(np.pad(lengths, ((0, 0), (1, 0))), 1)}
    for name, value in values.items():
        results = []
        for library in (torch, ours):
            x = library.tensor(image(2, 5, 4), requires_grad=True)
            y = library.segment_reduce(
                x, kind, **{name: library.tensor(value)}, axis=1, initial=1.0
            )
            y.sum().backward()
            results.append((y.detach().numpy(), x.grad.numpy()))
        for a, b in zip(*results, strict=True):
            np.testing.assert_allclose(b, a, 1e-12)


def test_segments_that_do_not_add_up_are_refused() -> None:
    """A wrong length would leave elements out in silence."""
    for library in (torch, ours):
        with pytest.raises(RuntimeError, match=r"to sum to data\.size"):
            library.segment_reduce(library.zeros(5), "sum", lengths=library.tensor([1, 2]))


def test_axes_lie_in_memory_in_the_order_given() -> None:
    """The last of the order is the closest together, also beside an empty axis."""
    for shape, order in (((2, 3, 4), (1, 2, 0)), ((1, 0, 5, 1), (3, 1, 0, 2))):
        expected = torch.empty_permuted(shape, order).stride()
        assert ours.empty_permuted(shape, order).stride() == expected


def test_an_aten_operator_is_our_function() -> None:
    """By its packet and by its default overload; an unknown one is an AttributeError."""
    x = ours.tensor([1.0, -2.0])
    assert ours.ops.aten.relu(x).tolist() == [1.0, 0.0]
    assert ours.ops.aten.relu.default(x).tolist() == [1.0, 0.0]
    assert str(ours.ops.aten.relu) == "aten.relu"
    with pytest.raises(AttributeError, match="has no attribute 'no_such_operator'"):
        ours.ops.aten.no_such_operator


@pytest.mark.parametrize(
    "call",
    [
        "A._to_copy.default(x, dtype=t.int64)", "A.alias.default(x)[0]", "A.view(x, [3, 2])",
        "A.index.Tensor(x, [None, t.tensor([1])])", "A._local_scalar_dense.default(x[0, 1])",
        "A.add_.Tensor(x.clone(), 1)", "A.sub_.Tensor(x.clone(), x, alpha=2)",
        "A.expand(x, [2, 2, 3]).shape", "A.copy_(x.clone(), x + 1)", "A.sym_size.int(x, 1)",
        "A.to.dtype(x, t.float64)", "A.sort.stable is A.sort.default", "A.sort.stable",
        "A._sparse_addmm(x[:, :2], x[:, 1:].to_sparse(), x.mT @ x[:, 1:])[:1]",
    ],
)  # fmt: skip
def test_what_aten_keeps_for_methods_and_indexing_is_torchs(call: str) -> None:
    """Libraries that write their own dispatch hold a table by these overloads."""
    shown = []
    for t in (ours, torch):
        x = t.arange(6.0).view(2, 3)
        try:
            shown.append(str(eval(call, {"t": t, "A": t.ops.aten, "x": x})))
        except RuntimeError as error:
            shown.append(str(error))
    assert shown[0] == shown[1]
    with pytest.raises(AttributeError, match="has no overload name 'nothing'"):
        ours.ops.aten.add.nothing


def test_a_view_that_begins_before_its_input_has_a_gradient() -> None:
    """``as_strided`` counts from the storage's beginning; what lies outside has no gradient."""
    results = []
    for library in (torch, ours):
        x = library.arange(20.0)[5:15].detach().requires_grad_()
        y = x.as_strided((3, 2), (2, 3), 2)
        (y * library.arange(6.0).reshape(3, 2)).sum().backward()
        results.append(x.grad.tolist())
    assert results[0] == results[1]


def test_products_have_slopes_where_a_factor_is_zero() -> None:
    """The slope of a lone zero is the product of the other factors, not nan."""
    results = []
    for library in (torch, ours):
        x = library.tensor([2.0, 0.0, 3.0], requires_grad=True)
        s = library.tensor([0.0, 4.0, 5.0, 0.0], requires_grad=True)
        y = x.scatter_reduce(0, library.tensor([0, 0, 1, 2]), s, "prod")
        y.sum().backward()
        results.append((x.grad.tolist(), s.grad.tolist()))
    assert results[0] == results[1]


def test_complex_logarithms_of_sums_stay_on_the_main_branch() -> None:
    """The imaginary part is within (-pi, pi], and the slope is the conjugate softmax."""
    results = []
    for library in (torch, ours):
        x = library.tensor([1 + 3j, 1.5 + 3j, 0.5 - 2.5j], requires_grad=True)
        y = library.logsumexp(x, 0)
        y.abs().backward()
        results.append((y.detach().numpy(), x.grad.numpy()))
    for a, b in zip(*results, strict=True):
        np.testing.assert_allclose(b, a, 1e-6)


def test_a_filling_value_counts_once_where_its_index_is_named_twice() -> None:
    """The slices are filled once, so their slopes are added once."""
    results = []
    for library in (torch, ours):
        value = library.tensor(2.0, requires_grad=True)
        x = library.zeros(3, 2).index_fill(0, library.tensor([1, 1, 0]), value)
        (x * library.arange(6.0).reshape(3, 2)).sum().backward()
        results.append(value.grad.item())
    assert results[0] == results[1] == 6.0
