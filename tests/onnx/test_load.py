"""mindtorch.onnx.load: what torch exports runs, trains and is exported again."""

from __future__ import annotations

import io
import random
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
import torch as real
from onnx import TensorProto, helper

import mindtorch.onnx
import mindtorch.torch as torch
from mindtorch.onnx import ONNXError, UnsupportedOperatorError


class Convolutional(real.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.body = real.nn.Sequential(
            real.nn.Conv2d(3, 8, 3, 2, 1), real.nn.BatchNorm2d(8), real.nn.ReLU6(),
            real.nn.Conv2d(8, 8, 3, padding=1, groups=8), real.nn.Hardswish(),
            real.nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        self.head = real.nn.Linear(8, 5)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(x).mean((2, 3)))


class Attending(real.nn.Module):
    """Shapes are computed from the input's, as exporters of transformers leave them."""

    def __init__(self) -> None:
        super().__init__()
        self.words = real.nn.Embedding(20, 8)
        self.project, self.norm = real.nn.Linear(8, 24), real.nn.LayerNorm(8)

    def forward(self, ids: Any) -> Any:
        x = self.words(ids)
        batch, length, width = x.shape
        q, k, v = self.project(x).chunk(3, -1)
        q, k, v = (t.view(batch, length, 2, width // 2).transpose(1, 2) for t in (q, k, v))
        y = real.softmax(q @ k.transpose(-1, -2) / 2.0, -1) @ v
        return self.norm(x + y.transpose(1, 2).reshape(batch, length, width))


class Recurrent(real.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.lstm = real.nn.LSTM(4, 6, bidirectional=True, batch_first=True)
        self.gru = real.nn.GRU(12, 3, batch_first=True)

    def forward(self, x: Any) -> Any:
        y, _ = self.lstm(x)
        return self.gru(y)


def exported(model: Any, x: Any, **options: Any) -> bytes:
    """What real torch writes."""
    file: Any = io.BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        real.onnx.export(model.eval(), (x,), file, dynamo=False, **options)
    content: bytes = file.getvalue()
    return content


def close(mine: Any, theirs: Any) -> None:
    mine = mine if isinstance(mine, tuple) else (mine,)
    theirs = theirs if isinstance(theirs, tuple) else (theirs,)
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), 1e-5, 1e-5)


MODELS = {
    "convolutional": (Convolutional, lambda n: real.randn(n, 3, 16, 16)),
    "attending": (Attending, lambda n: real.randint(0, 20, (n, 7))),
    "recurrent": (Recurrent, lambda n: real.randn(n, 5, 4)),
}


@pytest.mark.parametrize("name", list(MODELS))
def test_what_torch_exports_runs_and_is_exported_again(name: str, tmp_path: Path) -> None:
    """For another batch, too: what hangs on sizes is computed."""
    kind, inputs = MODELS[name]
    real.manual_seed(0)
    model, x = kind(), inputs(2)
    axes = {"input_names": ["x"], "dynamic_axes": {"x": {0: "batch"}}}
    content = exported(model, x, opset_version=17, **({} if name == "recurrent" else axes))
    loaded = mindtorch.onnx.load(content)
    given = torch.from_numpy(x.numpy())
    close(loaded(given), model(x))
    again = tmp_path / "again.onnx"
    torch.onnx.export(loaded, (given,), again, dynamo=False)
    close(mindtorch.onnx.load(again)(given), model(x))
    if name != "recurrent":
        other = inputs(3)
        close(loaded(torch.from_numpy(other.numpy())), model(other))


@pytest.mark.parametrize("opset", [9, 11, 13, 17])
def test_older_opsets_compute_the_same(opset: int) -> None:
    real.manual_seed(0)
    model, x = Convolutional(), real.randn(1, 3, 16, 16)
    loaded = mindtorch.onnx.load(exported(model, x, opset_version=opset))
    close(loaded(torch.from_numpy(x.numpy())), model(x))
    assert loaded.opset == opset


def test_an_open_batch_stays_open_when_it_is_exported_again(tmp_path: Path) -> None:
    """The sizes that the file computes are symbols while it is traced."""
    real.manual_seed(0)
    model, x = Attending(), real.randint(0, 20, (2, 7))
    axes = {"x": {0: "batch", 1: "length"}}
    content = exported(model, x, input_names=["x"], dynamic_axes=axes, opset_version=17)
    loaded = mindtorch.onnx.load(content)
    again = tmp_path / "again.onnx"
    torch.onnx.export(
        loaded, (torch.from_numpy(x.numpy()),), again, dynamo=False, input_names=["x"],
        dynamic_axes=axes,
    )  # fmt: skip
    other = real.randint(0, 20, (3, 5))
    close(mindtorch.onnx.load(again)(torch.from_numpy(other.numpy())), model(other))


def test_parameters_have_the_files_names_and_train() -> None:
    real.manual_seed(0)
    model, x = Convolutional(), real.randn(4, 3, 16, 16)
    content = exported(model, x, training=real.onnx.TrainingMode.TRAINING, opset_version=17,
                       do_constant_folding=False)  # fmt: skip
    loaded = mindtorch.onnx.load(content)
    names = dict(loaded.named_parameters())
    assert names["body.0.weight"].shape == (8, 3, 3, 3) and "head.weight" in names
    assert "body.1.running_mean" in dict(loaded.named_buffers())
    given, labels = torch.from_numpy(x.numpy()), torch.tensor([0, 1, 2, 3])
    optimizer = torch.optim.Adam(loaded.parameters(), 1e-2)
    losses = []
    for _ in range(60):
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(loaded(given), labels)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_it_compiles() -> None:
    real.manual_seed(0)
    model, x = Convolutional(), real.randn(2, 3, 16, 16)
    compiled = torch.compile(mindtorch.onnx.load(exported(model, x, opset_version=17)))
    for _ in range(2):
        close(compiled(torch.from_numpy(x.numpy())), model(x))


# --- errors ---------------------------------------------------------------------------------------


def one_node(op_type: str, opset: int = 17, **attributes: Any) -> onnx.ModelProto:
    node = helper.make_node(op_type, ["x"], ["y"], name="the node", **attributes)
    x, y = (helper.make_tensor_value_info(n, TensorProto.FLOAT, [2, 2]) for n in "xy")
    graph = helper.make_graph([node], "g", [x], [y])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def test_errors_name_the_operator_and_the_node() -> None:
    with pytest.raises(UnsupportedOperatorError, match=r"Frobnicate of opset 17 .*the node"):
        mindtorch.onnx.load(one_node("Frobnicate"))
    with pytest.raises(UnsupportedOperatorError, match=r"Relu\(slope\) of opset 17"):
        mindtorch.onnx.load(one_node("Relu", slope=1.0))
    with pytest.raises(ONNXError, match=r"'the node' \(MatMul\) lacks one of its 2 inputs"):
        mindtorch.onnx.load(one_node("MatMul"))
    with pytest.raises(ONNXError, match="no ONNX model"):
        mindtorch.onnx.load(b"no model at all")
    with pytest.raises(ONNXError, match="has no graph"):
        mindtorch.onnx.load(b"")
    with pytest.raises(FileNotFoundError):
        mindtorch.onnx.load("/nothing/there.onnx")
    with pytest.raises(TypeError, match="a path, a file, bytes or a ModelProto"):
        mindtorch.onnx.load(3)
    module = mindtorch.onnx.load(one_node("Relu"))
    with pytest.raises(TypeError, match=r"takes 1 inputs \['x'\], got 2"):
        module(torch.ones(2, 2), torch.ones(2, 2))
    with pytest.raises(TypeError, match=r"inputs \['x'\] are missing"):
        module()
    with pytest.raises(TypeError, match="no further input 'z'"):
        module(z=torch.ones(2))
    with pytest.raises(Exception) as caught:  # what the operator says of a wrong shape
        mindtorch.onnx.load(one_node("Transpose", perm=[0, 1, 2]))(torch.ones(2, 2))
    assert any("'the node' (Transpose)" in note for note in caught.value.__notes__)


def test_models_that_ask_for_too_much(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A list that no memory holds, and a loop of a million turns that a graph would spell out."""
    value, node = helper.make_tensor_value_info, helper.make_node
    x, y = (value(name, TensorProto.FLOAT, [1]) for name in "xy")
    opsets = [helper.make_opsetid("", 17)]

    def made(nodes: list[Any], **numbers: Any) -> Any:
        given = [onnx.numpy_helper.from_array(np.array(n), name) for name, n in numbers.items()]
        return helper.make_model(helper.make_graph(nodes, "g", [x], [y], given),
                                 opset_imports=opsets)  # fmt: skip

    listed = made([node("Range", ["a", "b", "c"], ["r"]), node("ReduceMax", ["r"], ["m"]),
                   node("Add", ["x", "m"], ["y"])], a=0.0, b=1e15, c=1.0)  # fmt: skip
    with pytest.raises(ONNXError, match=r"Range.*Unable to allocate"):
        mindtorch.onnx.load(listed)(torch.ones(1))
    monkeypatch.setattr("mindtorch.onnx.graph.MOST_TURNS", 100)
    body = helper.make_graph(
        [node("Add", ["v", "v"], ["w"]), node("Identity", ["c"], ["d"])], "body",
        [value("i", TensorProto.INT64, []), value("c", TensorProto.BOOL, []),
         value("v", TensorProto.FLOAT, [1])],
        [value("d", TensorProto.BOOL, []), value("w", TensorProto.FLOAT, [1])],
    )  # fmt: skip
    for turns in (100, 101):
        long = made([node("Loop", ["n", "t", "x"], ["y"], body=body)], n=turns, t=True)
        module = mindtorch.onnx.load(long)
        assert module(torch.zeros(1)).tolist() == [0.0]
        if turns == 100:
            torch.onnx.export(module, (torch.zeros(1),), io.BytesIO(), dynamo=False)
            continue
        with pytest.raises(ONNXError, match="a loop of more than 100 turns is not captured"):
            torch.onnx.export(module, (torch.zeros(1),), io.BytesIO(), dynamo=False)


def test_files_outside_of_the_models_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret").write_bytes(bytes(16))
    folder = tmp_path / "model"
    folder.mkdir()
    model = one_node("Relu")
    weight = helper.make_tensor("w", TensorProto.FLOAT, [2, 2], [0.0] * 4)
    weight.ClearField("float_data")
    weight.data_location = TensorProto.EXTERNAL
    weight.external_data.add(key="location", value="../secret")
    model.graph.initializer.append(weight)
    (folder / "model.onnx").write_bytes(model.SerializeToString())
    with pytest.raises(ONNXError, match="'w' cannot be read"):
        mindtorch.onnx.load(folder / "model.onnx")


def test_damage_gives_an_error_of_ours() -> None:
    real.manual_seed(0)
    content = exported(Convolutional(), real.randn(1, 3, 16, 16), opset_version=17)
    chance = random.Random(0)
    refused = 0
    for round_ in range(150):
        damaged = bytearray(content)
        if round_ % 3:
            for _ in range(chance.randint(1, 5)):
                damaged[chance.randrange(len(damaged))] = chance.randrange(256)
        else:
            del damaged[chance.randrange(len(damaged)) :]
        try:
            mindtorch.onnx.load(bytes(damaged))
        except ONNXError:
            refused += 1
    assert refused > 50


class _OpenLengths(torch.nn.Module):
    """Layers of a row whose length is open, and an image of it."""

    def __init__(self) -> None:
        super().__init__()
        nn = torch.nn
        self.lstm = nn.LSTM(6, 4, bidirectional=True, batch_first=True)
        self.gru, self.rnn = nn.GRU(8, 4, batch_first=True), nn.RNN(4, 4, batch_first=True)

    def forward(self, x: Any) -> Any:
        y = self.rnn(self.gru(self.lstm(x)[0])[0])[0]
        first = torch.narrow(torch.sort(y, dim=1)[0], 1, 0, 2)
        places = torch.arange(y.shape[1], dtype=y.dtype)[:, None] + y
        image = torch.nn.functional.interpolate(y[:, None], scale_factor=2.0)
        smooth = torch.nn.functional.interpolate(
            y[:, None], scale_factor=2.0, mode="bilinear", align_corners=False
        )
        return first, places, image, smooth


def test_open_lengths_of_a_file_stay_open_when_it_is_exported_again(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net, names = _OpenLengths().eval(), {"x": {0: "batch", 1: "steps"}}
    options: dict[str, Any] = {"dynamo": False, "input_names": ["x"], "dynamic_axes": names}
    files = [tmp_path / "once.onnx", tmp_path / "again.onnx"]
    torch.onnx.export(net, (torch.randn(2, 5, 6),), str(files[0]), **options)
    loaded = mindtorch.onnx.load(files[0])
    torch.onnx.export(loaded, (torch.randn(2, 5, 6),), str(files[1]), **options)
    x = torch.randn(3, 7, 6)
    for model in (loaded, mindtorch.onnx.load(files[1])):
        for found, expected in zip(model(x), net(x), strict=True):
            assert found.shape == expected.shape
            assert torch.allclose(found, expected, rtol=1e-5, atol=1e-6)
