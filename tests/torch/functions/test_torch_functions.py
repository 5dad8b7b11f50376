"""Functions that torch has beside nn.functional, and what asks after a tensor's nature."""

from __future__ import annotations

import pytest
import torch

import mindtorch.torch as ours
from tests.support.surface import check

QUERIES = [
    "torch.is_floating_point(x)", "torch.is_floating_point(1)", "torch.is_complex(x)",
    "torch.is_signed(x.byte())", "torch.is_conj(x)", "torch.is_neg(x)", "torch.is_inference(x)",
    "torch.is_nonzero(x[0, 0])", "torch.is_nonzero(x)", "torch.is_nonzero(x[:0])",
    "x[0, 0].is_nonzero()", "torch.is_same_size(x, x.T)", "x.is_same_size(x)",
    "torch.is_distributed(x)", "torch.is_storage(x.untyped_storage())", "torch.is_storage(x)",
    "torch.numel(x)", "torch.numel(3)", "torch.get_device(x)", "x.is_set_to(x.view(3, 4))",
    "x.is_set_to(x[1:])", "x.dense_dim(), x.sparse_dim()", "x.name", "x.volatile",
    "torch.can_cast(torch.float, torch.int)", "torch.can_cast(torch.int, torch.bool)",
    "torch.can_cast(torch.int8, torch.uint8)", "torch.can_cast(torch.uint8, torch.int8)",
    "torch.promote_types(torch.int8, torch.uint8)", "torch.promote_types(1, 2)",
    "torch.result_type(1, 2.0)", "torch.result_type(x, 1j)", "torch.result_type(x.int(), 2.5)",
    "torch.result_type(x.half(), x[0, 0])", "torch.result_type(True, 3)",
    "torch.broadcast_shapes((2, 3), (4,))", "torch.broadcast_shapes((2, 1), 3, (5, 1, 1))",
    "torch.broadcast_shapes((2, -1), 3)", "torch.broadcast_shapes()",
    "torch.broadcast_shapes((0, 1), (1, 4))",
    "torch.typename(x)", "torch.typename(3)", "torch.typename(torch.float32)",
    "torch.typename(torch.nn.Linear(1, 1))", "torch.typename(x.double())",
    "torch.get_default_device()", "torch.get_deterministic_debug_mode()",
    "torch.set_deterministic_debug_mode('x')", "torch.set_deterministic_debug_mode(5)",
    "torch.set_default_tensor_type('torch.FloatTensor')",
    "torch.compiled_with_cxx11_abi()", "torch.sparse_csc, torch.jagged, torch.sparse_bsr",
    "torch.legacy_contiguous_format",
]  # fmt: skip

