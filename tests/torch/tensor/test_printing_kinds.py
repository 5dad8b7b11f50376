"""Every kind of tensor under every printing option: the strings are PyTorch's."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mindtorch.torch as ours
from tests.support.surface import quiet

with quiet():  # PyTorch warns once that it does not check indices
    torch.sparse_csr_tensor([0, 1], [0], [1.0], (1, 1))

TENSORS = [
    "torch.arange(6.).reshape(2, 3)", "torch.tensor([1e-10, 1e5, float('nan')])",
    "torch.tensor([1e10, 1.])", "torch.tensor([float('inf'), -float('inf'), 0.5])",
    "torch.arange(2000.)", "torch.arange(1200).reshape(30, 40)", "torch.tensor([True, False])",
    "torch.zeros(0, 3)", "torch.zeros(2, 0, 3)", "torch.tensor(3)", "torch.tensor(-0.)",
    "torch.tensor(1.5).double()", "torch.ones(2, dtype=torch.bfloat16)",
    "torch.ones(2).half() / 3", "torch.tensor([1 + 2j, 3.5 - 4e-6j])", "torch.tensor([1e6 + 1j])",
    "torch.tensor([1 + 2j]).to(torch.complex128)", "torch.ones(2, 2, device='meta')",
    "torch.empty(0)", "torch.arange(5).to(torch.uint8)",
    "(torch.arange(60.) / 8 - 3).view(3, 4, 5)",
    "((torch.arange(400.) - 200) / 200).view(20, 20)", "torch.tensor([1234567., 2.5])",
    "torch.tensor([-1e-8, 1.])", "torch.ones(3, requires_grad=True)",
    "torch.ones(3, requires_grad=True) * 2", "torch.nn.Parameter(torch.ones(2))",
    "(torch.arange(2002.) / 2048).view(2, 1001)", "torch.eye(3).to_sparse()",
    "torch.eye(3).to_sparse_csr()", "torch.arange(60.).reshape(3, 20).to_sparse()",
    "torch.eye(3).double().to_sparse_csc()", "torch.arange(60.).reshape(3, 20).to_sparse_csr()",
    "torch.tensor([2**60, 1])", "torch.full((3,), float('nan'))", "torch.tensor([1e38, 1e-38])",
    "torch.tensor(5e-324, dtype=torch.float64)", "torch.ones(2).to(torch.uint16)",
    "torch.ones(3, 2, requires_grad=True).to_sparse()",
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {}, {"precision": 2}, {"sci_mode": True}, {"sci_mode": False}, {"linewidth": 40},
    {"edgeitems": 1, "threshold": 5}, {"profile": "short"}, {"precision": 0},
    {"edgeitems": 0, "threshold": 3},
]  # fmt: skip
OTHERS = [
    "torch.finfo(torch.float32)", "torch.finfo(torch.bfloat16)", "torch.finfo(torch.float16)",
    "torch.finfo(torch.float64)", "torch.iinfo(torch.int8)", "torch.ones(3).max(0)",
    "torch.nn.ParameterDict({'a': torch.ones(2)})", "torch.nn.ParameterList([torch.ones(2)])",
    "torch.optim.SGD([torch.ones(2)], 0.1)", "torch.ones(2).untyped_storage()",
    "torch.linalg.qr(torch.eye(2))", "torch.topk(torch.arange(3.), 2)", "torch.ones(2).shape",
    "torch.nn.utils.rnn.pack_sequence([torch.ones(2)])", "torch.device('cuda:1')",
]  # fmt: skip


@pytest.mark.parametrize("options", OPTIONS, ids=str)
def test_tensors_print_as_in_pytorch(options: dict[str, Any]) -> None:
    """Numbers, line breaks, summaries and what comes after them."""
    try:
        for library in (ours, torch):
            library.set_printoptions(**options)
        for code in TENSORS:
            mine, theirs = (repr(eval(code, {"torch": library})) for library in (ours, torch))
            cut = "grad_fn" if "to_sparse()" in code else "\0"  # named by what made the values
            assert mine.partition(cut)[0].rstrip() == theirs.partition(cut)[0].rstrip(), code
    finally:
        for library in (ours, torch):
            library.set_printoptions(profile="default")


@pytest.mark.parametrize("code", OTHERS)
def test_other_objects_print_as_in_pytorch(code: str) -> None:
    """Descriptions of types, named results, storages, containers of parameters, optimizers."""
    mine, theirs = (repr(eval(code, {"torch": library})) for library in (ours, torch))
    assert mine == theirs
