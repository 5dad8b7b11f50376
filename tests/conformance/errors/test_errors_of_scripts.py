"""Mistakes of whole scripts (wrong calls, targets, devices, graphs, loaders): torch's errors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from tests.conformance.errors.test_errors import OURS, THEIRS, assert_raises_like_torch, error_of


class Shouting:
    """A data set whose items cannot be had."""

    def __len__(self) -> int:
        return 3

    def __getitem__(self, index: int) -> int:
        raise ValueError(f"no item {index}")


def net(t: Any) -> Any:
    return t.nn.Sequential(t.nn.Linear(4, 3), t.nn.ReLU(), t.nn.Linear(3, 2))


def after(first: Callable[[], Any], second: Callable[[], Any]) -> Any:
    first()
    return second()


def squared(t: Any) -> Any:
    x = t.leaf(3)
    return x, (x * x).sum()


def changed_weight(t: Any) -> Any:
    model = net(t)
    loss = model(t.ones(1, 4)).sum()
    with t.no_grad():
        model[2].weight.add_(1)
    return loss.backward()


def own_function(t: Any, forward: Any, backward: Any) -> Any:
    names = {"forward": staticmethod(forward), "backward": staticmethod(backward)}
    made: Any = type("Own", (t.autograd.Function,), names)
    return made.apply


def changed_input(t: Any) -> Any:
    x = t.leaf(3).exp()
    result = own_function(
        t,
        lambda ctx, x: ctx.save_for_backward(x) or x * 2,
        lambda ctx, g: g * ctx.saved_tensors[0],
    )(x)
    x.add_(1)
    return result.sum().backward()


CASES: dict[str, Callable[[Any], Any]] = {
    # models
    "flatten_forgotten": lambda t: net(t)(t.z(2, 1, 2, 2)),
    "channels_last": lambda t: t.nn.Conv2d(3, 8, 3)(t.z(2, 32, 32, 3)),
    "image_without_channels": lambda t: t.nn.Conv2d(3, 8, 3)(t.z(32, 32)),
    "conv1d_channels": lambda t: t.nn.Conv1d(3, 8, 3)(t.z(2, 10, 3)),
    "input_double": lambda t: net(t)(t.z(2, 4, dtype="float64")),
    "input_integers": lambda t: net(t)(t.z(2, 4, dtype="int64")),
    "input_half": lambda t: net(t)(t.z(2, 4, dtype="float16")),
    "conv_bytes": lambda t: t.nn.Conv2d(1, 1, 3)(t.z(1, 1, 8, 8, dtype="uint8")),
    "input_missing": lambda t: net(t)(),
    "input_list": lambda t: net(t)([1.0, 2.0]),
    "input_none": lambda t: net(t)(None),
    "input_number": lambda t: t.nn.ReLU()(3),
    "input_extra": lambda t: t.nn.Linear(1, 1)(t.z(1), t.z(1)),
    "linear_sizes_missing": lambda t: t.nn.Linear(3),
    "linear_sizes_float": lambda t: t.nn.Linear(3.0, 2),
    "linear_sizes_negative": lambda t: t.nn.Linear(-1, 2),
    "conv_kernel_missing": lambda t: t.nn.Conv2d(3, 8),
    "keyword_unknown": lambda t: t.nn.Linear(3, 2, activation="relu"),
    "embedding_of_floats": lambda t: t.nn.Embedding(10, 3)(t.z(2)),
    "embedding_beyond": lambda t: t.nn.Embedding(10, 3)(t.i(10)),
    "lstm_features": lambda t: t.nn.LSTM(5, 4, batch_first=True)(t.z(2, 7, 3)),
    "gru_state": lambda t: t.nn.GRU(3, 4)(t.z(7, 2, 3), t.z(1, 3, 4)),
    "rnn_cell": lambda t: t.nn.RNNCell(3, 4)(t.z(2, 5)),
    "attention_features": lambda t: t.nn.MultiheadAttention(4, 2)(*[t.z(3, 2, 5)] * 3),
    "attention_mask": lambda t: t.nn.MultiheadAttention(4, 2)(
        *[t.z(3, 2, 4)] * 3, attn_mask=t.z(2, 2)
    ),
    "encoder_heads": lambda t: t.nn.TransformerEncoderLayer(6, 4),
    "encoder_features": lambda t: t.nn.TransformerEncoderLayer(4, 2, 8)(t.z(3, 2, 5)),
    "pool_of_matrix": lambda t: t.nn.MaxPool2d(2)(t.z(4, 4)),
    "upsample_vector": lambda t: t.nn.Upsample(scale_factor=2)(t.z(4)),
    "batch_norm_single": lambda t: t.nn.BatchNorm1d(3)(t.z(1, 3)),
    "batch_norm_features": lambda t: t.nn.BatchNorm2d(3)(t.z(2, 4, 5, 5)),
    "softmax_dim_beyond": lambda t: t.nn.Softmax(2)(t.z(2, 3)),
    "sequential_number": lambda t: t.nn.Sequential(3),
    "module_list_number": lambda t: t.nn.ModuleList([3]),
    "module_dict_key": lambda t: t.nn.ModuleDict({"a": t.nn.ReLU()})["b"],
    "attribute_unknown": lambda t: net(t).weights,
    "parameter_of_number": lambda t: t.nn.Parameter(3),
    "parameter_of_integers": lambda t: t.nn.Parameter(t.i(1)),
    "before_super": lambda t: type("Net", (t.nn.Module,), {
        "__init__": lambda self: setattr(self, "fc", t.nn.Linear(1, 1))})(),
    "parameter_before_super": lambda t: type("Net", (t.nn.Module,), {
        "__init__": lambda self: setattr(self, "w", t.nn.Parameter(t.z(1)))})(),
    "submodule_unknown": lambda t: net(t).get_submodule("7"),
    "parameter_unknown": lambda t: net(t).get_parameter("0.scale"),
    "module_to_integers": lambda t: net(t).to(t.int64),
    "module_train_word": lambda t: net(t).train("yes"),
    # losses
    "cross_entropy_floats": lambda t: t.nn.CrossEntropyLoss()(t.z(2, 3), t.z(2)),
    "cross_entropy_column": lambda t: t.nn.CrossEntropyLoss()(t.z(2, 3), t.i(0, 1).view(2, 1)),
    "cross_entropy_one_hot": lambda t: t.nn.CrossEntropyLoss()(
        t.z(2, 3), t.z(2, 3, dtype="int64")
    ),
    "cross_entropy_classes": lambda t: t.nn.CrossEntropyLoss()(t.z(2, 3), t.i(1, 3)),
    "cross_entropy_negative": lambda t: t.nn.CrossEntropyLoss()(t.z(2, 3), t.i(-1, 0)),
    "cross_entropy_batch": lambda t: t.nn.CrossEntropyLoss()(t.z(4, 3), t.i(1, 2)),
    "cross_entropy_pixels": lambda t: t.nn.CrossEntropyLoss()(
        t.z(2, 3, 4, 4), t.z(2, 1, 4, 4, dtype="int64")
    ),
    "cross_entropy_weights": lambda t: t.nn.CrossEntropyLoss(weight=t.z(2))(t.z(2, 3), t.i(0, 1)),
    "cross_entropy_smoothing": lambda t: t.nn.CrossEntropyLoss(label_smoothing=2.0)(
        t.z(2, 3), t.i(0, 1)
    ),
    "nll_of_vector": lambda t: t.nn.NLLLoss()(t.z(3), t.i(0, 1, 2)),
    "nll_floats": lambda t: t.nn.NLLLoss()(t.z(2, 3), t.z(2)),
    "bce_beyond": lambda t: t.nn.BCELoss()(t.z(2) + 1.5, t.z(2)),
    "bce_targets_integers": lambda t: t.nn.BCELoss()(t.z(2), t.i(0, 1)),
    "bce_column": lambda t: t.nn.BCELoss()(t.z(2, 1), t.z(2)),
    "bce_logits_column": lambda t: t.nn.BCEWithLogitsLoss()(t.z(2, 1), t.z(2)),
    "bce_logits_integers": lambda t: t.nn.BCEWithLogitsLoss()(t.z(2), t.i(0, 1)),
    "mse_sizes": lambda t: t.nn.MSELoss()(t.z(2, 3), t.z(2, 4)),
    "mse_target_none": lambda t: t.nn.MSELoss()(t.z(2), None),
    "l1_number": lambda t: t.nn.L1Loss()(t.z(2), 1.0),
    "reduction_word": lambda t: t.nn.MSELoss(reduction="average")(t.z(2), t.z(2)),
    "kl_sizes": lambda t: t.nn.KLDivLoss()(t.z(2, 3), t.z(2, 4)),
    "cosine_targets": lambda t: t.nn.CosineEmbeddingLoss()(t.z(2, 3), t.z(2, 3), t.z(3)),
    "margin_sizes": lambda t: t.nn.MarginRankingLoss()(t.z(2), t.z(3), t.z(2)),
    "triplet_sizes": lambda t: t.nn.TripletMarginLoss()(t.z(2, 3), t.z(2, 4), t.z(2, 3)),
    "ctc_lengths": lambda t: t.nn.CTCLoss()(t.z(5, 2, 3), t.z(2, 2, dtype="int64"), t.i(5), t.i(2)),
    "huber_delta": lambda t: t.nn.HuberLoss(delta=0.0)(t.z(2), t.z(2)),
    # gradients
    "backward_of_vector": lambda t: net(t)(t.z(2, 4)).backward(),
    "backward_of_detached": lambda t: net(t)(t.z(2, 4)).sum().detach().backward(),
    "backward_of_number": lambda t: net(t)(t.z(2, 4)).sum().item().backward(),
    "backward_after_no_grad": lambda t: t.no_grad()(lambda: net(t)(t.z(2, 4)).sum())().backward(),
    "backward_of_argmax": lambda t: net(t)(t.z(2, 4)).argmax().backward(),
    "backward_twice": lambda t: (lambda y: after(y.backward, y.backward))(squared(t)[1]),
    "grad_after_backward": lambda t: (
        lambda x, y: after(y.backward, lambda: t.autograd.grad(y, x))
    )(*squared(t)),
    "backward_gradient_type": lambda t: (t.leaf(2) * 2).backward(2.0),
    "backward_complex": lambda t: (t.leaf(1) * 1j).backward(),
    "grad_of_non_scalar": lambda t: (lambda x: t.autograd.grad(x * 2, x))(t.leaf(2)),
    "grad_of_unrelated": lambda t: t.autograd.grad(squared(t)[1], t.leaf(3)),
    "grad_of_integers": lambda t: t.autograd.grad(squared(t)[1], t.i(1)),
    "leaf_changed": lambda t: t.leaf(3).mul_(2),
    "leaf_slice_changed": lambda t: t.leaf(3)[:2].zero_(),
    "leaf_assigned": lambda t: t.leaf(3).__setitem__(0, 1.0),
    "leaf_filled": lambda t: t.nn.Linear(1, 1).weight.fill_(1.0),
    "weight_changed_before_backward": changed_weight,
    "activation_changed": lambda t: (
        lambda y: after(lambda: y.mul_(2), lambda: y.sum().backward())
    )(t.leaf(3).sigmoid()),
    "relu_input_changed": lambda t: (lambda x: (lambda y: after(
        lambda: x.add_(1), lambda: y.sum().backward()))(x.exp() * x))(t.leaf(3) * 1),
    "unbound_changed": lambda t: (t.leaf(3) * 1).unbind()[0].add_(1),
    "expanded_changed": lambda t: t.z(1).expand(3).add_(1),
    "numpy_of_tracked": lambda t: net(t)(t.z(1, 4)).numpy(),
    "array_of_tracked": lambda t: __import__("numpy").asarray(t.leaf(2)),
    "item_of_batch": lambda t: net(t)(t.z(2, 4)).item(),
    "float_of_vector": lambda t: float(t.z(2)),
    "if_batch": lambda t: bool(t.z(2) > 0),
    "requires_grad_of_integers": lambda t: t.i(1, 2).requires_grad_(True),
    "requires_grad_of_bools": lambda t: t.tensor([True], requires_grad=True),
    "requires_grad_off_inside": lambda t: setattr(squared(t)[1], "requires_grad", False),
    "grad_of_wrong_type": lambda t: setattr(t.leaf(2), "grad", t.z(2, dtype="float64")),
    "grad_of_wrong_shape": lambda t: setattr(t.leaf(2), "grad", t.z(3)),
    "hook_of_constant": lambda t: t.z(2).register_hook(abs),
    "retain_of_constant": lambda t: t.z(2).retain_grad(),
    "function_input_changed_before_backward": changed_input,
    "function_made_an_object": lambda t: type("Own", (t.autograd.Function,), {})(),
    "detach_of_a_view": lambda t: t.ones(4).expand(2, 4).detach_(),
    "function_returns_too_many": lambda t: own_function(
        t, lambda ctx, x: x * 2, lambda ctx, g: (g, g))(t.leaf(2)).sum().backward(),
    "function_returns_too_few": lambda t: own_function(
        t, lambda ctx, x, y: x * y, lambda ctx, g: g)(t.leaf(2), t.leaf(2)).sum().backward(),
    "function_returns_wrong_shape": lambda t: own_function(
        t, lambda ctx, x: x * 2, lambda ctx, g: t.z(3))(t.leaf(2)).sum().backward(),
    "function_returns_number": lambda t: own_function(
        t, lambda ctx, x: x * 2, lambda ctx, g: 3)(t.leaf(2)).sum().backward(),
    # devices
    "cuda_call": lambda t: t.z(2).cuda(),
    "cuda_to": lambda t: t.z(2).to("cuda"),
    "cuda_module": lambda t: net(t).to("cuda"),
    "cuda_module_call": lambda t: net(t).cuda(),
    "cuda_made": lambda t: t.zeros(2, device="cuda"),
    "cuda_index": lambda t: t.zeros(2, device="cuda:1"),
    "cuda_count": lambda t: t.cuda.get_device_name(0),
    "device_unknown": lambda t: t.device("gpu"),
    "device_index_word": lambda t: t.device("cuda:first"),
    "device_number_text": lambda t: t.z(2).to("0"),
    "to_dtype_word": lambda t: t.z(2).to("float32"),
    "generator_device": lambda t: t.Generator(device="cuda"),
    # numbers, types and shapes
    "add_sizes": lambda t: t.z(2, 3) + t.z(3, 2),
    "add_list": lambda t: t.z(2) + [1, 2],
    "concatenate_list": lambda t: [t.z(2)] + t.z(2),
    "multiply_string": lambda t: t.z(2) * "a",
    "matmul_number": lambda t: t.z(2, 2) @ 3,
    "matmul_array_shape": lambda t: t.z(2, 3).matmul(t.z(2)),
    "matmul_integers": lambda t: t.z(2, 2) @ t.z(2, 2, dtype="int64"),
    "power_negative": lambda t: t.i(2, 3) ** -1,
    "divide_in_place": lambda t: t.i(2, 3).__itruediv__(2),
    "shift_floats": lambda t: t.z(2) << 1,
    "and_floats": lambda t: t.z(2) & 1,
    "not_floats": lambda t: ~t.z(2),
    "in_place_promotes": lambda t: t.i(1, 2).add_(t.z(2)),
    "in_place_wider": lambda t: t.z(2).add_(t.z(3, 2)),
    "copy_sizes": lambda t: t.z(2).copy_(t.z(3)),
    "fill_vector": lambda t: t.z(2).fill_(t.z(2)),
    "fill_beyond": lambda t: t.z(2, dtype="uint8").fill_(300),
    "mask_half_beyond": lambda t: t.z(2, dtype="float16").masked_fill(t.z(2) == 0, -1e9),
    "mask_of_integers": lambda t: t.z(2).masked_fill(t.i(0, 1), 0.0),
    "mask_size": lambda t: t.z(3).masked_fill(t.z(2) == 0, 0.0),
    "clamp_nothing": lambda t: t.z(2).clamp(),
    "where_mask": lambda t: t.where(t.z(2), t.z(2), t.z(2)),
    "where_types": lambda t: t.where(t.z(2) > 0, t.z(3), 0.0),
    "view_of_transposed": lambda t: t.z(2, 3).t().view(-1),
    "view_of_float_size": lambda t: t.z(4).view(2.0, 2),
    "reshape_text": lambda t: t.z(4).reshape("a"),
    "view_dtype": lambda t: t.z(3, dtype="uint8").view(t.float32),
    "zeros_of_floats": lambda t: t.zeros(2.5),
    "zeros_of_text": lambda t: t.zeros("a"),
    "ones_negative": lambda t: t.ones(2, -1),
    "tensor_of_nothing": lambda t: t.tensor(),
    "tensor_of_none": lambda t: t.tensor(None),
    "tensor_of_mixed": lambda t: t.tensor([1, "a"]),
    "tensor_of_tensors": lambda t: t.tensor([t.z(2), t.z(2)]),
    "tensor_of_ragged": lambda t: t.tensor([[1, 2], [3]]),
    "tensor_of_big": lambda t: t.tensor(2**70),
    "tensor_called": lambda t: t.z(2)(1),
    "tensor_deleted": lambda t: t.z(2).__delitem__(0),
    "tensor_hash_missing": lambda t: {}[t.z(2)],
    "tensor_attribute": lambda t: t.z(2).lenght,
    "function_unknown": lambda t: t.torch.softmaxx,
    "functional_unknown": lambda t: t.F.reluu,
    "module_unknown": lambda t: t.nn.Linaer,
    "sum_word": lambda t: t.z(2).sum("a"),
    "sum_axis_float": lambda t: t.z(2, 2).sum(0.5),
    "mean_of_bools": lambda t: (t.z(2) > 0).mean(),
    "max_three": lambda t: t.max(t.z(2), t.z(2), t.z(2)),
    "argmax_word": lambda t: t.z(2).argmax("a"),
    "softmax_missing": lambda t: t.softmax(t.z(2)),
    "cat_number": lambda t: t.cat(3),
    "cat_types": lambda t: t.cat((t.z(2), [1.0])),
    "stack_of_numbers": lambda t: t.stack([1, 2]),
    "stack_of_tensor": lambda t: t.stack([]),
    "split_negative": lambda t: t.z(3).split(-1),
    "repeat_negative": lambda t: t.z(3).repeat(-1),
    "expand_smaller": lambda t: t.z(3).expand(2),
    "squeeze_word": lambda t: t.z(3).squeeze("a"),
    "permute_missing": lambda t: t.z(2, 3).permute(1),
    "transpose_one": lambda t: t.z(2, 3).transpose(1),
    "index_word": lambda t: t.z(3)["x"],
    "index_floats": lambda t: t.z(3)[t.z(1)],
    "index_none_many": lambda t: t.z(3)[0, 1],
    "index_list_beyond": lambda t: t.z(3)[[0, 3]],
    "index_mask_size": lambda t: t.z(3)[t.tensor([True, False])],
    "index_assign_sizes": lambda t: t.z(3).__setitem__(slice(None), t.z(2)),
    "index_assign_mask": lambda t: t.z(3).__setitem__(t.z(3) == 0, t.z(2)),
    "range_of_tensor": lambda t: range(t.z(2)),
    "list_index": lambda t: [1, 2][t.z(1)],
    "from_numpy_number": lambda t: t.from_numpy(3),
    "from_numpy_objects": lambda t: t.from_numpy(__import__("numpy").array(["a"])),
    "from_numpy_reversed": lambda t: t.from_numpy(__import__("numpy").arange(3)[::-1]),
    "linspace_steps_float": lambda t: t.linspace(0, 1, 2.5),
    "arange_infinite": lambda t: t.arange(float("inf")),
    "randint_missing": lambda t: t.randint(3),
    "randn_text": lambda t: t.randn("a"),
    "randperm_negative": lambda t: t.randperm(-1),
    "seed_text": lambda t: t.manual_seed("x"),
    "bernoulli_beyond": lambda t: t.bernoulli(t.z(2) + 2),
    "default_dtype_integers": lambda t: t.set_default_dtype(t.int64),
    "finfo_integers": lambda t: t.finfo(t.int64),
    "iinfo_floats": lambda t: t.iinfo(t.float32),
    "solve_singular": lambda t: t.linalg.solve(t.z(2, 2), t.z(2)),
    "solve_sizes": lambda t: t.linalg.solve(t.z(2, 2) + t.eye(2), t.z(3)),
    "svd_vector": lambda t: t.linalg.svd(t.z(3)),
    "eigh_rectangular": lambda t: t.linalg.eigh(t.z(2, 3)),
    "norm_word": lambda t: t.linalg.norm(t.z(2, 2), "frob"),
    "einsum_letters": lambda t: t.einsum("ij,jk->il", t.z(2, 2), t.z(2, 2)),
    "einsum_subscript": lambda t: t.einsum("i1,ij", t.z(2, 2), t.z(2, 2)),
    # optimizers and schedules
    "optimizer_of_generator_used": lambda t: t.optim.SGD(iter([]), lr=0.1),
    "optimizer_of_numbers": lambda t: t.optim.Adam([1.0]),
    "optimizer_of_module": lambda t: t.optim.Adam(net(t)),
    "optimizer_of_non_leaf": lambda t: t.optim.Adam([t.leaf(2) * 2]),
    "optimizer_without_lr": lambda t: t.optim.SGD([{"params": []}, {"parms": []}]),
    "optimizer_group_keys": lambda t: t.optim.SGD([{"param": [t.leaf(1)]}]),
    "optimizer_keyword": lambda t: t.optim.SGD([t.leaf(1)], learning_rate=0.1),
    "optimizer_added_twice": lambda t: (
        lambda p: t.optim.SGD([p], lr=1).add_param_group({"params": [p]})
    )(t.leaf(1)),
    "optimizer_lbfgs_closure": lambda t: t.optim.LBFGS([t.leaf(1)]).step(),
    "scheduler_steps": lambda t: t.optim.lr_scheduler.StepLR(t.optim.SGD([t.leaf(1)], lr=1)),
    "scheduler_plateau": lambda t: t.optim.lr_scheduler.ReduceLROnPlateau(
        t.optim.SGD([t.leaf(1)], lr=1)
    ).step(),
    "scheduler_mode": lambda t: t.optim.lr_scheduler.ReduceLROnPlateau(
        t.optim.SGD([t.leaf(1)], lr=1), mode="least"
    ),
    "scheduler_one_cycle": lambda t: t.optim.lr_scheduler.OneCycleLR(
        t.optim.SGD([t.leaf(1)], lr=1), max_lr=1
    ),
    # state dicts and files
    "state_renamed": lambda t: net(t).load_state_dict(
        {f"module.{k}": v for k, v in net(t).state_dict().items()}
    ),
    "state_of_other": lambda t: net(t).load_state_dict(
        t.nn.Sequential(t.nn.Linear(4, 5)).state_dict()
    ),
    "state_of_module": lambda t: net(t).load_state_dict(net(t)),
    "state_of_list": lambda t: net(t).load_state_dict([]),
    "optimizer_state_of_other": lambda t: t.optim.Adam(net(t).parameters()).load_state_dict(
        t.optim.Adam(net(t)[:1].parameters()).state_dict()
    ),
    "optimizer_state_groups": lambda t: t.optim.Adam(net(t).parameters()).load_state_dict({}),
    # data
    "loader_iterated_number": lambda t: next(iter(t.data.DataLoader(range(3), batch_size=2.5))),
    "loader_batch_negative": lambda t: t.data.DataLoader([1], batch_size=-1),
    "loader_shuffle_iterable": lambda t: t.data.DataLoader(
        type("Stream", (t.data.IterableDataset,), {"__iter__": iter})(), shuffle=True
    ),
    "loader_length_iterable": lambda t: len(t.data.DataLoader(
        type("Stream", (t.data.IterableDataset,), {"__iter__": iter})()
    )),
    "iterable_without_iter": lambda t: type("Stream", (t.data.IterableDataset,), {})(),
    "loader_item_fails": lambda t: list(t.data.DataLoader(Shouting())),
    "loader_sizes": lambda t: list(t.data.DataLoader([t.z(2), t.z(3)], batch_size=2)),
    "loader_nones": lambda t: list(t.data.DataLoader([None, None])),
    "loader_objects": lambda t: list(t.data.DataLoader([object()])),
    "loader_lengths": lambda t: list(t.data.DataLoader([(1, 2), (1,)], batch_size=2)),
    "loader_keys": lambda t: list(t.data.DataLoader([{"a": 1}, {"b": 1}], batch_size=2)),
    "loader_indexed": lambda t: t.data.DataLoader([1])[0],
    "loader_exhausted": lambda t: next(iter(t.data.DataLoader([]))),
    "loader_without_length": lambda t: t.data.DataLoader(
        type("Endless", (t.data.Dataset,), {"__getitem__": lambda self, i: i})(), shuffle=True
    ),
    "dataset_index": lambda t: t.data.TensorDataset(t.z(2))[5],
    "dataset_lengths": lambda t: t.data.TensorDataset(t.z(2), t.z(3, 2)),
    "split_lengths": lambda t: t.data.random_split(range(3), [1, 1]),
    "weighted_negative": lambda t: t.data.WeightedRandomSampler([1.0], -1),
    "weighted_matrix": lambda t: t.data.WeightedRandomSampler([[1.0]], 1),
    "batch_sampler_size": lambda t: t.data.BatchSampler([1], 0, False),
}  # fmt: skip


# the text depends on how the function is written: Python's own, a list of overloads, a saved view
ANOTHER_TEXT = {
    "argmax_word", "conv_kernel_missing", "generator_device", "max_three", "randint_missing",
    "softmax_missing", "squeeze_word", "sum_axis_float", "sum_word", "tensor_of_nothing",
    "transpose_one", "weight_changed_before_backward",
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_a_mistake_in_a_script_raises_torchs_error(name: str) -> None:
    """People search for these texts."""
    if name in ANOTHER_TEXT:
        ours, theirs = error_of(CASES[name], OURS), error_of(CASES[name], THEIRS)
        assert ours is not None
        assert type(ours) is type(theirs)
    else:
        assert_raises_like_torch(CASES[name])
