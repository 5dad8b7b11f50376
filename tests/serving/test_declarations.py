"""What servable_config.py may say, what is refused, and the names of older versions."""

from __future__ import annotations

import socket
import subprocess
import sys
import time
import urllib.request
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from safetensors.numpy import save_file

from mindtorch import lite, mindspore, torch
from mindtorch.module_hooker import torch_as_mindtorch
from mindtorch.serving.client import Client
from mindtorch.serving.client import SSLConfig as ClientSSLConfig
from mindtorch.serving.columns import column_of_rows
from mindtorch.serving.server import ServableStartConfig, SSLConfig, register, start_servables
from mindtorch.serving.server.register.definition import Servable, declaring, read
from mindtorch.serving.worker_process.batched_model import BatchedModel
from mindtorch.serving.worker_process.model_inputs import InputInfo
from mindtorch.serving.worker_process.models import LoadedModel, load_model
from mindtorch.serving.worker_process.pipeline import run_method
from tests.support.paths import TESTS

from .conftest import make_servables


@pytest.fixture
def servable(tmp_path: Path) -> Iterator[Servable]:
    made = Servable("made", tmp_path)
    with declaring(made):
        yield made


def run(servable: Servable, method: str, rows: int, **inputs: Any) -> tuple[Any, dict[int, str]]:
    columns = {name: column_of_rows(value, name) for name, value in inputs.items()}
    outputs, errors = run_method(servable.methods[method], columns, rows)
    return outputs, {row: str(error) for row, error in errors.items()}


def values(column: Any, dtype: str = "float32") -> list[float]:
    return np.frombuffer(b"".join(bytes(block.data) for block in column), dtype).tolist()


def with_runner(model: register.Model, call: Callable[..., Any], **how: Any) -> LoadedModel:
    loaded = LoadedModel(call, [InputInfo("x")], ["y"], **{"batch_size": 4, **how})
    model.runner = BatchedModel(loaded, "model")
    return loaded


# -- batches


def test_rows_are_split_and_padded(servable: Servable) -> None:
    model = register.declare_model("a.pth", "PTH")
    seen: list[int] = []

    def call(arrays: Any) -> list[Any]:
        seen.append(len(arrays[0]))
        return [arrays[0] + 1]

    @register.register_method(output_names="y")
    def predict(x):
        return register.add_stage(model, x, outputs_count=1)

    with_runner(model, call)
    outputs, errors = run(servable, "predict", 7, x=np.arange(7, dtype="float32"))
    assert (values(outputs["y"]), errors) == ([1, 2, 3, 4, 5, 6, 7], {})
    assert seen == [4, 4]  # 3 are padded to the next power of two
    with_runner(model, call, fixed=True)
    seen.clear()
    run(servable, "predict", 1, x=np.zeros(1, "float32"))
    assert seen == [4]  # a file that has one size gets it
    with_runner(model, lambda arrays: [arrays[0].sum(keepdims=True)], with_batch_dim=False)
    outputs, _ = run(servable, "predict", 2, x=np.ones((2, 3), "float32"))
    assert values(outputs["y"]) == [3, 3]


def test_a_row_that_makes_the_model_fail(servable: Servable) -> None:
    model = register.declare_model("a.pth", "PTH")

    def call(arrays: Any) -> list[Any]:
        if (arrays[0] == 5).any():
            raise ZeroDivisionError("five")
        return [arrays[0]]

    @register.register_method(output_names="y")
    def predict(x):
        return register.add_stage(model, x, outputs_count=1)

    with_runner(model, call)
    outputs, errors = run(servable, "predict", 7, x=np.arange(7, dtype="float32"))
    assert values(outputs["y"]) == [0, 1, 2, 3, 4, 6]
    assert errors == {5: "model: ZeroDivisionError: five"}
    with_runner(model, lambda arrays: [arrays[0].sum()])
    _, errors = run(servable, "predict", 2, x=np.ones((2, 3), "float32"))
    assert "its first axis should count the" in errors[0]


