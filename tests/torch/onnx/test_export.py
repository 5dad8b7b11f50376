"""torch.onnx.export: what is written computes what the model does, also for other sizes."""

from __future__ import annotations

import io
import sys
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import onnx
import pytest

import mindtorch.torch as torch
from mindtorch.torch import nn
from mindtorch.torch.onnx import OnnxExporterError, errors

F = nn.functional


class Of(nn.Module):
    """A function as a module."""

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Any, y: Any = None) -> Any:
        return self.function(x) if y is None else self.function(x, y)


def tensors(value: Any) -> list[Any]:
    if isinstance(value, torch.Tensor):
        return [value]
    each = value.values() if isinstance(value, dict) else value
    return [x for part in each for x in tensors(part)]


def compare(model: Any, *args: Any, others: Any = (), **options: Any) -> Any:
    """Export, and run on the arguments and on others; the program."""
    model = model.eval() if isinstance(model, nn.Module) else Of(model)
    program = torch.onnx.export(model, args, **options)
    for given in (args, *others):
        with torch.no_grad():
            expected = tensors(model(*given))
        found = program(*given)
        assert len(found) == len(expected)
        for mine, theirs in zip(found, expected, strict=True):
            assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 2e-5, 2e-6)
    return program


BATCH = [{0: "batch"}]
ACTIVATIONS = ("ReLU", "LeakyReLU", "ELU", "SELU", "GELU", "SiLU", "Mish", "Sigmoid", "Tanh",
               "Hardtanh", "Hardsigmoid", "Hardswish", "Softplus", "Softsign", "Softshrink",
               "Hardshrink", "LogSigmoid", "PReLU", "GLU")  # fmt: skip
POSITIVE = ("exp log sqrt sin tan acos atan sinh asinh erf floor ceil round trunc frac sign "
            "reciprocal rsqrt square log1p log2 log10 exp2 expm1 erfc isfinite logical_not "
            "sinc").split()  # fmt: skip
OF_TWO = ("add sub mul div pow maximum minimum floor_divide remainder fmod eq ne lt ge logical_and "
          "atan2 hypot logaddexp xlogy").split()  # fmt: skip
REDUCED = "sum mean amax amin prod logsumexp var std argmax max min any all norm".split()


def test_elementwise() -> None:
    x, y = torch.rand(3, 4) * 0.9 + 0.05, torch.rand(4) * 3 + 0.2
    compare(lambda x: [getattr(nn, name)()(x * 6 - 3) for name in ACTIVATIONS], x)
    compare(lambda x: [getattr(torch, name)(x) for name in POSITIVE], x)
    compare(lambda x, y: [getattr(torch, name)(x * 4, y) for name in OF_TWO], x, y)
    a, b = torch.arange(-6, 6).reshape(3, 4), torch.tensor([2, -3, 5, -1])
    whole = ("add", "sub", "floor_divide", "remainder", "div", "bitwise_and", "lt", "maximum")
    compare(lambda a, b: [getattr(torch, name)(a, b) for name in whole], a, b)
    compare(lambda a: (a + 1, a * 2.5, a / 3, -a, (a > 1) & ~(a < 4), a.bool() | False, a.int()), a)
    compare(lambda x: (F.gelu(x), F.gelu(x, approximate="tanh")), x, opset_version=18)


def test_reductions() -> None:
    x, other = torch.randn(3, 4, 5), torch.randn(6, 4, 5)
    compare(
        lambda x: [getattr(x, name)(dim=1, keepdim=True) for name in REDUCED]
        + [x.cumsum(1), x.topk(2, 1), x.std(), x.sum() / x.shape[0], x.argmax(), x.norm(3, -1)],
        x, others=[(other,)], dynamic_shapes=BATCH,
    )  # fmt: skip
    compare(lambda x: x.sort(1, descending=True), x)


def test_moving_and_choosing() -> None:
    def moved(x: Any) -> Any:
        n = x.shape[0]
        return [
            x.view(n, -1), x.permute(2, 0, 1), x[..., None], x[0], x[:, 1:3], x[:, ::2], x[..., -1],
            x.unsqueeze(1).expand(-1, 3, -1, -1), x.repeat(2, 1, 1), torch.cat([x, x], 1),
            torch.stack([x, x], 1), *x.split(2, 1), *x.unbind(1), x.flip(1), x.tril(),
            x.roll((2, -1), (0, 2)), F.pad(x, (1, -1, 0, 2), value=3.0), x[:1].squeeze(),
            torch.zeros(n, 3), torch.arange(n), torch.ones_like(x), torch.eye(4) @ x,
        ]  # fmt: skip

    x = torch.randn(3, 4, 5)
    compare(moved, x, others=[(torch.randn(6, 4, 5),)], dynamic_shapes=BATCH)
    i, j = torch.tensor([0, 1]), torch.tensor([1, 2])
    zeros = torch.zeros(3, 2, 5, dtype=torch.int64)
    compare(lambda x: [
        x[i], x[:, torch.tensor([[0, 1], [2, 3]])], x[i, j], x[:, i, j], x.index_select(1, j),
        x.gather(1, zeros), x.scatter(1, zeros, 1.0), x.scatter_add(1, zeros, x), x.take(j),
        x.masked_fill(x > 0, -1.0), x.diagonal(0, 1, 2), torch.diag_embed(x), x.unfold(1, 2, 1),
        x.clamp(-1, 1), F.fold(x[:, :, :4].reshape(1, 12, 4), (3, 3), (2, 2)),
    ], x)  # fmt: skip
    compare(lambda x: F.one_hot(x, 6), torch.tensor([[1, 5]]))


