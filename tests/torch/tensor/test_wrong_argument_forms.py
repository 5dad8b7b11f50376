"""Calls that random programs found to differ from PyTorch: types, empty parts, nan, refusals."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch as real

import mindtorch.torch as ours

INF = float("inf")

CALLS = {
    # types: a tensor of one or more axes keeps its precision beside a complex number's
    "complex_number": lambda m: m.ones(3) * m.tensor(1j, dtype=m.complex128),
    "alpha_of_a_number": lambda m: m.sub(m.zeros(2), 255, alpha=0.5),
    "alpha_of_a_tensor": lambda m: m.sub(m.ones(2, dtype=m.float64), m.tensor(2), alpha=0.1),
    "whole_addcmul": lambda m: m.addcmul(*[m.arange(3)] * 3, value=1.5),
    "loss_of_a_number": lambda m: m.nn.functional.mse_loss(
        m.tensor(1.5), m.ones(3, dtype=m.bfloat16), reduction="none"
    ),
    "cat_with_nothing": lambda m: m.cat([m.ones(0), m.ones(2, dtype=m.float16)]),
    "ldexp": lambda m: m.ldexp(m.ones(2, dtype=m.float64), m.tensor([1000, 2])),
    "ldexp_half": lambda m: m.ldexp(m.ones(2, dtype=m.float16), m.tensor([10, 30])),
    "cosine": lambda m: m.nn.functional.cosine_similarity(
        m.arange(4.0)[None], m.arange(4, dtype=m.float64)[None] + 0.1
    ),
    # nothing, nan and infinities
    "median_of_nothing": lambda m: m.ones(0, dtype=m.uint8).median(),
    "all_of_no_axis": lambda m: m.all(m.tensor([[2, 0]]), dim=()),
    "any_of_no_axis": lambda m: m.any(m.tensor([[2, 0]], dtype=m.uint8), dim=()),
    "margin_of_nan": lambda m: m.nn.functional.multi_margin_loss(
        m.tensor([[float("nan"), 1.0, 2.0]]), m.tensor([1])
    ),
    "margins_of_infinity": lambda m: m.nn.functional.multilabel_margin_loss(
        m.tensor([[INF, 1.0, 2.0]]), m.tensor([[0, -1, 0]])
    ),
    "trapezoid_of_infinity": lambda m: m.trapezoid(m.tensor([1.0, 2.0, -INF])),
    "trapezoids_of_nothing": lambda m: m.cumulative_trapezoid(m.ones(2, 0, dtype=m.int64)),
    "mask_filled": lambda m: m.tensor([True, False]).masked_fill(m.tensor([False, True]), INF),
    "bool_filled": lambda m: m.zeros(2, dtype=m.bool).masked_fill(m.tensor([False, True]), 256),
    # refusals
    "written_number": lambda m: m.zeros(2, dtype=m.uint8).__setitem__(slice(0, 1), 256),
    "written_infinity": lambda m: m.zeros(2, dtype=m.int64).__setitem__([1], INF),
    "negative_fraction": lambda m: m.full((2,), -1.5, dtype=m.uint8),
    "negative_number": lambda m: m.full((2,), -1, dtype=m.uint8),
    "too_large_for_half": lambda m: m.zeros(2, dtype=m.float16).fill_(70000),
    "one_too_large_for_half": lambda m: m.zeros(1, dtype=m.float16).fill_(70000),
    "padding": lambda m: m.nn.functional.pad(m.zeros(2, dtype=m.int8), (1, 1), value=INF),
    "scattered_by_mask": lambda m: m.ones(3).masked_scatter(m.tensor([True] * 3), m.ones(2)),
    "scattered_of_another_type": lambda m: m.ones(3).masked_scatter(
        m.tensor([True] * 3), m.ones(3, dtype=m.int64)
    ),
    "index_put": lambda m: m.zeros(2).index_put((m.tensor([0]),), m.tensor(2)),
    "floor_of_bool": lambda m: m.floor(m.tensor([True])),
    "nanmean_of_integers": lambda m: m.nanmean(m.ones(2, dtype=m.int64)),
    "trapezoid_of_bool": lambda m: m.trapezoid(m.tensor([True, False])),
    "least_number_divided": lambda m: m.tensor([-(2**63), 7, 7]) // m.tensor([-1, -1, 0]),
    "least_number_remainder": lambda m: m.tensor([-(2**63), 7]) % m.tensor([-1, -1]),
    "least_number_fmod": lambda m: m.fmod(m.tensor([-(2**63), 7]), -1),
    "ldexp_of_32_bits": lambda m: m.ldexp(m.tensor([1.0, 0.0, 2.0]), m.tensor([2**40, 140, -150])),
    "ldexp_below_normal": lambda m: m.ldexp(
        m.tensor([3e-16, 1.0], dtype=m.float64), m.tensor([-1020, 2000])
    ),
    "too_many_elements": lambda m: m.ones(1, 1).expand(2**32, 2**32),
    "too_many_places": lambda m: m.ones(3).as_strided((2**32, 2**32), (0, 0)),
    "too_many_bytes": lambda m: m.zeros(2**40, 2**40),
    "kernel_of_nothing": lambda m: m.nn.functional.conv1d(m.ones(1, 1, 4), m.ones(1, 1, 0)),
    "volume_of_nothing": lambda m: m.nn.functional.conv3d(
        m.ones(1, 1, 4, 4, 4), m.ones(1, 1, 0, 3, 3)
    ),
    "padding_takes_all": lambda m: m.nn.functional.conv_transpose1d(
        m.ones(1, 1, 3), m.ones(1, 1, 3), padding=5
    ),
    "shape_of_bool": lambda m: m.zeros(True),
    "device_below_zero": lambda m: m.zeros(2, device=-1),
    "no_such_keyword": lambda m: m.cat([m.ones(2)], dim=0, device="cpu"),
    "no_such_keyword_of_a_cast": lambda m: m.ones(2).long(device="cpu"),
    "no_memory_format": lambda m: m.ones(2).long(memory_format="s"),
    "no_out": lambda m: m.zeros_like(m.ones(2), out=m.ones(2)),
    "einsum_of_numbers": lambda m: m.einsum("i,i", [m.ones(2), 2]),
    "attention_of_two_types": lambda m: m.nn.functional.scaled_dot_product_attention(
        m.ones(1, 2, 2).int(), m.ones(1, 2, 2), m.ones(1, 2, 2)
    ),
    "less_than_complex": lambda m: m.tensor([1j]) < 1,
}  # fmt: skip


def outcome(call: Any, m: Any) -> Any:
    try:
        result = call(m)
    except (RuntimeError, TypeError, NotImplementedError) as error:
        return type(error).__name__, str(error)
    if result is None:
        return None
    return str(result.dtype), tuple(result.shape), repr(result.tolist())


@pytest.mark.parametrize("name", CALLS)
@pytest.mark.filterwarnings("ignore:Using a target size")
def test_as_pytorch(name: str) -> None:
    assert outcome(CALLS[name], ours) == outcome(CALLS[name], real)


METHODS = (
    "apply_ contiguous cpu dim detach element_size index_select is_complex is_contiguous "
    "istft item map2_ ndimension nelement norm numel size solve sparse_resize_ split "
    "squeeze_ stft storage_offset stride to_sparse_bsr transpose_ type unflatten unique"
).split()
FUNCTIONS = (
    "as_tensor asarray batch_norm_elemt cudnn_convolution dsmm frombuffer "
    "get_default_dtype is_grad_enabled mkldnn_max_pool2d native_norm nonzero quantized_max_pool1d "
    "saddmm set_autocast_cpu_enabled set_flush_denormal set_num_threads set_warn_always "
    "sparse_bsr_tensor"
).split()
WRONG: list[tuple[tuple[Any, ...], dict[str, Any]]] = [
    ((), {}), ((None,), {}), (tuple(range(1, 12)), {}), ((), {"foo": 1}),
]  # fmt: skip


def refusal(call: Any) -> tuple[str, str] | None:
    try:
        call()
    except Exception as error:
        return type(error).__name__, str(error)
    return None


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", METHODS)
def test_methods_refuse_what_they_do_not_have(name: str) -> None:
    """With and without a tensor, in torch's words."""
    for args, named in WRONG:
        if args or named:
            found = [refusal(lambda: getattr(m.Tensor, name)(m.ones(2, 2), *args, **named))  # noqa: B023
                     for m in (ours, real)]  # fmt: skip
            assert found[0] == found[1] or found[1] is None
    found = [refusal(lambda: getattr(m.Tensor, name)()) for m in (ours, real)]  # noqa: B023
    assert found[0] == found[1]


