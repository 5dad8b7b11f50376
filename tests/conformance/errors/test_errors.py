"""Common mistakes raise torch's errors: each call runs in both libraries."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as mt
from mindtorch.torch import nn as mt_nn
from mindtorch.torch import optim as mt_optim
from mindtorch.torch.utils import data as mt_data

torch = pytest.importorskip("torch")


class Namespace:
    """A library, with short names for its parts."""

    def __init__(self, library: Any, nn: Any, optim: Any, data: Any) -> None:
        self.torch = library
        self.nn = nn
        self.F = nn.functional
        self.optim = optim
        self.data = data

    def __getattr__(self, name: str) -> Any:
        return getattr(self.torch, name)

    def z(self, *shape: int, dtype: str = "float32") -> Any:
        return self.torch.zeros(shape, dtype=getattr(self.torch, dtype))

    def i(self, *values: int) -> Any:
        return self.torch.tensor(values)

    def leaf(self, *shape: int) -> Any:
        return self.torch.ones(shape).requires_grad_()


OURS = Namespace(mt, mt_nn, mt_optim, mt_data)
THEIRS = Namespace(torch, torch.nn, torch.optim, torch.utils.data)


def error_of(function: Callable[[Any], Any], namespace: Any) -> BaseException | None:
    try:
        function(namespace)
    except Exception as error:
        return error
    return None


def text_of(error: BaseException) -> str:
    """The message without torch's C++ stack, and without our package's name."""
    text = str(error).split("\nException raised from")[0].split("C++ CapturedTraceback")[0]
    return text.replace("mindtorch.torch", "torch").strip()


def assert_raises_like_torch(function: Callable[[Any], Any], lines: int | None = None) -> None:
    """``function(library)`` fails in both libraries, with one type and one text.

    Args:
        lines: how many lines of the text are compared; all unless given.
    """
    theirs = error_of(function, THEIRS)
    assert theirs is not None, "torch accepts this"
    ours = error_of(function, OURS)
    assert ours is not None, f"accepted, but torch raises {theirs!r}"
    assert type(ours).__name__ == type(theirs).__name__, (ours, theirs)
    mine, expected = (text_of(error).split("\n")[:lines] for error in (ours, theirs))
    assert mine == expected


CASES: dict[str, Callable[[Any], Any]] = {
    # products
    "matmul_inner": lambda t: t.z(2, 3) @ t.z(2, 3),
    "matmul_vectors": lambda t: t.z(3) @ t.z(4),
    "matmul_matrix_vector": lambda t: t.z(2, 3) @ t.z(4),
    "matmul_vector_matrix": lambda t: t.z(4) @ t.z(2, 3),
    "matmul_zero_dim": lambda t: t.matmul(t.z(), t.z(3)),
    "matmul_batch": lambda t: t.matmul(t.z(2, 3, 4), t.z(2, 3, 4)),
    "matmul_batch_sizes": lambda t: t.matmul(t.z(2, 3, 4), t.z(3, 4, 5)),
    "matmul_folded": lambda t: t.matmul(t.z(2, 3, 4), t.z(5, 2)),
    "matmul_dtype": lambda t: t.z(2, 3) @ t.z(3, 2, dtype="float64"),
    "mm_dims": lambda t: t.mm(t.z(2, 3, 4), t.z(4, 5)),
    "mm_sizes": lambda t: t.mm(t.z(2, 3), t.z(4, 5)),
    "mm_dtype": lambda t: t.mm(t.z(2, 3), t.z(3, 5, dtype="int64")),
    "bmm_dims": lambda t: t.bmm(t.z(2, 3), t.z(3, 4)),
    "bmm_sizes": lambda t: t.bmm(t.z(2, 3, 4), t.z(2, 5, 6)),
    "bmm_batches": lambda t: t.bmm(t.z(2, 3, 4), t.z(3, 4, 6)),
    "mv_sizes": lambda t: t.mv(t.z(2, 3), t.z(4)),
    "dot_sizes": lambda t: t.dot(t.z(2), t.z(3)),
    "dot_dims": lambda t: t.dot(t.z(2, 2), t.z(2)),
    "addmm_sizes": lambda t: t.addmm(t.z(2, 2), t.z(2, 3), t.z(4, 2)),
    "addmm_bias": lambda t: t.addmm(t.z(3, 3), t.z(2, 3), t.z(3, 2)),
    "einsum_sizes": lambda t: t.einsum("ij,jk->ik", t.z(2, 3), t.z(4, 5)),
    "einsum_count": lambda t: t.einsum("ij,jk->ik", t.z(2, 3)),
    "einsum_dims": lambda t: t.einsum("ijk->ik", t.z(2, 3)),
    "linear_sizes": lambda t: t.F.linear(t.z(2, 3), t.z(5, 4)),
    "linear_bias": lambda t: t.F.linear(t.z(2, 3), t.z(5, 3), t.z(4)),
    "linear_dtype": lambda t: t.F.linear(t.z(2, 3, dtype="float64"), t.z(5, 3)),
    "linear_integer": lambda t: t.nn.Linear(3, 2)(t.z(2, 3, dtype="int64")),
    "linear_module": lambda t: t.nn.Linear(3, 2)(t.z(2, 4)),
    "linear_module_batch": lambda t: t.nn.Linear(3, 2)(t.z(2, 2, 4)),
    "bilinear": lambda t: t.nn.Bilinear(2, 3, 4)(t.z(5, 2), t.z(5, 4)),
    # convolutions and pools
    "conv_channels": lambda t: t.F.conv2d(t.z(1, 3, 8, 8), t.z(4, 2, 3, 3)),
    "conv_dims": lambda t: t.F.conv2d(t.z(8, 8), t.z(4, 2, 3, 3)),
    "conv_five_dims": lambda t: t.F.conv2d(t.z(1, 1, 2, 8, 8), t.z(4, 2, 3, 3)),
    "conv_kernel": lambda t: t.F.conv2d(t.z(1, 2, 2, 2), t.z(4, 2, 3, 3)),
    "conv_bias": lambda t: t.F.conv2d(t.z(1, 2, 8, 8), t.z(4, 2, 3, 3), t.z(3)),
    "conv_groups": lambda t: t.F.conv2d(t.z(1, 3, 8, 8), t.z(4, 1, 3, 3), groups=3),
    "conv_stride": lambda t: t.F.conv2d(t.z(1, 2, 8, 8), t.z(4, 2, 3, 3), stride=0),
    "conv_padding": lambda t: t.F.conv2d(t.z(1, 2, 8, 8), t.z(4, 2, 3, 3), padding=-1),
    "conv_dilation": lambda t: t.F.conv2d(t.z(1, 2, 8, 8), t.z(4, 2, 3, 3), dilation=0),
    "conv_dtype": lambda t: t.F.conv2d(t.z(1, 2, 8, 8, dtype="float64"), t.z(4, 2, 3, 3)),
    "conv_integer": lambda t: t.F.conv2d(t.z(1, 2, 8, 8, dtype="int64"), t.z(4, 2, 3, 3)),
    "conv_stride_length": lambda t: t.F.conv2d(t.z(1, 2, 8, 8), t.z(4, 2, 3, 3), stride=(1, 1, 1)),
    "conv1d_dims": lambda t: t.nn.Conv1d(2, 3, 2)(t.z(1, 2, 3, 4)),
    "conv_module_groups": lambda t: t.nn.Conv2d(3, 4, 3, groups=2),
    "conv_module_out_groups": lambda t: t.nn.Conv2d(4, 3, 3, groups=2),
    "conv_module_padding": lambda t: t.nn.Conv2d(3, 4, 3, padding="full"),
    "conv_module_same": lambda t: t.nn.Conv2d(3, 4, 3, stride=2, padding="same"),
    "conv_transpose_channels": lambda t: t.F.conv_transpose2d(t.z(1, 3, 8, 8), t.z(2, 4, 3, 3)),
    "conv_transpose_out": lambda t: t.F.conv_transpose2d(
        t.z(1, 2, 8, 8), t.z(2, 4, 3, 3), output_padding=1
    ),
    "max_pool_dims": lambda t: t.F.max_pool2d(t.z(3, 3), 2),
    "max_pool_small": lambda t: t.F.max_pool2d(t.z(1, 1, 2, 2), 3),
    "max_pool_padding": lambda t: t.F.max_pool2d(t.z(1, 1, 8, 8), 2, padding=2),
    "avg_pool_small": lambda t: t.F.avg_pool2d(t.z(1, 1, 2, 2), 3),
    "avg_pool_padding": lambda t: t.F.avg_pool2d(t.z(1, 1, 8, 8), 2, padding=2),
    "adaptive_dims": lambda t: t.F.adaptive_avg_pool2d(t.z(3, 3), 2),
    "pad_pairs": lambda t: t.F.pad(t.z(2, 2), (1, 1, 1)),
    "pad_length": lambda t: t.F.pad(t.z(2), (1, 1, 1, 1)),
    "pad_reflect": lambda t: t.F.pad(t.z(1, 1, 2), (3, 3), mode="reflect"),
    "pad_mode": lambda t: t.F.pad(t.z(1, 1, 2), (1, 1), mode="mirror"),
    "pad_negative": lambda t: t.F.pad(t.z(2), (-2, -1)),
    "interpolate_none": lambda t: t.F.interpolate(t.z(1, 1, 4, 4)),
    "interpolate_both": lambda t: t.F.interpolate(t.z(1, 1, 4, 4), size=2, scale_factor=2),
    "interpolate_dims": lambda t: t.F.interpolate(t.z(1, 1, 4), size=2, mode="bilinear"),
    # joining, shapes
    "cat_sizes": lambda t: t.cat([t.z(2, 3), t.z(2, 4)]),
    "cat_dims": lambda t: t.cat([t.z(2, 3), t.z(2)]),
    "cat_empty": lambda t: t.cat([]),
    "cat_zero_dim": lambda t: t.cat([t.z(), t.z()]),
    "cat_dim": lambda t: t.cat([t.z(2), t.z(2)], 1),
    "cat_number": lambda t: t.cat([t.z(2), 1]),
    "cat_tensor": lambda t: t.cat(t.z(2)),
    "stack_sizes": lambda t: t.stack([t.z(2), t.z(3)]),
    "stack_empty": lambda t: t.stack([]),
    "stack_dim": lambda t: t.stack([t.z(2), t.z(2)], 3),
    "hstack_sizes": lambda t: t.hstack([t.z(2, 3), t.z(3, 3)]),
    "view_size": lambda t: t.z(2, 3).view(4),
    "view_inferred": lambda t: t.z(2, 3).view(4, -1),
    "view_two_inferred": lambda t: t.z(2, 3).view(-1, -1),
    "view_layout": lambda t: t.z(2, 3).mT.view(6),
    "view_negative": lambda t: t.z(2, 3).view(-2, 3),
    "reshape_size": lambda t: t.z(2, 3).reshape(4, 2),
    "expand_size": lambda t: t.z(2, 3).expand(2, 4),
    "expand_dims": lambda t: t.z(2, 3).expand(3),
    "expand_leading": lambda t: t.z(3).expand(-1, 3),
    "repeat_dims": lambda t: t.z(2, 3).repeat(2),
    "permute_dims": lambda t: t.z(2, 3).permute(0),
    "permute_repeated": lambda t: t.z(2, 3).permute(0, 0),
    "transpose_dim": lambda t: t.z(2, 3).transpose(0, 2),
    "t_dims": lambda t: t.z(2, 3, 4).t(),
    "unsqueeze_dim": lambda t: t.z(2).unsqueeze(3),
    "squeeze_dim": lambda t: t.z(2).squeeze(3),
    "flatten_dims": lambda t: t.z(2, 3).flatten(1, 0),
    "split_sum": lambda t: t.z(5).split([2, 2]),
    "chunk_zero": lambda t: t.z(5).chunk(0),
    "narrow_length": lambda t: t.z(5).narrow(0, 3, 3),
    "select_index": lambda t: t.z(5).select(0, 5),
    "unfold_size": lambda t: t.z(5).unfold(0, 6, 1),
    "flip_repeated": lambda t: t.z(5).flip(0, 0),
    "roll_dims": lambda t: t.z(5).roll((1, 2), 0),
    "diagonal_dims": lambda t: t.z(5, 5).diagonal(0, 1, 1),
    "tril_dims": lambda t: t.z(5).tril(),
    "broadcast": lambda t: t.z(2, 3) + t.z(4),
    "broadcast_where": lambda t: t.where(t.z(2) > 0, t.z(3), t.z(2)),
    "broadcast_in_place": lambda t: t.z(3).add_(t.z(2, 3)),
    "broadcast_compare": lambda t: t.z(2, 3) == t.z(2, 4),
    # indexing
    "index_bounds": lambda t: t.z(3)[3],
    "index_bounds_tensor": lambda t: t.z(3)[t.i(1, 5)],
    "index_bounds_negative": lambda t: t.z(3)[t.i(-4)],
    "index_second": lambda t: t.z(3, 2)[0, 2],
    "index_too_many": lambda t: t.z(3)[0, 0],
    "index_zero_dim": lambda t: t.z()[0],
    "index_slice_zero_dim": lambda t: t.z()[:],
    "index_float": lambda t: t.z(3)[1.5],
    "index_string": lambda t: t.z(3)["a"],
    "index_float_tensor": lambda t: t.z(3)[t.z(2)],
    "index_mask": lambda t: t.z(3)[t.z(4) > 0],
    "index_mask_second": lambda t: t.z(3, 2)[:, t.z(3) > 0],
    "index_tensors": lambda t: t.z(3, 3)[t.i(0, 1), t.i(0, 1, 2)],
    "index_step": lambda t: t.z(3)[::-1],
    "assign_shape": lambda t: t.z(3).__setitem__(slice(0, 2), t.z(3)),
    "assign_index_shape": lambda t: t.z(3).__setitem__(t.i(0, 1), t.z(3)),
    "assign_string": lambda t: t.z(3).__setitem__(0, "a"),
    "gather_dims": lambda t: t.z(3).gather(0, t.i(0).view(1, 1)),
    "gather_bounds": lambda t: t.z(3).gather(0, t.i(3)),
    "gather_type": lambda t: t.z(3).gather(0, t.z(1)),
    "gather_size": lambda t: t.z(2, 3).gather(1, t.z(3, 1, dtype="int64")),
    "scatter_size": lambda t: t.z(3).scatter(0, t.i(0, 1, 2), t.z(2)),
    "scatter_type": lambda t: t.z(3).scatter(0, t.i(0), t.z(1, dtype="float64")),
    "scatter_add_bounds": lambda t: t.z(3).scatter_add(0, t.i(4), t.z(1)),
    "index_select_bounds": lambda t: t.z(3).index_select(0, t.i(3)),
    "index_select_type": lambda t: t.z(3).index_select(0, t.z(1)),
    "index_select_dims": lambda t: t.z(3).index_select(0, t.z(1, 1, dtype="int64")),
    "index_add_size": lambda t: t.z(3).index_add(0, t.i(0, 1), t.z(3)),
    "take_bounds": lambda t: t.z(3).take(t.i(3)),
    "masked_select_type": lambda t: t.z(3).masked_select(t.i(1, 0, 1)),
    "masked_fill_type": lambda t: t.z(3).masked_fill(t.i(1, 0, 1), 1.0),
    "topk_size": lambda t: t.z(3).topk(4),
    "kthvalue": lambda t: t.z(3).kthvalue(4),
    "sort_dim": lambda t: t.z(3).sort(1),
    "one_hot_classes": lambda t: t.F.one_hot(t.i(0, 3), 2),
    "one_hot_nothing": lambda t: t.F.one_hot(t.z(0, dtype="int64")),
    "one_hot_negative": lambda t: t.F.one_hot(t.i(1, -1), 2),
    "one_hot_type": lambda t: t.F.one_hot(t.z(2)),
    # reductions
    "sum_dim": lambda t: t.z(3).sum(2),
    "sum_repeated": lambda t: t.z(3, 3).sum((0, 0)),
    "mean_integer": lambda t: t.z(3, dtype="int64").mean(),
    "max_empty": lambda t: t.z(0).max(),
    "max_dim_empty": lambda t: t.z(2, 0).max(1),
    "argmax_empty": lambda t: t.z(0).argmax(),
    "std_integer": lambda t: t.z(3, dtype="int64").std(),
    "norm_integer": lambda t: t.z(3, dtype="int64").norm(),
    "softmax_dim": lambda t: t.z(3).softmax(1),
    "softmax_integer": lambda t: t.z(3, dtype="int64").softmax(0),
    "cumsum_dim": lambda t: t.z(3).cumsum(1),
    "quantile_range": lambda t: t.z(3).quantile(1.5),
    "bool_many": lambda t: bool(t.z(3)),
    "bool_none": lambda t: bool(t.z(0)),
    "item_many": lambda t: t.z(3).item(),
    "int_many": lambda t: int(t.z(3)),
    "len_zero_dim": lambda t: len(t.z()),
    "iterate_zero_dim": lambda t: list(t.z()),
    "numpy_grad": lambda t: t.leaf(2).numpy(),
    # losses and layers
    "cross_entropy_batch": lambda t: t.F.cross_entropy(t.z(3, 5), t.i(0, 1)),
    "cross_entropy_class": lambda t: t.F.cross_entropy(t.z(2, 5), t.i(0, 5)),
    "cross_entropy_type": lambda t: t.F.cross_entropy(t.z(2, 5), t.z(2)),
    "cross_entropy_int": lambda t: t.F.cross_entropy(t.z(2, 5), t.z(2, dtype="int32")),
    "cross_entropy_weight": lambda t: t.F.cross_entropy(t.z(2, 5), t.i(0, 1), weight=t.z(4)),
    "cross_entropy_reduction": lambda t: t.F.cross_entropy(t.z(2, 5), t.i(0, 1), reduction="avg"),
    "nll_dims": lambda t: t.F.nll_loss(t.z(2, 5), t.z(2, 2, dtype="int64")),
    "nll_class": lambda t: t.F.nll_loss(t.z(2, 5), t.i(0, -1)),
    "bce_sizes": lambda t: t.F.binary_cross_entropy(t.z(3), t.z(2)),
    "bce_range": lambda t: t.F.binary_cross_entropy(t.z(3) + 2, t.z(3)),
    "bce_logits_sizes": lambda t: t.F.binary_cross_entropy_with_logits(t.z(3), t.z(2)),
    "mse_sizes": lambda t: t.F.mse_loss(t.z(3), t.z(2)),
    "embedding_bounds": lambda t: t.F.embedding(t.i(5), t.z(3, 2)),
    "embedding_negative": lambda t: t.F.embedding(t.i(-1), t.z(3, 2)),
    "embedding_type": lambda t: t.F.embedding(t.z(2), t.z(3, 2)),
    "embedding_padding": lambda t: t.nn.Embedding(3, 2, padding_idx=3),
    "batch_norm_dims": lambda t: t.nn.BatchNorm2d(3)(t.z(2, 3)),
    "batch_norm_channels": lambda t: t.nn.BatchNorm1d(3)(t.z(2, 4)),
    "batch_norm_one": lambda t: t.nn.BatchNorm1d(3)(t.z(1, 3)),
    "layer_norm_shape": lambda t: t.nn.LayerNorm(3)(t.z(2, 4)),
    "layer_norm_two": lambda t: t.F.layer_norm(t.z(2, 3, 4), (4, 3)),
    "group_norm_groups": lambda t: t.nn.GroupNorm(2, 3),
    "group_norm_channels": lambda t: t.F.group_norm(t.z(2, 3, 4), 2),
    "instance_norm_one": lambda t: t.nn.InstanceNorm1d(3)(t.z(2, 3, 1)),
    "dropout_p": lambda t: t.nn.Dropout(1.5),
    "dropout_functional_p": lambda t: t.F.dropout(t.z(3), -0.5),
    "attention_heads": lambda t: t.nn.MultiheadAttention(5, 2),
    "lstm_input": lambda t: t.nn.LSTM(3, 4)(t.z(2, 1, 5)),
    "lstm_dims": lambda t: t.nn.LSTM(3, 4)(t.z(2, 1, 1, 3)),
    "lstm_hidden": lambda t: t.nn.LSTM(3, 4)(t.z(2, 1, 3), (t.z(1, 2, 4), t.z(1, 2, 4))),
    "sequential_key": lambda t: t.nn.Sequential(t.nn.ReLU())[1],
    "module_attribute": lambda t: t.nn.ReLU().weight,
    "module_no_forward": lambda t: t.nn.Module()(1),
    "module_parameter": lambda t: t.nn.Linear(1, 1).__setattr__("weight", 3),
    "register_dot": lambda t: t.nn.Module().register_buffer("a.b", t.z(1)),
    "register_twice": lambda t: t.nn.Linear(1, 1).register_parameter("weight", None) or
        t.nn.Linear(1, 1).register_buffer("weight", t.z(1)),
    "register_type": lambda t: t.nn.Module().register_buffer("a", 3),
    "add_module_type": lambda t: t.nn.Module().add_module("a", 3),
    "parameter_list": lambda t: t.nn.ParameterList([t.z(1)])[2],
    # gradients
    "backward_twice": lambda t: (lambda y: (y.backward(), y.backward()))((t.leaf(2) ** 2).sum()),
    "backward_vector": lambda t: (t.leaf(2) * 2).backward(),
    "backward_shape": lambda t: (t.leaf(2) * 2).backward(t.z(3)),
    "backward_constant": lambda t: t.z(1).backward(),
    "grad_unused": lambda t: t.autograd.grad(t.leaf(1).sum(), t.leaf(1)),
    "grad_constant": lambda t: t.autograd.grad(t.leaf(1).sum(), t.z(1)),
    "leaf_in_place": lambda t: t.leaf(2).add_(1),
    "leaf_index": lambda t: t.leaf(2).__setitem__(0, 1.0),
    "saved_in_place": lambda t: (lambda x: (lambda y: (x.add_(1), y.sum().backward()))(x * x))(
        t.leaf(2) * 1
    ),
    "requires_grad_integer": lambda t: t.z(2, dtype="int64").requires_grad_(),
    "requires_grad_set_integer": lambda t: t.z(2, dtype="int64").__setattr__("requires_grad", True),
    "requires_grad_off": lambda t: (t.leaf(2) * 2).requires_grad_(False),
    "tensor_requires_grad_integer": lambda t: t.tensor([1], requires_grad=True),
    "grad_shape": lambda t: t.leaf(2).__setattr__("grad", t.z(3)),
    "grad_type": lambda t: t.leaf(2).__setattr__("grad", 3),
    "deepcopy_non_leaf": lambda t: __import__("copy").deepcopy(t.leaf(2) * 2),
    # types
    "in_place_float_to_int": lambda t: t.z(2, dtype="int64").add_(1.5),
    "in_place_divide": lambda t: t.z(2, dtype="int64").div_(2),
    "bitwise_float": lambda t: t.z(2) & t.z(2),
    "invert_float": lambda t: ~t.z(2),
    "subtract_bool": lambda t: (t.z(2) > 0) - (t.z(2) > 0),
    "negative_bool": lambda t: -(t.z(2) > 0),
    "add_string": lambda t: t.z(2) + "a",
    "add_none": lambda t: t.add(t.z(2), None),
    "lerp_type": lambda t: t.z(2).lerp(t.z(2, dtype="float64"), 0.5),
    "tensor_ragged": lambda t: t.tensor([[1], [1, 2]]),
    "tensor_string": lambda t: t.tensor("a"),
    "tensor_object": lambda t: t.tensor(object()),
    "arange_step": lambda t: t.arange(0, 5, 0),
    "arange_sign": lambda t: t.arange(5, 0),
    "linspace_steps": lambda t: t.linspace(0, 1, -1),
    "eye_negative": lambda t: t.eye(-1),
    "randint_empty": lambda t: t.randint(0, 0, (1,)),
    "multinomial_count": lambda t: t.multinomial(t.ones(2), 3),
    "normal_std": lambda t: t.normal(0.0, -1.0, (2,)),
    "device_word": lambda t: t.zeros(2, device="gpu"),
    "inverse_singular": lambda t: t.inverse(t.z(2, 2)),
    "inverse_shape": lambda t: t.inverse(t.z(2, 3)),
    "cholesky_indefinite": lambda t: t.linalg.cholesky(-t.eye(2)),
    "det_shape": lambda t: t.det(t.z(2, 3)),
    "from_numpy_list": lambda t: t.from_numpy([1]),
    "manual_seed_word": lambda t: t.manual_seed("a"),
    # optimizers
    "sgd_lr": lambda t: t.optim.SGD([t.leaf(1)], lr=-1),
    "sgd_momentum": lambda t: t.optim.SGD([t.leaf(1)], lr=1, momentum=-1),
    "sgd_nesterov": lambda t: t.optim.SGD([t.leaf(1)], lr=1, nesterov=True),
    "adam_lr": lambda t: t.optim.Adam([t.leaf(1)], lr=-1),
    "adam_betas": lambda t: t.optim.Adam([t.leaf(1)], betas=(1.0, 0.9)),
    "adam_betas_of_two_kinds": lambda t: t.optim.Adam([t.leaf(1)], betas=(0, 0.9)),
    "adam_eps": lambda t: t.optim.Adam([t.leaf(1)], eps=-1),
    "adam_decay": lambda t: t.optim.Adam([t.leaf(1)], weight_decay=-1),
    "optimizer_empty": lambda t: t.optim.SGD([], lr=1),
    "optimizer_tensor": lambda t: t.optim.SGD(t.leaf(1), lr=1),
    "optimizer_type": lambda t: t.optim.SGD([1], lr=1),
    "optimizer_non_leaf": lambda t: t.optim.SGD([t.leaf(1) * 2], lr=1),
    "optimizer_twice": lambda t: (lambda p: t.optim.SGD([{"params": [p]}, {"params": [p]}], lr=1))(
        t.leaf(1)
    ),
    "optimizer_state": lambda t: t.optim.SGD([t.leaf(1)], lr=1).load_state_dict(
        t.optim.SGD([t.leaf(1), t.leaf(1)], lr=1).state_dict()
    ),
    "optimizer_groups": lambda t: t.optim.SGD([t.leaf(1)], lr=1).load_state_dict(
        {"state": {}, "param_groups": []}
    ),
    "scheduler_type": lambda t: t.optim.lr_scheduler.StepLR(3, 1),
    "scheduler_lambdas": lambda t: t.optim.lr_scheduler.LambdaLR(
        t.optim.SGD([t.leaf(1)], lr=1), [abs, abs]
    ),
    "clip_value": lambda t: t.nn.utils.clip_grad_value_([t.leaf(1)], "a"),
    # state dicts
    "state_missing": lambda t: t.nn.Linear(2, 2).load_state_dict({}),
    "state_unexpected": lambda t: t.nn.ReLU().load_state_dict({"a": t.z(1)}),
    "state_shape": lambda t: t.nn.Linear(2, 2).load_state_dict(
        {"weight": t.z(3, 2), "bias": t.z(2)}
    ),
    "state_several": lambda t: t.nn.Sequential(t.nn.Linear(2, 2)).load_state_dict(
        {"0.weight": t.z(3, 2), "1.bias": t.z(2)}
    ),
    "state_type": lambda t: t.nn.Linear(2, 2).load_state_dict([1]),
    "state_number": lambda t: t.nn.Linear(2, 2).load_state_dict({"weight": 1, "bias": t.z(2)}),
    # data
    "loader_batch_size": lambda t: t.data.DataLoader([1], batch_size=0),
    "loader_shuffle_sampler": lambda t: t.data.DataLoader([1], shuffle=True, sampler=[0]),
    "loader_batch_sampler": lambda t: t.data.DataLoader([1], batch_size=2, batch_sampler=[[0]]),
    "loader_workers": lambda t: t.data.DataLoader([1], num_workers=-1),
    "loader_timeout": lambda t: t.data.DataLoader([1], timeout=-1),
    "loader_drop_last": lambda t: t.data.DataLoader([1], batch_size=None, drop_last=True),
    "loader_prefetch": lambda t: t.data.DataLoader([1], prefetch_factor=2),
    "loader_persistent": lambda t: t.data.DataLoader([1], persistent_workers=True),
    "loader_attribute": lambda t: t.data.DataLoader([1]).__setattr__("batch_size", 2),
    "sampler_count": lambda t: t.data.RandomSampler([1], num_samples=0),
    "sampler_replacement": lambda t: t.data.RandomSampler([1], replacement=1),
    "sampler_empty": lambda t: t.data.RandomSampler([]),
    "dataset_sizes": lambda t: t.data.TensorDataset(t.z(2), t.z(3)),
    "dataset_abstract": lambda t: t.data.Dataset()[0],
    "subset_index": lambda t: t.data.Subset([1], [3])[0],
    "random_split_sum": lambda t: t.data.random_split([1, 2], [1, 2]),
    "random_split_fraction": lambda t: t.data.random_split([1, 2], [0.9, 0.9]),
    "concat_empty": lambda t: t.data.ConcatDataset([]),
    "concat_index": lambda t: t.data.ConcatDataset([[1]])[-2],
    "collate_type": lambda t: t.data.default_collate([object()]),
    "collate_lengths": lambda t: t.data.default_collate([[1], [1, 2]]),
    "collate_sizes": lambda t: t.data.default_collate([t.z(2), t.z(3)]),
    # files
    "load_missing": lambda t: t.load("/nowhere/file.pt"),
    "load_truncated": lambda t: t.load(io.BytesIO(_archive(t)[:-40])),
    "load_half": lambda t: t.load(io.BytesIO(_archive(t)[:200])),
    "load_none": lambda t: t.load(None),
    "save_folder": lambda t: t.save(t.z(1), "/nowhere/file.pt"),
    "save_type": lambda t: t.save(t.z(1), 3),
}  # fmt: skip


def _archive(t: Any) -> bytes:
    file = io.BytesIO()
    t.save({"x": t.z(10)}, file)
    return file.getvalue()


# the text is another (order of a set, a printed tensor, a signature), the type is torch's
ANOTHER_TEXT: dict[str, Callable[[Any], Any]] = {
    "conv_module_mode": lambda t: t.nn.Conv2d(3, 4, 3, padding_mode="mirror"),
    "meshgrid_dims": lambda t: t.meshgrid(t.z(2, 2), indexing="ij"),
    "full_missing": lambda t: t.full((2,)),
    "dtype_word": lambda t: t.zeros(2, dtype="float32"),
    "zeros_negative": lambda t: t.zeros(-1),
    "load_empty": lambda t: t.load(io.BytesIO(b"")),
}


@pytest.mark.parametrize("name", ANOTHER_TEXT)
def test_a_mistake_raises_an_error_of_torchs_type(name: str) -> None:
    """These texts depend on what only the other library has."""
    ours, theirs = error_of(ANOTHER_TEXT[name], OURS), error_of(ANOTHER_TEXT[name], THEIRS)
    assert ours is not None
    assert type(ours) is type(theirs)


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_raises_torchs_error(name: str) -> None:
    """Programs catch errors by type, and people search for their text."""
    assert_raises_like_torch(CASES[name])
