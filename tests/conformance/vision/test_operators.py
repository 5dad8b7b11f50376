"""The kernels that stand in for torchvision's C++ library."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.module_hooker import torch_as_mindtorch
from tests.support.vision_operators import arrays

pytestmark = pytest.mark.skipif(
    importlib.util.find_spec("torchvision") is None, reason="needs the torchvision package"
)


@pytest.fixture(scope="module")
def ours() -> Iterator[tuple[Any, Any]]:
    """Our torch, and torchvision.ops as imported with it."""
    with torch_as_mindtorch():
        import torch
        from torchvision import ops

        yield torch, ops


def test_results_and_gradients_are_those_of_the_library(
    ours: tuple[Any, Any], repository: Path
) -> None:
    """The golden file was written by torchvision's C++; nms must choose the same boxes, outputs
    of the poolings have the same bits, gradients are sums in another order."""
    golden = np.load(repository / "tests/golden/torchvision_operators.npz")
    found = arrays(*ours)
    assert sorted(found) == sorted(golden.files)
    for name, value in found.items():
        expected = golden[name]
        assert (value.dtype, value.shape) == (expected.dtype, expected.shape), name
        kind, _, rest = name.partition(" ")
        if rest.startswith(("nms", "batched_nms")) or ("roi_" in rest and rest.endswith(" 0")):
            np.testing.assert_array_equal(value, expected, name)
            continue
        # deform_conv2d adds up to 60 products, bias gradients 60 terms, each rounded once.
        bound = 64 * np.finfo(np.float32 if "rotated" in rest else kind).eps
        assert np.abs(value - expected).max() <= bound * np.abs(expected).max(), name


def test_wrong_boxes_are_refused(ours: tuple[Any, Any]) -> None:
    """Texts of the C++ library."""
    torch, ops = ours
    with pytest.raises(RuntimeError, match="boxes should be a 2d tensor, got 1D"):
        ops.nms(torch.rand(3), torch.rand(3), 0.5)
    with pytest.raises(RuntimeError, match="same number of elements in dimension 0, got 3 and 2"):
        ops.nms(torch.rand(3, 4), torch.rand(2), 0.5)
    with pytest.raises(RuntimeError, match="dets should have the same type as scores"):
        ops.nms(torch.rand(3, 4), torch.rand(3).double(), 0.5)
    with pytest.raises(NotImplementedError, match="\"nms_kernel\" not implemented for 'Long'"):
        ops.nms(torch.ones(3, 4).long(), torch.ones(3).long(), 0.5)
    with pytest.raises(RuntimeError, match="input channels must be a multiple of pooling height"):
        ops.ps_roi_pool(torch.rand(1, 3, 4, 4), torch.rand(2, 5), 2)


def test_a_region_of_an_image_that_is_not_there_is_refused(ours: tuple[Any, Any]) -> None:
    """The C++ library would read another tensor's memory."""
    torch, ops = ours
    with pytest.raises(IndexError, match="rois name images 0 to 2 of a batch of 2"):
        regions = torch.tensor([[0.0, 0, 0, 2, 2], [2.0, 0, 0, 2, 2]])
        ops.roi_align(torch.rand(2, 1, 4, 4), regions, 2)


def test_autocast_casts_and_returns_the_given_type(ours: tuple[Any, Any]) -> None:
    """torchvision registers casts of its own; inside of them they must not be called again."""
    torch, ops = ours
    x, regions = torch.rand(1, 2, 8, 8), torch.tensor([[0.0, 1, 1, 6, 5]])
    expected = ops.roi_align(x.bfloat16().float(), regions, 2)
    with torch.autocast("cpu"):
        found = ops.roi_align(x.bfloat16(), regions.bfloat16(), 2)
        assert ops.nms(regions[:, 1:].bfloat16(), regions[:, 0].bfloat16(), 0.5).tolist() == [0]
    assert found.dtype == torch.bfloat16
    assert torch.equal(found, expected.bfloat16())
    with pytest.raises(NotImplementedError, match="not implemented for 'BFloat16'"):
        ops.roi_align(x.bfloat16(), regions.bfloat16(), 2)


def test_shapes_are_known_without_data(ours: tuple[Any, Any]) -> None:
    """Meta tensors reach the shape rules that torchvision registers."""
    torch, ops = ours
    x, regions = torch.rand(2, 4, 8, 8, device="meta"), torch.rand(5, 5, device="meta")
    found = ops.roi_align(x, regions, (3, 2))
    assert (found.device.type, found.shape) == ("meta", (5, 4, 3, 2))


def test_gradients_of_gradients_are_refused(ours: tuple[Any, Any]) -> None:
    """As torchvision refuses them."""
    torch, ops = ours
    x = torch.rand(1, 1, 4, 4, requires_grad=True)
    out = ops.roi_align(x, torch.tensor([[0.0, 0, 0, 2, 2]]), 2)
    (gradient,) = torch.autograd.grad(out.square().sum(), x, create_graph=True)
    with pytest.raises(RuntimeError, match="double backwards on roi_align not supported"):
        gradient.sum().backward()


def test_operators_without_a_kernel_say_so(ours: tuple[Any, Any]) -> None:
    """There are no quantized tensors."""
    torch, _ = ours
    with pytest.raises(NotImplementedError, match=r"Could not run 'torchvision::qnms'"):
        torch.ops.torchvision.qnms(torch.rand(2, 4), torch.rand(2), 0.5)


_KEPT = """
from mindtorch.tools import mstorch_enable
import torch
from torchvision import tv_tensors
assert not torch.Tensor.add.__qualname__.startswith("_asking")
image = tv_tensors.Image(torch.zeros(3, 4, 5))
kinds = [type(x).__name__ for x in (image + 1, image.to(torch.float64), image.clone(), image[0])]
with tv_tensors.set_return_type("TVTensor"):
    kinds.append(type(image * 2).__name__)
print(kinds)
"""


def test_images_of_torchvision_stay_images_where_they_do_in_torch() -> None:
    """`to` and `clone` keep the class, other functions do not, unless they are asked to. Its
    tensors answer for functions from the first one that is made: who makes none pays nothing."""
    run = subprocess.run([sys.executable, "-c", _KEPT], capture_output=True, text=True, check=True)
    assert run.stdout == "['Tensor', 'Image', 'Image', 'Tensor', 'Image']\n"
