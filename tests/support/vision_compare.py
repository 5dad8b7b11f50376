"""Runs programs/vision_program.py on both sides and says how far a model's numbers are apart."""

from __future__ import annotations

import importlib.util
import os
import pickle
import shutil
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from tests.support.paths import ROOT

# Greatest error in float64, relative to an array's greatest value. ReLU and max pooling send a
# gradient elsewhere where a value lies within rounding of zero or of another.
DOUBLE = 1e-8
# What is a float32 in that pass too, as Faster R-CNN's loss_objectness is, for its labels.
FLOATS_OF_DOUBLE = 1e-6
# RAFT places its samples on float32 grids and has no float64 pass: its float32 is held against
# torch's float32.
SINGLE_PARTS = 1e-5
# How much farther from torch's float64 our float32 may be than torch's float32: a greatest error
# out of many varies by a factor of 2 or 3.
RATIO, LEAST = 4, 4e-6
# In float32 a gradient that goes elsewhere is common: gradients are compared as one vector, which
# may be as far off as this, or as torch's own is from its float64 (0.1 in resnet152).
GRADIENTS_IN_SINGLE, GRADIENTS_RATIO = 0.1, 1.5


class Apart(NamedTuple):
    """How far two runs of a model are apart; None where there was no such pass."""

    same_state: bool
    double: float | None
    outputs: float | None
    torchs_outputs: float | None
    gradients: float | None
    torchs_gradients: float | None
    within: bool


def torchvision_folder() -> Path | None:
    spec = importlib.util.find_spec("torchvision")
    return Path(spec.origin).parent if spec and spec.origin else None


def with_operators(folder: Path) -> dict[str, str] | None:
    """An environment in which a CUDA build of torchvision's operators loads beside a CPU torch.

    The CPU kernels need nothing of the CUDA libraries that the file is linked to; empty ones that
    only have the names stand in. None without a C compiler, or where even so it does not load.
    """
    place = torchvision_folder()
    library = place / "_C.so" if place else None
    if library is None or not (library.exists() and shutil.which("gcc") and shutil.which("nm")):
        return None
    listed = subprocess.run(["nm", "-D", "-u", str(library)], capture_output=True, text=True)
    names = [line.split()[1] for line in listed.stdout.splitlines() if "4cuda" in line]
    text = '.section .note.GNU-stack,"",@progbits\n.data\n'
    text += "".join(f".globl {n}\n{n}:\n" for n in names if "@" not in n) + ".fill 64\n"
    for name, source in (("libc10_cuda.so", text), ("libtorch_cuda.so", "")):
        command = ["gcc", "-shared", "-x", "assembler", "-", "-o", str(folder / name)]
        subprocess.run(command, input=source, text=True, check=True)
    environment = {**os.environ, "LD_LIBRARY_PATH": str(folder)}
    loads = f"import torch; torch.ops.load_library({str(library)!r})"
    tried = subprocess.run([sys.executable, "-c", loads], env=environment, capture_output=True)
    return environment if tried.returncode == 0 else None


def run_side(side: str, folder: Path, *names: str, environment: Any = None) -> None:
    """One process for one side, from the top folder of the repository."""
    command = [sys.executable, "-m", "tests.programs.vision_program", side, str(folder), *names]
    ended = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, env=environment)
    assert ended.returncode == 0, ended.stderr[-2000:]


def read_side(side: str, folder: Path, name: str) -> Any:
    found = pickle.loads((folder / f"{side}.{name}.pickle").read_bytes())
    assert "error" not in found, (side, found.get("error"))
    return found


def pairs(found: Any, reference: Any) -> Iterable[tuple[Any, Any, Any]]:
    """(name, found, reference) of arrays; what has no gradient has none on either side."""
    items = reference.items() if isinstance(reference, dict) else enumerate(reference)
    assert len(found) == len(reference)
    for key, expected in items:
        assert (found[key] is None) == (expected is None), key
        if expected is not None:
            assert found[key].shape == expected.shape, key
            yield key, found[key].astype("float64"), expected.astype("float64")


def _top(arrays: Any) -> float:
    values = arrays.values() if isinstance(arrays, dict) else arrays
    return max((float(np.abs(a).max()) for a in values if a is not None and a.size), default=0.0)


def _distance(found: Any, reference: Any, top: float) -> float:
    """The greatest error, relative to the greatest value; tiny arrays among large ones count
    as rounding of the large ones."""
    if not reference.size:
        return 0.0
    return float(np.abs(found - reference).max() / max(np.abs(reference).max(), 1e-4 * top, 1e-30))


def _farthest(found: Any, reference: Any, parts: Iterable[str], dtype: str = "float") -> float:
    return max(
        (
            _distance(mine, expected, _top(reference[part]))
            for part in parts
            for key, mine, expected in pairs(found[part], reference[part])
            if reference[part][key].dtype.name.startswith(dtype)
        ),
        default=0.0,
    )


def _as_vector(found: Any, reference: Any) -> float:
    """The length of the difference of all gradients over the length of all gradients."""
    both = list(pairs(found["gradients"], reference["gradients"]))
    error = sum(float(((mine - expected) ** 2).sum()) for _, mine, expected in both)
    length = sum(float((expected**2).sum()) for _, _, expected in both)
    return float(np.sqrt(error / max(length, 1e-300)))


def _outputs_within(ours: Any, theirs: Any, reference: Any) -> bool:
    """Each output and buffer in float32 is about as near to the reference as torch's."""
    for part in ("eval", "train", "buffers"):
        top = _top(reference[part])
        for key, found, expected in pairs(ours[part], reference[part]):
            rounding = _distance(theirs[part][key], expected, top)
            if _distance(found, expected, top) > RATIO * rounding + LEAST:
                return False
    return True


def apart(ours: Any, theirs: Any) -> Apart:
    """The figures of one model from the two sides' files."""
    same = all(ours[part] == theirs[part] for part in ("keys", "text", "digest"))
    if "float32" not in theirs:
        return Apart(same, None, None, None, None, None, same)
    passed = ("eval", "train", "buffers")
    single, reference = ours["float32"], theirs.get("float64", theirs["float32"])
    outputs = _farthest(single, reference, passed)
    gradients = _as_vector(single, reference)
    if "float64" not in theirs:
        exact = theirs.get("outputs")  # in float64, of models whose gradients are too large for it
        near = outputs <= SINGLE_PARTS if exact is None else (
            _outputs_within(single, theirs["float32"], exact))  # fmt: skip
        within = same and near and gradients <= GRADIENTS_IN_SINGLE
        torchs_own = None if exact is None else _farthest(theirs["float32"], exact, passed)
        return Apart(same, None, outputs, torchs_own, gradients, None, within)
    parts = (*passed, "gradients")
    double = _farthest(ours["float64"], reference, parts, "float64")
    floats = _farthest(ours["float64"], reference, parts, "float32")
    torchs = _as_vector(theirs["float32"], reference)
    limit = max(GRADIENTS_IN_SINGLE, GRADIENTS_RATIO * torchs)
    within = same and double <= DOUBLE and floats <= FLOATS_OF_DOUBLE and gradients <= limit
    return Apart(
        same, double,
        outputs, _farthest(theirs["float32"], reference, passed),
        gradients, torchs,
        within and _outputs_within(single, theirs["float32"], reference),
    )  # fmt: skip