def test_inputs_without_the_axis_of_instances(servable: Servable) -> None:
    model = register.declare_model("a.pth", "PTH", without_batch_dim_inputs=1)
    loaded = LoadedModel(lambda arrays: [arrays[0] * arrays[1]], [InputInfo("x"), InputInfo("k")],
                         ["y"], 4, unbatched=frozenset([1]))  # fmt: skip
    model.runner = BatchedModel(loaded, "model")

    @register.register_method(output_names="y")
    def predict(x, k):
        return register.add_stage(model, x, k, outputs_count=1)

    k = np.array([2, 3, 2, 3], "float32")
    outputs, errors = run(servable, "predict", 4, x=np.arange(4, dtype="float32"), k=k)
    assert (values(outputs["y"]), errors) == ([0, 3, 4, 9], {})


def test_functions_of_several_rows(servable: Servable) -> None:
    sizes: list[int] = []

    def halves(instances: Any) -> Iterator[Any]:
        sizes.append(len(instances))
        for (x,) in instances:
            if x == 2:
                raise ValueError("two")
            yield x / 2

    def too_few(instances: Any) -> list[Any]:
        return [x for (x,) in instances][:-1]

    @register.register_method(output_names="y")
    def predict(x):
        return register.add_stage(halves, x, outputs_count=1, batch_size=3, tag="half")

    @register.register_method(output_names="y")
    def short(x):
        return register.add_stage(too_few, x, outputs_count=1, batch_size=0)

    x = np.arange(5, dtype="float32")
    outputs, errors = run(servable, "predict", 5, x=x)
    assert values(outputs["y"]) == [0, 0.5, 1.5, 2]
    assert errors == {2: "half: ValueError: two"}
    assert sizes == [3, 2]
    outputs, errors = run(servable, "short", 2, x=x[:2])
    assert errors == {1: "too_few: ValueError: 1 results for 2 instances"}


# -- what is refused


def wrong(value: Any = 1) -> Any:
    """A value of a type that is not allowed."""
    return value


@pytest.mark.parametrize(
    ("declare", "text"),
    [
        (lambda: register.declare_model("", "PTH"), "should not be empty"),
        (lambda: register.declare_model("a", "OM"), "Ascend"),
        (lambda: register.declare_model("a", "keras"), "model format can only be"),
        (lambda: register.declare_model(["a", "b"], "PTH"), "several files"),
        (lambda: register.declare_model("a", "PTH", wrong()), "'with_batch_dim' should be bool"),
        (lambda: register.declare_model("a", "PTH", config_file="x"), "config_file"),
        (lambda: register.declare_model("a", "PTH", context=wrong()), "should be Context"),
        (lambda: register.declare_model("a", "PTH", options=wrong()), "should be None, GpuOptions"),
        (lambda: register.Context(threads=1), "unsupported option threads"),
        (lambda: register.Context(thread_num=0), "should be >= 1"),
        (lambda: register.CPUDeviceInfo(precision_mode="bf16"), "can only be"),
        (lambda: register.AclOptions(colour="x"), "unsupported option colour"),
        (lambda: register.Context().append_device_info(wrong()), "instance of CPUDeviceInfo"),
        (lambda: register.add_stage(len, outputs_count=1), "register_method"),
        (lambda: register.register_method(["a", "a"]), "should not be repeated"),
        (lambda: register.register_method("y")(lambda *x: x), "VAR_POSITIONAL"),
        (lambda: register.register_method("y")(lambda x: 1), "must come from its inputs"),
        (lambda: register.register_method(["y", "z"])(lambda x: x), "not match registered 2"),
        (lambda: register.register_method("y")(
            lambda x: register.add_stage(lambda a, b: a, x, outputs_count=1)), "args count 2"),
        (lambda: register.register_method("y")(
            lambda x: register.add_stage(wrong("cpp"), x, outputs_count=1)), "in C"),
        (lambda: register.register_method("y")(
            lambda x: register.add_stage(print, x, outputs_count=1)), "must be function or Model"),
        (lambda: register.register_method("y")(
            lambda x: register.add_stage(str.upper, 1, outputs_count=1)), "placeholder"),
    ],
)  # fmt: skip
def test_declarations_that_are_refused(
    servable: Servable, declare: Callable[[], Any], text: str
) -> None:
    with pytest.raises(RuntimeError, match=text):
        declare()


def test_declarations_belong_to_the_file() -> None:
    with pytest.raises(RuntimeError, match=r"directory of servable_config\.py"):
        register.declare_model("a", "PTH")


