"""Autocast and GradScaler: types by torch's lists, values within the lower precision's rounding."""

from __future__ import annotations

import io
import pickle
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from mindtorch.engine.op import OPS
from mindtorch.engine.transforms import autocast as engine
from tests.support.surface import check, quiet

PREPARE = """
torch.manual_seed(0)
x = torch.randn(3, 4); v = torch.randn(4); b = torch.randn(2, 3, 4); h = x.bfloat16()
sq = torch.randn(4, 4); sq = sq @ sq.T + torch.eye(4); idx = torch.tensor([0, 2, 1])
pd = x.double()
"""
# half an ulp of bfloat16 for the rounding of each input, of an intermediate and of the result
BF16 = 4 * 2.0**-8

LOWER = [
    "x @ x.T", "torch.mm(x, x.T)", "torch.mm(x, x.T.bfloat16())", "torch.matmul(x, v)",
    "torch.bmm(b, b.mT)", "torch.addmm(x[:, :3], x, x.T)", "torch.baddbmm(b[:, :, :3], b, b.mT)",
    "torch.addbmm(x[:, :3], b, b.mT)", "torch.einsum('ij,kj->ik', x, x)",
    "torch.tensordot(x, x.T, 1)", "torch.inner(x, x)", "F.linear(x, x, v[:3])",
    "F.conv1d(b, torch.ones(2, 3, 2))", "F.conv2d(b[None], torch.ones(2, 2, 2, 2), v[:2])",
    "F.conv_transpose1d(b, torch.ones(3, 2, 2))", "F.prelu(x, v[:1])", "torch.prelu(x, v[:1])",
    "F.scaled_dot_product_attention(b, b, b)", "torch.linalg.vecdot(v, v)",
    "F.scaled_dot_product_attention(b, b, b, torch.zeros(3, 3))", "F.relu(x @ x.T)",
    "torch.linalg.multi_dot([x, x.T])", "torch.matrix_power(sq, 2)",
]  # fmt: skip
FULL = [
    "F.mse_loss(h, h * 2)", "F.l1_loss(h, h * 2)", "F.smooth_l1_loss(h, h * 2)",
    "F.huber_loss(h, h * 2)", "F.cross_entropy(h, idx)", "F.nll_loss(h, idx)",
    "F.binary_cross_entropy(h.sigmoid(), h.sigmoid())", "F.kl_div(h, h.sigmoid(), reduction='sum')",
    "F.binary_cross_entropy_with_logits(h, h.sigmoid())", "F.poisson_nll_loss(h, h)",
    "F.cosine_embedding_loss(h, h, idx.sign())", "F.triplet_margin_loss(h, h + 1, h - 1)",
    "F.margin_ranking_loss(h, h, h)", "F.hinge_embedding_loss(h, h.sign())",
    "F.soft_margin_loss(h, h.sign())", "F.multi_margin_loss(h, idx)", "torch.prod(h)", "h.prod(1)",
    "torch.trace(h)", "torch.cdist(h, h)", "torch.linalg.inv(sq.bfloat16())",
    "torch.linalg.solve(sq.bfloat16(), v.bfloat16())", "torch.inverse(sq.bfloat16())",
    "torch.linalg.svdvals(h)", "F.avg_pool3d(b[None, None].bfloat16(), 2)",
    "F.max_pool3d(b[None, None].bfloat16(), 2)", "F.pad(h, (1, 1), 'reflect')",
    "F.adaptive_avg_pool3d(b[None, None].bfloat16(), 1)",
    "F.pad(b.bfloat16(), (1, 1), 'replicate')",
    "F.grid_sample(b[None].bfloat16(), torch.zeros(1, 2, 2, 2), align_corners=False)",
]  # fmt: skip
OTHERS = [
    "torch.mv(x, v)", "torch.dot(v, v)", "torch.inner(v, v)", "torch.outer(v, v)",
    "torch.addmv(v[:3], x, v)", "F.gaussian_nll_loss(h, h, h.abs())", "h.sum()", "h.mean()",
    "F.softmax(h, 1)", "F.layer_norm(h, (4,))", "F.pad(h, (1, 1))", "F.embedding(idx, x)",
    "F.cosine_similarity(h, h)", "F.normalize(h)", "torch.linalg.norm(v)", "pd @ pd.T",
    "pd @ x.T", "F.linear(pd, pd)", "F.avg_pool2d(b.bfloat16(), 2)", "F.multilabel_soft_margin_loss"
    "(h, h.sigmoid())", "F.bilinear(x, x, torch.ones(2, 4, 4))", "x.clone().addmm_(x, sq)",
    "torch.cat([h, x])", "torch.cat([h, h])", "torch.stack([x, x])", "torch.stack([h, x])",
    "torch.cat([h, pd])", "torch.cat([idx, idx])", "torch.index_copy(x, 0, idx, h)",
]  # fmt: skip


