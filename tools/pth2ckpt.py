"""`python -m mindtorch.tools.pth2ckpt model.pth`: a PyTorch checkpoint as MindSpore's.

In Python `from mindtorch.tools import pth2ckpt; pth2ckpt("model.pth")`: the module can be called.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Mapping
from pathlib import Path
from types import ModuleType
from typing import Any

import mindtorch.mindspore as ms
from mindtorch import torch
from mindtorch._module_class import set_module_class

__all__ = ["main", "pth2ckpt"]


def pth2ckpt(path: str | Path) -> None:
    """Write the tensors of ``path``, which ends in .pth, to the same name with .ckpt.

    A dict inside of the dict counts as its entries: `{"model": {"weight": ...}}` gives "weight".
    What is no tensor has no place in MindSpore's files and is named on stderr.

    Args:
        path: of the .pth file; nothing in it is executed.

    Raises:
        ValueError: another ending, or no tensor in the file.
    """
    source = Path(path)
    if source.suffix != ".pth":
        raise ValueError(f"pth2ckpt converts .pth files, but got {str(path)!r}")
    held = torch.load(source, map_location="cpu", weights_only=True)
    if not isinstance(held, Mapping):
        raise ValueError(f"{str(path)!r} holds a {type(held).__name__}, not a dict of tensors")
    flat: dict[str, Any] = {}
    for name, value in held.items():
        flat.update(value if isinstance(value, Mapping) else {name: value})
    tensors = {str(n): v for n, v in flat.items() if isinstance(v, torch.Tensor)}
    if not tensors:
        raise ValueError(f"{str(path)!r} holds no tensors")
    for name in flat:
        if str(name) not in tensors:
            print(f"{name} is no tensor and is left out", file=sys.stderr)
    rows = [
        {"name": name, "data": ms.Tensor(torch.cast_to_ms_tensor(value.detach()))}
        for name, value in tensors.items()
    ]
    ms.save_checkpoint(rows, str(source.with_suffix(".ckpt")))
    print("convert ckpt finish.")


def main(arguments: list[str] | None = None) -> None:
    """The command line: one or several files.

    Args:
        arguments: instead of those of the process.
    """
    parser = argparse.ArgumentParser(prog="pth2ckpt", description="a .pth file as a .ckpt file")
    parser.add_argument("path", nargs="+", help="of a .pth file")
    for path in parser.parse_args(arguments).path:
        pth2ckpt(path)


class _Callable(ModuleType):
    def __call__(self, path: str | Path) -> None:
        pth2ckpt(path)


set_module_class(__name__, _Callable)

if __name__ == "__main__":
    main()