def test_models_are_called_in_workers_only(servable: Servable) -> None:
    model = register.declare_model("a", "PTH")
    with pytest.raises(RuntimeError, match="worker processes only"):
        model.call(1)
    with_runner(model, lambda arrays: [arrays[0] + 1])
    assert model.call(np.float32(1)) == 2
    assert [float(each[0]) for each in model.call([[np.float32(i)] for i in range(6)])] == [
        1, 2, 3, 4, 5, 6]  # fmt: skip
    with pytest.raises(RuntimeError, match="one subgraph"):
        model.call(1, subgraph=1)
    with pytest.raises(RuntimeError, match="no inputs"):
        model.call()


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: ServableStartConfig("a", ""), "should not be empty"),
        (lambda: ServableStartConfig("a", "b", version_number=-1), ">= 0"),
        (lambda: ServableStartConfig("a", "b", num_parallel_workers=65), r"in range \[0,64\]"),
        (lambda: ServableStartConfig("a", "b", device_type="TPU"), "Unsupported device type"),
        (lambda: ServableStartConfig("a", "b", dec_key=b"short"), "expected to be 16, 24 or 32"),
        (lambda: ServableStartConfig("a", "b", dec_mode="DES"), "AES-GCM"),
        (lambda: ServableStartConfig("a", "b", device_ids=[1, 1]), "should not be repeated"),
        (lambda: SSLConfig("a", "b", verify_client=True), "custom_ca"),
        (lambda: ClientSSLConfig("a").credentials(), "at the same time"),
        (lambda: start_servables([1]), "should be ServableStartConfig"),  # type: ignore[list-item]
        (lambda: Client("a", "b", ""), "should not be empty"),
        (lambda: Client("a", "b", "c", -1), ">= 0"),
        (lambda: Client("a", "b", "c").infer(1), "should be a map"),  # type: ignore[arg-type]
        (lambda: Client("a", "b", "c").infer({"x": None}), "Not support value type"),
        (lambda: Client("a", "b", "c").infer({"x": np.array(["a"])}), "Unknown data type"),
    ],
)
def test_arguments_that_are_refused(make: Callable[[], Any], text: str) -> None:
    with pytest.raises(RuntimeError, match=text):
        make()


# -- files


def test_files_of_weights(servable: Servable, tmp_path: Path) -> None:
    torch.save({"weight": torch.tensor([[2.0]])}, tmp_path / "a.pth")
    save_file({"weight": np.array([[2.0]], "float32")}, tmp_path / "a.safetensors")

    def build() -> Any:
        return torch.nn.Linear(1, 1, bias=False)

    for name, kind in (("a.pth", "PTH"), ("a.safetensors", "safetensors")):
        model = register.declare_model(name, kind, module=build)
        loaded = load_model(model.declaration, tmp_path)
        (given,) = loaded.run([np.array([[3.0]], "float32")])
        assert given.tolist() == [[6.0]]
        assert [info.name for info in loaded.inputs] == ["input"]


class Doubles(torch.nn.Module):
    """One number's sign decides for all."""

    def forward(self, x: Any) -> Any:
        return x * 2 if x.sum() > 0 else x


class Counts(torch.nn.Module):
    """What it gives hangs on how often it was called."""

    calls = 0

    def forward(self, x: Any) -> Any:
        self.calls += 1
        return x * self.calls


def test_modules_run_as_graphs(servable: Servable, tmp_path: Path) -> None:
    """Those whose shapes are known, unless they depend on data, on their past, or are not to."""

    def build() -> Any:
        return torch.nn.Sequential(torch.nn.Conv2d(1, 8, 3), torch.nn.BatchNorm2d(8),
                                   torch.nn.ReLU(), torch.nn.Flatten())  # fmt: skip

    net = build().eval()
    torch.save(net.state_dict(), tmp_path / "a.pth")
    torch.save({}, tmp_path / "empty.pth")
    x = torch.randn(5, 1, 6, 6)
    wanted = net(x).detach().numpy()
    form: Any = {"inputs": [("x", "float32", (1, 6, 6))]}

    def ran(file: str, module: Any, **how: Any) -> tuple[Any, int]:
        model = register.declare_model(file, "PTH", module=module, **how)
        loaded = load_model(model.declaration, tmp_path)
        times: list[int] = []
        predict = lite.Model.predict

        def counted(*args: Any) -> Any:
            times.append(1)
            return predict(*args)

        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(lite.Model, "predict", counted)
            outputs, errors = BatchedModel(loaded, "net").rows([x.numpy()], 5)
        assert errors == {}
        return outputs[0], len(times)

    given, times = ran("a.pth", build, batch_size=8, **form)
    assert times == 1
    np.testing.assert_allclose(given, wanted, rtol=1e-5, atol=1e-6)
    for how in ({"as_graph": False, **form}, {}):
        given, times = ran("a.pth", build, **how)
        assert (times, given.tolist()) == (0, wanted.tolist())
    for module in (Doubles, Counts):
        assert ran("empty.pth", module, **form)[1] == 0


