"""Runs a code base on mindtorch and keeps which of its lines ran, and which of them raised:
`scan_program.py FILE FOLDER CODE [ARGUMENT ...]`, where CODE is a script, `timm` or `torchvision`.
"""

from __future__ import annotations

import contextlib
import importlib
import pickle
import pkgutil
import runpy
import sys
import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

from mindtorch.tools import mstorch_enable  # noqa: F401


class Watch:
    """Traces the files below a folder.

    Attributes:
        ran: file -> lines.
        raised: (file, line, exception's name, text), at the line from which our code raised.
        passed: the lines that any exception left.
    """

    def __init__(self, folder: str) -> None:
        self.folder = folder
        self.ran: dict[str, set[int]] = defaultdict(set)
        self.raised: set[tuple[str, int, str, str]] = set()
        self.passed: set[tuple[str, int]] = set()

    def call(self, frame: Any, event: str, argument: Any) -> Any:
        return self.line if frame.f_code.co_filename.startswith(self.folder) else None

    def line(self, frame: Any, event: str, argument: Any) -> Any:
        file = frame.f_code.co_filename
        if event == "line":
            self.ran[file].add(frame.f_lineno)
        elif event == "exception":
            self.passed.add((file, frame.f_lineno))
            kind, error, traceback = argument
            inner = traceback.tb_next
            while inner is not None:
                if inner.tb_frame.f_code.co_filename.startswith(self.folder):
                    return self.line  # told where it came from
                inner = inner.tb_next
            self.raised.add((file, frame.f_lineno, kind.__name__, str(error)[:200]))
        return self.line


def attempt(work: Callable[[], Any]) -> None:
    """Do something that may well fail: the watch sees why."""
    with contextlib.suppress(Exception, SystemExit), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        work()


def import_all(package: str) -> None:
    """Import every module of a package that can be imported."""
    root = importlib.import_module(package)
    for each in pkgutil.walk_packages(root.__path__, f"{package}.", onerror=lambda name: None):
        if not each.name.endswith("__main__"):
            attempt(lambda name=each.name: importlib.import_module(name))  # type: ignore[misc]


def train(model: Any, shape: tuple[int, ...], optimizer: Any = None) -> None:
    import torch

    optimizer = optimizer or torch.optim.SGD(model.parameters(), lr=1e-3)
    result = model(torch.rand(shape))
    result = next(iter(result.values())) if isinstance(result, dict) else result
    result = result[0] if isinstance(result, (tuple, list)) else result
    result.float().sum().backward()
    optimizer.step()
    model.eval()
    with torch.no_grad():
        model(torch.rand(shape))


def torchvision() -> None:
    import torch
    import torchvision as tv
    from torchvision.transforms import v2

    import_all("torchvision")
    for name in ("resnet18", "mobilenet_v3_small", "shufflenet_v2_x0_5", "squeezenet1_1"):
        attempt(lambda name=name: train(tv.models.get_model(name), (2, 3, 64, 64)))  # type: ignore[misc]
    for name in ("fcn_resnet50", "r3d_18"):
        shape = (2, 3, 32, 32) if name[0] == "f" else (1, 3, 4, 32, 32)
        attempt(lambda: train(tv.models.get_model(name, weights_backbone=None), shape))  # noqa: B023
    boxes = torch.tensor([[0.0, 0, 9, 9], [1, 1, 8, 8], [5, 5, 20, 20]])
    image = torch.randint(0, 256, (3, 24, 24), dtype=torch.uint8)
    for name in tv.ops.__all__:
        operator = getattr(tv.ops, name)
        for given in ((boxes,), (boxes, boxes), (boxes, torch.rand(3), 0.5),
                      (torch.rand(1, 3, 24, 24), [boxes], 2), (torch.rand(2, 3, 8, 8), 0.5),
                      (torch.rand(2, 3, 8, 8), 0.5, 3), (3, 4), (3,)):  # fmt: skip
            attempt(lambda operator=operator, given=given: operator(*given))  # type: ignore[misc]
    for name in dir(v2.functional):
        function = getattr(v2.functional, name)
        if callable(function):
            for more in ((), (2,), ([8, 8],), (0.5,), ([0.5], [0.5]), (torch.float32,)):
                attempt(lambda function=function, more=more: function(image, *more))  # type: ignore[misc]
    for name in dir(v2):
        for made in ((), (8,), (0.5,), ((0.5,), (0.5,))):
            attempt(lambda name=name, made=made: getattr(v2, name)(*made)(image))  # type: ignore[misc]
    for name in dir(tv.io):
        for files in ((image,), (image, "file.png"), ("file.png",)):
            attempt(lambda name=name, files=files: getattr(tv.io, name)(*files))  # type: ignore[misc]
    attempt(lambda: tv.utils.draw_bounding_boxes(image, boxes))
    attempt(lambda: tv.utils.make_grid(torch.rand(4, 3, 8, 8)))


_TIMM = ("resnet10t", "convnext_atto", "efficientnet_lite0", "vit_tiny_patch16_224", "regnetx_002",
         "mobilenetv3_small_050", "mixer_s32_224", "ghostnet_050", "lcnet_035", "levit_128s",
         "poolformer_s12", "edgenext_xx_small", "hrnet_w18_small", "xcit_nano_12_p16_224",
         "swin_tiny_patch4_window7_224", "coat_lite_tiny", "dla34", "dm_nfnet_f0")  # fmt: skip


def timm() -> None:
    import timm
    import timm.optim
    import timm.scheduler
    import torch

    import_all("timm")
    for name in _TIMM[:-1]:
        whole = any(word in name for word in ("vit", "mixer", "xcit", "swin", "coat", "levit"))
        size = 224 if whole else 64
        attempt(lambda: train(timm.create_model(name), (2, 3, size, size)))  # noqa: B023
    for name in timm.optim.list_optimizers():
        model = torch.nn.Sequential(torch.nn.Conv2d(3, 4, 3), torch.nn.Flatten())
        attempt(
            lambda: train(  # the rules are run, whatever comes out
                model,  # noqa: B023
                (2, 3, 8, 8),
                timm.optim.create_optimizer_v2(model, name, lr=1e-3),  # noqa: B023
            )
        )
    for name in dir(timm.layers):
        for given in ((), (8,), (8, 8), (8, 8, 3)):
            for shape in ((2, 8, 6, 6), (2, 4, 8)):
                attempt(
                    lambda: getattr(timm.layers, name)(*given)(torch.rand(shape))  # noqa: B023
                )
    for name in dir(timm.loss):
        attempt(
            lambda: getattr(timm.loss, name)()(torch.rand(4, 5), torch.tensor([1, 2, 3, 0]))  # noqa: B023
        )


def script(path: str, arguments: list[str]) -> None:
    sys.argv = [path, *arguments]
    sys.path.insert(0, str(Path(path).parent))
    with contextlib.suppress(SystemExit):
        runpy.run_path(path, run_name="__main__")


if __name__ == "__main__":
    output, folder, code, *more = sys.argv[1:]
    watch = Watch(folder)
    sys.settrace(watch.call)
    try:
        script(code, more) if code.endswith(".py") else globals()[code]()
    finally:
        sys.settrace(None)
        with open(output, "wb") as file:
            pickle.dump((dict(watch.ran), watch.raised, watch.passed), file)