@pytest.mark.filterwarnings("ignore:.*deprecated")
@pytest.mark.parametrize("name", FUNCTIONS)
def test_functions_refuse_what_they_do_not_have(name: str) -> None:
    """Those of other libraries' kernels, too, and those that PyTorch writes in C."""
    for args, named in WRONG:
        found = [refusal(lambda: getattr(m, name)(*args, **named)) for m in (ours, real)]  # noqa: B023
        assert found[0] == found[1] or found[1] is None


@pytest.mark.parametrize("write", ["x.add_(1)", "x.zero_()", "x.t_()", "x.__setitem__(0, 1)"])
def test_a_leaf_that_is_a_view_is_named_so(write: str) -> None:
    """Of a tensor without gradients; it has its base still."""
    made = {m: m.ones(4).view(2, 2).requires_grad_() for m in (ours, real)}
    found = [refusal(lambda: eval(write, {"x": x})) for x in made.values()]  # noqa: B023
    assert found[0] == found[1]
    assert all(x._is_view() and x._base is not None for x in made.values())


@pytest.mark.filterwarnings("ignore:dropout3d. Received")
def test_channels_of_three_axes() -> None:
    results: list[Any] = []
    for m in (real, ours):
        m.manual_seed(0)
        results.append(m.nn.functional.dropout3d(m.ones(3, 2, 4)).tolist())
    assert results[0] == results[1]


