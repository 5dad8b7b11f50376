"""Every op against torch: value, type, layout, gradient, second gradient, linearity of the
rules."""

from __future__ import annotations

import importlib
import pkgutil
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import mindtorch.engine.ops as engine_ops
import mindtorch.torch as mt
from mindtorch.engine.op import OPS, Op, forget_plans
from mindtorch.engine.ops.base import Elementwise
from tests.support.ops_running import (
    EPSILON,
    array_of,
    differentiable,
    gradient_of,
    outputs_of,
    tensor_of,
    weights_of,
)
from tests.tables.ops_table import Row, all_rows

torch = pytest.importorskip("torch")
importlib.import_module("mindtorch.torch.nn.functional")
ROWS = all_rows()
# ops that rows do not cover, with the reason
_OF_TORCHVISION = (
    "torch has no such function; tests/conformance/vision/test_operators.py compares it with "
    "torchvision's results, tests/engine/ops/test_detection.py its gradients"
)
WITHOUT_ROW: dict[str, str] = {
    **dict.fromkeys(
        ("nms", "roi_align", "roi_align_backward", "roi_pool", "roi_pool_backward", "ps_roi_align",
         "ps_roi_align_backward", "ps_roi_pool", "ps_roi_pool_backward", "deform_conv2d",
         "deform_conv2d_backward", "box_iou_rotated"), _OF_TORCHVISION,
    ),
    "move_average": "running statistics; test_modules.py compares them bit for bit",
    "embedding_sparse": "its gradient is no dense tensor; test_sparse_gradients.py compares it",
    "embedding_bag_sparse": "its gradient is no dense tensor; test_sparse_gradients.py compares it",
    "copy_": "recorded by a write, never run; test_views.py compares its gradients",
    "split": "the tape's node of several views, never run; test_views.py compares its gradients",
    "split_with_sizes": "as split",
    **dict.fromkeys(
        (
            "quantize_levels", "quantized_linear", "dynamic_quantized_linear",
            "quantized_convolution",
        ),
        "of quantised tensors; tests/torch/quantization and tests/lite compare them",
    ),
    "merge_keys": "of sparse tensors; test_sparse_tensors.py compares their sums",
    "_to_device": "needs a second device; cuda_program.py compares it in numba's simulator",
    "unbind": "as split",
    **dict.fromkeys(
        ("from_local", "to_local", "redistribute"),
        "of tensors over several processes; torch/distributed/test_tensor.py compares them",
    ),
}


def _run(namespace: Any, row: Row, case: Any, dtype: str, order: int) -> list[Any]:
    """Results; for ``order`` 1 and 2 gradients of a fixed weighted sum, as numpy arrays."""
    inputs = [tensor_of(namespace, array, dtype) for array in case]
    leaves = []
    if order:
        for position, x in enumerate(inputs):
            if x.is_floating_point():
                inputs[position] = x.detach().requires_grad_()
                leaves.append(inputs[position])
    outputs = outputs_of(row.call(namespace, *inputs))
    if not order:
        return outputs
    gradients = gradient_of(namespace, differentiable(outputs), leaves, order > 1)
    if order == 1:
        return gradients
    tracked = [g for g in gradients if g is not None and g.requires_grad]
    return gradient_of(namespace, tracked, leaves, False) if tracked else [None] * len(leaves)


def _compare(mine: Any, theirs: Any, epsilons: float, what: str) -> None:
    """Equal within ``epsilons`` of the greatest element, or of 1, the size of the inputs."""
    assert str(mine.dtype).split(".")[-1] == str(theirs.dtype).split(".")[-1], what
    assert tuple(mine.shape) == tuple(theirs.shape), what
    a, b = array_of(mine), array_of(theirs)
    if b.dtype.kind in "biu":
        np.testing.assert_array_equal(a, b, err_msg=what)
        return
    epsilon = EPSILON.get(b.real.dtype.name, 2.0**-10)
    scale = float(np.nanmax(np.abs(np.where(np.isfinite(b), b, 0)), initial=0))
    np.testing.assert_allclose(
        a, b, rtol=epsilons * epsilon, atol=epsilons * epsilon * max(scale, 1.0), err_msg=what
    )


# elementwise rows whose every layout CI looks at: of one, two and three inputs, with and without
# rules of their own for broadcast gradients
ALL_LAYOUTS = "add div pow maximum logaddexp where clamp_tensors lerp addcmul exp".split()


def _one_loop(case: Any) -> bool:
    """Equal shapes and equal strides without gaps, in whatever order of axes."""
    first = case[0]
    dense = first.transpose(np.argsort([-s for s in first.strides])).flags.c_contiguous
    return dense and all((x.shape, x.strides) == (first.shape, first.strides) for x in case)


def _cases(rows: list[Row], types_of: Callable[[Row], tuple[str, ...]]) -> list[Any]:
    """A row's cases in each type.

    An elementwise op's loop for a layout is made from one statement, whatever the op and its type.
    So all layouts are looked at in rows that stand for the others, in float64; elsewhere those of
    one dense loop are, and a broadcast one in floating-point types. The rest is exhaustive.
    """
    found = []
    for row in rows:
        generated = all(isinstance(OPS[name], Elementwise) for name in row.ops.split())
        for dtype in types_of(row):
            name = f"{row.name}-{dtype}"
            first = 2 if dtype.startswith("float") else 1
            few = [*row.cases[:first], *filter(_one_loop, row.cases[first:])]
            whole = dtype == "float64" and row.name in ALL_LAYOUTS
            if generated and not whole and len(few) < len(row.cases):
                found.append(pytest.param(row, dtype, few, id=name))
                every = pytest.mark.exhaustive
                found.append(pytest.param(row, dtype, row.cases, id=f"{name}-all", marks=every))
            else:
                found.append(pytest.param(row, dtype, row.cases, id=name))
    return found


