"""MindTorch's own names beside torch's: messages, conversions, gradients of wrong arguments."""

import logging
import os
import subprocess
import sys
from collections import namedtuple
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch as oracle

import mindtorch
import mindtorch.mindspore as ms
from mindtorch import torch
from mindtorch.tools import convert_to_ms_tensor, pth2ckpt
from mindtorch.tools.utils import try_import


def test_versions_and_mode() -> None:
    """What scripts ask of the package."""
    assert mindtorch.version == ".".join(map(str, mindtorch.VERSION)) == mindtorch.__version__
    assert mindtorch.unsupported_attr(mindtorch) is mindtorch
    assert mindtorch.pynative_mode_condition()
    ms.set_context(mode=ms.GRAPH_MODE)
    try:
        assert not mindtorch.pynative_mode_condition()
    finally:
        ms.set_context(mode=ms.PYNATIVE_MODE)


def test_messages(monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]) -> None:
    """MSA_LOG says from which level on; the same warning is written once."""
    logger = logging.getLogger("MindTorch")
    monkeypatch.setattr(logger, "handlers", [])
    for level, names in (("0", "debug info error"), ("2", "error"), ("4", "")):
        monkeypatch.setenv("MSA_LOG", level)
        for name in ("debug", "info", "error"):
            getattr(torch, name)("said %s", name)
        logger.handlers.clear()
        assert [x.split()[-1] for x in capfd.readouterr().err.splitlines()] == names.split()
    monkeypatch.setenv("MSA_LOG", "2")
    torch.warning("only once")
    torch.warning("only once")
    assert capfd.readouterr().err.count("[MindTorch WARNING]: only once") == 1
    environment = {**os.environ, "MSA_LOG": "9"}
    done = subprocess.run(
        [sys.executable, "-c", "import mindtorch.torch"], env=environment, capture_output=True
    )
    assert b"ValueError: MSA_LOG must be 0, 1, 2, 3 or 4" in done.stderr


def test_convert_to_ms_tensor() -> None:
    """Real PyTorch's tensors, arrays and numbers, in containers."""
    pair = namedtuple("pair", "a b")
    low = oracle.tensor([1.5, 2.0], dtype=oracle.bfloat16)
    found = convert_to_ms_tensor({"x": low, "y": (1.5, [2, "z"])})
    assert found["x"].dtype == ms.bfloat16 and found["x"].astype(ms.float32).tolist() == [1.5, 2.0]
    number, inner = found["y"]
    assert type(found["y"]) is list and number.dtype == ms.float32 and inner[0].dtype == ms.int64
    assert inner[1] == "z"
    both = convert_to_ms_tensor(pair(np.ones(2), 1))
    assert type(both) is pair and isinstance(both.a, ms.Tensor) and both.a.dtype == ms.float64
    text = np.array(["a"], object)
    assert convert_to_ms_tensor(text) is text and convert_to_ms_tensor(both.a) is both.a
    with pytest.raises(TypeError, match="data must be tensor, numpy arrays, numbers, dicts"):
        convert_to_ms_tensor(object())


def test_pth2ckpt(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """PyTorch's file, with a dict in the dict, becomes MindSpore's beside it."""
    path = tmp_path / "m.pth"
    oracle.save({"model": {"w": oracle.ones(2, 3).half()}, "x": oracle.arange(3), "n": 3}, path)
    pth2ckpt(str(path))
    told = capsys.readouterr()
    assert told.out == "convert ckpt finish.\n" and "n is no tensor" in told.err
    found = ms.load_checkpoint(str(tmp_path / "m.ckpt"))
    assert found["w"].dtype == ms.float16 and found["x"].tolist() == [0, 1, 2]
    with pytest.raises(ValueError, match=r"\.pth files"):
        pth2ckpt("m.ckpt")


def test_try_import() -> None:
    """The module, or what to install."""
    assert try_import("json.decoder").JSONDecoder
    with pytest.raises(ImportError, match="pip install nothing_of_this"):
        try_import("nothing_of_this.part")


def test_gradients_of_wrong_arguments() -> None:
    """MindSpore's errors."""
    x = ms.Tensor(np.ones(2, np.float32))
    cases: list[tuple[Any, Any, str]] = [
        ({"grad_position": ()}, RuntimeError, "should not be empty"),
        ({"grad_position": (0, "1")}, TypeError, "the element in 'grad_position' must be int"),
        ({"grad_position": None, "weights": "w"}, TypeError, "expected to be a tensor"),
        ({"grad_position": None, "weights": [3]}, TypeError, "expected to be a tensor"),
        ({"has_aux": 1}, TypeError, "'has_aux' should be bool"),
    ]
    for given, kind, text in cases:
        with pytest.raises(kind, match=text):
            ms.value_and_grad(lambda a: a.sum(), **given)(x)


def test_step_with_gradients_and_closure() -> None:
    """The closure's loss is returned, the gradients given are used; a rate for each group."""
    p = torch.nn.Parameter(torch.ones(2))
    optimizer = torch.optim.SGD([{"params": [p], "lr": 0.5}], lr=None)
    assert optimizer.step((torch.ones(2),), closure=lambda: 7.0) == 7.0  # type: ignore[misc]
    assert p.tolist() == [0.5, 0.5]
    with pytest.raises(ValueError, match="required optimization parameter"):
        torch.optim.SGD([p], lr=None)


def test_a_scaler_that_scaled_no_loss() -> None:
    """Gradients that are given are divided by the first scale."""
    p = torch.nn.Parameter(torch.ones(2))
    scaler = torch.amp.GradScaler("cpu", init_scale=4.0)
    scaler.step(torch.optim.SGD([p], lr=0.25), (torch.full((2,), 8.0),))
    scaler.update()
    assert p.tolist() == [0.5, 0.5]
