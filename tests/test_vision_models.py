"""torchvision's own models on our tensors: the same state from a seed, the same numbers."""

from __future__ import annotations

import importlib.util
import pickle
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torchvision") is None, reason="needs the torchvision package"
)

QUICK = ("mobilenet_v3_small", "shufflenet_v2_x0_5")

# Torch's slopes of hardsigmoid and hardswish are a float32 1/6 in float64 too, 3e-8 from a sixth;
# other models agree to 1e-12. RAFT places its samples on float32 grids and has no float64 pass.
DOUBLE, DOUBLE_WITH_SINGLE_PARTS = 1e-7, 1e-5
# How much farther from torch's float64 our float32 may be than torch's float32: a greatest error
# out of many varies by a factor of 2 or 3.
RATIO, LEAST = 4, 4e-6
# ReLU and max pooling send a gradient elsewhere where a value lies within rounding of zero, on
# one side and not on the other: in float32 gradients are compared as one vector.
GRADIENTS_IN_SINGLE = 0.1


def _ran(names: Iterable[str], folder: Path, repository: Path) -> dict[str, tuple[Any, Any]]:
    """(ours, theirs) for each model, from a process of each side."""
    for side in ("ours", "real"):
        command = [sys.executable, "-m", "tests.vision_program", side, str(folder), *names]
        ended = subprocess.run(command, cwd=repository, capture_output=True, text=True)
        assert ended.returncode == 0, ended.stderr[-2000:]
    sides = ("ours", "real")
    return {
        name: tuple(pickle.loads((folder / f"{s}.{name}.pickle").read_bytes()) for s in sides)
        for name in names
        if not name.startswith("--")
    }


def _pairs(found: Any, reference: Any) -> Iterable[tuple[Any, Any, Any]]:
    """(name, found, reference) of arrays; what has no gradient has none on either side."""
    items = reference.items() if isinstance(reference, dict) else enumerate(reference)
    assert len(found) == len(reference)
    for key, expected in items:
        assert (found[key] is None) == (expected is None), key
        if expected is not None:
            assert found[key].shape == expected.shape, key
            yield key, found[key], expected


def _top(arrays: Any) -> float:
    values = arrays.values() if isinstance(arrays, dict) else arrays
    return max((float(np.abs(a).max()) for a in values if a is not None and a.size), default=0.0)


def _distance(found: Any, reference: Any, top: float) -> float:
    """The greatest error, relative to the greatest value; tiny arrays among large ones count
    as rounding of the large ones."""
    if not reference.size:
        return 0.0
    return float(np.abs(found - reference).max() / max(np.abs(reference).max(), 1e-4 * top, 1e-30))


def _compare(name: str, ours: Any, theirs: Any, loose: bool) -> None:
    assert "error" not in theirs, theirs.get("error")
    assert "error" not in ours, ours.get("error")
    assert ours["keys"] == theirs["keys"], name
    assert ours["text"] == theirs["text"], name
    assert ours["digest"] == theirs["digest"], name
    if "float32" not in theirs:
        return
    bound = DOUBLE_WITH_SINGLE_PARTS if loose else DOUBLE
    reference = theirs.get("float64", theirs["float32"])
    for part in ("eval", "train", "buffers", "gradients"):
        top = _top(reference[part])
        for key, found, expected in _pairs(ours.get("float64", reference)[part], reference[part]):
            assert _distance(found, expected, top) <= bound, (name, part, key)
    for part in ("eval", "train", "buffers"):
        top = _top(reference[part])
        for key, found, expected in _pairs(ours["float32"][part], reference[part]):
            rounding = _distance(theirs["float32"][part][key], expected, top)
            assert _distance(found, expected, top) <= RATIO * rounding + LEAST, (name, part, key)
    pairs = list(_pairs(ours["float32"]["gradients"], reference["gradients"]))
    error = sum(float(((found - expected) ** 2).sum()) for _, found, expected in pairs)
    length = sum(float((expected**2).sum()) for _, _, expected in pairs)
    assert error <= GRADIENTS_IN_SINGLE**2 * length, (name, "gradients", error, length)