@pytest.mark.parametrize("name", ["lenet", "bert"])
def test_files_of_mindspore(servable: Servable, name: str) -> None:
    """Written by MindSpore for batches of two, with what it computed."""
    folder = TESTS / "golden" / "mindir"
    model = register.declare_model(f"{name}.mindir", "MindIR")
    loaded = load_model(model.declaration, folder)
    assert (loaded.batch_size, loaded.fixed) == (2, True)
    with np.load(folder / f"{name}.npz") as recorded:
        arrays = dict(recorded)
    given = [arrays[f"input{i}"] for i in range(len(loaded.inputs))]
    columns = [np.concatenate([x, x[:1]]) for x in given]
    outputs, errors = BatchedModel(loaded, name).rows(columns, 3)
    assert errors == {}
    wanted = arrays["output0"]
    np.testing.assert_allclose(outputs[0][:2], wanted, rtol=1e-4, atol=1e-6)
    np.testing.assert_allclose(outputs[0][2], wanted[0], rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("open_batch", [True, False])
def test_files_of_onnx(servable: Servable, tmp_path: Path, open_batch: bool) -> None:
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
    x = torch.randn(5, 3)
    shapes: Any = {"dynamic_axes": {"x": {0: "n"}, "y": {0: "n"}}} if open_batch else {}
    file = tmp_path / "net.onnx"
    torch.onnx.export(net, (x,), str(file), input_names=["x"], output_names=["y"], **shapes)
    model = register.declare_model("net.onnx", "ONNX")
    loaded = load_model(model.declaration, tmp_path)
    assert loaded.inputs == [InputInfo("x", "float32", (3,))]
    assert (loaded.outputs, loaded.fixed) == (["y"], not open_batch)
    outputs, errors = BatchedModel(loaded, "net").rows([x.numpy()[:4]], 4)
    assert errors == {}
    np.testing.assert_allclose(outputs[0], net(x).detach().numpy()[:4], rtol=1e-5, atol=1e-6)
    file.write_bytes(b"no model")
    with pytest.raises(Exception, match="ONNX model"):
        load_model(model.declaration, tmp_path)


@pytest.mark.parametrize(
    ("shape", "told"),
    [((65537, 3), "asks for a batch of 65537 instances, 65536 are allowed"),
     ((60000, 1 << 30), r"a batch of 60000 instances of net\.onnx take 240,000\.0 GiB, and")],
    ids=["instances", "memory"],
)  # fmt: skip
def test_batches_that_are_too_large(
    servable: Servable, tmp_path: Path, shape: tuple[int, int], told: str
) -> None:
    x, y = (onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, shape)
            for name in "xy")  # fmt: skip
    graph = onnx.helper.make_graph([onnx.helper.make_node("Sin", ["x"], ["y"])], "net", [x], [y])
    opset = [onnx.helper.make_opsetid("", 17)]
    onnx.save(onnx.helper.make_model(graph, opset_imports=opset), str(tmp_path / "net.onnx"))
    model = register.declare_model("net.onnx", "ONNX")
    with pytest.raises(RuntimeError, match=told):
        load_model(model.declaration, tmp_path)