@pytest.mark.parametrize("code", LOWER + FULL + OTHERS)
def test_types_and_values_are_torchs(code: str) -> None:
    """The result's type is that of torch's list, its value within rounding of torch's."""
    check(f"torch.autocast('cpu')(lambda: {code})()", PREPARE, rtol=BF16)


LAYERS = [
    "torch.nn.Linear(4, 2)(x)", "torch.nn.Sequential(torch.nn.Linear(4, 4), torch.nn.LayerNorm(4),"
    "torch.nn.ReLU(), torch.nn.Linear(4, 2))(x)", "torch.nn.BatchNorm1d(4)(torch.nn.Linear(4, 4)"
    "(x))", "torch.nn.TransformerEncoderLayer(4, 2, 8, 0.0, batch_first=True)(b)",
    "torch.nn.Conv1d(3, 2, 2)(b)", "torch.nn.GRU(4, 3, batch_first=True)(b)[0]",
]  # fmt: skip


@pytest.mark.parametrize("code", LAYERS)
def test_layers_run_in_autocast(code: str) -> None:
    """Whole layers: the types between ops fit together as in torch."""
    check(f"torch.autocast('cpu')(lambda: {code})()", PREPARE, rtol=2 * BF16)


def test_gradients_have_the_types_of_the_parameters() -> None:
    """Casts are recorded: a float32 parameter gets a float32 gradient, near torch's."""
    code = (
        "(lambda m: (torch.autocast('cpu')(lambda: F.mse_loss(m(x), x[:, :2]))().backward(),"
        "m[0].weight.grad, m[2].bias.grad))(torch.nn.Sequential(torch.nn.Linear(4, 5),"
        "torch.nn.Tanh(), torch.nn.Linear(5, 2)))[1:]"
    )
    check(code, PREPARE, rtol=2 * BF16)


def test_float16_is_a_lower_precision_too() -> None:
    """dtype= chooses; what is no lower precision warns and disables."""
    check("torch.autocast('cpu', dtype=torch.float16)(lambda: x @ x.T)()", PREPARE, rtol=2**-9)
    check("torch.autocast('cpu', dtype=torch.float32)(lambda: x @ x.T)()", PREPARE)


def test_blocks_nest() -> None:
    """enabled=False in a block is float32 again; what was before comes back, and costs nothing."""
    x = ours.ones(2, 2)
    plain = type(OPS["matmul"])
    with ours.autocast("cpu"):
        assert (x @ x).dtype is ours.bfloat16 and ours.is_autocast_enabled("cpu")
        with ours.autocast("cpu", enabled=False):
            assert (x @ x).dtype is ours.float32
            with ours.autocast("cpu", ours.float16):
                assert (x @ x).dtype is ours.float16
        assert (x @ x).dtype is ours.bfloat16
    assert (x @ x).dtype is ours.float32 and type(OPS["matmul"]) is plain
    assert not ours.is_autocast_enabled("cpu") and engine.state.nesting == 0


def test_an_error_in_a_block_restores_what_was() -> None:
    """Leaving by an exception ends autocast."""
    with pytest.raises(RuntimeError), ours.autocast("cpu"):
        ours.ones(2, 3) @ ours.ones(2, 3)
    assert (ours.ones(1, 1) @ ours.ones(1, 1)).dtype is ours.float32


def test_other_threads_are_not_cast() -> None:
    """Autocast is of a thread."""
    import threading

    found: list[Any] = []
    with ours.autocast("cpu"):
        thread = threading.Thread(
            target=lambda: found.append((ours.ones(1, 1) @ ours.ones(1, 1)).dtype)
        )
        thread.start()
        thread.join()
    assert found == [ours.float32]


def test_casts_of_parameters_are_kept_in_a_block() -> None:
    """A parameter is cast once in a block; after a write, or for gradients, anew."""
    weight = ours.ones(2, 2, requires_grad=True)
    x = ours.ones(2, 2)
    with ours.autocast("cpu"):
        x @ weight
        x @ weight
        assert len(engine.state.cache) == 1
        with ours.no_grad():
            x @ weight
            weight.mul_(2)
        assert (x @ weight)[0, 0].item() == 4
        (x @ weight).sum().backward()
    assert weight.grad is not None and not engine.state.cache
    with ours.autocast("cpu", cache_enabled=False):
        x @ weight
        assert not engine.state.cache


