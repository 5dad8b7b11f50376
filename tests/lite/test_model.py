"""The converter and the runtime against eager execution."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch import lite, mindspore, torch
from mindtorch.kernels.cpu.threads import thread_pool
from mindtorch.lite.execution import Program
from mindtorch.lite.file import read
from mindtorch.torch import nn

from .models import converted, eager, images, lenet, loaded, predicted


def test_lenet_is_folded_fused_and_gives_eager_numbers(tmp_path: Path) -> None:
    net, x = lenet(), images(1)
    path = converted(net, [x], tmp_path)
    graph = read(path)
    kinds = ["+".join([n.op, *[t.op for t in n.then]]) for n in graph.nodes]
    assert kinds == [
        "convolution+relu", "max_pool", "convolution+hardtanh", "max_pool", "view",
        "linear+sigmoid", "linear+relu", "linear",
    ]  # fmt: skip
    model = loaded(path)
    wide = eager(lenet().double(), x.astype(np.float64))
    bound = 4 * np.abs(eager(net, x) - wide).max() + 1e-6
    assert np.abs(predicted(model, x) - wide).max() <= bound


def test_without_passes_the_bits_are_those_of_eager_nodes(tmp_path: Path) -> None:
    net, x = lenet(), images(2)
    path = converted(net, [x], tmp_path, optimize="none")
    assert any(node.op == "batch_norm_inference" for node in read(path).nodes)
    assert np.array_equal(predicted(loaded(path), x), eager(net, x))


class _Alike(nn.Module):
    def forward(self, x: Any) -> Any:
        y = x + 1
        return {"same": x, "once": y, "twice": y, "constant": torch.ones(2)}


def test_outputs_that_are_inputs_constants_or_each_other_keep_their_names(tmp_path: Path) -> None:
    x = images(2)
    model = loaded(converted(_Alike(), [x], tmp_path))
    inputs = model.get_inputs()
    inputs[0].set_data_from_numpy(x)
    found = {y.name: y.get_data_to_numpy() for y in model.predict(inputs)}
    assert list(found) == ["same", "once", "twice", "constant"]
    np.testing.assert_array_equal(found["same"], x)
    np.testing.assert_array_equal(found["once"], x + 1)
    np.testing.assert_array_equal(found["twice"], x + 1)
    assert found["constant"].tolist() == [1, 1]


def test_names_of_onnx_and_mindir_files_are_kept(tmp_path: Path) -> None:
    x = images(1)
    torch.onnx.export(
        _Two(), (torch.ones(2, 3), torch.ones(2, 4)), tmp_path / "two.onnx",
        input_names=["left", "right"], output_names=["total", "elements"],
    )  # fmt: skip
    converter = lite.Converter()
    converter.convert(lite.FmkType.ONNX, str(tmp_path / "two.onnx"), str(tmp_path / "two"))
    model = loaded(tmp_path / "two.ms")
    assert [x.name for x in model.get_inputs()] == ["left", "right"]
    assert [x.name for x in model.get_outputs()] == ["total", "elements"]
    mindspore.export(lenet(), mindspore.Tensor(x), file_name=str(tmp_path / "l"),
                     file_format="MINDIR")  # fmt: skip
    names = mindspore.load(str(tmp_path / "l.mindir")).output_names
    converter.convert(lite.FmkType.MINDIR, str(tmp_path / "l.mindir"), str(tmp_path / "l"))
    assert len(names) == 1 and [y.name for y in loaded(tmp_path / "l.ms").get_outputs()] == names


@pytest.mark.parametrize("count", [1, 2, 7])
def test_resize_to_other_batches(count: int, tmp_path: Path) -> None:
    net = lenet()
    model = loaded(converted(net, [images(3)], tmp_path))
    x = images(count, seed=count)
    np.testing.assert_allclose(predicted(model, x), eager(net, x), rtol=1e-5, atol=1e-6)
    assert model.get_outputs()[0].shape == [count, 10]
    again = images(3)
    np.testing.assert_allclose(predicted(model, again), eager(net, again), rtol=1e-5, atol=1e-6)


def test_a_run_that_takes_more_memory_than_is_free(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else the system ends the process, or another one."""
    net = torch.nn.Sequential(torch.nn.Linear(64, 64), torch.nn.ReLU(), torch.nn.Linear(64, 2))
    model = loaded(converted(net, [torch.randn(2, 64)], tmp_path))
    x = model.get_inputs()
    monkeypatch.setattr("mindtorch.lite.execution.memory_of_machine", lambda: (1 << 30, 100 << 20))
    with pytest.raises(lite.LiteFileError, match=r"takes 0\.\d GiB .* 0\.1 GiB are free: use a sm"):
        model.resize(x, [[1 << 18, 64]])
    model.resize(x, [[1 << 16, 64]])
    with pytest.raises(lite.LiteFileError, match="has 2147483648 bytes: the most are 2097152000"):
        model.resize(x, [[1 << 23, 64]])


