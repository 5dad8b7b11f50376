"""mindspore.export: what is written computes what the network does, in version 1 of MindIR."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx.reference import ReferenceEvaluator

import mindtorch.mindspore as ms
import mindtorch.onnx
import mindtorch.torch as torch
from mindtorch.exporting.errors import ExportError, UnsupportedOperatorError
from mindtorch.mindspore import nn
from mindtorch.mindspore.mindir.schema import ModelProto, PrimType
from mindtorch.tools.cli import main
from tests.support import mindir_models

MODELS = mindir_models.models()


class Net(nn.Cell):
    """A network in MindSpore's words whose batch norm does something."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(1, 4, 3, has_bias=True, pad_mode="valid")
        self.norm = nn.BatchNorm2d(4)
        self.relu, self.pool, self.flatten = nn.ReLU(), nn.MaxPool2d(2, 2), nn.Flatten()
        self.drop, self.fc = nn.Dropout(p=0.5), nn.Dense(36, 3)
        numbers = np.random.default_rng(0)
        for parameter in (self.norm.moving_mean, self.norm.moving_variance, self.norm.gamma):
            parameter.set_data(ms.Tensor(numbers.uniform(0.5, 1.5, 4).astype(np.float32)))

    def construct(self, x: Any) -> Any:
        x = self.pool(self.relu(self.norm(self.conv(x))))
        return self.fc(self.drop(self.flatten(x)))


def batch(n: int) -> Any:
    return ms.Tensor(np.random.default_rng(n).normal(size=(n, 1, 8, 8)).astype(np.float32))


def loaded(path: Path, **options: Any) -> Any:
    return nn.GraphCell(ms.load(path, **options))


def evaluated(model: Any, feeds: dict[str, Any]) -> Any:
    """The output of an ONNX model by onnx's own evaluator."""
    results: Any = ReferenceEvaluator(model).run(None, feeds)
    return results[0]


def close(mine: Any, theirs: Any, tolerance: float = 1e-6) -> None:
    mine, theirs = mine.asnumpy(), theirs.asnumpy()
    np.testing.assert_allclose(mine, theirs, 0, tolerance * np.abs(theirs).max())


@pytest.mark.parametrize("name", list(MODELS))
def test_what_is_written_computes_the_same(name: str, tmp_path: Path) -> None:
    """Values, types and shapes; real MindSpore runs these files, too (see mindir_models)."""
    model, args = MODELS[name]
    expected = mindir_models.computed(model, args)
    ms.export(
        mindir_models.called(model), *args, file_name=tmp_path / "model", file_format="MINDIR"
    )
    found = mindir_models.flat(loaded(tmp_path / "model.mindir")(*args))
    assert len(found) == len(expected)
    for mine, theirs in zip(found, expected, strict=True):
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 2e-5, 2e-6)


def test_a_choice_is_made_where_the_file_runs(tmp_path: Path) -> None:
    net, (x, _) = MODELS["branches"]
    ms.export(net, x, file_name=tmp_path / "net", file_format="MINDIR")
    cell = loaded(tmp_path / "net.mindir")
    for given in (x, -x, x - 9, x + 9, -x - 9):
        expected = mindir_models.computed(net, (given,))
        found = mindir_models.flat(cell(given))
        assert len(found) == len(expected) == 6
        for mine, theirs in zip(found, expected, strict=True):
            assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
            np.testing.assert_allclose(mine.numpy(), theirs.numpy(), 2e-5, 2e-6)


def test_the_file_is_of_version_1_and_has_the_parameters_names(tmp_path: Path) -> None:
    """Lite reads no newer version; MindSpore wants a version that it knows of itself."""
    ms.export(Net(), batch(2), file_name=tmp_path / "net", file_format="MINDIR")
    model = ModelProto()
    model.ParseFromString((tmp_path / "net.mindir").read_bytes())
    assert (model.mind_ir_version, model.model_version) == (1, "2.10.0")
    assert {each.prim_type for each in model.primitives} == {PrimType.PRIMITIVE}
    kinds = [each.op_type for each in model.primitives]
    assert "BatchNorm" in kinds and "Dropout" not in kinds
    names = {each.ref_key for each in model.graph.parameter}
    assert {"conv.weight", "norm.gamma", "norm.moving_mean", "fc.bias"} <= names
    read = {name for node in model.graph.node for name in node.input}
    read |= {each.name for each in model.graph.output}
    assert all(node.name in read for node in model.graph.node)  # nothing is left over


