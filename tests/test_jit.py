"""torch.jit: what scripts and traces keep of a module, and their files."""

from __future__ import annotations

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch

pytestmark = pytest.mark.filterwarnings("ignore:torch.jit")


def model() -> Any:
    torch.manual_seed(0)
    return torch.nn.Sequential(torch.nn.Linear(3, 4), torch.nn.BatchNorm1d(4), torch.nn.Tanh())


@pytest.mark.parametrize("how", ["script", "trace", "trace_module"])
def test_a_saved_script_computes_the_same_when_loaded(how: str, tmp_path: Path) -> None:
    """`scripted.save(path)` is how programs deploy; parameters and the code's class come back."""
    x = torch.randn(5, 3)
    net = model().eval()
    made: Any = {
        "script": lambda: torch.jit.script(net),
        "trace": lambda: torch.jit.trace(net, x),
        "trace_module": lambda: torch.jit.trace_module(net, {"forward": x}),
    }[how]()
    made.save(tmp_path / "model.pt")
    loaded = torch.jit.load(tmp_path / "model.pt", map_location="cpu")
    np.testing.assert_array_equal(loaded(x).detach().numpy(), net(x).detach().numpy())
    assert list(loaded.state_dict()) == list(net.state_dict())
    again = io.BytesIO()
    loaded.save(again)
    assert again.getvalue()


def test_extra_files_come_back_as_bytes() -> None:
    """A file may carry texts beside the module, asked for by name."""
    file = io.BytesIO()
    torch.jit.save(torch.jit.script(model()), file, _extra_files={"words": "a b"})
    found: dict[str, Any] = {"words": ""}
    torch.jit.load(io.BytesIO(file.getvalue()), _extra_files=found)
    assert found == {"words": b"a b"}
    with pytest.raises(RuntimeError, match="no extra file 'other'"):
        torch.jit.load(io.BytesIO(file.getvalue()), _extra_files={"other": ""})


def test_torchscript_is_refused_by_its_name(tmp_path: Path) -> None:
    """Its code cannot be run; the error says what to do instead of failing in a pickle."""
    with zipfile.ZipFile(tmp_path / "script.pt", "w") as archive:
        archive.writestr("script/code/__torch__.py", "")
    with pytest.raises(NotImplementedError, match="holds TorchScript"):
        torch.jit.load(tmp_path / "script.pt")
    torch.save({"a": 1}, tmp_path / "other.pt")
    with pytest.raises(RuntimeError, match="was not written by"):
        torch.jit.load(tmp_path / "other.pt")
    with pytest.raises(ValueError, match="does not exist"):
        torch.jit.load(str(tmp_path / "none.pt"))


def test_freezing_needs_eval_mode() -> None:
    """As in torch, whose error it is."""
    with pytest.raises(RuntimeError, match="only implemented for modules in eval mode"):
        torch.jit.freeze(model())
    net = model().eval()
    assert torch.jit.freeze(net) is net
    assert not torch.jit.optimize_for_inference(model()).training


def test_a_script_module_is_a_module_that_runs_as_python() -> None:
    """Older programs derive from ScriptModule and mark methods."""

    class Doubled(torch.jit.ScriptModule):
        @torch.jit.script_method
        def forward(self, x: Any) -> Any:
            return x * 2

    assert Doubled()(torch.ones(2)).tolist() == [2, 2]