@pytest.mark.parametrize(("row", "dtype", "cases"), _cases(ROWS, lambda row: row.dtypes))
def test_values_types_and_layouts_are_torchs(row: Row, dtype: str, cases: Any) -> None:
    """The shape rule allocates, so a wrong rule shows as a wrong shape, type or layout."""
    for number, case in enumerate(cases):
        mine = _run(mt, row, case, dtype, 0)
        theirs = _run(torch, row, case, dtype, 0)
        assert len(mine) == len(theirs)
        for a, b in zip(mine, theirs, strict=True):
            where = f"{row.name} case {number} {dtype}"
            _compare(a, b, row.tolerance, where)
            if row.strides and b.numel() > 0:
                lengths = list(zip(b.shape, a.stride(), b.stride(), strict=True))
                assert all(m == n or k == 1 for k, m, n in lengths), (where, lengths)


@pytest.mark.parametrize(
    ("row", "dtype", "cases"),
    _cases([row for row in ROWS if row.gradient], lambda row: row.gradient_dtypes),
)
def test_gradients_are_torchs(row: Row, dtype: str, cases: Any) -> None:
    """In float64 a wrong formula cannot hide in rounding; float32 is what programs run."""
    for number, case in enumerate(cases):
        mine = _run(mt, row, case, dtype, 1)
        theirs = _run(torch, row, case, dtype, 1)
        _same_gradients(mine, theirs, row.tolerance, f"{row.name} case {number}")


def _same_gradients(mine: Any, theirs: Any, tolerance: float, where: str) -> None:
    for position, (a, b) in enumerate(zip(mine, theirs, strict=True)):
        if a is None or b is None:
            present = a if b is None else b
            assert present is None or not array_of(present).any(), where
            continue
        _compare(a, b, 8 * tolerance, f"{where} input {position}")


@pytest.mark.parametrize(
    ("row", "dtype", "cases"),
    _cases([row for row in ROWS if row.second], lambda row: ("float64",)),
)
def test_second_gradients_are_torchs(row: Row, dtype: str, cases: Any) -> None:
    """Rules are made of ops, so the gradient of a gradient is right where torch's is."""
    for number, case in enumerate(cases):
        mine = _run(mt, row, case, dtype, 2)
        theirs = _run(torch, row, case, dtype, 2)
        tolerance = row.second_tolerance or row.tolerance
        _same_gradients(mine, theirs, tolerance, f"{row.name} case {number}")


@pytest.mark.parametrize("row", [pytest.param(r, id=r.name) for r in ROWS])
def test_a_row_runs_the_ops_it_names(row: Row, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise a row could claim an op that it never reaches."""
    seen: set[str] = set()
    follow = Op.follow

    def spy(self: Op, *args: Any) -> Any:
        seen.add(self.name)
        return follow(self, *args)

    monkeypatch.setattr(Op, "follow", spy)
    forget_plans()  # a known plan is run without a call of the op
    case = row.cases[0]
    dtype = "float64" if "float64" in row.dtypes else row.dtypes[0]
    _run(mt, row, case, dtype, 0)
    if row.gradient:
        _run(mt, row, case, "float64", 1)
    missing = set(row.ops.split()) - seen
    assert not missing


@pytest.mark.parametrize(
    "row", [pytest.param(r, id=r.name) for r in ROWS if r.gradient and r.second]
)
def test_jvp_and_vjp_have_one_inner_product(row: Row) -> None:
    """<J t, g> = <t, J'g>: the rule is linear in the gradient, and its transpose is its own."""
    for case in row.cases[:2]:
        inputs = [tensor_of(mt, array, "float64") for array in case]
        inputs = [x.requires_grad_() if x.is_floating_point() else x for x in inputs]
        leaves = [x for x in inputs if x.requires_grad]
        outputs = differentiable(outputs_of(row.call(mt, *inputs)))
        if not outputs:
            continue
        weights = [w.requires_grad_() for w in weights_of(mt, outputs)]
        back = mt.autograd.grad(outputs, leaves, weights, create_graph=True, allow_unused=True)
        used = [(b, t) for b, t in zip(back, weights_of(mt, leaves), strict=True)
                if b is not None and b.requires_grad]  # fmt: skip
        if not used:
            continue
        forward = mt.autograd.grad([b for b, _ in used], weights, [t for _, t in used],
                                   allow_unused=True)  # fmt: skip
        left = sum(_inner_product(f, w) for f, w in zip(forward, weights, strict=True)
                   if f is not None)  # fmt: skip
        right = sum(_inner_product(b, t) for b, t in used)
        size = sum(float((b * t).abs().sum()) for b, t in used)
        assert abs(left - right) <= 1e-12 * (size + abs(right) + 1e-300), row.name


def _inner_product(x: Any, y: Any) -> float:
    """That of the real vector space, for complex tensors too."""
    product = (x * y.conj()).sum()
    return float(product.real if product.is_complex() else product)


def test_every_op_has_a_row() -> None:
    """An op without a row would be an op without a test."""
    for module in pkgutil.iter_modules(engine_ops.__path__):
        importlib.import_module(f"mindtorch.engine.ops.{module.name}")
    covered = {name for row in ROWS for name in row.ops.split()}
    missing = set(OPS) - covered - set(WITHOUT_ROW)
    assert not missing, sorted(missing)
    assert not set(WITHOUT_ROW) & covered


@pytest.fixture(autouse=True)
def _quiet() -> Any:
    """torch warns of complex casts and the like; ours are counted elsewhere."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", module="torch")
        yield