def test_small_models_have_torchs_state_and_numbers(tmp_path: Path, repository: Path) -> None:
    """Bits of the initial state; outputs, gradients and running statistics to rounding."""
    for name, (ours, theirs) in _ran(QUICK, tmp_path, repository).items():
        _compare(name, ours, theirs, loose=False)


CLASSIFICATION = """
alexnet convnext_base convnext_large convnext_small convnext_tiny densenet121 densenet161
densenet169 densenet201 efficientnet_b0 efficientnet_b1 efficientnet_b2 efficientnet_b3
efficientnet_b4 efficientnet_b5 efficientnet_b6 efficientnet_b7 efficientnet_v2_l
efficientnet_v2_m efficientnet_v2_s googlenet inception_v3 maxvit_t mnasnet0_5 mnasnet0_75
mnasnet1_0 mnasnet1_3 mobilenet_v2 mobilenet_v3_large mobilenet_v3_small regnet_x_16gf
regnet_x_1_6gf regnet_x_32gf regnet_x_3_2gf regnet_x_400mf regnet_x_800mf regnet_x_8gf
regnet_y_128gf regnet_y_16gf regnet_y_1_6gf regnet_y_32gf regnet_y_3_2gf regnet_y_400mf
regnet_y_800mf regnet_y_8gf resnet101 resnet152 resnet18 resnet34 resnet50 resnext101_32x8d
resnext101_64x4d resnext50_32x4d shufflenet_v2_x0_5 shufflenet_v2_x1_0 shufflenet_v2_x1_5
shufflenet_v2_x2_0 squeezenet1_0 squeezenet1_1 swin_b swin_s swin_t swin_v2_b swin_v2_s swin_v2_t
vgg11 vgg11_bn vgg13 vgg13_bn vgg16 vgg16_bn vgg19 vgg19_bn vit_b_16 vit_b_32 vit_h_14 vit_l_16
vit_l_32 wide_resnet101_2 wide_resnet50_2
""".split()
OTHERS = """
deeplabv3_mobilenet_v3_large deeplabv3_resnet50 fcn_resnet50 lraspp_mobilenet_v3_large
mc3_18 r2plus1d_18 r3d_18 s3d swin3d_t mvit_v1_b mvit_v2_s raft_small raft_large
quantized_mobilenet_v2 quantized_resnet18 quantized_googlenet
""".split()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CLASSIFICATION + OTHERS)
def test_every_model_has_torchs_state_and_numbers(
    name: str, tmp_path: Path, repository: Path
) -> None:
    """As for the small ones. The largest are only built, without a pass."""
    ours, theirs = _ran([name], tmp_path, repository)[name]
    _compare(name, ours, theirs, loose=name.startswith("raft"))


DETECTION = """
fasterrcnn_mobilenet_v3_large_320_fpn fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2
fcos_resnet50_fpn keypointrcnn_resnet50_fpn maskrcnn_resnet50_fpn maskrcnn_resnet50_fpn_v2
retinanet_resnet50_fpn retinanet_resnet50_fpn_v2 ssd300_vgg16 ssdlite320_mobilenet_v3_large
""".split()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DETECTION)
def test_detectors_have_torchs_state_and_run(name: str, tmp_path: Path, repository: Path) -> None:
    """Real torch cannot run them where torchvision's C++ library does not load, which is the
    case with the packages that the tests install: the initial state is compared, and our passes
    must give finite numbers and a gradient to every parameter that real torch would train."""
    _, theirs = _ran([name, "--build"], tmp_path, repository)[name]
    command = [sys.executable, "-m", "tests.vision_program", "ours", str(tmp_path), name]
    subprocess.run(command, cwd=repository, check=True, capture_output=True)
    ours = pickle.loads((tmp_path / f"ours.{name}.pickle").read_bytes())
    assert "error" not in ours, ours.get("error")
    for part in ("keys", "text", "digest"):
        assert ours[part] == theirs[part], part
    gradients = [g for g in ours["float32"]["gradients"].values() if g is not None]
    assert gradients and all(np.isfinite(g).all() for g in gradients)
    assert all(np.isfinite(x).all() for x in ours["float32"]["eval"] + ours["float32"]["train"])
    assert max(np.abs(g).max() for g in gradients) > 0
