"""`mindtorch lite micro`, and `mindtorch lite convert` with settings of [micro_param]."""

import numpy as np
import pytest

from mindtorch import torch
from mindtorch.tools.cli import main
from mindtorch.torch import nn
from tests.lite.micro.compiling import compiled, outputs

SCRIPT = """
import torch

def build():
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 2), torch.nn.ReLU())
"""


@pytest.fixture
def script(tmp_path):
    path = tmp_path / "model.py"
    path.write_text(SCRIPT)
    return path


def command(script, tmp_path, *more):
    return main(["lite", "micro", f"{script}:build", "--input", "1,3", "--output",
                 str(tmp_path / "made"), "--name", "tiny", *more])  # fmt: skip


def test_a_project_of_a_script(script, tmp_path, capsys):
    samples = np.random.default_rng(0).normal(size=(20, 3))
    np.save(tmp_path / "samples.npy", samples)
    made = []
    for more in ((), ("--calibration", str(tmp_path / "samples.npy"))):
        assert command(script, tmp_path, *more) == 0
        assert "tiny.c" in capsys.readouterr().out
        made.append(np.array(outputs(compiled(tmp_path / "made"), [[row] for row in samples])))
    assert np.abs(made[0]).max() > 0
    assert 0 < np.abs(made[0] - made[1]).max() < np.abs(made[0]).max() / 50


def test_what_is_wrong_is_said(script, tmp_path, capsys):
    assert command(script, tmp_path, "--name", "main") == 1
    assert "cannot begin C names" in capsys.readouterr().err
    np.save(tmp_path / "samples.npy", np.zeros((4, 7)))
    assert command(script, tmp_path, "--calibration", str(tmp_path / "samples.npy")) == 1
    assert "not samples of shape (1, 3)" in capsys.readouterr().err
    assert not (tmp_path / "made").exists()


def converted(folder, output):
    """What the converter's command says of net.onnx with the file of settings."""
    return main(["lite", "convert", "--fmk=ONNX", f"--modelFile={folder}/net.onnx",
                 f"--outputFile={folder}/{output}", f"--configFile={folder}/settings"])  # fmt: skip


def test_settings_of_micro_write_a_file_s_model_as_c(tmp_path, capsys):
    torch.manual_seed(0)
    net = nn.Sequential(
        nn.Conv2d(1, 6, 3, bias=False), nn.BatchNorm2d(6), nn.ReLU6(), nn.Flatten(),
        nn.Linear(96, 4), nn.Softmax(-1),
    ).eval()  # fmt: skip
    net[1].running_mean.uniform_(-1, 1)
    samples = np.random.default_rng(0).standard_normal((20, 1, 1, 6, 6)).astype(np.float32)
    torch.onnx.export(net, (torch.from_numpy(samples[0]),), str(tmp_path / "net.onnx"),
                      input_names=["image"])  # fmt: skip
    (tmp_path / "samples").mkdir()
    for number, sample in enumerate(samples):
        sample.tofile(tmp_path / "samples" / f"{number:02}.bin")
    micro = "[micro_param]\nenable_micro=true\ntarget=Cortex-M\n"
    quantised = (
        f"{micro}[common_quant_param]\nquant_type=FULL_QUANT\n[data_preprocess_param]\n"
        f"calibrate_path=image:{tmp_path}/samples\ncalibrate_size=20\n"
        "[full_quant_param]\nbias_correction="
    )
    exact = net(torch.from_numpy(samples.reshape(20, 1, 6, 6))).detach().numpy()
    made = {}
    for kind, text in (
        ("float", micro), ("corrected", f"{quantised}true\n"), ("plain", f"{quantised}false\n"),
    ):  # fmt: skip
        (tmp_path / "settings").write_text(text)
        assert converted(tmp_path, kind) == 0
        assert capsys.readouterr().out == "CONVERT RESULT SUCCESS:0\n"
        assert "for Cortex-M" in (tmp_path / kind / f"{kind}.h").read_text()
        found = outputs(compiled(tmp_path / kind), [[sample] for sample in samples])
        made[kind] = np.abs(np.array(found) - exact).max()
    assert made["float"] < 1e-6
    assert 1e-4 < made["corrected"] < 0.03
    assert 1e-4 < made["plain"] < 0.03
    assert made["corrected"] != made["plain"]
    assert not list(tmp_path.glob("*.ms"))


class _Largest(nn.Module):
    def forward(self, x):
        return x.topk(2).values


def test_what_cannot_be_written_as_c_is_said(tmp_path, capsys):
    (tmp_path / "settings").write_text("[micro_param]\nenable_micro=true\n")
    (tmp_path / "file").write_text("")
    for net, output, said in (
        (nn.Linear(4, 3), "file", "is a file, the C code needs a folder"),
        (_Largest(), "folder", "the operator 'sort' has no counterpart in C"),
    ):  # fmt: skip
        torch.onnx.export(net, (torch.zeros(1, 4),), str(tmp_path / "net.onnx"))
        assert converted(tmp_path, output) == 1
        out, error = capsys.readouterr()
        assert said in error
        assert out.endswith("CONVERT RESULT FAILED:1\n")
