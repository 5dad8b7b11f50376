"""`mindtorch gradcheck script.py:function`: three ways to one gradient, compared.

The function's gradient by each of its arguments, as `value_and_grad` gives it, as `backward()`
leaves it in `grad`, and as central differences of the values say.
"""

import argparse
import copy
import importlib.util
import inspect
import sys
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any, NamedTuple

import numpy as np
from rich.console import Console
from rich.table import Table

import mindtorch
from mindtorch.module_hooker import torch_as_mindtorch

from .cli_types import seed, size
from .run_script import report_failure

__all__ = ["add_arguments", "main"]

STEP = 1e-6
BITS = 1e-12  # two ways of one arithmetic


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
    name = f"{path.stem}_script" if path.stem in sys.stdlib_module_names else path.stem
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None or not path.is_file():
        raise UsageError(f"cannot open {str(path)!r}")
    module = importlib.util.module_from_spec(spec)
    sys.modules.setdefault(name, module)  # dataclasses look there
    sys.path.insert(0, str(path.resolve().parent))
    before, sys.argv = sys.argv, [str(path)]
    try:
        spec.loader.exec_module(module)
    except SystemExit as error:
        raise UsageError(
            f"{path} ends while it is imported, with {error.code!r}; put what it runs under "
            'if __name__ == "__main__"'
        ) from None
    finally:
        sys.argv = before
    return module


def _function(target: str) -> Callable[..., Any]:
    path, _, name = target.rpartition(":")
    if not path:
        raise UsageError("name the function: script.py:function")
    module = _load(Path(path))
    function: Any = getattr(module, name, None)
    if not callable(function):
        raise UsageError(f"{path} has no function {name!r}")
    torch = mindtorch.torch

    if isinstance(function, torch.nn.Module):
        function = copy.deepcopy(function).double()
    result: Callable[..., Any] = function
    return result


def _size(text: str) -> tuple[int, ...]:
    try:
        return () if text == "scalar" else tuple(int(n) for n in text.split("x"))
    except ValueError:
        raise UsageError(f"--shape {text}: lengths joined by x, such as 2x3, or scalar") from None


def _arguments(function: Callable[..., Any], shapes: list[str], seed: int) -> list[Any]:
    """Float64 tensors: drawn for the shapes, or the function's defaults; integers stay."""
    torch = mindtorch.torch

    if shapes:
        draw = np.random.default_rng(seed)
        sizes = [_size(text) for text in shapes]
        try:
            inspect.signature(function).bind(*sizes)
        except TypeError as error:
            raise UsageError(f"{len(sizes)} --shape given: {error}") from None
        return [torch.from_numpy(np.asarray(draw.standard_normal(size))) for size in sizes]
    given = [p.default for p in inspect.signature(function).parameters.values()]
    tensors = [v for v in given if isinstance(v, torch.Tensor)]
    if not tensors or len(tensors) != len(given):
        raise UsageError("give a --shape for each argument, or the function tensors as defaults")
    if not any(v.is_floating_point() for v in tensors):
        raise UsageError("none of the defaults is a tensor of floating-point numbers")
    return [v.detach().double() if v.is_floating_point() else v for v in tensors]


def _differences(
    function: Callable[..., float], arrays: list[Any], places: tuple[int, ...]
) -> list[Any]:
    """Central differences of the value by each element of the arrays at the places."""
    result = []
    for array in (arrays[i] for i in places):
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
    from mindtorch.functional import value_and_grad
    torch = mindtorch.torch

    def total(*args: Any) -> Any:
        result = function(*args)
        parts = result if isinstance(result, (tuple, list)) else (result,)
        if not parts or not all(isinstance(part, torch.Tensor) for part in parts):
            raise UsageError("the function returns something else than tensors")
        return sum(part.sum() for part in parts)

    positions = tuple(i for i, x in enumerate(inputs) if x.is_floating_point())
    leaves = [x.clone().requires_grad_() if x.is_floating_point() else x for x in inputs]
    reached = total(*leaves)
    if not reached.requires_grad:
        raise UsageError("the function's result requires no gradient: nothing leads to it")
    reached.backward()
    _, found = value_and_grad(total, positions)(*inputs)
    listed = [found] if len(positions) == 1 else list(found)

    def value(*arrays: Any) -> float:
        with torch.no_grad():
            return float(total(*(torch.from_numpy(a.copy()) for a in arrays)))

    arrays = [x.numpy().copy() for x in inputs]
    return {
        "value_and_grad": [g.detach().numpy() for g in listed],
        "backward": [
            np.zeros(x.shape) if x.grad is None else x.grad.numpy()
            for x in (leaves[i] for i in positions)
        ],
        "differences": _differences(value, arrays, positions),
        "positions": list(positions),
    }  # fmt: skip


class _Apart(NamedTuple):
    """The largest difference of two gradients, relative to the larger of 1 and the largest slope;
    the place of that element, and what both have there."""

    size: float
    place: tuple[int, ...]
    found: float
    expected: float

    def __str__(self) -> str:
        place = f"[{', '.join(map(str, self.place))}]"
        return f"{self.size:.1e} at {place}" if self.place else f"{self.size:.1e}"


def _apart(a: Any, b: Any) -> _Apart:
    if not np.size(b):
        return _Apart(0.0, (), 0.0, 0.0)
    difference = np.abs(a - b)
    odd = ~np.isfinite(difference)
    place = np.unravel_index(int(np.argmax(np.where(odd, np.inf, difference))), np.shape(b))
    at = tuple(int(i) for i in place)
    size = float(difference[at] / max(1.0, float(np.max(np.abs(b)))))
    size = size if np.isfinite(size) else float("inf")
    return _Apart(size, at if size else (), float(a[at]), float(b[at]))


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
    except Exception as error:
        report_failure(error)
        print(f"mindtorch gradcheck: {options.target} raised", file=sys.stderr)
        return 2
    return _report(found, _names(function, len(inputs)), options.tolerance)


def _names(function: Callable[..., Any], count: int) -> list[str]:
    """What the function calls its arguments."""
    named = list(inspect.signature(function).parameters)
    return [named[at] if at < len(named) else f"argument {at + 1}" for at in range(count)]


def _report(found: dict[str, list[Any]], names: list[str], tolerance: float) -> int:
    """Print how far the gradients are apart, by how much too far and where; the exit status."""
    table = Table("argument", "shape", "from backward()", "from numerical slopes", title="Largest "
                  "difference of value_and_grad's gradients, relative, and the element",
                  title_justify="left")  # fmt: skip
    allowed = {"backward()": BITS, "numerical slopes": tolerance}
    wrong = []
    rows = zip(found["value_and_grad"], found["backward"], found["differences"], strict=True)
    for place, (ours, theirs, slopes) in zip(found["positions"], rows, strict=True):
        name, both = names[place], (_apart(ours, theirs), _apart(ours, slopes))
        table.add_row(name, str(np.shape(ours)), *map(str, both))
        for (what, limit), apart in zip(allowed.items(), both, strict=True):
            if not apart.size <= limit:
                element = f"{name}[{', '.join(map(str, apart.place))}]" if apart.place else name
                wrong.append(
                    f"DIFFER: by {element} the gradient is {apart.found:.6g}, and "
                    f"{apart.expected:.6g} by {what}: {apart.size:.1e} apart, {limit:g} allowed"
                )
    console = Console(highlight=False, markup=False)
    console.print(table)
    for line in wrong:
        console.print(line, soft_wrap=True)
    if not wrong:
        console.print(f"agree: {BITS:g} and {tolerance:g} are allowed")
    return 1 if wrong else 0