VALUES = [
    "torch.softmax(x, 1)", "torch.softmax(x, 0, torch.float64)", "torch.softmax(x, 2)",
    "torch.softmax(x.int(), 0)", "x.softmax(-1)", "x.softmax(0, dtype=torch.double)",
    "torch.softmax(x, dim=1, out=torch.empty(0))",
    "torch.log_softmax(x, 0)", "x.log_softmax(1)", "torch.log_softmax(x.int(), 1)",
    "torch.combinations(v)", "torch.combinations(v, 3)", "torch.combinations(v, 2, True)",
    "torch.combinations(x)", "torch.combinations(v, -1)", "torch.combinations(v, 0)",
    "torch.combinations(v[:1])", "torch.positive(x)", "torch.positive(x > 0)", "x.positive()",
    "torch.fill(x, 2)", "torch.fill(x, x)", "torch.fill_(x, 3)", "torch.zero_(x)",
    "torch.detach(x.requires_grad_())", "torch.detach_(x.requires_grad_() * 2)",
    "torch.resize_as_(v, v[:2]).shape", "x.sum_to_size(4)", "x.sum_to_size(3, 1)",
    "x.sum_to_size(2)", "x.sum_to_size(1, 1)", "x.sum_to_size((3, 4))",
    "x.new(2).shape, x.new(2).dtype", "x.double().new([1, 2])", "x.new(v)", "x.int().new(v)",
    "x.new_empty_strided((2, 3), (1, 2)).stride()", "x.dim_order(), x.T.dim_order()",
    "v.map_(v.clone(), lambda a, b: a + b)", "v.map2_(v, v, lambda a, b, c: a * b - c)",
    "v.requires_grad_().map_(v, lambda a, b: a)", "v.resize(2)",
    "x.resize(2, 6)", "x.module_load(x * 2)", "x.record_stream(None)", "x.xpu()", "x.ipu()",
    "torch.dropout(x, 0.5, True)", "torch.dropout(x, 2.0, True)", "torch.dropout(x, 0.5, False)",
    "torch.dropout_(x, 0.5, True)", "torch.feature_dropout(x, 0.5, True)",
    "torch.alpha_dropout(x, 0.3, True)", "torch.feature_alpha_dropout(x, 0.3, True)",
    "torch.rrelu(x, 0.1, 0.3, True)", "torch.rrelu_(x, 0.1, 0.3)",
    "torch.layer_norm(x, (4,))", "torch.layer_norm(x, (2,))", "torch.layer_norm(x, [4], v[:4])",
    "torch.rms_norm(x, (4,), v[:4])", "torch.group_norm(x, 2)", "torch.group_norm(x, 2, v[:4])",
    "torch.batch_norm(x, None, None, None, None, True, 0.1, 1e-5, True)",
    "torch.batch_norm(x, None, None, None, None, False, 0.1, 1e-5, True)",
    "torch.batch_norm(x, v[:4], v[:4], v[:4].clone(), v[:4].abs(), False, 0.1, 1e-5, True)",
    "torch.instance_norm(x[None], None, None, None, None, True, 0.1, 1e-5, False)",
    "torch.embedding(x, torch.tensor([2, 0]))", "torch.embedding(x, torch.tensor([5]))",
    "torch.conv1d(x[None], torch.ones(2, 3, 2))", "torch.conv2d(x[None, None], x[None, None])",
    "torch.max_pool1d(x, 2)", "torch.avg_pool1d(x, 2)", "torch.adaptive_avg_pool1d(x[None], 2)",
    "torch.adaptive_max_pool1d(x[None], 2)", "torch.max_pool2d(x[None], 2)",
    "torch.constant_pad_nd(x, (1, 2), 3.0)", "torch.constant_pad_nd(x, (1,))",
    "torch.constant_pad_nd(x, (-1, 0))", "torch.constant_pad_nd(x + 1j, (1, 1), 1 + 2j)",
    "torch.constant_pad_nd(x, (1, 1), 1 + 2j)", "torch.constant_pad_nd(x, (1, 1), 2 + 0j)",
    "torch.constant_pad_nd(x, (1,) * 6)", "torch.constant_pad_nd(x, (1, 1), None)",
    "torch.pixel_shuffle(x.view(1, 4, 1, 3), 2)",
    "torch.channel_shuffle(x.view(1, 4, 1, 3), 2)", "torch.pdist(x)",
    "torch.cosine_similarity(x, x + 1)", "torch.pairwise_distance(x, x + 1)",
    "torch.bilinear(x, x, torch.ones(2, 4, 4))",
    "torch.binary_cross_entropy_with_logits(x, x.sigmoid())",
    "torch.binary_cross_entropy_with_logits(x, x.sigmoid(), None, v[:4], 2)",
    "torch.kl_div(x, x.softmax(1))", "torch.kl_div(x, x, 2, log_target=True)",
    "torch.hinge_embedding_loss(x, x.sign())", "torch.poisson_nll_loss(x, x, True, False, 1e-8, 0)",
    "torch.margin_ranking_loss(v, v * 2, v.sign(), 0.5, 0)",
    "torch.triplet_margin_loss(x, x + 1, x - 1, 1.0, 2.0, 1e-6, True, 0)",
    "torch.cosine_embedding_loss(x, x + 1, torch.tensor([1., -1., 1.]))",
    "torch.grid_sampler(x[None, None], torch.zeros(1, 2, 2, 2), 0, 1, True)",
    "torch.lstm_cell(x, (x, x), *(torch.ones(16, 4) * 0.1, torch.ones(16, 4) * 0.2))",
    "torch.gru_cell(x, x, torch.ones(12, 4) * 0.1, torch.ones(12, 4) * 0.2, torch.ones(12))",
    "torch.rnn_tanh_cell(x, x, torch.ones(4, 4) * 0.1, torch.ones(4, 4) * 0.2)",
    "torch.rnn_relu_cell(x, x, torch.ones(4, 4) * 0.1, torch.ones(4, 4) * 0.2)",
    "torch.native_layer_norm(x, (4,), None, None, 1e-5)", "torch.norm_except_dim(x, 2, 1)",
    "torch.norm_except_dim(x, 2, 0)", "torch.norm_except_dim(x, 2, -1)",
    "torch.native_dropout(x, 0.5, True)", "torch.native_dropout(x, 0.0, True)",
    "torch.ctc_loss(x[:, None].log_softmax(2), torch.tensor([[1]]), [3], [1])",
    "torch.ctc_loss(x[:, None].log_softmax(2), torch.tensor([[1]]), [3], [1], 0, 0)",
    "torch.affine_grid_generator(torch.ones(1, 2, 3), (1, 1, 2, 2), False)",
]  # fmt: skip


