"""torchvision's transforms, data sets, utilities and checkpoints on our tensors."""

from __future__ import annotations

import importlib
import importlib.util
import pickle
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from mindtorch.module_hooker import torch_as_mindtorch

pytestmark = [
    pytest.mark.skipif(
        importlib.util.find_spec("torchvision") is None, reason="needs the torchvision package"
    ),
    pytest.mark.filterwarnings("ignore"),  # torchvision's own, which differ from side to side
]


def _both(program: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    """What a program (torch, torchvision) -> numbers gives on our side and on the real one."""
    with torch_as_mindtorch():
        ours = program(importlib.import_module("torch"), importlib.import_module("torchvision"))
    importlib.import_module("mindtorch.tools.compare.torchvision_shim").declare_before_import()
    return ours, program(
        importlib.import_module("torch"), importlib.import_module("torchvision")
    )


def _check(program: Any) -> None:
    found, expected = _both(program)
    assert list(found) == list(expected)
    for name, value in expected.items():
        mine, theirs = np.asarray(found[name]), np.asarray(value)
        assert (mine.dtype, mine.shape) == (theirs.dtype, theirs.shape), name
        # Interpolation at turned places: some 40 roundings of numbers up to 1.
        bound = 1e-5 if mine.dtype.kind == "f" else 0
        error = np.abs(mine.astype(float) - theirs.astype(float))
        if name == "v1.Resize of bytes":
            # Computed in float32, then made whole: what lies at a step may go either way.
            assert error.max() <= 1 and np.count_nonzero(error) <= error.size // 500, name
        else:
            assert error.max() <= bound, name


def _image() -> Any:
    return np.random.default_rng(0).integers(0, 256, (3, 20, 24), dtype=np.uint8)


def _transformed(torch: Any, torchvision: Any) -> dict[str, Any]:
    modules = {"v1": torchvision.transforms}
    modules["v2"] = importlib.import_module("torchvision.transforms.v2")
    calls: dict[str, Any] = {
        "Resize": ((13, 9),), "RandomCrop": (16, 4), "RandomResizedCrop": (12,),
        "RandomHorizontalFlip": (), "ColorJitter": (0.4, 0.4, 0.4, 0.2), "RandomRotation": (30,),
        "RandomAffine": (20, (0.1, 0.1)), "RandomPerspective": (0.5, 1.0), "GaussianBlur": (5,),
        "RandomErasing": (1.0,), "RandAugment": (), "AutoAugment": (), "TrivialAugmentWide": (),
    }  # fmt: skip
    found = {}
    for version, module in modules.items():
        for name, arguments in calls.items():
            torch.manual_seed(7)
            random.seed(7)
            transform = getattr(module, name)(*arguments)
            x = torch.from_numpy(_image())
            found[f"{version}.{name} of bytes"] = transform(x).numpy()
            if "Augment" not in name:
                found[f"{version}.{name}"] = transform(x.float() / 255).numpy()
    return found


@pytest.mark.exhaustive
def test_transforms_draw_and_compute_the_same() -> None:
    """Bytes are equal, floating-point images to rounding, the same seeds choose the same."""
    _check(_transformed)


def _write_data(folder: Path) -> None:
    images = np.random.default_rng(1).integers(0, 256, (10, 3072), dtype=np.uint8)
    raw = folder / "MNIST" / "raw"
    raw.mkdir(parents=True)
    for part in ("train", "t10k"):
        head = b"\x00\x00\x08\x03" + b"".join(n.to_bytes(4, "big") for n in (10, 28, 28))
        (raw / f"{part}-images-idx3-ubyte").write_bytes(head + images[:, :784].tobytes())
        head = b"\x00\x00\x08\x01" + (10).to_bytes(4, "big")
        (raw / f"{part}-labels-idx1-ubyte").write_bytes(head + bytes(range(10)))
    from PIL import Image

    for label in ("a", "b"):
        (folder / "folder" / label).mkdir(parents=True)
        Image.fromarray(_image().transpose(1, 2, 0)).save(folder / "folder" / label / "x.png")


def test_data_sets_and_utilities_give_the_same(tmp_path: Path) -> None:
    """MNIST from idx files, ImageFolder, FakeData, grids, and files of images."""
    _write_data(tmp_path)

    def program(torch: Any, torchvision: Any) -> dict[str, Any]:
        tensor = torchvision.transforms.ToTensor()
        sets = torchvision.datasets
        mnist = sets.MNIST(str(tmp_path), train=True, transform=tensor)
        folder = sets.ImageFolder(str(tmp_path / "folder"), transform=tensor)
        fake = sets.FakeData(3, (3, 8, 8), 4, transform=tensor)
        batch, labels = next(iter(torch.utils.data.DataLoader(mnist, batch_size=4)))
        grid = torchvision.utils.make_grid(batch, nrow=2, normalize=True)
        torchvision.utils.save_image(grid, str(tmp_path / "grid.png"))
        boxes = torch.tensor([[0.0, 0, 4, 4], [1, 1, 5, 6], [8, 8, 9, 9]])
        ops = torchvision.ops
        return {
            "mnist": batch.numpy(), "labels": labels.numpy(), "grid": grid.numpy(),
            "folder": folder[1][0].numpy(), "classes": [folder[1][1], int(fake[2][1])],
            "fake": fake[2][0].numpy(), "file": list((tmp_path / "grid.png").read_bytes()),
            "iou": ops.box_iou(boxes, boxes).numpy(),
            "giou": ops.generalized_box_iou_loss(boxes, boxes.flip(0)).numpy(),
            "focal": ops.sigmoid_focal_loss(boxes / 9, (boxes > 2).float()).numpy(),
        }  # fmt: skip

    _check(program)


def test_checkpoints_of_models_go_both_ways(tmp_path: Path) -> None:
    """A file that either side wrote is read by the other, bit for bit."""

    def written(torch: Any, torchvision: Any) -> dict[str, Any]:
        torch.manual_seed(0)
        net = torchvision.models.squeezenet1_1(num_classes=3)
        torch.save(net.state_dict(), tmp_path / f"{torch.__package__}.pt")
        return {key: value.numpy() for key, value in net.state_dict().items()}

    def read(torch: Any, torchvision: Any) -> dict[str, Any]:
        other = "torch" if torch.__package__ != "torch" else "mindtorch.torch"
        net = torchvision.models.squeezenet1_1(num_classes=3)
        net.load_state_dict(torch.load(tmp_path / f"{other}.pt"))
        return {key: value.numpy() for key, value in net.state_dict().items()}

    made = _both(written)
    for found in _both(read):
        assert pickle.dumps(list(found)) == pickle.dumps(list(made[0]))
        for key, value in found.items():
            np.testing.assert_array_equal(value, made[0][key])
            np.testing.assert_array_equal(value, made[1][key])