QUERIES = [
    "torch.autocast('foo')", "torch.autocast(3)", "torch.autocast('meta')",
    "torch.autocast('cuda')._enabled", "torch.autocast('cpu', dtype=torch.float64).fast_dtype",
    "torch.autocast('mps').fast_dtype", "torch.autocast()",
    "torch.is_autocast_enabled('cpu'), torch.is_autocast_enabled()",
    "torch.get_autocast_dtype('cpu'), torch.get_autocast_dtype('cuda')",
    "torch.is_autocast_cache_enabled()", "torch.is_autocast_cpu_enabled()",
    "torch.get_autocast_cpu_dtype()", "torch.get_autocast_gpu_dtype()",
    "torch.amp.is_autocast_available('cpu')", "torch.amp.is_autocast_available('foo')",
    "torch.cpu.amp.autocast()._enabled", "torch.amp.custom_fwd(device_type=3)",
    "torch.amp.GradScaler('cuda').is_enabled()", "torch.cpu.amp.GradScaler().is_enabled()",
    "torch.amp.GradScaler('cpu', growth_factor=0.5)", "torch.amp.GradScaler('cpu').update()",
    "torch.amp.GradScaler('cpu', backoff_factor=1.5)", "torch.amp.GradScaler('cpu').state_dict()",
    "torch.amp.GradScaler('cpu').scale(torch.ones(2))", "torch.amp.GradScaler('cpu').scale(3)",
    "torch.amp.GradScaler('cpu').scale([torch.ones(1), (torch.ones(1),)])",
    "torch.amp.GradScaler('cpu').scale(torch.ones(1).half())",
    "torch.amp.GradScaler('cpu').load_state_dict({})",
    "torch.amp.GradScaler('cpu', enabled=False).state_dict()",
    "torch.amp.GradScaler('cpu', enabled=False).scale(3)",
]  # fmt: skip


@pytest.mark.parametrize("code", QUERIES)
def test_questions_are_answered_as_torch_does(code: str) -> None:
    """Answers, warnings and errors."""
    check(code)


def _function(namespace: Any, inputs: Any) -> Any:
    class Product(namespace.autograd.Function):
        @staticmethod
        @namespace.amp.custom_fwd(device_type="cpu", cast_inputs=inputs)
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a @ a.t()

        @staticmethod
        @namespace.amp.custom_bwd(device_type="cpu")
        def backward(ctx: Any, g: Any) -> Any:
            (a,) = ctx.saved_tensors
            ctx_used.append(str((a @ a.t()).dtype))
            return (g.to(a.dtype) + g.t().to(a.dtype)) @ a

    ctx_used: list[str] = []
    x = namespace.ones(2, 2, requires_grad=True)
    with namespace.autocast("cpu"):
        y = Product.apply(x)
    y.float().sum().backward()
    return str(y.dtype), ctx_used, x.grad.tolist(), str(x.grad.dtype)


@pytest.mark.parametrize("returned", [
    "torch.ones(3)", "torch.ones(2, 3, 3)", "torch.ones(5, 2, 3)", "torch.ones(2, 1)", "3",
    "torch.ones(2, 3).double()", "torch.ones(2, 3).int()", "torch.ones(6)",
])  # fmt: skip
def test_gradients_of_functions_are_fitted(returned: str) -> None:
    """What a function's backward returns is summed and cast to the input, or refused."""
    check(
        "(P.apply(x).sum().backward(), x.grad)[1]",
        "x = torch.ones(2, 3, requires_grad=True)\n"
        "class P(torch.autograd.Function):\n"
        "    forward = staticmethod(lambda ctx, a: a * 2)\n"
        f"    backward = staticmethod(lambda ctx, g: {returned})\n",
    )


@pytest.mark.parametrize("name", [None, "float32", "float16"])
def test_custom_functions_run_backward_as_forward(name: str | None) -> None:
    """custom_bwd runs with autocast as custom_fwd found it; cast_inputs runs without it."""
    mine, theirs = (
        _function(namespace, None if name is None else getattr(namespace, name))
        for namespace in (ours, torch)
    )
    assert mine == theirs


