"""Tensors on the device "meta": shapes, layouts and types as in torch, no elements, no draws."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mindtorch.torch as ours

OPS = [
    "x + y", "x + 1", "x @ y", "x.sum(1)", "x.max(1)", "x * torch.tensor(2.0)", "x[0]", "x[i]",
    "x > 0", "x.t().reshape(2, 6)", "torch.cat([x, x])", "x.relu_()", "x.add_(1)", "x.std()",
    "(x @ y).sum().backward(), y.grad", "F.dropout(x, 0.5)", "torch.randn_like(x)", "x.normal_()",
    "torch.bernoulli(x)", "torch.multinomial(x, 2)", "torch.poisson(x)", "torch.normal(x, x)",
    "F.rrelu(x, training=True)", "torch.randperm(4, device='meta')", "F.cross_entropy(x, i)",
    "F.embedding(i, x)", "torch.sort(x)", "x.topk(2)", "torch.where(x > 0, x, x)",
    "torch.einsum('ij,kj->ik', x, x)", "x.copy_(torch.ones(3, 4))", "torch.fft.fft(x)",
    "x.scatter(1, i[:, None], 1.0)", "F.one_hot(i, 5)", "x.__setitem__(0, 1)", "x.cumsum(0)",
    "torch.histc(x, 5)", "torch.matrix_exp(x[:, :3])", "torch.nonzero_static(x, size=4)",
    "torch.quantile(x, y.detach()[:2], dim=0)", "torch.isin(x, x)", "torch.isreal(x)",
    "x.get_device()", "F.binary_cross_entropy(x, x)", "F.multi_margin_loss(x, i)",
    "F.max_unpool2d(a, a.long(), 2)", "torch.var(x[:1], 0)",
    "F.scaled_dot_product_attention(a, a, a)", "F.interpolate(a, scale_factor=2)",
    "train(Sequential(Conv2d(4, 8, 3), BatchNorm2d(8), ReLU(), Flatten(), Linear(144, 2)), a)",
    "train(LSTM(8, 5, 2), x3)", "train(TransformerEncoderLayer(8, 2, 16), x3)",
    "x @ c.t()", "x[k]", "x.gather(0, k[None])", "F.linear(x, c)", "F.embedding(k, x)",
    "x.index_put((k,), c[:1])", "F.conv1d(x, c[:, :3, None])", "torch.bucketize(x, c[0])",
]  # fmt: skip
WITHOUT_DATA = [
    "x.sum().item()", "bool(x.sum())", "x.tolist()", "x.cpu()", "x.numpy()", "x.to('cpu')",
    "torch.ones(3, 4).copy_(x)", "x.nonzero()", "x[x > 0]", "torch.unique(x)",
    "Linear(2, 2).to('cpu')", "torch.bincount(i)", "torch.equal(x, x)", "x.geqrf()",
    "torch.nonzero(x, as_tuple=True)", "torch.combinations(y)", "x.to_sparse()",
    "torch.histogram(x, 3)", "torch.unique(x, dim=0)", "x.unique_consecutive()", "x.is_set_to(x)",
    "torch.fake_quantize_per_tensor_affine(x, 0.1, 0, 0, 255)", "x + c", "c + x",
    "torch.where(c > 0, x, x)", "x.masked_fill(c > 0, 1)", "torch.cat([c, x])",
]  # fmt: skip


def _train(torch: Any, module: Any, x: Any) -> Any:
    """The parameters' gradients after a step."""
    made = module(x)
    (made[0] if isinstance(made, tuple) else made).sum().backward()
    torch.optim.Adam(module.parameters()).step()
    return [p.grad for p in module.parameters()]


def _found(torch: Any, code: str) -> Any:
    """What ``code`` makes of tensors without data."""
    with torch.device("meta"):
        names = {
            "torch": torch, "F": torch.nn.functional, "x": torch.empty(3, 4),
            "y": torch.ones(4, requires_grad=True), "i": torch.empty(3, dtype=torch.long),
            "a": torch.empty(2, 4, 8, 8)[:, :, :5, :8], "x3": torch.empty(3, 2, 8),
            "c": torch.ones(3, 4, device="cpu"), "k": torch.zeros(3, device="cpu").long(),
            "train": lambda *args: _train(torch, *args),
        }  # fmt: skip
        for name in ("Sequential", "Conv2d", "BatchNorm2d", "ReLU", "Flatten", "Linear", "LSTM",
                     "TransformerEncoderLayer"):  # fmt: skip
            names[name] = getattr(torch.nn, name)
        if "train" in code or "Linear" in code:
            return eval(code, names)
    return eval(code, names)


def _described(value: Any) -> Any:
    if isinstance(value, (list, tuple)):
        return [_described(each) for each in value]
    if not hasattr(value, "stride"):
        return value
    return tuple(value.shape), value.stride(), str(value.dtype), str(value.device)


@pytest.mark.parametrize("code", OPS)
def test_results_have_torchs_shapes_and_no_elements(code: str) -> None:
    """Nothing is computed; random generators of the CPU stay where they are."""
    ours.manual_seed(0)
    assert _described(_found(ours, code)) == _described(_found(torch, code))
    assert ours.rand(1).item() == torch.rand(1, generator=torch.manual_seed(0)).item()


@pytest.mark.parametrize("code", WITHOUT_DATA)
def test_what_needs_elements_raises(code: str) -> None:
    """With torch's type, and its text where it is one."""
    with pytest.raises((RuntimeError, TypeError)) as theirs:
        _found(torch, code)
    with pytest.raises(type(theirs.value)) as found:
        _found(ours, code)
    assert str(found.value) == str(theirs.value)
