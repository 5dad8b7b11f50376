"""torchvision's own models on our tensors: the same state from a seed, the same numbers."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest

from tests.support.vision_compare import apart, read_side, run_side, with_operators

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torchvision") is None, reason="needs the torchvision package"
)

QUICK = ("mobilenet_v3_small", "shufflenet_v2_x0_5")


def test_small_models_have_torchs_state_and_numbers(tmp_path: Path) -> None:
    """Bits of the initial state; outputs, gradients and running statistics to rounding."""
    for side in ("ours", "real"):
        run_side(side, tmp_path, *QUICK)
    for name in QUICK:
        measured = apart(read_side("ours", tmp_path, name), read_side("real", tmp_path, name))
        assert measured.within, (name, measured)


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
deeplabv3_mobilenet_v3_large deeplabv3_resnet50 deeplabv3_resnet101 fcn_resnet50 fcn_resnet101
lraspp_mobilenet_v3_large mc3_18 r2plus1d_18 r3d_18 s3d swin3d_t swin3d_s swin3d_b mvit_v1_b
mvit_v2_s raft_small raft_large quantized_mobilenet_v2 quantized_resnet18 quantized_googlenet
""".split()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", CLASSIFICATION + OTHERS)
def test_every_model_has_torchs_state_and_numbers(name: str, tmp_path: Path) -> None:
    """As for the small ones. Of the two largest gradients are compared in float32 only: at
    initialisation a deep net of batch norms turns the rounding of float32 into 1e-4 of its
    outputs, in torch as here, so outputs are held against torch's float64."""
    for side in ("ours", "real"):
        run_side(side, tmp_path, name)
    measured = apart(read_side("ours", tmp_path, name), read_side("real", tmp_path, name))
    assert measured.within, measured


DETECTION = """
fasterrcnn_mobilenet_v3_large_320_fpn fasterrcnn_resnet50_fpn fasterrcnn_resnet50_fpn_v2
fcos_resnet50_fpn keypointrcnn_resnet50_fpn maskrcnn_resnet50_fpn maskrcnn_resnet50_fpn_v2
retinanet_resnet50_fpn retinanet_resnet50_fpn_v2 ssd300_vgg16 ssdlite320_mobilenet_v3_large
""".split()


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", DETECTION)
def test_detectors_have_torchs_state_and_numbers(name: str, tmp_path: Path) -> None:
    """As for the other models where torchvision's C++ library can be made to load. Otherwise real
    torch cannot run them: the initial state is compared, and our passes must give finite numbers
    and a gradient to some parameter."""
    environment = with_operators(tmp_path)
    run_side("ours", tmp_path, name)
    run_side("real", tmp_path, name, *([] if environment else ["--build"]), environment=environment)
    ours = read_side("ours", tmp_path, name)
    measured = apart(ours, read_side("real", tmp_path, name))
    assert measured.within, measured
    gradients = [g for g in ours["float32"]["gradients"].values() if g is not None]
    assert gradients and all(np.isfinite(g).all() for g in gradients)
    assert max(np.abs(g).max() for g in gradients) > 0
