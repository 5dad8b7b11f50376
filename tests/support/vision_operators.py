"""Calls of torchvision's compiled operators, for our kernels and for the golden file.

`python tests/support/vision_operators.py FILE` writes the golden file from real torchvision, where
its C++ library loads. The file was written by the CPU kernels of torchvision 0.28's CUDA build,
with empty libraries in place of the CUDA ones it links.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from typing import Any


def _pulled_back(torch: Any, output: Any, *inputs: Any) -> list[Any]:
    """The output and the gradients of a weighted sum of it."""
    weights = torch.cos(torch.arange(output.numel(), dtype=output.dtype)).reshape(output.shape)
    return [output, *torch.autograd.grad((output * weights).sum(), inputs)]


def _pooling(torch: Any, ops: Any) -> dict[str, Callable[[Any, Any], Any]]:
    return {
        "roi_align aligned": lambda x, r: ops.roi_align(x, r, (3, 2), 0.25, 2, True),
        "roi_align adaptive": lambda x, r: ops.roi_align(x, r, (3, 2), 0.25, -1, False),
        "roi_pool": lambda x, r: ops.roi_pool(x, r, (3, 2), 0.25),
        "ps_roi_align": lambda x, r: ops.ps_roi_align(x, r, (2, 2), 0.25, 2),
        "ps_roi_align adaptive": lambda x, r: ops.ps_roi_align(x, r, (1, 2), 0.25, -1),
        "ps_roi_pool": lambda x, r: ops.ps_roi_pool(x, r, (2, 2), 0.25),
    }


def cases(torch: Any, ops: Any, dtype: Any) -> Iterator[tuple[str, list[Any]]]:
    """Names and results of all calls."""
    torch.manual_seed(0)
    x = torch.randn(2, 4, 9, 11, dtype=dtype)
    boxes = torch.rand(20, 4, dtype=dtype) * 40 - 5
    boxes[:, 2:] = boxes[:, :2] + torch.rand(20, 2, dtype=dtype) * 30
    scores = torch.rand(20, dtype=dtype)
    for threshold in (0.1, 0.5):
        yield f"nms {threshold}", [ops.nms(boxes, scores, threshold)]
    yield "batched_nms", [ops.batched_nms(boxes, scores, torch.arange(20) % 3, 0.2)]
    regions = torch.cat([torch.randint(0, 2, (20, 1)).to(dtype), boxes], 1)
    for name, function in _pooling(torch, ops).items():
        leaf = x.clone().requires_grad_()
        yield name, _pulled_back(torch, function(leaf, regions), leaf)
    layer = ops.DeformConv2d(4, 6, (3, 2), stride=2, padding=1, dilation=1, groups=2).to(dtype)
    for masked in (False, True):
        leaves = [x.clone(), torch.randn(2, 24, 5, 6, dtype=dtype) * 2]
        leaves += [torch.rand(2, 12, 5, 6, dtype=dtype)] if masked else []
        leaves = [leaf.requires_grad_() for leaf in leaves]
        found = _pulled_back(torch, layer(*leaves), *leaves, *layer.parameters())
        yield f"deform_conv2d {'with' if masked else 'without'} mask", found
    turned = torch.rand(12, 5, dtype=dtype) * torch.tensor([20, 20, 15, 9, 360], dtype=dtype)
    yield "box_iou_rotated", [ops.box_iou(turned[:7], turned[5:], fmt="cxcywhr")]


def arrays(torch: Any, ops: Any) -> dict[str, Any]:
    """All results as numpy arrays, named "type name number"."""
    return {
        f"{kind} {name} {i}": each.detach().numpy()
        for kind in ("float32", "float64")
        for name, found in cases(torch, ops, getattr(torch, kind))
        for i, each in enumerate(found)
    }


if __name__ == "__main__":
    import numpy as np
    import torch
    from torchvision import extension, ops

    assert extension._has_ops(), "torchvision's C++ library does not load here"
    np.savez_compressed(sys.argv[1], **arrays(torch, ops))