def test_an_open_batch_takes_any(tmp_path: Path) -> None:
    net = Net()
    ms.export(net, batch(2), file_name=tmp_path / "net", file_format="MINDIR", open_batch=True)
    graph = ms.load(tmp_path / "net.mindir")
    assert graph.inputs == [("x", (-1, 1, 8, 8), 1)]
    for n in (1, 5):
        close(nn.GraphCell(graph)(batch(n)), net(batch(n)))
    lstm = torch.nn.LSTM(3, 4)
    x = torch.randn(5, 2, 3)
    with pytest.raises(ExportError, match="recurrent layer over a length that is open"):
        ms.export(lstm, x, file_name=tmp_path / "lstm", file_format="MINDIR", open_batch=True)


def test_batch_norms_are_folded_where_asked(tmp_path: Path) -> None:
    net = Net()
    ms.export(net, batch(2), file_name=tmp_path / "net", file_format="MINDIR", fold_batch_norm=True)
    graph = ms.load(tmp_path / "net.mindir")
    assert not [call for call in graph.main.calls if call.primitive.name == "BatchNorm"]
    close(nn.GraphCell(graph)(batch(3)[:2]), net(batch(3)[:2]))
    linear = torch.nn.Sequential(torch.nn.Linear(3, 4, bias=False), torch.nn.BatchNorm1d(4)).eval()
    linear[1].running_var.uniform_(0.5, 2)
    x = torch.randn(2, 3)
    ms.export(linear, x, file_name=tmp_path / "b", file_format="MINDIR", fold_batch_norm=True)
    again = ms.load(tmp_path / "b.mindir")
    assert [call.primitive.name for call in again.main.calls] == ["MatMul", "BiasAdd"]
    np.testing.assert_allclose(nn.GraphCell(again)(x).numpy(), linear(x).detach().numpy(), 1e-5)


@pytest.mark.parametrize("mode", ["AES-GCM", "AES-CBC"])
@pytest.mark.parametrize("length", [16, 24, 32])
def test_encryption(mode: str, length: int, tmp_path: Path) -> None:
    net, key = Net(), bytes(range(length))
    where = {"file_name": tmp_path / "net", "file_format": "MINDIR"}
    ms.export(net, batch(2), enc_key=key, enc_mode=mode, **where)
    content = (tmp_path / "net.mindir").read_bytes()
    assert b"conv.weight" not in content
    close(loaded(tmp_path / "net.mindir", dec_key=key, dec_mode=mode)(batch(2)), net(batch(2)))
    ms.export(net, batch(2), enc_key=key, enc_mode=lambda text, key: text[::-1], **where)
    read = loaded(
        tmp_path / "net.mindir", dec_key=key,
        dec_mode=lambda path, key: Path(path).read_bytes()[::-1],
    )  # fmt: skip
    close(read(batch(2)), net(batch(2)))
    with pytest.raises(ValueError, match="16, 24 or 32 bytes, but has 5"):
        ms.export(net, batch(2), enc_key=b"short", **where)
    with pytest.raises(ValueError, match="AES-GCM/AES-CBC"):
        ms.export(net, batch(2), enc_key=key, enc_mode="SM4-CBC", **where)


@pytest.mark.parametrize("key", [None, b"k" * 16])
def test_parameters_may_lie_beside_the_file(key: bytes | None, tmp_path: Path) -> None:
    net = Net()
    ms.export(net, batch(2), file_name=tmp_path / "net", file_format="MINDIR", enc_key=key,
              save_together=False)  # fmt: skip
    assert sorted(p.name for p in tmp_path.iterdir()) == ["net_graph.mindir", "net_variables"]
    path = tmp_path / "net_graph.mindir"
    close(loaded(path, dec_key=key)(batch(2)), net(batch(2)))
    data = tmp_path / "net_variables" / "data_0"
    data.write_bytes(data.read_bytes()[:100])
    with pytest.raises(RuntimeError, match=r"data_0|middle of a block"):
        ms.load(path, dec_key=key)