@pytest.mark.parametrize("code", QUERIES + VALUES)
def test_a_name_of_torchs_does_what_it_does_there(code: str) -> None:
    """Value, dtype, shape, error type and text, and warnings of one call."""
    torch.set_warn_always(True)  # some warnings of torch's come once in a process otherwise
    try:
        check(code)
    finally:
        torch.set_warn_always(False)


def test_gradients_go_through_the_functions() -> None:
    """The functions are compositions of ops: their gradients are torch's."""
    for code in (
        "torch.softmax(x, 1)[:, 0]", "x.log_softmax(0)[0]", "torch.combinations(x[0])[:, 1]",
        "torch.layer_norm(x, (4,))[0] ** 3", "torch.kl_div(x, x.softmax(1), 1)",
        "x.sum_to_size(3, 1) ** 2",
    ):  # fmt: skip
        check(f"torch.autograd.grad(({code}).sum(), x)", "x.requires_grad_()", rtol=1e-5)


def test_debug_modes_are_torchs() -> None:
    """The mode's number says what use_deterministic_algorithms was told."""
    for namespace in (ours, torch):
        namespace.set_deterministic_debug_mode("warn")
        assert namespace.get_deterministic_debug_mode() == 1
        namespace.set_deterministic_debug_mode(2)
        assert namespace.are_deterministic_algorithms_enabled()
        namespace.set_deterministic_debug_mode("default")
        assert namespace.get_deterministic_debug_mode() == 0
        namespace.autograd.set_detect_anomaly(False)
        namespace.set_anomaly_enabled(True, False)
        found = namespace.is_anomaly_enabled(), namespace.is_anomaly_check_nan_enabled()
        namespace.set_anomaly_enabled(False)
        assert found == (True, False)


def test_denormals_are_flushed_where_the_answer_says_so() -> None:
    """set_flush_denormal answers whether the processor can, as torch's does."""
    assert ours.set_flush_denormal(False) is torch.set_flush_denormal(False)
    assert (ours.tensor([1e-40]) * 1).item() > 0
    try:
        flushed = ours.set_flush_denormal(True)
        assert ((ours.tensor([1e-40]) * 1).item() == 0) is flushed
    finally:
        ours.set_flush_denormal(False)
    assert (ours.tensor([1e-40]) * 1).item() > 0


def test_a_base_may_be_written_to_after_its_view() -> None:
    """Writing through a view keeps nothing that a later write to the base would spoil."""
    check(
        "(lambda y: (y[0].mul_(3), y.add_(1), torch.autograd.grad(y.sum(), x))[2])(x * 2)",
        "x.requires_grad_()",
    )


def test_a_gradient_that_shares_elements_is_not_written_through() -> None:
    """The expanded gradient of a sum keeps its ones where a view of the base was overwritten."""
    check(
        "(lambda y: (y[0].mul_(3), torch.autograd.grad(y.sum(), x))[1])(x * 2)",
        "x.requires_grad_()",
    )


@pytest.mark.parametrize("backends", [
    "MATH", "FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION",
])  # fmt: skip
def test_kernels_of_attention_can_be_chosen(backends: str) -> None:
    """Where PyTorch's CPU has none of the allowed kernels, both refuse."""
    prepare = (
        "import importlib; A = importlib.import_module(torch.__name__ + '.nn.attention')\n"
        "def run(b, s=(1, 3)):\n    with A.sdpa_kernel(b):\n"
        "        return F.scaled_dot_product_attention(*[x.view(1, *s, 4)] * 3)\n"
    )
    check(f"run(A.SDPBackend.{backends})", prepare)
    check(f"run([A.SDPBackend.{backends}, A.SDPBackend.MATH])", prepare)
    check("run([])", prepare)
    check("run(3)", prepare)
    check("F.scaled_dot_product_attention(x[None], x[None], x[None])", prepare)


def test_flash_attention_alone_wants_four_axes() -> None:
    """As in PyTorch, which also warns why."""
    attention = ours.nn.attention
    x = ours.ones(3, 2, 4)
    with (
        attention.sdpa_kernel(attention.SDPBackend.FLASH_ATTENTION),
        pytest.raises(RuntimeError, match="No available kernel"),
    ):
        ours.nn.functional.scaled_dot_product_attention(x, x, x)
