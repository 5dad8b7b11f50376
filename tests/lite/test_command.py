"""The command line, and `mindspore_lite` under the import switch."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from mindtorch.tools.cli import main

_SCRIPT = """
from mindtorch.tools import mstorch_enable
import sys
import numpy as np
import mindspore as ms
import mindspore_lite as mslite
from mindspore import nn


class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(3, 8, 3, stride=2, has_bias=True)
        self.norm, self.relu = nn.BatchNorm2d(8), nn.ReLU()
        self.flatten, self.dense = nn.Flatten(), nn.Dense(8 * 8 * 8, 5)

    def construct(self, x):
        return self.dense(self.flatten(self.relu(self.norm(self.conv(x)))))


ms.set_seed(0)
net = Net().set_train(False)
x = ms.Tensor(np.random.default_rng(0).standard_normal((1, 3, 16, 16)).astype(np.float32))
file = sys.argv[1] + "/net"
ms.export(net, x, file_name=file, file_format="MINDIR")
mslite.Converter().convert(mslite.FmkType.MINDIR, file + ".mindir", file)
context = mslite.Context()
context.target, context.cpu.thread_num = ["cpu"], 1
model = mslite.Model()
model.build_from_file(file + ".ms", mslite.ModelType.MINDIR_LITE, context)
inputs = model.get_inputs()
inputs[0].set_data_from_numpy(x.asnumpy())
(output,) = model.predict(inputs)
np.testing.assert_allclose(output.get_data_to_numpy(), net(x).asnumpy(), rtol=1e-4, atol=1e-5)
direct = mslite.Model()
direct.build_from_file(file + ".mindir", mslite.ModelType.MINDIR, context)
assert np.array_equal(direct.predict(inputs)[0].get_data_to_numpy(), output.get_data_to_numpy())
print(mslite.__name__, inputs[0].name)
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory, repository: Path) -> Path:
    """A folder with net.mindir and net.ms, which a script of MindSpore's names made."""
    made = tmp_path_factory.mktemp("mindir")
    command = [sys.executable, "-c", _SCRIPT, str(made)]
    done = subprocess.run(
        command, capture_output=True, text=True, check=False, cwd=repository
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split() == ["mindtorch.lite", "x"]
    return made


def test_convert_info_and_benchmark(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--fmk=MINDIR", f"--modelFile={folder}/net.mindir", f"--outputFile={folder}/again"]
    assert main(["lite", "convert", *given, "--infer=true"]) == 0
    assert capsys.readouterr().out == "CONVERT RESULT SUCCESS:0\n"
    assert (folder / "again.ms").read_bytes() == (folder / "net.ms").read_bytes()
    assert main(["lite", "info", f"--modelFile={folder}/again.ms"]) == 0
    said = capsys.readouterr().out
    assert "input x: float32[1, 3, 16, 16]\n" in said
    assert "nodes convolution+relu: 1\n" in said
    shown = ["lite", "benchmark", f"--modelFile={folder}/again.ms", "--loopCount=3"]
    assert main(shown) == 0
    assert "NumThreads = 1, MinRunTime = " in capsys.readouterr().out


def test_a_lite_file_is_converted_again(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["--fmk=MSLITE", f"--modelFile={folder}/net.ms", f"--outputFile={folder}/half"]
    assert main(["lite", "convert", *given, "--fp16=on"]) == 0
    assert (folder / "half.ms").stat().st_size < 0.8 * (folder / "net.ms").stat().st_size
    capsys.readouterr()


@pytest.mark.parametrize(("option", "said"), [
    ("--fmk=TF", "fmk TF is not supported"),
    ("--inputDataFormat=NHWC", "--inputDataFormat=NHWC is not supported"),
    ("--inputDataType=INT8", "--inputDataType=INT8 is not supported"),
    ("--saveType=MINDIR", "--saveType=MINDIR is not supported"),
    ("--optimize=ascend_oriented", "optimize 'ascend_oriented' is not supported"),
    ("--encryption=true", "--encryption=true is not supported"),
    ("--weightFile=w", "only models of Caffe have one"),
    ("--configFile=/nowhere", "configFile /nowhere"),
    ("--inputShape=x:1,3", "has the shape [1, 3, 16, 16], not [1, 3]"),
    ("--inputShape=y:1", "inputShape names 'y'"),
    ("--inputShape=x", "is not of the form"),
    ("--modelFile=/nowhere", "there is no file '/nowhere'"),
])  # fmt: skip
def test_what_is_not_supported_is_refused_and_writes_nothing(
    option: str, said: str, folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    given = ["--fmk=MINDIR", f"--modelFile={folder}/net.mindir", f"--outputFile={tmp_path}/net"]
    assert main(["lite", "convert", *given, option]) == 1
    out, error = capsys.readouterr()
    assert out == "CONVERT RESULT FAILED:1\n"
    assert said in error
    assert not list(tmp_path.iterdir())


def test_a_damaged_file_is_refused(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    content = bytearray((folder / "net.ms").read_bytes())
    content[-100] ^= 1
    (tmp_path / "net.ms").write_bytes(content)
    assert main(["lite", "benchmark", f"--modelFile={tmp_path}/net.ms"]) == 1
    assert "the checksum of its weights is wrong" in capsys.readouterr().err


def test_onnx_files(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from mindtorch import torch

    from .models import eager, images, lenet, loaded, predicted

    net, x = lenet(), images(1)
    torch.onnx.export(net, (torch.from_numpy(x),), str(tmp_path / "net.onnx"))
    capsys.readouterr()
    given = ["--fmk=ONNX", f"--modelFile={tmp_path}/net.onnx", f"--outputFile={tmp_path}/net"]
    assert main(["lite", "convert", *given]) == 0
    np.testing.assert_allclose(
        predicted(loaded(tmp_path / "net.ms"), x), eager(net, x), rtol=1e-4, atol=1e-5
    )