def test_resize_refuses_what_is_fixed(tmp_path: Path) -> None:
    model = loaded(converted(lenet(), [images(1)], tmp_path))
    inputs = model.get_inputs()
    with pytest.raises(ValueError, match="axis 2 is fixed at 28, not 30"):
        model.resize(inputs, [[1, 1, 30, 28]])
    with pytest.raises(ValueError, match="has 4 axes, not 2"):
        model.resize(inputs, [[1, 784]])
    with pytest.raises(ValueError, match="0 is no length"):
        model.resize(inputs, [[0, 1, 28, 28]])
    assert model.get_inputs()[0].shape == [1, 1, 28, 28]


class _Two(nn.Module):
    def forward(self, first: Any, second: Any) -> Any:
        joined = torch.cat([first, second], 1)
        return {"sum": joined.sum(1), "flat": joined.reshape(first.shape[0] * 7)}


def test_two_inputs_two_outputs_and_lengths_that_hang_on_the_batch(tmp_path: Path) -> None:
    a, b = np.ones((2, 3), np.float32), np.full((2, 4), 2, np.float32)
    model = loaded(converted(_Two(), [a, b], tmp_path))
    assert [x.name for x in model.get_inputs()] == ["first", "second"]
    assert [x.name for x in model.get_outputs()] == ["sum", "flat"]
    assert predicted(model, a, b).tolist() == [11, 11]
    tall = [np.repeat(a, 3, 0), np.repeat(b, 3, 0)]
    assert predicted(model, *tall).tolist() == [11] * 6
    inputs = model.get_inputs()
    assert model.predict(inputs)[1].get_data_to_numpy().tolist() == ([1] * 3 + [2] * 4) * 6
    with pytest.raises(ValueError, match="axis 0 the other inputs have 2, not 3"):
        model.resize(inputs, [[2, 3], [3, 4]])


def test_a_model_that_is_made_for_one_batch_keeps_it(tmp_path: Path) -> None:
    class Fixed(nn.Module):
        def forward(self, x: Any) -> Any:
            return x.reshape(1, 784) * 2

    model = loaded(converted(Fixed(), [images(1)], tmp_path))
    assert predicted(model, images(1)).shape == (1, 784)
    with pytest.raises(ValueError, match="axis 0 is fixed at 1"):
        model.resize(model.get_inputs(), [[2, 1, 28, 28]])


def test_products_of_constants_get_their_bias_and_activation(tmp_path: Path) -> None:
    torch.manual_seed(0)
    weight, bias = torch.randn(8, 5), torch.randn(5)
    x = np.random.default_rng(0).standard_normal((4, 8)).astype(np.float32)

    def function(x: Any) -> Any:
        return torch.tanh(x @ weight + bias)

    path = converted(function, [x], tmp_path)
    (node,) = read(path).nodes
    assert (node.op, [t.op for t in node.then]) == ("linear", ["tanh"])
    np.testing.assert_allclose(predicted(loaded(path), x), eager(function, x), rtol=1e-5)


