"""torchvision's models in one process on one side: `python vision_program.py SIDE FOLDER NAMES`.

SIDE is "ours" or "real". For each name (all of them without names) a file FOLDER/SIDE.name.pickle
holds numpy arrays: the digest of the initial state, its keys, and the outputs, gradients and
buffers of a pass in eval and one in train mode, in float32 and in float64. From torch's float64 a
test knows how far rounding reaches. A name that fails leaves the exception's text.
"""

from __future__ import annotations

import hashlib
import importlib
import pickle
import sys
import time
import traceback
import warnings
from pathlib import Path
from typing import Any

SEED = 1234
# Of each gradient so many elements, evenly taken, are kept; of outputs more.
KEPT, KEPT_OF_OUTPUTS = 1024, 65536

# 2.5 GB of parameters each, and as much again of gradients: in float64 real torch alone computes
# their outputs, without gradients.
SINGLE_ONLY = {"regnet_y_128gf", "vit_h_14"}

_IMAGE_SIDES = {
    "alexnet": 80, "inception_v3": 299, "vit_b_16": 32, "vit_b_32": 64, "vit_l_16": 32,
    "vit_l_32": 64, "vit_h_14": 28, "maxvit_t": 224, "quantized_inception_v3": 299,
}  # fmt: skip
_OPTIONS: dict[str, dict[str, Any]] = {
    **{name: {"image_size": _IMAGE_SIDES[name]} for name in _IMAGE_SIDES if name[:3] == "vit"},
    "maxvit_t": {"input_size": (224, 224)},
    "googlenet": {"init_weights": True, "aux_logits": False},
    "quantized_googlenet": {"init_weights": True, "aux_logits": False},
    "inception_v3": {"init_weights": True},
}


def _kind(torchvision: Any, name: str) -> str:
    module = torchvision.models.get_model_builder(name).__module__
    for kind in ("segmentation", "detection", "video", "optical_flow", "quantization"):
        if f"models.{kind}" in module:
            return kind
    return "classification"


def _inputs(torch: Any, kind: str, name: str) -> list[Any]:
    """The arguments of the model's call."""
    torch.manual_seed(SEED)
    if kind == "optical_flow":
        return [torch.rand(1, 3, 128, 128), torch.rand(1, 3, 128, 128)]
    if kind == "video":
        if name.startswith("mvit") or name == "s3d":
            return [torch.rand(1, 3, 16, 224, 224)]
        return [torch.rand(2, 3, 4, 64, 64)]
    if kind == "detection":
        return [[torch.rand(3, 96, 128), torch.rand(3, 128, 96)]]
    side = _IMAGE_SIDES.get(name, 64)
    return [torch.rand(2 if side > 200 else 4, 3, side, side)]


def _build(torchvision: Any, torch: Any, kind: str, name: str) -> Any:
    torch.manual_seed(SEED)
    options = dict(_OPTIONS.get(name, {}))
    if kind == "detection" and "ssd" not in name:
        options |= {"min_size": 128, "max_size": 192}
    if kind in ("segmentation", "detection"):
        options["weights_backbone"] = None
    model = torchvision.models.get_model(name, weights=None, **options)
    if name.startswith("vit"):
        # The head begins as zeros, and nothing could be seen through it.
        torch.nn.init.normal_(model.heads.head.weight, std=0.02)
    return model


