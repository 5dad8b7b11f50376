"""`mindtorch gradcheck script.py:function`: three ways to one gradient, compared.

The function's gradient by each of its arguments, as `value_and_grad` gives it, as `backward()`
leaves it in `grad`, and as central differences of the values say.
"""

import argparse
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from mindtorch.module_hooker import torch_as_mindtorch

from .arguments import seed, size

__all__ = ["add_arguments", "main"]

STEP = 1e-6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("target", help="script.py:function")
    parser.add_argument(
        "--shape", action="append", default=[], metavar="2x3",
        help="the shape of an argument, once for each (scalar for a 0-d one); without shapes the "
        "function's defaults are used",
    )  # fmt: skip
    parser.add_argument("--seed", type=seed, default=0, help="of the arguments that are drawn")
    parser.add_argument(
        "--tolerance", type=size, default=1e-6,
        help="largest relative difference to central differences (default 1e-6)",
    )  # fmt: skip


class UsageError(Exception):
    """What was asked for cannot be done; the text says why."""


def _load(path: Path) -> ModuleType:
    spec = importlib.util.spec_from_file_location(path.stem, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"cannot open {str(path)!r}")
    module = importlib.util.module_from_spec(spec)
    sys.path.insert(0, str(path.resolve().parent))
    spec.loader.exec_module(module)
    return module


def _function(target: str) -> Callable[..., Any]:
    path, _, name = target.rpartition(":")
    if not path:
        raise UsageError("name the function: script.py:function")
    module = _load(Path(path))
    function: Any = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"{path} has no function {name!r}")
    result: Callable[..., Any] = function
    return result


def _arguments(function: Callable[..., Any], shapes: list[str], seed: int) -> list[Any]:
    """Float64 tensors: drawn for the shapes, or the function's defaults."""
    from mindtorch import torch

    if shapes:
        draw = np.random.default_rng(seed)
        sizes = [() if s == "scalar" else tuple(int(n) for n in s.split("x")) for s in shapes]
        return [torch.from_numpy(np.asarray(draw.standard_normal(size))) for size in sizes]
    given = [p.default for p in inspect.signature(function).parameters.values()]
    tensors = [v for v in given if isinstance(v, torch.Tensor)]
    if not tensors or len(tensors) != len(given):
        raise UsageError("give a --shape for each argument, or the function tensors as defaults")
    return [v.detach().to(torch.float64) for v in tensors]


def _differences(function: Callable[..., float], arrays: list[Any]) -> list[Any]:
    """Central differences of the value by each element of each array."""
    result = []
    for array in arrays:
        slopes = np.empty_like(array)
        for place in np.ndindex(array.shape):
            held = array[place]
            step = STEP * max(1.0, abs(held))
            array[place] = held + step
            above = function(*arrays)
            array[place] = held - step
            below = function(*arrays)
            array[place] = held
            slopes[place] = (above - below) / (2 * step)
        result.append(slopes)
    return result


def _gradients(function: Callable[..., Any], inputs: list[Any]) -> dict[str, list[Any]]:
    """The gradients of the sum of all outputs, in three ways."""
    from mindtorch import torch
    from mindtorch.functional import value_and_grad

    def total(*args: Any) -> Any:
        result = function(*args)
        parts = result if isinstance(result, (tuple, list)) else (result,)
        return sum(part.sum() for part in parts)

    positions = tuple(range(len(inputs)))
    _, found = value_and_grad(total, positions)(*inputs)
    listed = [found] if len(inputs) == 1 else list(found)
    leaves = [x.clone().requires_grad_() for x in inputs]
    total(*leaves).backward()

    def value(*arrays: Any) -> float:
        with torch.no_grad():
            return float(total(*(torch.from_numpy(a.copy()) for a in arrays)))

    arrays = [x.numpy().copy() for x in inputs]
    return {
        "value_and_grad": [g.detach().numpy() for g in listed],
        "backward": [
            np.zeros(x.shape) if x.grad is None else x.grad.numpy() for x in leaves
        ],
        "differences": _differences(value, arrays),
    }  # fmt: skip


def _apart(a: Any, b: Any) -> float:
    """The largest difference, relative to the larger of 1 and the largest slope."""
    if not np.size(b):
        return 0.0
    difference = float(np.max(np.abs(a - b)) / max(1.0, float(np.max(np.abs(b)))))
    return difference if np.isfinite(difference) else float("inf")


def main(options: argparse.Namespace) -> int:
    """Print the largest differences; 0: they agree, 1: they do not, 2: nothing was compared."""
    try:
        with torch_as_mindtorch():
            function = _function(options.target)
            inputs = _arguments(function, options.shape, options.seed)
            found = _gradients(function, inputs)
    except UsageError as error:
        print(f"mindtorch gradcheck: {error}", file=sys.stderr)
        return 2
    table = Table("argument", "shape", "backward", "differences", title="Largest difference of "
                  "value_and_grad from", title_justify="left")  # fmt: skip
    agree = True
    rows = zip(found["value_and_grad"], found["backward"], found["differences"], strict=True)
    for place, (ours, theirs, slopes) in enumerate(rows):
        apart = _apart(ours, theirs), _apart(ours, slopes)
        agree &= apart[0] <= 1e-12 and apart[1] <= options.tolerance
        table.add_row(str(place), str(np.shape(ours)), *(f"{value:.1e}" for value in apart))
    console = Console(highlight=False)
    console.print(table)
    console.print("agree" if agree else "DIFFER")
    return 0 if agree else 1
