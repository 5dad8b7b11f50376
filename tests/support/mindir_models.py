"""Models, small ones, whose ops are written to MindIR: for tests, and to be run by MindSpore.

    python -m tests.support.mindir_models FOLDER      # here: NAME.mindir and NAME.npz for each
    python tests/programs/mindir_in_mindspore.py FOLDER   # where mindspore 2.10 is installed
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch.mindspore as ms
import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor
from mindtorch.torch import nn

F = nn.functional


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, *args: Any) -> Any:
        return self.function(*args)


class Branches(nn.Module):
    """Choices that tensors make: parameters, results of others, branches within branches, each kind
    of result, and numbers that are none in the branch that is not chosen."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Linear(6, 3), nn.Linear(6, 3)

    def forward(self, *args: Any) -> Any:
        return [y for x in args for y in self.choose(x)]

    def choose(self, x: Any) -> list[Any]:
        z, positive = x * 2, x.mean() > -1

        def deep(x: Any) -> Any:
            return torch.cond(x[0, 0] > 0, lambda x: self.a(x) + z[:, :3], self.b, (x,))

        one, two = torch.cond(
            positive, lambda x, z: (z.exp().sum(1), x > 0), lambda x, z: (x[:, 1], z > x), (x, z)
        )
        return [
            torch.cond(positive, deep, lambda x: self.b(x).tanh(), (x,)), one, two,
            torch.cond(positive, lambda x: (x + 9).sqrt(), lambda x: (-x).log(), (x,)),
            torch.cond(positive[None], lambda x: x.long(), lambda x: x.long() // 2, (x,)),
            torch.cond(positive, lambda x: {"y": x.half()}, lambda x: {"y": -x.half()}, (x,))["y"],
        ]  # fmt: skip


OF_ONE = ("relu exp log sqrt sigmoid tanh erf floor ceil round sin cos tan acos asin atan sinh "
          "cosh asinh reciprocal abs neg sign isnan isinf rsqrt square log1p log2 expm1 erfc trunc "
          "frac isfinite logical_not").split()  # fmt: skip
LAYERS = ("ReLU LeakyReLU ELU SELU GELU SiLU Mish Hardtanh Hardsigmoid Hardswish Softplus Softsign "
          "Softshrink Hardshrink LogSigmoid PReLU ReLU6").split()  # fmt: skip
OF_TWO = ("add sub mul div pow maximum minimum eq ne lt le gt ge floor_divide remainder fmod "
          "logical_and atan2 hypot").split()  # fmt: skip
REDUCED = "sum mean amax amin prod any all logsumexp var std argmax argmin".split()


def models() -> dict[str, tuple[Any, tuple[Any, ...]]]:
    """{name: (model, arguments)}."""
    torch.manual_seed(0)
    x, v, p = torch.randn(2, 3, 8, 8), torch.randn(4, 6), torch.rand(4, 6) * 0.8 + 0.1
    i, other = torch.tensor([2, 0, 3]), torch.rand(6) + 0.3
    found: dict[str, tuple[Any, tuple[Any, ...]]] = {
        "of_one": (Of(lambda x: [getattr(torch, name)(x) for name in OF_ONE]), (p,)),
        "of_two": (Of(lambda x, y: [getattr(torch, name)(x, y) for name in OF_TWO]), (p, other)),
        "layers": (nn.ModuleList([getattr(nn, name)() for name in LAYERS]), (v * 3,)),
        "gelu_tanh": (nn.GELU(approximate="tanh"), (v,)),
        "chosen": (Of(lambda x: (torch.where(x > 0, x, x * 2), x.masked_fill(x > 0, 1.5),
                                 x.clamp(-0.5, 0.5))), (v,)),
        "whole": (Of(lambda x: (x // 2, x % 3, x * 2, x.float() / 2)), (torch.arange(6) - 2,)),
        "types": (Of(lambda x: (x.int(), x.long(), (x > 0).float(), x.bool())), (v * 3,)),
        "shapes": (Of(lambda x: (
            x.reshape(2, -1), x.permute(0, 2, 3, 1).contiguous(), x[:, 0], x[:, :, 1:5:2],
            x[..., None], x.flatten(1), x[:, -1:], x.transpose(1, 2).squeeze(),
            x[:, None].expand(2, 4, 3, 8, 8) + 1, x.flip(1), x.roll(2, 1), x.repeat(1, 2, 1, 1),
        )), (x,)),
        "joined": (Of(lambda x: (
            torch.cat([x, x * 2], 1), torch.stack([x, x], 0), *x.split(2, 1), *x.split([1, 5], 1),
            *x.unbind(0),
        )), (v,)),
        "padded": (Of(lambda x: (F.pad(x, (1, 2)), F.pad(x, (1, 1, 2, 0), value=3.0),
                                 F.pad(x, (-1, 1)), x.tril(), x.triu(1))), (v,)),
        "picked": (Of(lambda x, i: (x[i], x.index_select(1, i), x[i, i],
                                    x.gather(1, i[None].expand(4, 3)))), (v, i)),
        "embedding": (nn.Embedding(5, 3), (i,)),
        "reduced": (Of(lambda x: [y for name in REDUCED for y in (
            getattr(torch, name)(x, 1), getattr(torch, name)(x, 1, keepdim=True)
        )] + [x.sum(), x.mean(), *x.max(1), *x.min(0), x.norm(dim=1), x.norm(p=1, dim=1)]), (p,)),
        "sorted": (Of(lambda x: (*x.topk(2), *x.sort(-1), x.cumsum(1))), (v,)),
        "products": (Of(lambda x, y: (
            x @ y, x[0] @ y, x @ y[:, 0], x[None].expand(2, 4, 6) @ y, x[None] @ y[None],
            x[0] @ y[:, 0], torch.einsum("ij,kj->ik", x, x),
        )), (v, torch.randn(6, 5))),
        "linear": (nn.Linear(6, 3), (v[None],)),
        "convolutions": (nn.Sequential(
            nn.Conv2d(3, 6, 3, 2, 1), nn.BatchNorm2d(6), nn.ReLU(),
            nn.Conv2d(6, 6, 3, 1, (2, 1), groups=3, dilation=2),
        ), (x,)),
        "conv1d": (nn.Conv1d(3, 4, 3, padding=1), (x[:, :, 0].contiguous(),)),
        "transposed": (nn.Sequential(nn.ConvTranspose2d(3, 4, 3, 2, 1, output_padding=1),
                                     nn.ConvTranspose2d(4, 2, 2, 2)), (x,)),
        "volumes": (nn.Sequential(
            nn.Conv3d(2, 4, 3, 2, (1, 0, 1), groups=2), nn.ReLU(), nn.MaxPool3d(2, 1),
            nn.ConvTranspose3d(4, 4, 2, 2, output_padding=(1, 0, 1), groups=2),
            nn.AvgPool3d(2, ceil_mode=True), nn.ConvTranspose3d(4, 2, 3, 1, 1, bias=False),
        ), (torch.randn(2, 2, 6, 7, 8),)),
        "rows": (nn.Sequential(
            nn.ConvTranspose1d(3, 4, 3, 2, 1, output_padding=1), nn.MaxPool1d(3, 2, 1),
            nn.AvgPool1d(3, 2, 1), nn.ConvTranspose1d(4, 2, 2, groups=2), nn.BatchNorm1d(2),
        ), (x[:, :, 0].contiguous(),)),
        "pooled": (nn.ModuleList([
            nn.MaxPool2d(2), nn.MaxPool2d(3, 2, 1), nn.MaxPool2d(3, 2, ceil_mode=True),
            nn.Sequential(nn.ReLU(), nn.MaxPool2d(3, 2, 1)), nn.AvgPool2d(2),
            nn.AvgPool2d(3, 2, 1), nn.AvgPool2d(3, 2, 1, count_include_pad=False),
            nn.AdaptiveAvgPool2d(1), nn.AdaptiveAvgPool2d((3, 5)), nn.Upsample(scale_factor=2),
            nn.Upsample(scale_factor=2, mode="bilinear"),
            nn.Upsample(size=(11, 13), mode="bilinear", align_corners=True), nn.PixelUnshuffle(2),
        ]), (x,)),
        "softmax": (Of(lambda x: (x.softmax(1), x.softmax(0), x.log_softmax(-1))), (v,)),
        "norms": (nn.ModuleList([
            nn.BatchNorm2d(3), nn.LayerNorm((8, 8)), nn.GroupNorm(3, 3),
            nn.InstanceNorm2d(3, affine=True), nn.RMSNorm(8),
        ]), (x,)),
        "batch_norm_1d": (nn.BatchNorm1d(6), (v,)),
        "transformer": (nn.TransformerEncoderLayer(6, 2, 12, batch_first=True), (v[None],)),
        "attention": (Of(lambda q, m: (
            F.scaled_dot_product_attention(q, q, q, is_causal=True),
            F.scaled_dot_product_attention(q, q, q, attn_mask=m),
        )), (x, torch.randn(8, 8) > -1)),
        "lstm": (nn.LSTM(6, 4, 2, bidirectional=True, batch_first=True), (v[None],)),
        "gru": (nn.GRU(6, 4), (v[:, None],)),
        "rnn": (nn.RNN(6, 4, nonlinearity="relu"), (v[:, None],)),
        "double": (Of(lambda x: x * 2 + 1), (v.double(),)),
        "half": (Of(lambda x: x * 2 + 1), (v.half(),)),
        "branches": (Branches(), (v, v - 9)),
        "constants": (Of(lambda x: x + torch.arange(6) + torch.ones(4, 6)), (v,)),
    }  # fmt: skip
    return found


def flat(value: Any) -> list[Any]:
    """The tensors in what a model gives."""
    return [value] if isinstance(value, Tensor) else [x for part in value for x in flat(part)]


def computed(model: Any, args: tuple[Any, ...]) -> list[Any]:
    """What a model gives; of a list of models, what each of them does."""
    with torch.no_grad():
        return flat(called(model)(*args))


def called(model: Any) -> Any:
    """A model in evaluation; a list of models becomes one."""
    model.eval()
    if not isinstance(model, nn.ModuleList):
        return model
    together = Of(lambda x: [each(x) for each in model])
    together.parts = model
    return together


def write(folder: Path) -> None:
    """Export all models, with arguments and results beside them."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, (model, args) in models().items():
        ms.export(called(model), *args, file_name=folder / name, file_format="MINDIR")
        arrays = {f"input{k}": each.numpy() for k, each in enumerate(args)}
        results = computed(model, args)
        arrays |= {f"output{k:03}": each.numpy() for k, each in enumerate(results)}
        np.savez(folder / f"{name}.npz", **arrays)


if __name__ == "__main__":
    warnings.simplefilter("ignore")
    write(Path(sys.argv[1]))