def _leaves(value: Any) -> list[Any]:
    """The tensors in lists, tuples and dicts, in their order."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, (list, tuple)):
        return [leaf for item in value for leaf in _leaves(item)]
    return [value] if hasattr(value, "detach") else []


def _array(tensor: Any, kept: int | None = None) -> Any:
    """At most `kept` elements of a tensor, evenly taken; whole numbers as float64."""
    array = tensor.detach().numpy().reshape(-1)
    array = array if array.dtype == "float32" else array.astype("float64")
    if kept is not None and array.size > kept:
        array = array[:: -(-array.size // kept)]
    return array.copy()


def _targets(torch: Any, kind: str, name: str) -> list[Any]:
    if kind != "detection":
        return []
    boxes = torch.tensor([[8.0, 10.0, 60.0, 70.0], [20.0, 4.0, 90.0, 40.0]])
    targets = []
    for _ in range(2):
        target = {"boxes": boxes.clone(), "labels": torch.tensor([1, 2])}
        if name.startswith("maskrcnn"):
            target["masks"] = (torch.rand(2, 128, 128) > 0.5).to(torch.uint8)
        if name.startswith("keypointrcnn"):
            target["labels"] = torch.tensor([1, 1])
            points = torch.rand(2, 17, 3) * 30 + 20
            points[..., 2] = 1
            target["keypoints"] = points
        targets.append(target)
    return [targets]


def _cast(value: Any, dtype: Any) -> Any:
    if isinstance(value, dict):
        # torchvision refuses keypoints of another type than float32
        return {k: x if k == "keypoints" else _cast(x, dtype) for k, x in value.items()}
    if isinstance(value, list):
        return [_cast(item, dtype) for item in value]
    return value.to(dtype) if value.is_floating_point() else value


def _settle(torch: Any, model: Any, arguments: list[Any]) -> None:
    """Give batch norms the statistics of a batch, as training would: with the initial ones the
    features of deep detectors vanish, all scores are equal but for rounding, and so is nothing
    that is chosen by score."""
    norms = [each for each in model.modules() if isinstance(each, torch.nn.BatchNorm2d)]
    momenta = [each.momentum for each in norms]
    for each in norms:
        each.momentum = 1.0
    with torch.no_grad():
        model.train()(*arguments)
    for each, momentum in zip(norms, momenta, strict=True):
        each.momentum = momentum


def passes(
    torch: Any, model: Any, kind: str, name: str, dtype: Any, gradients: bool = True
) -> dict[str, Any]:
    """Outputs in eval mode, then outputs, gradients and buffers of a step in train mode."""
    model = model.to(dtype)
    inputs = _cast(_inputs(torch, kind, name), dtype)
    found: dict[str, Any] = {}
    torch.manual_seed(SEED + 1)
    targets = _cast(_targets(torch, kind, name), dtype)
    if kind == "detection":
        _settle(torch, model, [*inputs, *targets])
    model.eval()
    with torch.no_grad():
        outputs = _leaves(model(*inputs))
    found["eval"] = [_array(each, KEPT_OF_OUTPUTS) for each in outputs]
    model.train()
    torch.manual_seed(SEED + 2)
    with torch.set_grad_enabled(gradients):
        leaves = _leaves(model(*inputs, *targets))
    outputs = [each for each in leaves if each.is_floating_point()]
    found["train"] = [_array(each, KEPT_OF_OUTPUTS) for each in outputs]
    if gradients:
        found["gradients"] = _gradients(torch, model, outputs, dtype)
    found["buffers"] = {key: _array(value, KEPT) for key, value in model.named_buffers()}
    return found


def _gradients(torch: Any, model: Any, outputs: list[Any], dtype: Any) -> dict[str, Any]:
    """Of a loss in which each element of the outputs has another weight."""
    loss: Any = 0
    for each in outputs:
        weights = torch.cos(torch.arange(each.numel(), dtype=dtype)).reshape(each.shape)
        loss = loss + (each * weights).sum()
    loss.backward()
    return {
        key: None if value.grad is None else _array(value.grad, KEPT)
        for key, value in model.named_parameters()
    }


def digest(model: Any) -> tuple[list[tuple[str, tuple[int, ...], str]], str]:
    """The names, shapes and types of a model's state, and a hash of all of its bytes."""
    hashed = hashlib.sha256()
    described = []
    for key, value in model.state_dict().items():
        array = value.detach().contiguous().numpy()
        described.append((key, tuple(array.shape), str(array.dtype)))
        hashed.update(array.data)
    return described, hashed.hexdigest()


def examine(torchvision: Any, torch: Any, name: str, runs: bool) -> dict[str, Any]:
    """All that is compared about one model."""
    kind = _kind(torchvision, name)
    start = time.perf_counter()
    model = _build(torchvision, torch, kind, name)
    described, hashed = digest(model)
    found: dict[str, Any] = {"keys": described, "digest": hashed}
    found["built"] = time.perf_counter() - start
    found["text"] = hashlib.sha256(repr(model).encode()).hexdigest()
    if runs:
        found["float32"] = passes(torch, model, kind, name, torch.float32)
        found["ran"] = time.perf_counter() - start - found["built"]
        if kind != "optical_flow" and name not in SINGLE_ONLY:  # flow's grids are float32 always
            model = _build(torchvision, torch, kind, name)
            found["float64"] = passes(torch, model, kind, name, torch.float64)
        elif name in SINGLE_ONLY and torch.__package__ == "torch":
            del model
            model = _build(torchvision, torch, kind, name)
            found["outputs"] = passes(torch, model, kind, name, torch.float64, gradients=False)
    return found


def main(side: str, folder: str, *names: str) -> None:
    real = side == "real"
    if real:
        importlib.import_module("mindtorch.tools.compare.torchvision_shim").declare_before_import()
    else:
        importlib.import_module("mindtorch.tools.mstorch_enable")
    warnings.simplefilter("ignore" if real else "error")
    torch = importlib.import_module("torch")
    torchvision = importlib.import_module("torchvision")
    torch.set_num_threads(1)
    assert (torch.__package__ == "torch") == real
    runs = "--build" not in names
    chosen = [name for name in names if not name.startswith("--")]
    for name in chosen or torchvision.models.list_models():
        path = Path(folder, f"{side}.{name}.pickle")
        try:
            found = examine(torchvision, torch, name, runs)
        except Exception:
            found = {"error": traceback.format_exc()}
        path.write_bytes(pickle.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
