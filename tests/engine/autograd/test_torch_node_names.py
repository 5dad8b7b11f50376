"""What ``print(loss)`` says: the names PyTorch gives to nodes."""

from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.torch.nn import functional as F  # noqa: N812

X = torch.ones(2, 3, requires_grad=True)
FORMS = {  # forms of a function that has other nodes above
    "SumBackward1": lambda: X.sum((0, 1)),
    "ClampBackward0": lambda: X.clamp(X.detach(), X.detach()),
    "MeanBackward1": lambda: F.adaptive_avg_pool2d(X[None], 1),
    "SqueezeBackward1": lambda: F.max_pool1d(X, 2),
    "ConvolutionBackward0": lambda: F.conv_transpose1d(X[None], X[..., None], X[0]),
    "LinalgLuBackward0": lambda: torch.linalg.lu(X)[1],
    "LinalgLuSolveBackward0": lambda: torch.linalg.lu_solve(
        torch.eye(2), torch.tensor([1, 2], dtype=torch.int32), X),
    "RoundBackward1": lambda: X.double().round(decimals=2),
    "LerpBackward1": lambda: X.lerp(X, X.detach()),
    "MaskedFillBackward1": lambda: X.masked_fill(X > 0, torch.tensor(1.0)),
    "SortBackward1": lambda: X.sort(stable=True)[0],
    "PolygammaBackward0": lambda: torch.polygamma(2, X),
}
NAMES = {
    "RemainderBackward0": lambda: X % 2,
    "RemainderBackward1": lambda: X % X.detach(),
    "ClampBackward1": lambda: X.clamp(0, 1),
    "NansumBackward0": lambda: X.nansum(1),
    "VarMeanBackward0": lambda: torch.var_mean(X)[1],
    "AminmaxBackward0": lambda: X.aminmax()[0],
    "MedianBackward0": lambda: X.median(),
    "CeluBackward0": lambda: F.celu(X),
    "RreluWithNoiseBackward0": lambda: F.rrelu(X, training=True),
    "FftC2RBackward0": lambda: torch.fft.irfft(X),
    "FftC2CBackward0": lambda: torch.fft.fft(X * 1j),
    "SpecialI0EBackward0": lambda: torch.special.i0e(X),
    "SpecialEntrBackward0": lambda: torch.special.entr(X),
    "CdistBackward0": lambda: torch.cdist(X, X.detach()),
    "LinalgCrossBackward0": lambda: torch.linalg.cross(X, X),
    "ReflectionPad1DBackward0": lambda: F.pad(X, (1, 1), "reflect"),
    "ReplicationPad2DBackward0": lambda: F.pad(X[None], (1, 1, 1, 1), "replicate"),
    "Im2ColBackward0": lambda: F.unfold(X[None, None], 2),
    "MaxUnpool2DBackward0": lambda: F.max_unpool2d(
        X[None], torch.arange(6).view(1, 2, 3), 1),
    "EmbeddingBagBackward0": lambda: F.embedding_bag(torch.tensor([[0, 1]]), X),
    "MultiMarginLossBackward0": lambda: F.multi_margin_loss(X, torch.tensor([0, 1])),
    "SumBackward0": lambda: X.sum(),
    "SumBackward1": lambda: X.sum(1),
    "MeanBackward1": lambda: X.mean(0),
    "MaxBackward1": lambda: X.max(),
    "PowBackward0": lambda: X**2,
    "PowBackward1": lambda: X**X,
    "PowBackward2": lambda: 2**X,
    "RsubBackward1": lambda: 1 - X,
    "SubBackward0": lambda: X - 1,
    "StackBackward0": lambda: torch.stack([X, X]),
    "BmmBackward0": lambda: torch.bmm(X[None], X.T[None]),
    "MmBackward0": lambda: X @ X.T,
    "AddmmBackward0": lambda: F.linear(X, X, X[:, 0]),
    "MaxPool2DWithIndicesBackward0": lambda: F.max_pool2d(X[None, None], 2),
    "MseLossBackward0": lambda: F.mse_loss(X, X.detach()),
    "SmoothL1LossBackward0": lambda: F.smooth_l1_loss(X, X.detach()),
    "HuberLossBackward0": lambda: F.huber_loss(X, X.detach()),
    "NllLossBackward0": lambda: F.nll_loss(X, torch.tensor([0, 1])),
    "BinaryCrossEntropyBackward0": lambda: F.binary_cross_entropy(X.sigmoid(), X.detach()),
    "TBackward0": lambda: X.t(),
    "TransposeBackward0": lambda: X.mT,
    "PermuteBackward0": lambda: X.T,
    "SqueezeBackward1": lambda: X.squeeze(0),
    "SqueezeBackward2": lambda: X.squeeze((0, 1)),
    "RepeatBackward0": lambda: X.tile(2),
    "RollBackward0": lambda: X.roll(1),
    "Rot90Backward0": lambda: X.rot90(),
    "ClampMinBackward0": lambda: X.clamp_min(0),
    "ClampMaxBackward1": lambda: X.clamp_max(X.detach()),
    "TraceBackward0": lambda: X.trace(),
    "DistBackward0": lambda: X.dist(X.detach()),
    "MvBackward0": lambda: X @ X[0],
    "DotBackward0": lambda: X[0] @ X[1],
    "UnsafeViewBackward0": lambda: X[None] @ X.t(),
    "GluBackward0": lambda: F.glu(X, 0),
    "PixelShuffleBackward0": lambda: F.pixel_shuffle(X.view(1, 1, 2, 3), 1),
    "UpsampleNearestExact2DBackward0":
        lambda: F.interpolate(X[None, None], scale_factor=2, mode="nearest-exact"),
    "UpsampleBilinear2DBackward0":
        lambda: F.interpolate(X[None, None], scale_factor=2, mode="bilinear"),
    "GridSampler2DBackward0":
        lambda: F.grid_sample(X[None, None], torch.zeros(1, 2, 2, 2), align_corners=False),
    "AdaptiveMaxPool2DBackward0": lambda: F.adaptive_max_pool2d(X[None, None], 1),
    "NllLoss2DBackward0":
        lambda: F.cross_entropy(X[None, :, None], torch.zeros(1, 1, 3, dtype=torch.int64)),
    "AddBackward0":
        lambda: F.cross_entropy(X, torch.tensor([0, 1]), label_smoothing=0.1),
    "ScaledDotProductFlashAttentionForCpuBackward0":
        lambda: F.scaled_dot_product_attention(X[None, None], X[None, None], X[None, None]),
    "FftR2CBackward0": lambda: torch.fft.rfft(X),
    "MkldnnRnnLayerBackward0": lambda: torch.nn.LSTM(3, 2)(X[None])[0],
    "TransposeBackward1": lambda: torch.nn.GRU(3, 2, batch_first=True)(X[None])[0],
    "CatBackward0": lambda: torch.nn.RNN(3, 2, bidirectional=True)(X[None])[0],
    "BinaryCrossEntropyWithLogitsBackward0":
        lambda: F.binary_cross_entropy_with_logits(X, X.detach()),
}  # fmt: skip


@pytest.mark.parametrize(("name", "call"), [*NAMES.items(), *FORMS.items()])
def test_a_node_has_the_name_of_the_op_that_computes_it_in_torch(name: str, call: Any) -> None:
    """Losses are printed with it; here several ops, or one with several forms, compute them."""
    result = call()
    assert result.grad_fn.name() == name
    assert type(result.grad_fn).__name__ == name
    assert f"grad_fn=<{name}>" in repr(result)


def test_the_exponent_of_a_power_is_told() -> None:
    """`grad_fn._saved_exponent`, as in PyTorch's tutorial on saved tensors; 2 is a square here."""
    assert (X.pow(2).grad_fn._saved_exponent, X.pow(3.5).grad_fn._saved_exponent) == (2, 3.5)
