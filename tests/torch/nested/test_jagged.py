"""Nested tensors in the jagged layout, against torch's."""

import copy
import pickle
import re
from typing import Any

import pytest
import torch

import mindtorch.torch as ours

# each line is a program; what its last expression gives is compared
PROGRAMS = """
repr(x), str(x.shape), x.dim(), x.size(0), x.size(-1), x.layout, x.is_nested, x.dtype
x.requires_grad, x.values().shape, x.offsets(), x.numel(), x.is_contiguous(), x.ndim, x.lengths()
type(x).__name__, repr(leaf(True)), x.device, x._get_min_seqlen(), x._get_max_seqlen(), len(x)
x.shape == (x * 2).shape, x.shape == leaf().shape, x.size(1) == x.shape[1]
[T(p) for p in x.unbind()], [tuple(p.shape) for p in x.unbind(0)], [T(p) for p in x], T(x[1])
f = N.nested_tensor_from_jagged(arange(5.0), lengths=tensor([2, 3])); f.offsets(), f.unbind()
f = N.nested_tensor_from_jagged(arange(10.0), tensor([0, 4, 10]), tensor([2, 3])); P(f.contiguous())
f = N.nested_tensor_from_jagged(arange(10.0), tensor([0, 4, 10]), tensor([2, 3])); f.unbind()
f = N.narrow(arange(12.0).view(2, 6), 1, tensor([1, 0]), tensor([2, 3]), layout=J); f.unbind()
f = N.narrow(arange(12.0).view(2, 6), 1, 2, 3, layout=J); f.is_contiguous(), f.lengths()
N.masked_select(arange(6.0).view(2, 3), tensor([[1, 0, 1], [0, 1, 0]]) > 0).unbind()
f = N.as_nested_tensor(ones(2, 3, 4), layout=J); f.offsets(), f.values().shape
N.nested_tensor([ones(2, 3), ones(2, 5)], layout=J).unbind()
T(x.to_padded_tensor(0.0)), T(N.to_padded_tensor(x, 1.0))
tuple(x.to_padded_tensor(-1.0).shape), tuple(x.to_padded_tensor(0.0, output_size=(2, 5, 4)).shape)
P(x + 1), P(x + x * 2), P(1 - x), P(-x), P(x / 2), P(x**2), P(x.relu()), P(F.gelu(x))
P(t.exp(x)), P(x.abs()), P(x.clamp(0, 1)), P(F.silu(x)), P(t.where(x > 0, x, x * 0)), (x > 0).dtype
P(x.to(t.float64)), P(x.float()), P(x.clone()), P(x.detach()), P(t.sigmoid(x))
P(F.dropout(x, 0.0))
P(x + arange(4.0)), P(x * ones(2, 1, 4) * 2), P(x + ones(1, 1, 1)), P(x.masked_fill(x > 0, 0.0))
P(layer(x)), P(nn.LayerNorm(4)(x)), P(F.layer_norm(x, (4,))), P(F.rms_norm(x, (4,)))
P(F.linear(x, ones(2, 4))), P(x @ arange(8.0).view(4, 2)), P(t.matmul(x, arange(8.0).view(4, 2)))
P(x.softmax(-1)), P(F.softmax(x, dim=2)), P(t.softmax(x, dim=1)), P(t.log_softmax(x, 2))
T(x.sum()), T(x.mean()), T(x.sum(1)), T(x.sum(dim=1, keepdim=True)), tuple(x.sum(dim=1).shape)
P(x.sum(-1)), P(x.sum(-1, keepdim=True)), T(x.mean(1)), P(x.mean(-1)), T(x.amax(1)), P(x.amax(-1))
P(x.sum(-1, keepdim=True).squeeze(-1)), str(x.unsqueeze(-1).shape), str(x.unsqueeze(1).shape)
y = x.transpose(1, 2); str(y.shape), [tuple(p.shape) for p in y.unbind()], y.is_contiguous()
r = t.matmul(x.transpose(1, 2), x); T(r), tuple(r.shape)
q = leaf(d=8).view(2, -1, 2, 4); str(q.shape), P(q)
P(t.cat([x, x], dim=-1)), [P(c) for c in x.chunk(2, dim=-1)]
P(t.zeros_like(x)), P(t.ones_like(x)), t.randn_like(x).offsets(), P(t.full_like(x, 2.0))
P(copy.deepcopy(x)), bool((x == x).values().all())
y = leaf(); y.mul_(2); y.add_(1); P(y)
v = arange(10.0).view(5, 2).requires_grad_(); \
f = N.nested_tensor_from_jagged(v, tensor([0, 2, 5])); (f * 2).values().sum().backward(); v.grad
a, b = ones(2, 3, requires_grad=True), ones(1, 3, requires_grad=True); \
(N.as_nested_tensor([a, b], layout=J) * 3).values().sum().backward(); a.grad, b.grad
z = leaf(True); (z.sin() * z).to_padded_tensor(0.0).sum().backward(); P(z.grad), z.grad.offsets()
z = leaf(True); y = layer(z); y.values().sum().backward(); P(z.grad), T(layer.weight.grad)
z = leaf(True, 8); h = z.unflatten(-1, [2, 4]).transpose(1, 2); \
o = F.scaled_dot_product_attention(h, h, h).transpose(1, 2).flatten(-2); \
o.values().sum().backward(); P(o), P(z.grad)
e = nn.Embedding(5, 2); w = N.nested_tensor([tensor([1, 2]), tensor([0])], layout=J); \
y = e(w); y.values().sum().backward(); P(y), T(e.weight.grad)
m = nn.Sequential(nn.Linear(4, 8), nn.ReLU(), nn.LayerNorm(8), nn.Linear(8, 1)); y = m(x); \
y.to_padded_tensor(0.0).sum().backward(); P(y), T(m[0].weight.grad)
x.sum(0)
x + leaf()
N.nested_tensor([ones(2)], layout=t.sparse_coo)
x.numpy()
x.transpose(0, 1)
"""