def test_files_of_lite(servable: Servable, tmp_path: Path) -> None:
    """Runs of all numbers of instances share a few networks bound to memory."""
    net = torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.ReLU(), torch.nn.Linear(4, 2)).eval()
    x = torch.randn(7, 3)
    file = tmp_path / "net.onnx"
    torch.onnx.export(net, (x,), str(file), dynamic_axes={"input": {0: "n"}},
                      input_names=["input"], output_names=["scores"])  # fmt: skip
    lite.Converter().convert(lite.FmkType.ONNX, str(file), str(tmp_path / "net"))
    model = register.declare_model("net.ms", "MindIR_Lite")
    loaded = load_model(model.declaration, tmp_path)
    assert loaded.inputs == [InputInfo("input", "float32", (3,))]
    assert (loaded.outputs, loaded.fixed) == (["scores"], False)
    for rows in (7, 1, 4):
        outputs, errors = BatchedModel(loaded, "net").rows([x.numpy()[:rows]], rows)
        assert errors == {}
        np.testing.assert_allclose(outputs[0], net(x).detach().numpy()[:rows], rtol=1e-5, atol=1e-6)
    (tmp_path / "net.ms").write_bytes((tmp_path / "net.ms").read_bytes()[:100])
    with pytest.raises(Exception, match=r"net\.ms"):
        load_model(model.declaration, tmp_path)


def test_encrypted_files(servable: Servable) -> None:
    folder = TESTS / "golden" / "mindir"
    model = register.declare_model("encrypted_gcm.mindir", "MindIR")
    with pytest.raises(RuntimeError, match="give its key as dec_key"):
        load_model(model.declaration, folder)


def test_checkpoints_of_mindspore(servable: Servable, tmp_path: Path) -> None:
    cell = mindspore.nn.Dense(2, 1, has_bias=False)
    mindspore.save_checkpoint(cell, str(tmp_path / "a.ckpt"))

    def build() -> Any:
        return mindspore.nn.Dense(2, 1, has_bias=False)

    model = register.declare_model("a.ckpt", "CKPT", module=build)
    x = np.ones((3, 2), "float32")
    (given,) = load_model(model.declaration, tmp_path).run([x])
    assert given.tolist() == cell(mindspore.Tensor(x)).asnumpy().tolist()
    other = register.declare_model("a.ckpt", "CKPT", module=lambda: mindspore.nn.Dense(2, 1))
    with pytest.raises(RuntimeError, match="has no weights for bias"):
        load_model(other.declaration, tmp_path)


@pytest.mark.parametrize(
    ("how", "text"),
    [
        ({}, "needs module="),
        ({"module": "a.py"}, '"file.py:function"'),
        ({"module": "none.py:build"}, '"file.py:function"'),
        ({"module": "net.py:nothing"}, "there is no nothing"),
        ({"context": "half"}, "precision_mode='fp16'"),
    ],
)
def test_models_that_cannot_be_made(
    servable: Servable, tmp_path: Path, how: dict[str, Any], text: str
) -> None:
    torch.save({}, tmp_path / "a.pth")
    (tmp_path / "net.py").write_text("")
    if "context" in how:
        how = {"context": register.Context()}
        how["context"].append_device_info(register.CPUDeviceInfo(precision_mode="fp16"))
    model = register.declare_model("a.pth", "PTH", **how)
    with pytest.raises(RuntimeError, match=text):
        load_model(model.declaration, tmp_path)


def test_a_key_is_for_files_that_can_be_encrypted(servable: Servable, tmp_path: Path) -> None:
    torch.save({}, tmp_path / "a.pth")
    model = register.declare_model("a.pth", "PTH")
    with pytest.raises(RuntimeError, match="dec_key is for MindIR"):
        load_model(model.declaration, tmp_path, b"0" * 16)
    with pytest.raises(RuntimeError, match="there is no file"):
        load_model(model.declaration, tmp_path / "none")


# -- older versions


OLDER = """
from mindspore_serving.worker import register

register.declare_servable(servable_file="a.pth", model_format="PTH")


def to_float(a, b):
    return a.astype("float32"), b.astype("float32")


def tenfold(instances):
    for (y,) in instances:
        yield y * 10


@register.register_method(output_names=["y"])
def predict(a, b):
    a, b = register.call_preprocess(to_float, a, b)
    y = register.call_servable(a, b)
    y = register.call_postprocess_pipeline(tenfold, y)
    return y
"""


