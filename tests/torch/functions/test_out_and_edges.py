"""Functions whose ``out=`` and refusals are torch's: lu, native_batch_norm, histogram, numpy."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours


def _lu(t: Any) -> Any:
    outs = (t.empty(0), t.empty(0, dtype=t.int32), t.empty(0, dtype=t.int32))
    found = t.lu(t.tensor([[1.0, 2.0], [3.0, 4.0]]), get_infos=True, out=outs)
    return [*[x.tolist() for x in found], *[x.tolist() for x in outs]]


def _batch_norm(t: Any) -> Any:
    outs = tuple(t.empty(0) for _ in range(3))
    x = t.tensor([[1.0, 2.0], [3.0, 5.0]])
    found = t.native_batch_norm(x, None, None, None, None, True, 0.1, 1e-5, out=outs)
    return [*[x.tolist() for x in found], *[x.tolist() for x in outs]]


@pytest.mark.filterwarnings("ignore:torch.lu is deprecated")
@pytest.mark.parametrize("call", [_lu, _batch_norm])
def test_out(call: Any) -> None:
    for found, expected in zip(call(ours), call(torch), strict=True):
        np.testing.assert_allclose(found, expected, rtol=1e-6)


REFUSED: dict[str, Any] = {
    "one edge": lambda t: t.histogram(t.ones(3), t.tensor([1.0])),
    "no bins": lambda t: t.histogram(t.ones(3), bins=0),
    "one edge of two": lambda t: t.histogramdd(t.ones(3, 2), [t.tensor([0.0, 1]), t.ones(1)]),
    "csr": lambda t: t.eye(2).to_sparse_csr().numpy(),
    "coo": lambda t: t.eye(2).to_sparse().numpy(),
}


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", REFUSED)
def test_refusals(name: str) -> None:
    errors = []
    for t in (torch, ours):
        with pytest.raises(Exception) as caught:
            REFUSED[name](t)
        errors.append((type(caught.value), str(caught.value)))
    assert errors[0] == errors[1]


OUTS: dict[str, Any] = {
    "meta": lambda t: t.exp(t.ones(2), out=t.empty(2, device="meta")),
    "meta of a structured op": lambda t: t.argmax(t.ones(2), out=t.empty(2, device="meta").long()),
    "meta of a composition": lambda t: t.matrix_power(t.eye(2), 2, out=t.empty(2, device="meta")),
    "meta without a kernel": lambda t: t.masked_select(
        t.ones(2), t.ones(2) > 0, out=t.empty(2, device="meta")
    ),
    "the other way round": lambda t: t.exp(t.ones(2, device="meta"), out=t.empty(2)),
    "another name": lambda t: t.special.psi(t.ones(2), out=t.ones(2, requires_grad=True)),
    "an alias": lambda t: t.arccos(t.ones(2), out=t.ones(2, requires_grad=True)),
    "inputs that are tracked": lambda t: t.permute_copy(
        t.ones(2, 3, requires_grad=True), (1, 0), out=t.empty(0)
    ),
    "a part of the input": lambda t: (lambda x: t.special.zeta(x, x, out=x[1:]))(t.ones(4)),
    "a part that is not looked at": lambda t: (lambda x: t.mv(x, x[0], out=x[0]))(t.eye(2)),
    "a part that grows": lambda t: (
        lambda x: (t.exp(x, out=x[1:]), t.ones(1)[1:].resize_(3).storage_offset())
    )(t.ones(1)),
    "nonzero": lambda t: t.nonzero(t.ones(2), as_tuple=False, out=t.empty(0, dtype=t.int64)),
}


@pytest.mark.filterwarnings("ignore:An output with one or more elements was resized")
@pytest.mark.parametrize("name", OUTS)
def test_outs_elsewhere_tracked_or_over_what_is_read(name: str) -> None:
    """What torch refuses of them, and what it takes."""
    found: list[Any] = []
    for t in (torch, ours):
        try:
            made = OUTS[name](t)
            x = made[0] if isinstance(made, tuple) else made
            found.append((tuple(x.shape), x.stride(), x.storage_offset(), made[1:]
                          if isinstance(made, tuple) else x.requires_grad))  # fmt: skip
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    assert found[0] == found[1]


def test_the_gradient_of_as_strided_scatter_is_the_derivative() -> None:
    """torch 2.13's own gradcheck refuses its gradient of the first argument."""
    x = ours.arange(9.0, dtype=ours.float64).reshape(3, 3).requires_grad_()
    part = ours.ones(2, 2, dtype=ours.float64, requires_grad=True)
    assert ours.autograd.gradcheck(
        lambda a, b: ours.as_strided_scatter(a, b, (2, 2), (1, 2), 0), (x, part)
    )
