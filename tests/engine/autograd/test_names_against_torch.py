"""Names of nodes, views and versions beside those of real torch, by expressions of both."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import mindtorch.torch as ours

NODES = """\
cube @ x[0] | x[0] @ cube | x[0] @ x | cube @ cube
torch.inner(x[0], x[0]) | torch.kron(x, x) | torch.einsum('ij->', x) | torch.norm(x, 'nuc')
F.linear(x[0], x) | F.linear(cube, x) | F.cross_entropy(x, x.detach())
F.soft_margin_loss(x, x.detach()) | F.soft_margin_loss(x, x.detach(), reduction='none')
x.t().reshape(9) | x.t().flatten() | x.reshape(9) | torch.repeat_interleave(x, 2)
torch.atleast_2d(x[0]) | torch.atleast_3d(x[0]) | torch.atleast_3d(x) | torch.atleast_2d(x[0, 0])
image.to(memory_format=torch.channels_last) | image.contiguous(memory_format=torch.channels_last)
image.double(memory_format=torch.channels_last) | x.to(torch.float32, copy=True)
F.interpolate(image, (2, 2), mode='bilinear', antialias=True)
F.interpolate(image, (2, 2), mode='bicubic', antialias=True)
F.fractional_max_pool2d(image, 2, output_size=2) | torch.quantile(x, 0.5, dim=0, keepdim=True)
x.scatter(0, zero, 1.0) | x.scatter(0, zero, x) | torch.copysign(x, -1.0) | torch.copysign(x, x)
torch.fill(x, 2.0) | torch.fill(x, torch.tensor(2.0)) | torch.ldexp(x, torch.tensor(2))
torch.combinations(x[0]) | torch.diff(x, 0) | torch.trapezoid(x, x) | torch.svd(x)[2]
x.sum_to_size(1, 3) | x.sum_to_size(3) | torch.diag(x) | torch.diag(x[0])
torch.select_scatter(x, x[0], 0, 1) | torch.slice_scatter(x, x[:1], 0, 1, 2)
torch.diagonal_scatter(x, x[0]) | torch.as_strided_scatter(x, x[0], (3,), (1,))
torch.diagonal_copy(x) | torch.expand_copy(x, (3, 3)) | torch.permute_copy(x, (1, 0))
torch.squeeze_copy(x) | torch.t_copy(x) | torch.transpose_copy(x, 0, 1) | torch.view_copy(x, (9,))
torch.unfold_copy(x, 0, 1, 1) | torch.unsqueeze_copy(x, 0) | torch.select_copy(x, 0, 1)
torch.slice_copy(x, 0, 1) | torch.alias_copy(x) | torch.narrow_copy(x, 0, 1, 1)
torch.as_strided_copy(x, (2,), (1,)) | torch.unbind_copy(x)[0] | torch.split_copy(x, 1)[0]
torch.split_with_sizes_copy(x, [1, 2])[0] | torch.unsafe_split(x, 1)[0]
torch.unsafe_split_with_sizes(x, [1, 2])[0] | torch.unsafe_chunk(x, 1)[0]
torch.normal(x, 1.0) | torch.normal(1.0, x) | torch.normal(x, x) | torch.bernoulli(x)
torch.poisson(x)"""

VERSIONS = """\
x.transpose_(0, 1) | x.t_() | x.squeeze_() | x.unsqueeze_(0) | x.swapaxes_(0, 1)
x.as_strided_((3,), (1,)) | x.set_(torch.ones(3)) | x.zero_() | x.requires_grad_()
nn.init.trunc_normal_(x) | nn.init.trunc_normal_(x, a=-0.1, b=0.1)
nn.init.trunc_normal_(x, 0, 0.02)
nn.init.orthogonal_(x) | nn.init.sparse_(x, 0.1) | nn.init.eye_(x) | nn.init.normal_(x)
nn.init.dirac_(x.view(1, 3, 3)) | nn.init.kaiming_uniform_(x)"""


def expressions(text: str) -> list[str]:
    return [each.strip() for line in text.splitlines() for each in line.split("|")]


def names_of(library: Any, **more: Any) -> dict[str, Any]:
    library.manual_seed(0)
    return {"torch": library, "F": library.nn.functional, "nn": library.nn, **more}


@pytest.mark.parametrize("code", expressions(NODES))
def test_nodes_have_torchs_names(code: str) -> None:
    def name(library: Any) -> str:
        x = (library.arange(9.0).view(3, 3) / 9).requires_grad_()
        cube, image = x.detach().clone()[None].requires_grad_(), library.rand(2, 3, 4, 4)
        zero = library.zeros(1, 3, dtype=library.int64)
        given = names_of(library, x=x, cube=cube, image=image.requires_grad_(), zero=zero)
        return str(eval(code, given).grad_fn.name())

    assert name(ours) == name(torch)


@pytest.mark.parametrize("code", expressions(VERSIONS))
def test_writes_are_counted_as_in_torch(code: str) -> None:
    def version(library: Any) -> int:
        x = library.ones(3, 3)
        eval(code, names_of(library, x=x))
        return int(x._version)

    assert version(ours) == version(torch)


def test_a_leaf_is_not_given_another_shape_in_place() -> None:
    for library in (torch, ours):
        with pytest.raises(RuntimeError, match=r"^a leaf Variable that requires grad"):
            library.ones(3, requires_grad=True).unsqueeze_(0)