def test_the_three_functions_of_version_1_1(tmp_path: Path) -> None:
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "servable_config.py").write_text(OLDER)
    with torch_as_mindtorch(), warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        servable = read(tmp_path, "old")
    assert sum("deprecated from version 1.5.0" in str(each.message) for each in told) == 4
    (model,) = servable.models
    infos = [InputInfo("a"), InputInfo("b")]
    loaded = LoadedModel(lambda arrays: [arrays[0] + arrays[1]], infos, ["y"], 4)
    model.runner = BatchedModel(loaded, "model")
    a = np.arange(3)
    outputs, errors = run(servable, "predict", 3, a=a, b=a)
    assert (values(outputs["y"]), errors) == ([0, 20, 40], {})
    assert [stage.tag for stage in servable.methods["predict"].stages] == [
        "Preprocess", "a.pth", "Postprocess"]  # fmt: skip


def test_clients_of_version_1_1() -> None:
    client = Client("localhost", 5500, "add", "predict", 3)
    assert (client.address, client.servable_name, client.method_name, client.version_number) == (
        "localhost:5500", "add", "predict", 3)  # fmt: skip


SCRIPT = """
from mindtorch.tools import mstorch_enable
from mindspore_serving import {how}

{start}
print("ready", flush=True)
"""
NEW = """
config = server.ServableStartConfig({folder!r}, "things", version_number=1)
server.start_servables(config)
try:
    server.start_servables(server.ServableStartConfig({folder!r}, "no"))
except RuntimeError as error:
    print("refused", error)
print(server.start_restful_server("127.0.0.1:0"))
print(server.start_grpc_server("127.0.0.1:0"), flush=True)
"""
OLD = """
worker.start_servable_in_master({folder!r}, "things", version_number=1)
print(master.start_grpc_server("127.0.0.1", {port}), flush=True)
"""


@pytest.mark.parametrize("which", ["server", "master, worker"])
def test_a_script_ends_and_its_server_goes_on(tmp_path: Path, which: str) -> None:
    folder = str(make_servables(tmp_path))
    port = _free_port()
    start = (NEW if which == "server" else OLD).format(folder=folder, port=port)
    script = tmp_path / "start.py"
    script.write_text(SCRIPT.format(how=which, start=start))
    process = subprocess.Popen([sys.executable, str(script)], stdout=subprocess.PIPE,
                               stderr=subprocess.PIPE, text=True)  # fmt: skip
    assert process.stdout is not None
    told = [line.strip() for line in iter(process.stdout.readline, "ready\n")]
    if which == "server":
        assert told[0].startswith("refused Start servable failed: there is no folder")
    client = Client(f"127.0.0.1:{told[-1]}", "things", "only_model")
    assert client.infer({"x": np.zeros(3, "float32")})[0]["y"].tolist() == [1, 1, 1]
    if which == "server":
        with urllib.request.urlopen(f"http://127.0.0.1:{told[-2]}/v2/health/ready") as given:
            assert given.status == 200
        process.terminate()
        _, errors = process.communicate(timeout=30)
        assert (process.returncode, errors) == (0, "")
        return
    children = Path(f"/proc/{process.pid}/task").glob("*/children")
    workers = [pid for each in children for pid in each.read_text().split()]
    assert len(workers) == 1
    process.kill()
    process.communicate(timeout=30)
    for _ in range(100):  # they see that the server is gone
        try:
            state = Path(f"/proc/{workers[0]}/stat").read_text().rpartition(")")[2].split()[0]
        except (FileNotFoundError, ProcessLookupError):
            return
        if state == "Z":
            return
        time.sleep(0.05)
    raise AssertionError("the worker has not ended")


TAKEN = """
import signal, sys, threading, time
from mindtorch.tools import mstorch_enable
from mindspore_serving import server

server.start_restful_server("127.0.0.1:0")

def take() -> None:
    while sys.argv[1] == "is over" and threading.main_thread().is_alive():
        time.sleep(0.05)
    signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    time.sleep(60)

threading.Thread(target=take, daemon=True).start()
if sys.argv[1] == "waits":
    threading.Event().wait(60)
"""


@pytest.mark.parametrize("main", ["waits", "is over"])
def test_another_thread_takes_the_signal(main: str) -> None:
    done = subprocess.run([sys.executable, "-c", TAKEN, main], timeout=50, check=False)
    assert done.returncode == (128 + 15 if main == "waits" else 0)


def _free_port() -> int:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port: int = taken.getsockname()[1]
        return port