def test_a_value_that_is_read_twice_is_not_fused(tmp_path: Path) -> None:
    torch.manual_seed(0)
    layer = nn.Linear(6, 6)

    def function(x: Any) -> Any:
        y = layer(x)
        return torch.relu(y) + y

    x = np.random.default_rng(0).standard_normal((3, 6)).astype(np.float32)
    path = converted(function, [x], tmp_path)
    assert all(not node.then for node in read(path).nodes)
    np.testing.assert_allclose(predicted(loaded(path), x), eager(function, x), rtol=1e-5)


def test_results_of_one_call_stay_when_the_next_runs(tmp_path: Path) -> None:
    model = loaded(converted(lenet(), [images(1)], tmp_path))
    first = predicted(model, images(1, 1))
    inputs = model.get_inputs()
    inputs[0].set_data_from_numpy(images(1, 1))
    kept = model.predict(inputs)[0]
    predicted(model, images(1, 2))
    assert np.array_equal(kept.get_data_to_numpy(), first)


def test_threads_are_those_of_the_context_during_a_call_only(tmp_path: Path) -> None:
    path = converted(lenet(), [images(1)], tmp_path)
    before = thread_pool.get_num_threads()
    model = loaded(path, threads=2)
    np.testing.assert_allclose(
        predicted(model, images(1)), predicted(loaded(path, 1), images(1)), rtol=1e-5, atol=1e-6
    )
    assert thread_pool.get_num_threads() == before
    graph = read(converted(lenet(), [images(1)], tmp_path, optimize="none"))  # has several steps
    for count in (1, 3):
        program = Program(graph, graph.lengths, {}, threads=count)
        seen: list[int] = []
        step = program.executable.steps[0]

        def watched(*given: Any, run: Any = step[0], seen: list[int] = seen) -> None:
            seen.append(thread_pool.get_num_threads())
            run(*given)

        program.executable.steps[0] = (watched, step[1])
        program.run([images(1).reshape(-1)])
        assert seen == [count]
    assert thread_pool.get_num_threads() == before


def test_half_weights_take_half_the_room(tmp_path: Path) -> None:
    net, x = lenet(), images(2)
    whole = converted(net, [x], tmp_path).stat().st_size
    path = converted(net, [x], tmp_path, weight_fp16=True)
    assert path.stat().st_size < 0.6 * whole
    np.testing.assert_allclose(predicted(loaded(path), x), eager(net, x), atol=5e-3)


def test_wrong_inputs_are_refused(tmp_path: Path) -> None:
    model = loaded(converted(lenet(), [images(1)], tmp_path))
    with pytest.raises(RuntimeError, match="takes 1 inputs, but got 0"):
        model.predict([])
    with pytest.raises(RuntimeError, match="call resize for other shapes"):
        model.predict([lite.Tensor(images(2))])
    with pytest.raises(RuntimeError, match="data type not equal"):
        model.get_inputs()[0].set_data_from_numpy(images(1).astype(np.float64))
    with pytest.raises(RuntimeError, match="data size not equal"):
        model.get_inputs()[0].set_data_from_numpy(images(2))
    with pytest.raises(RuntimeError, match="call build_from_file first"):
        lite.Model().get_inputs()


def test_unsupported_options_are_refused() -> None:
    converter, context = lite.Converter(), lite.Context()
    with pytest.raises(lite.ConvertError, match=r"input_format .* is not supported"):
        converter.input_format = lite.Format.NHWC
    with pytest.raises(lite.ConvertError, match=r"save_type .* is not supported"):
        converter.save_type = lite.ModelType.MINDIR
    with pytest.raises(lite.ConvertError, match=r"input_data_type .* is not supported"):
        converter.input_data_type = lite.DataType.INT8
    with pytest.raises(ValueError, match="target 'ascend' is not supported"):
        context.target = ["ascend"]
    with pytest.raises(ValueError, match="precision_mode"):
        context.cpu.precision_mode = "enforce_fp16"
    with pytest.warns(UserWarning, match="sums are in float32"):
        context.cpu.enable_fp16 = True
    assert context.cpu.precision_mode == "preferred_fp16"
    context.cpu.enable_fp16 = False
    assert context.cpu.precision_mode == "enforce_fp32"
    with pytest.raises(lite.ConvertError, match="fmk TF is not supported"):
        converter.convert(lite.FmkType.TF, __file__, "/tmp/never")


