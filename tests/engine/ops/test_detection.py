"""Ops of detection models: gradients, graphs, batches and devices, as of all other ops."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import mindtorch.torch as torch
from mindtorch.engine.ops import detection

SCALE = {"spatial_scale": 0.5}
REGIONS: dict[str, Callable[[Any, Any], Any]] = {
    "roi_align": lambda x, rois: detection.roi_align(
        x, rois, size=(2, 3), sampling_ratio=2, aligned=True, **SCALE
    ),
    "roi_pool": lambda x, rois: detection.roi_pool(x, rois, size=(2, 3), **SCALE)[0],
    "ps_roi_align": lambda x, rois: detection.ps_roi_align(
        x, rois, size=(2, 1), sampling_ratio=-1, **SCALE
    )[0],
    "ps_roi_pool": lambda x, rois: detection.ps_roi_pool(x, rois, size=(2, 1), **SCALE)[0],
}


def _images() -> tuple[Any, Any]:
    torch.manual_seed(0)
    x = torch.randn(2, 4, 7, 9, dtype=torch.float64)
    rois = torch.tensor([[0, 1, 1, 9, 5], [1, 2, 0, 9, 8], [1, 0, 3, 4, 6]], dtype=torch.float64)
    return x, rois


def _deformable(masked: bool) -> tuple[list[Any], Callable[..., Any]]:
    torch.manual_seed(0)
    shapes = (1, 4, 5, 6), (2, 2, 2, 2), (1, 16, 2, 3), (1, 8, 2, 3) if masked else (1, 1), (2,)
    tensors = [torch.rand(shape, dtype=torch.float64) for shape in shapes]

    def call(*given: Any) -> Any:
        return detection.deform_conv2d(
            *given, stride=(2, 2), padding=(0, 0), dilation=(1, 1), groups=2, offset_groups=2,
            use_mask=masked,
        )  # fmt: skip

    return tensors, call


@pytest.mark.parametrize("name", ["roi_align", "roi_pool", "ps_roi_align"])
def test_gradients_are_differences(name: str) -> None:
    """Of both orders; torchvision's own pooling by position has another gradient than its sum."""
    x, rois = _images()

    def call(x: Any) -> Any:
        return REGIONS[name](x, rois)

    assert torch.autograd.gradcheck(call, (x.requires_grad_(),))
    assert torch.autograd.gradgradcheck(call, (x,))


@pytest.mark.parametrize("masked", [False, True])
def test_gradients_of_deformable_convolutions_are_differences(masked: bool) -> None:
    """Of input, weight, offset, mask and bias."""
    tensors, call = _deformable(masked)
    for i in (0, 1, 2, 4, *[3] * masked):
        tensors[i].requires_grad_()
    assert torch.autograd.gradcheck(call, tensors)
    (g,) = torch.autograd.grad(call(*tensors).sum(), tensors[:1], create_graph=True)
    with pytest.raises(RuntimeError, match="double backwards on deform_conv2d not supported"):
        g.sum().backward()


@pytest.mark.parametrize("name", REGIONS)
def test_compiled_and_batched(name: str) -> None:
    """One graph with its backward pass has the bits of eager calls; a batch those of its items."""
    x, rois = _images()
    x.requires_grad_()

    def loss(x: Any, rois: Any) -> Any:
        return (REGIONS[name](x, rois) ** 2).sum()

    loss(x, rois).backward()
    expected, x.grad = x.grad, None
    call = torch.compile(loss, fullgraph=True)
    for _ in range(3):
        x.grad = None
        call(x, rois).backward()
        assert torch.equal(x.grad, expected)
    batch = torch.stack([x.detach(), x.detach() * 2, x.detach().flip(3)])
    found = torch.vmap(REGIONS[name], in_dims=(0, None))(batch, rois)
    for one, item in zip(found, batch, strict=True):
        assert torch.equal(one, REGIONS[name](item, rois))


def test_regions_of_other_layouts() -> None:
    """Kernels take any strides."""
    x, rois = _images()
    for call in REGIONS.values():
        other = x.transpose(2, 3).contiguous().transpose(2, 3)
        assert torch.equal(call(other, rois.t().contiguous().t()), call(x, rois))


def test_no_boxes_are_kept_of_none() -> None:
    kept, count = detection.nms(
        torch.zeros(0, 4), torch.zeros(0, dtype=torch.int64), iou_threshold=0.5
    )
    assert (kept.shape, count.item()) == ((0,), 0)
    boxes = torch.tensor([[0.0, 0, 4, 4], [0, 0, 4, 3.9], [5, 5, 6, 6]])
    kept, count = detection.nms(boxes, torch.tensor([1, 0, 2]), iou_threshold=0.5)
    assert (kept.tolist(), count.item()) == ([1, 2, -1], 2)