def programs() -> list[str]:
    return [line for line in PROGRAMS.strip().replace("\\\n", "").splitlines() if line]


def names(t: Any) -> dict[str, Any]:
    """What the programs are made of."""

    def leaf(requires_grad: bool = False, d: int = 4) -> Any:
        t.manual_seed(0)
        parts = [t.randn(3, d), t.randn(2, d)]
        return t.nested.nested_tensor(parts, layout=t.jagged, requires_grad=requires_grad)

    def rounded(x: Any) -> list[float]:
        return [round(v, 3) + 0.0 for v in x.detach().flatten().tolist()]

    t.manual_seed(1)
    return {
        "t": t, "N": t.nested, "J": t.jagged, "F": t.nn.functional, "nn": t.nn, "copy": copy,
        "arange": t.arange, "ones": t.ones, "tensor": t.tensor, "leaf": leaf, "x": leaf(),
        "T": rounded, "P": lambda x: rounded(x.values()), "layer": t.nn.Linear(4, 3),
    }  # fmt: skip


def outcome(t: Any, program: str) -> str:
    given = names(t)
    t.manual_seed(1)
    *statements, last = program.split("; ")
    try:
        exec("; ".join(statements), given)
        found = str(eval(last, given))
    except (NotImplementedError, RuntimeError, TypeError, ValueError) as error:
        found = f"{type(error).__name__}: {error}"
    return re.sub(r"\bj\d+\b", "j", found).replace("add.Tensor", "add")


@pytest.mark.parametrize("program", programs())
@pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors:UserWarning")
def test_programs_with_jagged_tensors(program: str) -> None:
    assert outcome(ours, program) == outcome(torch, program)


def test_gradients_of_sums_along_the_ragged_axis() -> None:
    """Which torch 2.13 does not have on the CPU: those of the parts."""
    x = ours.nested.nested_tensor(
        [ours.ones(3, 2), ours.ones(2, 2) * 2], layout=ours.jagged, requires_grad=True
    )
    (x * x).sum(dim=1).pow(2).sum().backward()
    parts = [ours.ones(3, 2, requires_grad=True), (ours.ones(2, 2) * 2).requires_grad_()]
    sum(((p * p).sum(0).pow(2).sum() for p in parts), ours.zeros(())).backward()
    assert x.grad.values().tolist() == ours.cat([p.grad for p in parts]).tolist()


def test_attention_that_is_causal_is_that_of_the_parts() -> None:
    ours.manual_seed(0)
    parts = [ours.randn(2, 3, 4), ours.randn(2, 5, 4)]
    x = ours.nested.as_nested_tensor([p.transpose(0, 1) for p in parts], layout=ours.jagged)
    h = x.transpose(1, 2)
    attention = ours.nn.functional.scaled_dot_product_attention
    found = attention(h, h, h, is_causal=True).unbind()
    for part, each in zip(parts, found, strict=True):
        assert each.tolist() == attention(*[part[None]] * 3, is_causal=True)[0].tolist()


def test_pickles_and_what_is_refused() -> None:
    x = ours.nested.nested_tensor([ours.ones(2, 3), ours.ones(1, 3)], layout=ours.jagged)
    assert pickle.loads(pickle.dumps(x)).offsets().tolist() == [0, 2, 3]
    with pytest.raises(NotImplementedError, match="does not have it for jagged nested tensors"):
        x.cumsum(1)
    with pytest.raises(RuntimeError, match="one axis may differ"):
        ours.nested.nested_tensor([ours.ones(2, 3), ours.ones(1, 4)], layout=ours.jagged)
    with pytest.raises(RuntimeError, match="At least one of offsets or lengths is required"):
        ours.nested.nested_tensor_from_jagged(ours.ones(3))