class _InParts(nn.Module):
    """Activations as other systems' files write them, and what only looks like one."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b = nn.Conv2d(3, 8, 1), nn.Conv2d(8, 8, 1)

    def forward(self, x: Any) -> Any:
        x = self.a(x)
        x = x * torch.sigmoid(x)
        y = self.b(x)
        gate = torch.clamp(y * (1 / 6) + 0.5, 0, 1)
        z = gate * y + x * torch.sigmoid(y) + torch.clamp(y * 0.2 + 0.5, 0, 1)
        part = self.b(z)
        return torch.sigmoid(part) * part, torch.clamp(part * (1 / 6) + 0.5, 0, 2)


def test_activations_of_several_nodes_become_one(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net, x = _InParts().eval(), np.random.default_rng(0).standard_normal((2, 3, 5, 4)) * 3
    x = x.astype(np.float32)
    path = converted(net, [x], tmp_path)
    kinds = [op for n in read(path).nodes for op in (n.op, *[t.op for t in n.then])]
    wanted = {"silu": 2, "hardswish": 1, "hardsigmoid": 0, "sigmoid": 1, "clamp": 2}
    assert {kind: kinds.count(kind) for kind in wanted} == wanted
    inputs = loaded(path).get_inputs()
    inputs[0].set_data_from_numpy(x)
    with torch.no_grad():
        expected = net(torch.from_numpy(x))
    for found, wanted in zip(loaded(path).predict(inputs), expected, strict=True):
        np.testing.assert_allclose(found.get_data_to_numpy(), wanted.numpy(), rtol=1e-5, atol=1e-6)


def test_mindir_files_that_pad_with_a_number(tmp_path: Path) -> None:
    """Pooling of odd sizes with ceil_mode does, by a constant of the file."""
    net = nn.Sequential(nn.Conv2d(1, 4, 3), nn.MaxPool2d(3, 2, ceil_mode=True)).eval()
    x = images(2)[:, :, :26, :23]
    mindspore.export(net, mindspore.Tensor(x), file_name=str(tmp_path / "net"),
                     file_format="MINDIR")  # fmt: skip
    lite.Converter().convert(
        lite.FmkType.MINDIR, str(tmp_path / "net.mindir"), str(tmp_path / "net")
    )
    np.testing.assert_allclose(
        predicted(loaded(tmp_path / "net.ms"), x), eager(net, x), rtol=1e-5, atol=1e-6
    )


def test_a_damaged_onnx_file_is_no_model_that_can_be_converted(tmp_path: Path) -> None:
    """One whose operators have other inputs, and one whose shapes do not fit."""
    onnx = pytest.importorskip("onnx")
    net, x = torch.nn.Sequential(torch.nn.ReLU(), torch.nn.Flatten()), torch.randn(1, 2, 2)
    file = tmp_path / "net.onnx"
    torch.onnx.export(net.eval(), (x,), str(file))
    whole = onnx.load(str(file))
    for change in ("inputs", "names"):
        damaged = onnx.ModelProto()
        damaged.CopyFrom(whole)
        if change == "inputs":
            del damaged.graph.node[0].input[:]
        else:
            damaged.graph.node[0].input[0] = "absent"
        onnx.save(damaged, str(file))
        with pytest.raises(lite.ConvertError):
            lite.Converter().convert(lite.FmkType.ONNX, str(file), str(tmp_path / "net"))
