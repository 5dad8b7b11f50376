"""Models that share memory, and a file that several threads run at the same time."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch import lite, mindspore, torch
from mindtorch.lite.lite_infer import LiteInfer

from .models import converted, eager, images, lenet, loaded, predicted


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Of LeNet and of a smaller network."""
    torch.manual_seed(0)
    other = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(784, 10), torch.nn.ReLU())
    return [converted(net, [images(2)], tmp_path_factory.mktemp("files"))
            for net in (lenet(), other.eval())]  # fmt: skip


def result(model: Any, x: np.ndarray) -> np.ndarray:
    made: np.ndarray = model.predict([lite.Tensor(x)])[0].get_data_to_numpy()
    return made


def alone(path: Path, x: np.ndarray) -> np.ndarray:
    model = lite.Model()
    model.build_from_file(path, lite.ModelType.MINDIR_LITE)
    model.resize(model.get_inputs(), [x.shape])
    return result(model, x)


@pytest.mark.parametrize("workers", [1, 3])
def test_calls_of_several_threads(files: list[Path], workers: int) -> None:
    context = lite.Context()
    context.cpu.thread_num, context.parallel.workers_num = 1, workers
    runner = lite.ModelParallelRunner()
    with pytest.raises(RuntimeError, match="the runner is not built"):
        runner.predict([])
    runner.build_from_file(files[0], context)
    given = [images(count, seed=count) for count in (1, 2, 5, 2)]
    expected = [alone(files[0], x) for x in given]
    wrong: list[Any] = []

    def ask(x: np.ndarray, y: np.ndarray) -> None:
        for _ in range(10):
            if not np.array_equal(result(runner, x), y):
                wrong.append(x.shape)

    threads = [threading.Thread(target=ask, args=each)
               for each in zip(given, expected, strict=True)]  # fmt: skip
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert [x.shape for x in runner.get_inputs()] == [[2, 1, 28, 28]]
    assert [x.shape for x in runner.get_outputs()] == [[2, 10]]
    assert runner.get_inputs()[0] is not runner.get_inputs()[0]
    with pytest.raises(RuntimeError, match="axis 2 is fixed at 28, not 27"):
        result(runner, np.zeros((2, 1, 27, 28), np.float32))
    assert np.array_equal(result(runner, given[0]), expected[0])
    with pytest.raises(TypeError, match="inputs element must be Tensor"):
        runner.predict([given[0]])  # type: ignore[list-item]


@pytest.mark.parametrize("by_path", [True, False])
@pytest.mark.parametrize("flag", lite.ModelGroupFlag)
def test_models_of_a_group(files: list[Path], flag: lite.ModelGroupFlag, by_path: bool) -> None:
    group, models = lite.ModelGroup(flag), [lite.Model(), lite.Model(), lite.Model()]
    group.add_model([str(path) for path in files] if by_path else models)
    shares_workspace = flag is not lite.ModelGroupFlag.SHARE_WEIGHT
    if shares_workspace:
        group.cal_max_size_of_workspace(lite.ModelType.MINDIR_LITE, lite.Context())
    else:
        with pytest.raises(RuntimeError, match="no workspace is shared"):
            group.cal_max_size_of_workspace(lite.ModelType.MINDIR_LITE, lite.Context())
    x = images(2)
    for model, path in zip(models, [*files, files[0]], strict=True):
        model.build_from_file(path, lite.ModelType.MINDIR_LITE)
        assert np.array_equal(result(model, x), alone(path, x))
    assert (models[0]._arena is models[1]._arena) == shares_workspace
    first, third = ([t.data for t in m._built().tensors if t.data is not None and t.data.size > 100]
                    for m in (models[0], models[2]))  # fmt: skip
    shares_weights = flag is not lite.ModelGroupFlag.SHARE_WORKSPACE
    assert all((a is b) == shares_weights for a, b in zip(first, third, strict=True))
    assert np.array_equal(result(models[0], x), result(models[2], x))
    with pytest.raises(RuntimeError, match="a model is built already"):
        group.add_model([models[0]])


def test_groups_of_what_is_no_model() -> None:
    group = lite.ModelGroup()
    mixed: list[Any] = ["a.ms", lite.Model()]
    cases: list[Any] = [("a.ms", TypeError), ([], RuntimeError), (mixed, TypeError)]
    for wrong, kind in cases:
        with pytest.raises(kind):
            group.add_model(wrong)
    with pytest.raises(TypeError, match="flags must be ModelGroupFlag"):
        lite.ModelGroup(2)  # type: ignore[arg-type]
    context = lite.Context()
    with pytest.raises(ValueError, match="must be a non-negative int"):
        context.parallel.workers_num = -1
    with pytest.raises(TypeError, match="must be int"):
        context.parallel.workers_num = 1.5  # type: ignore[assignment]
    with pytest.raises(ValueError, match="is not read here"):
        context.parallel.config_info = {"weight": {"weight_path": "x"}}
    with pytest.raises(ValueError, match="not read here"):
        context.parallel.config_path = "x"