def _training(namespace: Any) -> Any:
    weight = namespace.ones(2, requires_grad=True)
    optimizer = namespace.optim.SGD([weight], lr=0.5)
    scaler = namespace.amp.GradScaler("cpu", init_scale=4.0, growth_interval=2)
    told = []
    for factor in (1.0, 2.0, float("inf"), 1.0, float("nan"), 1.0, 1.0):
        optimizer.zero_grad()
        scaler.scale((weight * factor).sum()).backward()
        if factor == 2.0:
            scaler.unscale_(optimizer)
            namespace.nn.utils.clip_grad_norm_([weight], 1.0)
        scaler.step(optimizer)
        scaler.update()
        told.append((scaler.state_dict(), weight.tolist()))
    return told


def test_scaling_steps_as_torch_does() -> None:
    """Scale, counter and parameters after every step, with infinities and NaNs on the way."""
    mine, theirs = _training(ours), _training(torch)
    assert [state for state, _ in mine] == [state for state, _ in theirs]
    for (_, m), (_, t) in zip(mine, theirs, strict=True):
        assert m == pytest.approx(t, rel=1e-6)


def test_scalers_refuse_wrong_order() -> None:
    """Unscaling or stepping twice, and updating without a step."""
    for namespace in (ours, torch):
        weight = namespace.ones(2, requires_grad=True)
        optimizer = namespace.optim.SGD([weight], lr=0.5)
        scaler = namespace.amp.GradScaler("cpu")
        scaler.scale(weight.sum()).backward()
        with pytest.raises(AssertionError, match="No inf checks"):
            scaler.update()
        scaler.unscale_(optimizer)
        with pytest.raises(RuntimeError, match="already been called on this optimizer"):
            scaler.unscale_(optimizer)
        with pytest.raises(AssertionError, match="may only be pickled"):
            pickle.dumps(scaler)
        scaler.step(optimizer)
        with pytest.raises(RuntimeError, match=r"step\(\) has already been called"):
            scaler.step(optimizer)
        with pytest.raises(RuntimeError, match=r"being called after step"):
            scaler.unscale_(optimizer)
        scaler.update(8.0)
        assert scaler.get_scale() == 8.0


def test_scalers_are_saved() -> None:
    """state_dict through torch.save, and pickle, give the same scale back."""
    scaler = ours.amp.GradScaler("cpu", init_scale=8.0)
    scaler.scale(ours.ones(1))
    scaler.update(2.0)
    buffer = io.BytesIO()
    ours.save(scaler.state_dict(), buffer)
    buffer.seek(0)
    other = ours.amp.GradScaler("cpu")
    other.load_state_dict(ours.load(buffer))
    assert other.get_scale() == 2.0
    assert pickle.loads(pickle.dumps(scaler)).get_scale() == 2.0


def test_old_names_warn_and_work() -> None:
    """torch.cuda.amp and torch.cpu.amp: the deprecation is told, the block works."""
    with pytest.warns(FutureWarning, match=r"torch\.cpu\.amp\.autocast"):
        block = ours.cpu.amp.autocast()
    with block:
        assert (ours.ones(1, 1) @ ours.ones(1, 1)).dtype is ours.bfloat16
    with quiet():
        with ours.cuda.amp.autocast():
            assert (ours.ones(1, 1) @ ours.ones(1, 1)).dtype is ours.float32
        assert ours.cuda.amp.GradScaler().state_dict() == {}


def test_autocast_can_be_switched_on_for_good() -> None:
    """set_autocast_enabled outside of any block."""
    ours.set_autocast_enabled("cpu", True)
    try:
        assert (ours.ones(1, 1) @ ours.ones(1, 1)).dtype is ours.bfloat16
    finally:
        ours.set_autocast_enabled("cpu", False)
    assert (ours.ones(1, 1) @ ours.ones(1, 1)).dtype is ours.float32


@pytest.mark.parametrize("name", ["LSTM", "GRU"])
def test_packed_sequences_are_taken_by_recurrent_layers(name: str) -> None:
    """A named tuple among the arguments stays one when it is cast."""
    found = []
    for library in (torch, ours):
        library.manual_seed(0)
        net, x = getattr(library.nn, name)(3, 4, bidirectional=True), library.randn(5, 2, 3)
        packed = library.nn.utils.rnn.pack_padded_sequence(x, library.tensor([5, 3]))
        with library.autocast("cpu", dtype=library.bfloat16):
            made = net(packed)[0]
        found.append((str(made.data.dtype), made.batch_sizes.tolist(), made.data.detach().numpy()))
    assert found[0][:2] == found[1][:2]
    np.testing.assert_allclose(found[0][2], found[1][2], rtol=0, atol=BF16)
