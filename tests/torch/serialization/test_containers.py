"""Whole checkpoints, every kind of content at once: between PyTorch and mindtorch, both ways."""

from __future__ import annotations

import io
import os
import subprocess
import sys
from collections import Counter, OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

import mindtorch.torch as ours
from tests.support.surface import quiet


def _checkpoint(t: Any) -> Any:
    """Views of one storage in nested containers, sparse tensors, a model and its optimizer."""
    base = t.arange(24.0).reshape(4, 6)
    table = t.nn.Embedding(5, 2, sparse=True)
    optimizer = t.optim.SGD(table.parameters(), 0.1, momentum=0.9)
    table(t.tensor([1, 1])).pow(2).sum().backward()
    optimizer.step()
    with quiet():
        sparse = t.sparse_coo_tensor(t.tensor([[0, 0, 1], [2, 2, 0]]), t.tensor([1.0, 2, 3]))
        rows = base.to_sparse_csr()
    return OrderedDict(
        base=base, strided=base[1:3, ::2], turned=base.t(), repeated=t.ones(1, 3).expand(4, 3),
        overlapping=base.as_strided((3, 3), (1, 1)), tail=base.view(-1)[3:],
        low=base.bfloat16()[1], complex=(base + 1j * base)[::2], empty=base[:0],
        zero=t.tensor(3.0), nested={"list": [base, (base[0], {1: base[:, 1]})], "set": {1, 2}},
        sparse=sparse, rows=rows, optimizer=optimizer.state_dict(),
        model=table.state_dict(), size=base.shape, dtype=t.float16, device=t.device("cpu"),
        parameter=t.nn.Parameter(base), gradient=table.weight.grad, words=Counter("aab"),
        last=t.zeros(2, 3, 4, 5).to(memory_format=t.channels_last), bytes=bytearray(b"x"),
    )  # fmt: skip


def _described(x: Any) -> Any:
    if hasattr(x, "detach"):
        if repr(x.layout) != "torch.strided":
            return repr(x)
        wide = x.detach() if x.dtype.is_complex else x.detach().float()
        kind, place = type(x).__name__, (x.stride(), x.storage_offset())
        memory = x.untyped_storage().nbytes()
        return kind, str(x.dtype), tuple(x.shape), place, x.requires_grad, wide.tolist(), memory
    if isinstance(x, dict):
        return type(x).__name__, {str(k): _described(v) for k, v in x.items()}
    if isinstance(x, (list, tuple)):
        return type(x).__name__, [_described(v) for v in x]
    return repr(x)


@pytest.mark.parametrize("zipped", [True, False])
@pytest.mark.parametrize("weights_only", [True, False])
@pytest.mark.parametrize("direction", ["from torch", "to torch"])
def test_a_checkpoint_means_the_same_in_both(
    zipped: bool, weights_only: bool, direction: str
) -> None:
    """Values, layouts, sharing and types; what is sparse in its printed form."""
    writer, reader = (torch, ours) if direction == "from torch" else (ours, torch)
    made = _checkpoint(writer)
    if not zipped:
        del made["rows"]  # which PyTorch's own reader of the old format does not take
    file = io.BytesIO()
    writer.save(made, file, _use_new_zipfile_serialization=zipped)
    file.seek(0)
    found = reader.load(file, weights_only=weights_only)
    for name in made:
        assert _described(found[name]) == _described(made[name]), name
    memory = found["base"].untyped_storage().data_ptr()
    assert found["strided"].untyped_storage().data_ptr() == memory
    assert found["nested"]["list"][1][1][1].untyped_storage().data_ptr() == memory


def test_an_interrupted_save_leaves_no_file(tmp_path: Path) -> None:
    """Ctrl-C in the middle of pickling: no half file, and none of ours beside it."""

    class Interrupting:
        def __reduce__(self) -> Any:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        ours.save([ours.ones(10_000), Interrupting()], tmp_path / "x.pt")
    assert not os.listdir(tmp_path)


_SCRIPT = """
import sys
from mindtorch.tools import mstorch_enable
import torch
from safetensors import safe_open
from safetensors.torch import load, load_file, load_model, save, save_file, save_model
found = load_file(sys.argv[1])
with safe_open(sys.argv[1], "pt") as file:
    assert file.get_slice("a")[1:].tolist() == [[3.0, 4.0, 5.0]]
assert load(save(found))["a"].tolist() == found["a"].tolist()
model = torch.nn.Linear(2, 2)
save_model(model, sys.argv[2])
load_model(torch.nn.Linear(2, 2), sys.argv[2])
for refused in ({"a": found["a"].t()}, {"a": found["a"], "b": found["a"]}):
    try:
        save_file(refused, sys.argv[2])
    except (ValueError, RuntimeError):
        continue
    raise AssertionError("views are saved")
save_file({k: v + v if v.dtype != torch.bool else ~v for k, v in found.items()}, sys.argv[2])
"""


def test_safetensors_files_are_exchanged(tmp_path: Path) -> None:
    """The package's own functions for torch work on our tensors, in a program with the hook."""
    from safetensors.torch import load_file, save_file

    given = {
        "a": torch.arange(6.0).reshape(2, 3), "low": torch.ones(3, dtype=torch.bfloat16),
        "half": torch.ones(2, dtype=torch.float16), "i": torch.arange(3), "z": torch.zeros(0, 2),
        "c": torch.ones(2, dtype=torch.complex64), "flag": torch.tensor(True),
    }  # fmt: skip
    paths = [str(tmp_path / name) for name in ("in.safetensors", "out.safetensors")]
    save_file(given, paths[0])
    subprocess.run([sys.executable, "-c", _SCRIPT, *paths], check=True, timeout=120)
    found = load_file(paths[1])
    assert found.keys() == given.keys()
    for name, value in given.items():
        wanted = ~value if value.dtype == torch.bool else value + value
        assert found[name].dtype == value.dtype and torch.equal(found[name], wanted)


def test_a_storage_is_the_memory_of_asarray() -> None:
    """``asarray(storage)`` is a view of its bytes, of the type named or int64."""
    for t in (torch, ours):
        storage = t.arange(6, dtype=t.uint8).untyped_storage()
        view = t.asarray(storage, dtype=t.int16)
        assert view.tolist() == np.arange(6, dtype=np.uint8).view(np.int16).tolist()
        assert view.data_ptr() == storage.data_ptr() == storage.untyped().data_ptr()
        assert t.asarray(storage).dtype == t.int64
