"""Every op with an autocast policy, called before, inside and after a block.

The policies for CUDA are put in the place of those for the CPU, whose kernels then show the types.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, get_args

import pytest

import mindtorch.torch as torch
import mindtorch.torch.nn.functional as F  # noqa: N812
from mindtorch.engine.op import OPS, Policy
from mindtorch.engine.transforms import autocast as engine

EXPECTED = {
    engine.LOWER: "bfloat16", engine.FULL: "float32", engine.WIDEST: "float32",
    engine.QUOTIENT: "float32",
}  # fmt: skip

# a call for each op: x is float32, h the lower precision, i indices
CALLS: dict[str, Callable[..., Any]] = {
    "matmul": lambda x, h, i: x @ x,
    "linear": lambda x, h, i: F.linear(x, x),
    "convolution": lambda x, h, i: F.conv1d(x[None], x[None]),
    "cat": lambda x, h, i: torch.cat([x, h]),
    "stack": lambda x, h, i: torch.stack([x, h]),
    "index_copy": lambda x, h, i: torch.index_copy(x, 0, i, h),
    "scaled_dot_product_attention": lambda x, h, i: F.scaled_dot_product_attention(
        x[None], x[None], x[None]
    ),
    "power": lambda x, h, i: h**h,
    "power_two": lambda x, h, i: h**2,
    "power_three": lambda x, h, i: h**3,
    "power_half": lambda x, h, i: h**0.5,
    "power_minus_half": lambda x, h, i: h**-0.5,
    "power_minus_one": lambda x, h, i: h**-1.0,
    "power_minus_two": lambda x, h, i: h**-2.0,
    "softplus": lambda x, h, i: F.softplus(h),
    "native_layer_norm": lambda x, h, i: F.layer_norm(h, (3,)),
    "native_group_norm": lambda x, h, i: F.group_norm(h[None], 3),
    "logsumexp": lambda x, h, i: torch.logsumexp(h, 1),
    "softmax": lambda x, h, i: torch.softmax(h, 1),
    "log_softmax": lambda x, h, i: torch.log_softmax(h, 1),
    "cumsum": lambda x, h, i: torch.cumsum(h, 1),
    "cumprod": lambda x, h, i: torch.cumprod(h, 1),
    "linalg_vector_norm": lambda x, h, i: torch.linalg.vector_norm(h),
    "nll_loss_forward": lambda x, h, i: F.nll_loss(h, i),
    "cross_entropy_loss": lambda x, h, i: F.cross_entropy(h, i),
    "_euclidean_dist": lambda x, h, i: OPS["_euclidean_dist"](h, h),
    "addcdiv": lambda x, h, i: torch.addcdiv(x, h, h),
    "addcmul": lambda x, h, i: torch.addcmul(x, h, h),
    "atan2": lambda x, h, i: torch.atan2(h, x),
    "index_put": lambda x, h, i: OPS["index_put"](x, h, i, accumulate=False),
    "scatter_add": lambda x, h, i: OPS["scatter_add"](x, i[:, None].expand(3, 3), h, axis=0),
    "divide": lambda x, h, i: 2 / h,
}
ONE_INPUT = (
    "acos", "asin", "cosh", "erfinv", "exp", "expm1", "log", "log10", "log2", "log1p",
    "reciprocal", "rsqrt", "sinh", "tan", "square", "prod", "sum",
)  # fmt: skip
CALLS |= {name: lambda x, h, i, name=name: getattr(torch, name)(h) for name in ONE_INPUT}
ALL = [
    *[("cpu", name) for name, op in OPS.items() if op.autocast],
    *[("cuda", name) for name, op in OPS.items() if op.autocast_cuda],
]


@pytest.fixture
def inputs() -> Iterator[tuple[Any, Any, Any]]:
    x = torch.rand(3, 3) * 0.5 + 0.25
    yield x, x.bfloat16(), torch.tensor([0, 2, 1])


def type_of(call: Callable[..., Any], inputs: Any) -> str | None:
    """The element type of what a call returns; None where it refuses its inputs."""
    try:
        result = call(*inputs)
    except RuntimeError:
        return None
    return str(result.dtype).removeprefix("torch.").removeprefix("mindtorch.")


def policy_on(device: str, name: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """The policy of an op on a device, whose policies are now used on the CPU."""
    if device == "cuda":
        for op in OPS.values():
            monkeypatch.setattr(op, "autocast", op.autocast_cuda)
    return str(OPS[name].autocast)


@pytest.mark.parametrize(("device", "name"), ALL)
def test_ops_cast_though_they_were_called_before(
    device: str, name: str, inputs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_on(device, name, monkeypatch)
    call = CALLS[name]
    before = [type_of(call, inputs) for _ in range(4)]
    with torch.autocast("cpu", torch.bfloat16):
        inside = [type_of(call, inputs) for _ in range(3)]
        with torch.autocast("cpu", enabled=False):
            between = type_of(call, inputs)
        inside.append(type_of(call, inputs))
    after = type_of(call, inputs)
    assert set(inside) == {EXPECTED[policy]}
    assert {*before, between, after} == {before[0]}
    if policy in (engine.FULL, engine.QUOTIENT):
        assert before[0] == "bfloat16"


@pytest.mark.parametrize(("device", "name"), ALL)
def test_ops_cast_in_no_grad_and_with_gradients(
    device: str, name: str, inputs: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    policy = policy_on(device, name, monkeypatch)
    call = CALLS[name]
    x, h, i = inputs
    tracked = x.requires_grad_(), h.detach().requires_grad_(), i
    before = type_of(call, tracked)
    with torch.autocast("cpu", torch.bfloat16):
        for block in (torch.no_grad, torch.inference_mode, torch.enable_grad):
            with block():
                assert type_of(call, tracked) == EXPECTED[policy]
    assert type_of(call, tracked) == before


def test_every_op_with_a_policy_is_called() -> None:
    assert set(CALLS) == {name for name, op in OPS.items() if op.autocast or op.autocast_cuda}
    assert {policy for op in OPS.values() for policy in (op.autocast, op.autocast_cuda)} == {
        None, *get_args(Policy)
    }