def test_writes_in_place() -> None:
    def written(x: Any) -> Any:
        y = x.clone()
        y[:, 0] = 1
        y[0, 1:3, ::2] += 2
        y.transpose(0, 1)[1] *= 3
        y[torch.tensor([0, 2])] = 5.0
        return y.add_(1).relu_()

    def rows(x: Any) -> Any:
        y = x * 1
        y[:, 1:3, 0] = 7
        return y

    compare(written, torch.randn(3, 4, 5))
    compare(rows, torch.randn(3, 4, 5), others=[(torch.randn(2, 4, 5),)], dynamic_shapes=BATCH)


LAYERS = {
    "convolution": lambda: nn.Conv2d(4, 8, 3, stride=2, padding=1, groups=2, dilation=2),
    "reflected": lambda: nn.Conv2d(4, 8, (2, 4), padding="same", padding_mode="reflect"),
    "transposed": lambda: nn.ConvTranspose2d(4, 6, 3, stride=2, padding=1, output_padding=1),
    "max_pool": lambda: nn.MaxPool2d(3, 2, 1), "avg_pool": lambda: nn.AvgPool2d(2),
    "uneven": lambda: nn.AvgPool2d(3, 2, 1, count_include_pad=False),
    "adaptive": lambda: nn.AdaptiveAvgPool2d((3, 2)),
    "adaptive_max": lambda: nn.AdaptiveMaxPool2d((3, 7)),
    "batch_norm": lambda: nn.BatchNorm2d(4), "group_norm": lambda: nn.GroupNorm(2, 4),
    "instance_norm": lambda: nn.InstanceNorm2d(4, affine=True), "rms_norm": lambda: nn.RMSNorm(7),
    "layer_norm": lambda: nn.LayerNorm([9, 7]), "softmax": lambda: nn.Softmax2d(),
    "nearest": lambda: nn.Upsample(scale_factor=2), "dropout": lambda: nn.Dropout(),
    "bilinear": lambda: nn.Upsample(size=(13, 5), mode="bilinear", align_corners=True),
    "bicubic": lambda: nn.Upsample(scale_factor=2, mode="bicubic"),
    "shuffled": lambda: nn.PixelShuffle(2), "unfold": lambda: nn.Unfold(2),
}  # fmt: skip


@pytest.mark.parametrize("name", LAYERS)
def test_layers_of_images(name: str) -> None:
    torch.manual_seed(0)
    compare(LAYERS[name](), torch.randn(2, 4, 9, 7))


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_recurrent_layers(kind: Any) -> None:
    torch.manual_seed(0)
    axes = [{0: "steps", 1: "batch"}]
    compare(kind(4, 5, 2), torch.randn(3, 3, 4), others=[(torch.randn(5, 2, 4),)],
            dynamic_shapes=axes)  # fmt: skip


class Generating(nn.Module):
    """A small transformer of its own writing."""

    def __init__(self) -> None:
        super().__init__()
        self.tokens, self.places = nn.Embedding(10, 8), nn.Embedding(32, 8)
        self.heads, self.last = nn.Linear(8, 24), nn.Linear(8, 10)

    def forward(self, tokens: Any) -> Any:
        b, t = tokens.shape
        x = self.tokens(tokens) + self.places(torch.arange(t))
        q, k, v = (u.view(b, t, 2, 4).transpose(1, 2) for u in self.heads(x).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2)
        allowed = torch.tril(torch.ones(t, t)).bool()
        scores = (x @ x.transpose(1, 2) / 8**0.5).masked_fill(~allowed, float("-inf"))
        mixed = y.reshape(b, t, 8) + scores.softmax(-1) @ x
        return {"logits": self.last(mixed), "more": [x[:, -1]]}


