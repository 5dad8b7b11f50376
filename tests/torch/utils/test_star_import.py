"""``from torch import *`` brings what torch's does, as far as we have it."""

from __future__ import annotations

import importlib
from typing import Any

import torch

ours: Any = importlib.import_module("mindtorch.torch")


def test_star_import_brings_the_names_of_torchs() -> None:
    known = set(dir(ours)) | set(ours.__all__)
    lacking = [name for name in torch.__all__ if name in known and name not in ours.__all__]
    assert lacking == []
    found: dict[str, object] = {}
    exec("from mindtorch.torch import *", found)
    assert {"load", "conv1d", "LongStorage"} <= found.keys()
    assert not {"nn", "FUNCTIONS", "Any", "info"} & found.keys()


def test_functions_that_classes_answer_for_are_those_of_torch() -> None:
    mine = ours.overrides.get_overridable_functions()
    theirs = torch.overrides.get_overridable_functions()
    for place in ("linalg", "fft", "special"):
        names = {name for name, f in vars(getattr(torch, place)).items()
                 if callable(f) and f in theirs[getattr(torch, place)]}  # fmt: skip
        own = {name for name, f in vars(getattr(ours, place)).items()
               if callable(f) and f in mine[getattr(ours, place)]}  # fmt: skip
        assert names <= own
    shared = {name for name in torch.__all__ if getattr(torch, name) in theirs[torch]}
    ignored = ours.overrides.get_ignored_functions()
    wrong = {n for n in shared if hasattr(ours, n) and getattr(ours, n) in ignored}
    assert {name for name in wrong if not name.startswith("sym_")} == set()


def test_functions_are_those_that_are_public_now_also_behind_a_mode() -> None:
    """For a mode others stand in their place, which come back at its end."""
    with ours.utils._python_dispatch.TorchDispatchMode():
        assert ours.add in ours.overrides.get_overridable_functions()[ours]
    assert ours.add in ours.overrides.get_overridable_functions()[ours]