def test_broadcast_keeps_what_fits() -> None:
    x, y = ours.ones(2, 3), ours.ones(3)
    first, second = ours.broadcast_tensors(x, y)
    assert first is x and second._base is y


def test_guard_of_tensors_in_a_tuple() -> None:
    """A container that a compiled call changes may hold tensors."""
    kept: list[Any] = [None]

    def step() -> Any:
        result = ours.ones(3) if kept[0] is None else kept[0][0] + 1
        kept[0] = (result, result * 2)
        return result

    compiled = ours.compile(step)
    assert [compiled().tolist()[0] for _ in range(4)] == [1.0, 2.0, 3.0, 4.0]


def test_a_division_that_fails_in_a_compiled_call() -> None:
    """The error is the division's own, and the same call goes on afterwards."""

    def divide(x: Any, y: Any) -> Any:
        x = x * 1
        x.fmod_(y)
        return x

    compiled = ours.compile(divide)
    for _ in range(2):
        with pytest.raises(RuntimeError, match="ZeroDivisionError"):
            compiled(ours.arange(3), ours.tensor([1, 0, 2]))
    assert compiled(ours.arange(3), ours.tensor([1, 1, 2])).tolist() == [0, 0, 0]


REFUSED = (
    "x.shape = 3", "del x.T", "x.is_vulkan = True", "x.ceil_(self=x)", "x.float_power(x, self=x)",
    "x.ge(other=[x])", "x.topk(1, 0, slice(1))", "m.diff(x, 1, np.array(0))", "x.type(1)",
    "x.type(object)", "x.pow_(x[:1] * 1j)", "m.ones(3, 1).xlogy_(x * 1j)", "x.long().igamma_(x)",
    "a = x.int(); a &= 0.5", "a = x.bool(); a ^= x[:1]", "a = x[:, None]; a %= x * 1j",
    "x @= 1", "m.addmv(x[None], x, x)", "x.mv(x)", "m.addr(x, x[None], x)",
    "m.baddbmm(x, x[None], x[None])", "m.addbmm(x, m.ones(2, 2, 2), x)", "m.linalg.lu(x)",
    "m.linalg.lu_factor(m.ones(2, 2).long())", "m.geqrf(x)", "m.tensordot(x, x.double(), 1)",
    "m.tensordot(1, x, ([0], [0]))",
    "m.rnn_tanh_cell(m.ones(2, 3), m.ones(2, 4), m.ones(12, 3), m.ones(4, 4))",
    "m.gru_cell(m.ones(2, 3), m.ones(3, 4), m.ones(12, 3), m.ones(12, 4))", "m.float32.foo",
    "x.index_reduce(0, i, x[:1].double(), 'mean')", "x.index_reduce(0, i[None], x, 'mean')",
    "x.scatter_add(5, i, x.double())", "x.index_add(5, i, x.double())",
    "x[None].hsplit(sections=0)", "m.nn.functional.l1_loss(x, x, weight=x[:1])",
)  # fmt: skip


@pytest.mark.parametrize("code", REFUSED)
def test_what_is_said_first(code: str) -> None:
    """Of several faults in a call; types and texts are PyTorch's."""
    found = []
    for m in (ours, real):
        names = {"m": m, "np": np, "x": m.ones(2), "i": m.tensor([0])}
        found.append(refusal(lambda: exec(code, names)))  # noqa: B023
    assert found[0] == found[1] is not None


@pytest.mark.filterwarnings("ignore:ComplexHalf", "ignore:.*deprecated")
def test_names_of_numpy_and_empty_factors() -> None:
    for m in (ours, real):
        assert m.cosh(a=m.zeros(1)).item() == m.cosh(x1=m.zeros(1)).item() == 1
        assert m.zeros(2, 0).cholesky().shape == (2, 0)
        assert m.ones(2).half().add(1j).dtype is m.complex32
        assert m.ones(2).to_sparse().__class__.__name__ == "Tensor"
        assert m.ones(2, 3).t().to("meta").stride() == (1, 3)


def test_logic_in_place_is_not_recorded() -> None:
    for m in (ours, real):
        leaf = m.ones(2, requires_grad=True)
        leaf.logical_not_()
        result = leaf * 1
        result.logical_xor_(leaf).backward(m.ones(2))
        assert leaf.grad.tolist() == [1, 1]