def test_attention_of_any_length() -> None:
    torch.manual_seed(0)
    axes = {"tokens": {0: "batch", 1: "length"}}
    program = compare(
        Generating(), torch.randint(0, 10, (2, 5)), others=[(torch.randint(0, 10, (3, 9)),)],
        dynamic_axes=axes, output_names=["logits"],
    )  # fmt: skip
    graph = program.model_proto.graph
    assert [each.name for each in graph.output] == ["logits", "more_0"]
    shape = [d.dim_param or d.dim_value for d in graph.output[0].type.tensor_type.shape.dim]
    assert shape == ["batch", "length", 10]
    names = {each.name for each in graph.initializer}
    assert names >= {"tokens.weight", "heads.weight", "last.bias"}
    x, memory = torch.randn(2, 3, 16), torch.randn(2, 4, 16)
    compare(nn.TransformerDecoderLayer(16, 2, batch_first=True), x, memory)


def test_files(tmp_path: Any) -> None:
    net = nn.Sequential(nn.Linear(30, 20), nn.ReLU())
    x = torch.randn(1, 30)
    path = tmp_path / "model.onnx"
    path.write_bytes(b"before")
    axes: Any = ({0: torch.export.Dim("n")},)
    torch.onnx.export(net, x, path, input_names=["x"], dynamic_shapes=axes)
    assert sorted(p.name for p in tmp_path.iterdir()) == ["model.onnx", "model.onnx.data"]
    onnx.checker.check_model(str(path), full_check=True)
    loaded = onnx.reference.ReferenceEvaluator(str(path))
    many = torch.randn(4, 30)
    (found,) = list(loaded.run(None, {"x": many.numpy()}))
    np.testing.assert_allclose(found, net(many).detach().numpy(), 1e-5, 1e-6)
    file = io.BytesIO()
    assert torch.onnx.export(net, (x,), file, dynamo=False, verify=True) is None
    model = onnx.load_from_string(file.getvalue())
    assert [each.name for each in model.graph.initializer][:2] == ["0.weight", "0.bias"]
    before = path.read_bytes()
    with pytest.raises(FileNotFoundError):
        torch.onnx.export(net, x, tmp_path / "none" / "model.onnx")
    assert path.read_bytes() == before and net.training


def test_older_opsets_and_options() -> None:
    net = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    program = compare(net, torch.randn(2, 4), opset_version=13, input_names=["rows"])
    assert program.model_proto.opset_import[0].version == 13
    assert program.model_proto.graph.input[0].name == "rows"
    other = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
    program.apply_weights(other.state_dict())
    x = torch.randn(2, 4)
    np.testing.assert_allclose(program(x)[0].numpy(), other(x).detach().numpy(), 1e-5, 1e-6)
    without = torch.onnx.export(net, x, export_params=False).model_proto.graph
    assert [each.name for each in without.input][1:] == ["0.weight", "0.bias"]
    with pytest.raises(ValueError, match="opset version: 99"):
        torch.onnx.export(net, x, opset_version=99)
    with pytest.raises(NotImplementedError, match=r"export\(report="):
        torch.onnx.export(net, x, report=True)


def test_what_cannot_be_written_says_why() -> None:
    x = torch.randn(3, 4)
    refused: list[Any] = [
        (lambda x: x * x.sum().item(), "'item'", {}),
        (lambda x: sum(x[i] for i in range(x.shape[0])), "number 3 at .*py", {0: "batch"}),
        (lambda x: F.dropout(x), r"call model.eval\(\) first", {}),
        (lambda x: torch.lgamma(x), r"'lgamma'.*test_export", {}),
    ]
    for function, text, axes in refused:
        with pytest.raises(OnnxExporterError, match=text):
            torch.onnx.export(Of(function), x, dynamic_shapes=[axes])
    assert not torch.onnx.is_in_onnx_export()
    with pytest.raises(OnnxExporterError, match=r"onnx refuses the model: .*bfloat16"):
        torch.onnx.export(nn.Conv1d(4, 2, 1).bfloat16(), torch.ones(1, 4, 3).bfloat16())
    with pytest.raises(OnnxExporterError, match="do not fit"):
        torch.onnx.export(nn.Linear(4, 4), (x, x))
    with pytest.raises(ValueError, match=r"no argument is called \['z'\]"):
        torch.onnx.export(nn.Linear(4, 4), x, dynamic_shapes={"z": {0: "n"}})
    with pytest.warns(errors.OnnxExporterWarning, match=r"batch > 2 is True at .*test_export.py"):
        torch.onnx.export(Of(lambda x: x * 2 if x.shape[0] > 2 else x), x, dynamic_shapes=BATCH)
    with pytest.warns(errors.OnnxExporterWarning, match="keeps no state"):
        torch.onnx.export(nn.BatchNorm1d(4), x, training=torch.onnx.TrainingMode.TRAINING)


def test_without_the_package(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in [n for n in sys.modules if n.startswith("mindtorch.torch.onnx.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "onnx", None)
    command = r"pip install .*\[export\]"
    with warnings.catch_warnings(), pytest.raises(ModuleNotFoundError, match=command):
        torch.onnx.export(nn.Linear(4, 4), torch.randn(3, 4))