def test_a_failed_export_leaves_what_was_there(tmp_path: Path) -> None:
    path = tmp_path / "net.mindir"
    path.write_bytes(b"the old one")

    class Drawing(nn.Cell):
        def construct(self, x: Any) -> Any:
            return torch.nn.functional.dropout(x, 0.5, True)

    with pytest.raises(UnsupportedOperatorError, match=r"random numbers are drawn .*model.eval"):
        ms.export(Drawing(), batch(2), file_name=path, file_format="MINDIR")
    assert path.read_bytes() == b"the old one" and len(list(tmp_path.iterdir())) == 1
    with pytest.raises(UnsupportedOperatorError, match="'linalg_svd' has no counterpart"):
        ms.export(
            torch.linalg.svd, torch.randn(3, 3), file_name=path, file_format="MINDIR"
        )
    for options, text in (
        ({"file_format": "AIR"}, "must be one of"), ({"file_name": 3}, "must be string"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=text):
            ms.export(Net(), batch(2), **{"file_name": path, "file_format": "MINDIR"} | options)
    with pytest.raises(ValueError, match="'inputs' must not be empty"):
        ms.export(Net(), file_name=path, file_format="MINDIR")


def test_onnx_is_written_from_the_same_graph(tmp_path: Path) -> None:
    net = Net()
    ms.export(net, batch(2), file_name=tmp_path / "net", file_format="ONNX", open_batch=True,
              fold_batch_norm=True)  # fmt: skip
    model = onnx.load(tmp_path / "net.onnx")
    assert "BatchNormalization" not in {node.op_type for node in model.graph.node}
    for n in (2, 3):
        made = evaluated(model, {"x": batch(n).asnumpy()})
        expected = net(batch(n)).asnumpy()
        np.testing.assert_allclose(made, expected, 0, 1e-5 * np.abs(expected).max())
    with pytest.raises(ValueError, match="only support customized encryption"):
        ms.export(net, batch(2), file_name=tmp_path / "n", file_format="ONNX", enc_key=b"k" * 16)


def test_a_loaded_network_is_exported_again(tmp_path: Path) -> None:
    net = Net()
    ms.export(net, batch(2), file_name=tmp_path / "a", file_format="MINDIR")
    cell = loaded(tmp_path / "a.mindir")
    ms.export(cell, batch(2), file_name=tmp_path / "b", file_format="MINDIR")
    again = loaded(tmp_path / "b.mindir")
    close(again(batch(2)), net(batch(2)))
    kept = set(again.parameters_dict())
    assert {"conv.weight", "norm.gamma", "norm.moving_mean", "fc.weight"} <= kept
    assert kept <= set(cell.parameters_dict())


def test_a_parameter_may_be_called_as_our_constants_are(tmp_path: Path) -> None:
    """Two values of one name would be one."""

    class Named(torch.nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.constant = torch.nn.Parameter(torch.randn(3, 4))
            self.tensor, self.x = (torch.nn.Parameter(torch.randn(4)) for _ in range(2))

        def forward(self, x: Any) -> Any:
            return (x.reshape(-1, 3) @ self.constant + self.tensor * 1.5).sum(1) + self.x[0]

    net, x = Named(), torch.randn(2, 3)
    ms.export(net, x, file_name=tmp_path / "net", file_format="MINDIR")
    found = loaded(tmp_path / "net.mindir")(x)
    np.testing.assert_allclose(found.detach().numpy(), net(x).detach().numpy(), 1e-5, 1e-6)


# --- the command line -----------------------------------------------------------------------------

SCRIPT = """
import torch
from torch import nn

def build():
    torch.manual_seed(0)
    return nn.Sequential(nn.Conv2d(1, 2, 3), nn.ReLU(), nn.Flatten(), nn.Linear(72, 3))

not_callable = 3
"""


@pytest.mark.parametrize("form", ["mindir", "onnx"])
def test_the_command(form: str, tmp_path: Path, capsys: Any) -> None:
    script, made = tmp_path / "model.py", tmp_path / f"out.{form}"
    script.write_text(SCRIPT)
    asked = [f"{script}:build", "--format", form, "--input", "1,1,8,8", "--output", str(made)]
    assert main(["export", *asked, "--open-batch"]) == 0
    assert str(made) in capsys.readouterr().out
    x = np.random.default_rng(0).normal(size=(3, 1, 8, 8)).astype(np.float32)
    if form == "mindir":
        assert loaded(made)(ms.Tensor(x)).shape == (3, 3)
    else:
        found = evaluated(str(made), {"input": x})
        assert found.shape == (3, 3)


def test_the_command_says_what_is_wrong(tmp_path: Path, capsys: Any) -> None:
    script = tmp_path / "model.py"
    script.write_text(SCRIPT)
    out = ["--output", str(tmp_path / "x")]
    for place, given, text in (
        (f"{script}:nothing", "1,1,8,8", "has no 'nothing'"),
        (f"{script}:not_callable", "1,1,8,8", "no module and no function"),
        (f"{tmp_path}/none.py:build", "1,1,8,8", "no such file"),
        (f"{script}:build", "1,x", "--input"),
        (f"{script}:build", "1,2,8,8", "expected input"),
        (str(script), "1,1,8,8", "SCRIPT.py:NAME"),
    ):
        assert main(["export", place, "--input", given, *out]) == 2
        assert text in capsys.readouterr().err
    for option, given, text in (
        ("--key", "zz", "hexadecimal digits"), ("--weights", str(script), "holds no parameters")
    ):
        arguments = ["export", f"{script}:build", "--input", "1,1,8,8", *out, option, given]
        assert main(arguments) == 2
        assert text in capsys.readouterr().err
    assert not (tmp_path / "x").exists()


def test_weights_that_were_set_in_graph_mode(tmp_path: Path) -> None:
    """What waits to be written to a parameter is written before its memory is read."""
    x = ms.Tensor(np.ones((2, 3), np.float32))
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        net = nn.Dense(3, 4)
        for number in (0.5, 0.25):
            for each in net.get_parameters():
                each.set_data(ms.Tensor(np.full(each.shape, number, np.float32)))
            ms.export(net, x, file_name=tmp_path / "net", file_format="MINDIR")
            found = loaded(tmp_path / "net.mindir")(x).asnumpy()
            assert found.tolist() == [[4 * number] * 4] * 2
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


class _Sum(nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return x * 2 + y


class _Product(nn.Cell):
    def construct(self, x: Any, y: Any) -> Any:
        return ms.ops.matmul(x, y), x.sum()


class _Pooled(nn.Cell):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(3, 4, 3, stride=2, pad_mode="pad", padding=1)

    def construct(self, x: Any) -> Any:
        return ms.ops.mean(self.conv(x), (2, 3))


OPEN: dict[str, tuple[Any, list[tuple[Any, ...]], list[tuple[int, ...]]]] = {
    "lengths that agree": (_Sum, [(None, 3), (None, 3)], [(5, 3), (5, 3)]),
    "lengths of their own": (_Product, [(None, 4), (4, -1)], [(5, 4), (4, 7)]),
    "images": (_Pooled, [(None, 3, None, None)], [(2, 3, 40, 48)]),
}


@pytest.mark.parametrize("name", OPEN)
@pytest.mark.parametrize("kind", ["MINDIR", "ONNX"])
def test_tensors_of_open_lengths(name: str, kind: str, tmp_path: Path) -> None:
    made, opened, shapes = OPEN[name]
    cell, inputs = made(), [ms.Tensor(shape=list(shape), dtype=ms.float32) for shape in opened]
    cell.set_inputs(*inputs)
    ms.export(cell, *cell.get_inputs(), file_name=str(tmp_path / "net"), file_format=kind)
    draw = np.random.default_rng(0)
    arrays = [draw.standard_normal(shape).astype(np.float32) for shape in shapes]
    expected = cell(*map(ms.Tensor, arrays))
    found: Any
    if kind == "MINDIR":
        graph = ms.load(tmp_path / "net.mindir")
        known = [tuple(-1 if n is None else n for n in shape) for shape in opened]
        assert [tuple(shape) for _, shape, _ in graph.inputs] == known
        found = nn.GraphCell(graph)(*map(ms.Tensor, arrays))
    else:
        found = mindtorch.onnx.load(tmp_path / "net.onnx")(*map(torch.from_numpy, arrays))
    if not isinstance(expected, tuple):
        found, expected = (found,), (expected,)
    for ours, theirs in zip(found, expected, strict=True):
        array = ours.asnumpy() if kind == "MINDIR" else ours.detach().numpy()
        np.testing.assert_allclose(array, theirs.asnumpy(), rtol=1e-5, atol=1e-6)


def test_a_tensor_of_open_lengths_has_no_elements() -> None:
    opened = ms.Tensor(shape=[None, 3], dtype=ms.float32)
    assert (opened.shape, opened.dtype) == ((-1, 3), ms.float32)
    for use in (lambda: opened + 1, lambda: ms.ops.relu(opened), opened.asnumpy):
        with pytest.raises(RuntimeError, match="has no elements"):
            use()
    with pytest.raises(TypeError, match="'shape' and 'dtype'"):
        ms.Tensor(shape=[None, 3])
    with pytest.raises(ValueError, match="not both"):
        nn.Cell().set_inputs(opened, x=opened)
