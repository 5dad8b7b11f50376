"""The import switch: who answers to the name `torch`, and that it can be undone."""

import importlib
import importlib.metadata
import importlib.util
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType

import pytest

import mindtorch.torch
from mindtorch import module_hooker
from mindtorch.module_hooker import (
    active_side,
    real_torch,
    torch_as_mindtorch,
    torch_disable,
    torch_enable,
    torch_pop,
)

has_torch = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not has_torch, reason="needs real torch to go back to")


@pytest.fixture(autouse=True)
def clean_switch(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Every test begins and ends with real torch and an empty stack."""
    monkeypatch.delenv("MINDTORCH_ENABLE", raising=False)
    finders, path = list(sys.meta_path), list(sys.path)
    assert module_hooker._stack == []
    yield
    while module_hooker._stack:
        torch_pop()
    torch_pop()
    assert sys.meta_path == finders
    sys.path[:] = path


def imported(name: str) -> ModuleType:
    """What `import name` gives now."""
    importlib.import_module(name)
    return sys.modules[name]


def run_python(code: str, repository: Path, **environment: str) -> subprocess.CompletedProcess[str]:
    """Run `code` in a fresh interpreter in the top folder of the checkout."""
    import os

    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=repository,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=300,
    )


def test_torch_is_the_very_module_mindtorch_torch() -> None:
    """Two copies of a class would make `isinstance` fail between a script and a library."""
    with torch_as_mindtorch():
        assert imported("torch") is mindtorch.torch
        assert imported("torch.autograd") is importlib.import_module("mindtorch.torch.autograd")
        import torch.autograd.functional as functional

        assert functional is sys.modules["mindtorch.torch.autograd.functional"]


def test_a_function_stays_where_a_module_has_its_name() -> None:
    """An import below torch.autograd.gradcheck must not put the module in the function's place."""
    with torch_as_mindtorch():
        from torch.autograd.gradcheck import gradgradcheck

        assert gradgradcheck is mindtorch.torch.autograd.gradgradcheck
        assert callable(mindtorch.torch.autograd.gradcheck)


def test_a_module_keeps_its_own_package_and_spec() -> None:
    """Relative imports and reloading go by them."""
    with torch_as_mindtorch():
        module = imported("torch.autograd")
        assert module.__name__ == "torch.autograd"
        assert module.__package__ == "mindtorch.torch.autograd"
        assert module.__spec__ is not None and module.__spec__.name == module.__package__


def test_the_root_says_torch_while_it_stands_for_it() -> None:
    """Array libraries and pyro look at `torch.__name__`."""
    assert mindtorch.torch.__name__ == "mindtorch.torch"
    with torch_as_mindtorch():
        assert imported("torch").__name__ == "torch"
    assert mindtorch.torch.__name__ == "mindtorch.torch"


def test_switching_imports_nothing(repository: Path) -> None:
    """`mstorch_enable` stands at the head of scripts that may never use torch."""
    code = "from mindtorch.tools import mstorch_enable; import sys; print('torch' in sys.modules)"
    result = run_python(code + "; print('mindtorch.torch' in sys.modules)", repository)
    assert result.stdout.split() == ["False", "False"], result.stderr


@needs_torch
def test_modules_come_back_as_they_were() -> None:
    """Real torch, imported before, is set aside and restored, not imported anew."""
    real, real_nn = imported("torch"), imported("torch.nn")
    assert real is not mindtorch.torch
    torch_disable()
    assert imported("torch") is mindtorch.torch
    torch_enable()
    assert (imported("torch"), imported("torch.nn")) == (real, real_nn)
    torch_pop()
    assert imported("torch") is mindtorch.torch
    torch_pop()
    assert imported("torch") is real


@needs_torch
def test_the_pattern_that_libraries_use_gives_real_torch() -> None:
    """enable, import, pop: real torch for one import, whatever the user chose."""
    torch_disable()
    torch_enable()
    import torch

    torch_pop()
    assert torch.__name__ == "torch" and torch is not mindtorch.torch
    assert imported("torch") is mindtorch.torch


def test_states_nest() -> None:
    """Each call pushes the state before it, also where nothing changes."""
    torch_disable()
    torch_disable()
    torch_enable()
    assert active_side() == "torch"
    torch_pop()
    assert active_side() == "mindtorch"
    torch_pop()
    assert active_side() == "mindtorch"
    torch_pop()
    assert active_side() == "torch"


def test_popping_an_empty_stack_means_real_torch() -> None:
    """As documented of the original."""
    torch_disable()
    torch_pop()
    torch_pop()
    assert active_side() == "torch"


def test_a_block_ends_even_by_an_exception() -> None:
    """A test that fails inside must not leave the switch on for the rest."""
    with pytest.raises(ZeroDivisionError), torch_as_mindtorch(), real_torch():
        assert active_side() == "torch"
        1 / 0
    assert active_side() == "torch" and module_hooker._stack == []


def test_the_environment_switches_it_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """A migrated script can be run on real torch without an edit; pops still match."""
    monkeypatch.setenv("MINDTORCH_ENABLE", "0")
    torch_disable()
    assert active_side() == "torch"
    torch_pop()
    assert module_hooker._stack == []


def test_a_missing_submodule_is_named_both_ways(capsys: pytest.CaptureFixture[str]) -> None:
    """The printed line names ours, the error the name in the script."""
    with torch_as_mindtorch():
        with pytest.raises(ModuleNotFoundError, match=r"^No module named 'torch\.nowhere'$") as e:
            importlib.import_module("torch.nowhere")
        assert e.value.name == "torch.nowhere"
        assert capsys.readouterr().out == "Fail to import  mindtorch.torch.nowhere\n"
        assert importlib.util.find_spec("torch.nowhere") is None


def test_an_error_within_a_submodule_is_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing dependency of ours must not look like a missing submodule of torch."""
    with torch_as_mindtorch():
        monkeypatch.setattr(module_hooker, "_exists", lambda name: True)
        with pytest.raises(ModuleNotFoundError, match=r"mindtorch\.torch\.nowhere"):
            importlib.import_module("torch.nowhere")


def test_the_metadata_tell_of_ours() -> None:
    """Libraries look up torch's version without importing it."""
    before = importlib.metadata.version("torch") if has_torch else None
    with torch_as_mindtorch():
        assert importlib.metadata.version("torch") == str(mindtorch.torch.__version__)
        assert importlib.metadata.version("Torch").startswith("2.13.0")
        assert importlib.metadata.metadata("torch")["Name"] == "torch"
        assert importlib.metadata.version("numpy") == importlib.import_module("numpy").__version__
    if has_torch:
        assert importlib.metadata.version("torch") == before


def test_packages_on_torch_have_a_copy_for_each_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A package holds on to the torch that it imported: it must not be shared."""
    (tmp_path / "ontorch").mkdir()
    (tmp_path / "ontorch" / "__init__.py").write_text("from . import inner")
    (tmp_path / "ontorch" / "inner.py").write_text("import sys; torch = sys.modules.get('torch')")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setattr(module_hooker, "PACKAGES", {*module_hooker.PACKAGES, "ontorch"})
    outside = imported("ontorch.inner")
    torch_disable()
    imported("torch")
    inside = imported("ontorch.inner")
    assert inside is not outside and inside.torch is mindtorch.torch
    torch_enable()
    assert imported("ontorch.inner") is outside
    torch_pop()
    assert imported("ontorch.inner") is inside
    torch_pop()
    for name in ("ontorch", "ontorch.inner"):
        del sys.modules[name]
        del module_hooker._set_aside["mindtorch"][name]


def test_mindspore_is_ours_only_where_there_is_no_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A real MindSpore must not be hidden by the facade."""
    (tmp_path / "mindspore.py").write_text("real = True")
    monkeypatch.syspath_prepend(tmp_path)
    with torch_as_mindtorch():
        assert importlib.import_module("mindspore").real
    assert sys.modules.pop("mindspore").real


def test_mindspore_and_its_modules_are_the_facade_once(repository: Path) -> None:
    """`import mindspore.nn` is the same module object, not the facade's files loaded again."""
    code = """
from mindtorch.tools import mstorch_enable
import mindspore as ms
import mindspore.dataset as ds
import mindspore.nn as nn
from mindspore.common.initializer import Normal
from mindspore.communication import init
from mindspore.dataset import vision
from mindspore.train.callback import LossMonitor
import sys
import mindtorch.mindspore
print(ms is mindtorch.mindspore, nn is ms.nn, nn.Dense.__module__, ds.vision is vision)
print([n for n in sys.modules if n.startswith("mindspore") and sys.modules[n].__name__ == n])
try:
    import mindspore.nothing
except ModuleNotFoundError as error:
    print(error)
from mindtorch.tools import pytorch_enable
try:
    import mindspore
except ModuleNotFoundError as error:
    print(error)
"""
    result = subprocess.run(
        [sys.executable, "-c", code], cwd=repository, capture_output=True, text=True, timeout=120
    )
    assert result.stdout.splitlines() == [
        "True True mindtorch.mindspore.nn.basic True", "[]", "No module named 'mindspore.nothing'",
        "No module named 'mindspore'",
    ], result.stderr  # fmt: skip


def test_importing_the_tools_is_the_act(repository: Path) -> None:
    """`mstorch_enable` and `pytorch_enable`; a second import does nothing."""
    code = """
from mindtorch import module_hooker as hooker
from mindtorch.tools import mstorch_enable
from mindtorch.tools import mstorch_enable
print(hooker.active_side(), len(hooker._stack))
from mindtorch.tools import pytorch_enable
from mindtorch.tools import pytorch_enable
print(hooker.active_side(), len(hooker._stack))
from mindtorch.tools import mstorch_enable
print(hooker.active_side(), len(hooker._stack))
"""
    result = run_python(code, repository)
    assert result.stdout.split("\n")[:3] == ["mindtorch 1", "torch 2", "torch 2"], result.stderr


def test_threads_find_the_same_module() -> None:
    """DataLoader's threads import while the script imports."""
    with torch_as_mindtorch():
        found: list[ModuleType] = []
        threads = [
            threading.Thread(target=lambda: found.append(imported("torch.autograd.graph")))
            for _ in range(8)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert found == [sys.modules["mindtorch.torch.autograd.graph"]] * 8


@pytest.mark.skipif(
    importlib.util.find_spec("torchvision") is None, reason="needs the torchvision package"
)
def test_real_torchvision_runs_on_us(repository: Path) -> None:
    """Models, transforms and data sets of the real package, on our tensors."""
    code = """
from mindtorch.tools import mstorch_enable
import inspect, torch, torchvision
from PIL import Image
from torchvision import transforms
from torchvision.datasets import MNIST
net = torchvision.models.resnet18().eval()
with torch.no_grad():
    print(tuple(net(torch.rand(1, 3, 32, 32)).shape), inspect.getfile(type(net.fc)))
image = Image.new("L", (4, 4), 255)
steps = transforms.Compose([transforms.ToTensor(), transforms.Normalize((0.5,), (0.5,))])
print(steps(image).sum().item(), isinstance(steps(image), torch.Tensor))
"""
    result = run_python(code, repository)
    linear = Path(mindtorch.torch.__file__).parent / "nn" / "modules" / "linear.py"
    assert result.stdout.split("\n")[:2] == [f"(1, 1000) {linear}", "16.0 True"], result.stderr
