"""Names that are not here say why; devices are refused in torch's words."""

from __future__ import annotations

import importlib
import subprocess
import sys
from typing import Any

import pytest
import torch

import mindtorch.torch as ours
from tests.support.paths import ROOT


@pytest.mark.parametrize("path", ["ao.nn.quantizable", "ao.nn.sparse", "ao.ns", "ao.pruning"])
def test_missing_names_say_why(path: str) -> None:
    *places, name = path.split(".")
    module = importlib.import_module(".".join(["mindtorch.torch", *places]))
    assert not hasattr(module, name)
    with pytest.raises(AttributeError, match=r"see docs/quantization.md.*mindtorch scan"):
        getattr(module, name)


def test_misspelled_names_get_a_suggestion() -> None:
    name = "zeross"
    with pytest.raises(AttributeError) as caught:
        getattr(ours, name)
    assert str(caught.value) == "module 'torch' has no attribute 'zeross'"
    assert (caught.value.name, caught.value.obj) == (name, ours)
    program = "import mindtorch.torch as torch; torch.zeross"
    command = [sys.executable, "-c", program]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert "Did you mean: 'zeros'" in done.stderr


def test_datapipes_are_imported_and_refused() -> None:
    module = importlib.import_module("mindtorch.torch.utils.data.datapipes.iter")
    with pytest.raises(NotImplementedError, match="Dataset and IterableDataset"):
        module.IterableWrapper([1])


def refusal(library: Any, make: Any) -> tuple[str, str]:
    with pytest.raises(Exception) as caught:
        make(library)
    return type(caught.value).__name__, str(caught.value).partition(". ")[0].rstrip(".")


@pytest.mark.parametrize("device", ["mps", "xpu", "hpu", "xla", "mtia", "privateuseone", "vulkan"])
@pytest.mark.parametrize("make", [
    lambda t, d: t.zeros(2, device=d), lambda t, d: t.ones(2).to(d),
    lambda t, d: t.tensor([1.0], device=d), lambda t, d: t.nn.Linear(2, 2, device=d),
    lambda t, d: t.arange(3, device=d),
])  # fmt: skip
def test_devices_are_refused_as_in_torch(make: Any, device: str) -> None:
    theirs = refusal(torch, lambda t: make(t, device))
    assert refusal(ours, lambda t: make(t, device)) == theirs


@pytest.mark.parametrize("make", [
    lambda t: t.zeros(2), lambda t: t.full((2,), 1.0), lambda t: t.rand(2), lambda t: t.arange(3),
    lambda t: t.linspace(0, 1, 3), lambda t: t.eye(2), lambda t: t.tensor([1.0]),
    lambda t: t.hann_window(4), lambda t: t.tril_indices(2, 2), lambda t: t.fft.fftfreq(3),
    lambda t: t.nn.Linear(2, 2), lambda t: t.randperm(3),
])  # fmt: skip
def test_a_default_device_that_is_missing(make: Any) -> None:
    found = []
    for library in (torch, ours):
        library.set_default_device("cuda")
        try:
            found.append(refusal(library, make))
        finally:
            library.set_default_device(None)
    assert found[0] == found[1] == ("AssertionError", "Torch not compiled with CUDA enabled")


def test_nothing_is_written_to_what_hooked_layers_give() -> None:
    texts = []
    for t in (torch, ours):
        layer = t.nn.Linear(2, 2)
        layer.register_full_backward_hook(lambda *_: None)
        with pytest.raises(RuntimeError) as caught:
            layer(t.ones(1, 2)).add_(1)
        with pytest.raises(RuntimeError) as of_view:
            layer(t.ones(1, 2))[0].mul_(2)
        layer(t.ones(1, 2, requires_grad=True)).clone().add_(1).sum().backward()
        texts.append((str(caught.value), str(of_view.value)))
    assert texts[0] == texts[1]