def test_settings_without_a_file(tmp_path: Path) -> None:
    torch.manual_seed(0)
    net = torch.nn.Linear(64, 64).eval()
    x = torch.randn(1, 64)
    text = "[common_quant_param]\nquant_type=WEIGHT_QUANT  # as the page has it\nbit_num=6\n"
    (tmp_path / "settings.ini").write_text(text)
    converter = lite.Converter()
    converter.convert_module(net, [x], str(tmp_path / "a"), str(tmp_path / "settings.ini"))
    converter.set_config_info("common_quant_param", {"quant_type": "WEIGHT_QUANT", "bit_num": "6"})
    assert list(converter.get_config_info()) == ["common_quant_param"]
    converter.convert_module(net, [x], str(tmp_path / "b"))
    assert (tmp_path / "a.ms").read_bytes() == (tmp_path / "b.ms").read_bytes()
    converter.set_config_info("common_quant_param", {"quant_type": "WEIGHT_QUANT", "bit_num": "99"})
    with pytest.raises(lite.ConvertError, match="bit_num"):
        converter.convert_module(net, [x], str(tmp_path / "b"))
    for wrong in ({"bit_num": 6}, [("bit_num", "6")]):
        with pytest.raises(TypeError):
            converter.set_config_info("common_quant_param", wrong)
    tensor = lite.Tensor(shape=[2, 3], dtype=lite.DataType.FLOAT32, device="cpu")
    tensor.dtype = lite.DataType.INT8
    assert (tensor.dtype, tensor.shape, tensor.device) == (lite.DataType.INT8, [2, 3], "")
    with pytest.raises(ValueError, match="is not supported"):
        lite.Tensor(device="ascend:0")


def test_weights_are_given_anew(tmp_path: Path) -> None:
    x = images(3)
    old, new = lenet(), lenet()
    with torch.no_grad():
        for parameter in new.parameters():
            parameter.mul_(1.5).add_(0.1)
    model = loaded(converted(old, [images(2)], tmp_path, optimize="none"))
    model.resize(model.get_inputs(), [x.shape])
    before = model.predict([x])[0].get_data_to_numpy()
    tensors = [lite.Tensor(value, name=name) for name, value in new.named_parameters()]
    wrong = [lite.Tensor(np.zeros(6, np.float32), name="0.weight")]
    for given, message in (
        ([[*tensors, *wrong]], r"'0.weight' is float32 \[6, 1, 5, 5\]"),
        ([[lite.Tensor(name="none")]], "no constant has the name 'none'"),
    ):
        with pytest.raises(RuntimeError, match=message):
            model.update_weights(given)
    with pytest.raises(TypeError, match="weight must be list"):
        model.update_weights(tensors)  # type: ignore[arg-type]
    assert np.array_equal(model.predict([x])[0].get_data_to_numpy(), before)
    model.update_weights([tensors[:4], tensors[4:]])
    assert np.array_equal(model.predict([x])[0].get_data_to_numpy(), eager(new, x))
    folded = loaded(converted(old, [images(2)], tmp_path))
    with pytest.raises(RuntimeError, match=r"no constant has the name '0\.weight'"):
        folded.update_weights([tensors])  # its numbers are no longer those of the network
    folded.update_weights([[each for each in tensors if each.name.startswith(("8", "10", "12"))]])
    assert not np.array_equal(predicted(folded, x), before)
    quantised = loaded(
        converted(old, [x], tmp_path, "[common_quant_param]\nquant_type=WEIGHT_QUANT")
    )
    with pytest.raises(RuntimeError, match=r"'8\.weight' is quantised"):
        quantised.update_weights([[each for each in tensors if each.name == "8.weight"]])


def test_models_of_one_file_and_networks_without_one(tmp_path: Path) -> None:
    net = mindspore.nn.Dense(5, 3)
    x = np.random.default_rng(0).standard_normal((2, 5)).astype(np.float32)
    expected = net(mindspore.Tensor(x)).asnumpy()
    mindspore.export(net, mindspore.Tensor(x), file_name=str(tmp_path / "net"), enc_key=b"1" * 16,
                     file_format="MINDIR")  # fmt: skip
    path = str(tmp_path / "net.mindir")
    model = lite.Model()
    with pytest.raises(lite.ConvertError):
        model.build_from_file(path, lite.ModelType.MINDIR)
    with pytest.raises(TypeError, match="dec_key must be bytes"):
        model.build_from_file(path, lite.ModelType.MINDIR, dec_key="1" * 16)  # type: ignore[arg-type]
    model.build_from_file(path, lite.ModelType.MINDIR, dec_key=b"1" * 16)
    assert str(model) == f"model_path: {path}."
    mindspore.export(net, mindspore.Tensor(x), file_name=path, file_format="MINDIR")
    runner = lite.MultiModelRunner()
    with pytest.raises(RuntimeError, match="not built"):
        runner.get_runner_exec()
    with pytest.raises(RuntimeError, match="model_type only support MINDIR"):
        runner.build_from_file(path, lite.ModelType.MINDIR_LITE)
    runner.build_from_file(path, lite.ModelType.MINDIR)
    (executor,) = runner.get_runner_exec()
    inferred = LiteInfer(mindspore.train.Model(net), mindspore.Tensor(x))
    with pytest.raises(ValueError, match=r"should be ms\.train\.Model"):
        LiteInfer(path)
    inferred.resize(inferred.get_inputs(), [[2, 5]])
    for each in (model, executor, inferred):
        assert [t.shape for t in (*each.get_inputs(), *each.get_outputs())] == [[2, 5], [2, 3]]
        found = each.predict([x])[0].get_data_to_numpy()
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)


def test_the_first_model_gives_eager_numbers(files: list[Path]) -> None:
    x = images(3, seed=4)
    np.testing.assert_allclose(alone(files[0], x), eager(lenet(), x), rtol=1e-5, atol=1e-6)
