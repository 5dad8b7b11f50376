"""Counting floating-point operations of products and convolutions, by module and by op."""

from __future__ import annotations

import math
from collections import defaultdict
from typing import Any

from mindtorch.engine.autograd import backward
from mindtorch.engine.compile.lazy.pause import pause
from mindtorch.engine.dispatch import state
from mindtorch.engine.interpreter import Interpreter
from mindtorch.torch import ops
from mindtorch.torch._compat.unsupported_names import absent_function, refuse

from .module_tracker import ModuleTracker

__all__ = ["FlopCounterMode", "register_flop_formula"]

register_flop_formula = absent_function(
    "torch.utils.flop_counter", "register_flop_formula", "what counts is our own ops"
)
_SUFFIXES = ("", "K", "M", "B", "T")


def _count(op: Any, inputs: Any, params: Any, shape: Any) -> tuple[str, int] | None:
    """(name in torch.ops.aten, operations), two for each product, as torch counts them."""
    shapes: Any = [None if x is None else x.aval.shape for x in inputs]
    name = op.name
    if name in ("matmul", "linear"):
        inner = shapes[0][-1]
        if name == "linear":
            kind = "mm" if len(inputs) < 3 or inputs[2] is None else "addmm"
        else:
            kind = "mm" if len(shape) == 2 else "bmm"
        return kind, 2 * math.prod(shape) * inner
    if not name.startswith("convolution"):
        return None
    kind = "convolution_backward" if backward.running() else "convolution"
    if name == "convolution":
        wide, kernel = shape, shapes[1]
    else:
        wide = shapes[0]
        kernel = shapes[1] if name == "convolution_input_gradient" else params["shape"]
    return kind, 2 * wide[0] * math.prod(wide[2:]) * math.prod(kernel)


def _scale(total: int) -> int:
    """Which of the suffixes all numbers of a table have: two to four digits are left of it."""
    return max(0, min(len(_SUFFIXES) - 1, (len(str(total)) - 2) // 3))


class FlopCounterMode(Interpreter):
    """In a ``with`` block the floating-point operations of what is called are counted.

    Two for each product that is added: matrix products, linear layers and convolutions, forward
    and backward. As in torch on CPUs nothing else counts; fused attention and recurrent layers,
    among others, are 0.

    Args:
        mods: unused, as in torch, which finds the modules as they are called.
        depth: how many levels of modules the table has; None is all.
        display: print the table at the end of the block.
        custom_mapping: formulas of torch's ops; must be empty.

    Raises:
        NotImplementedError: ``custom_mapping`` has formulas.
    """

    def __init__(
        self, mods: Any = None, depth: int | None = 2, display: bool = True,
        custom_mapping: dict[Any, Any] | None = None,
    ) -> None:  # fmt: skip
        if mods is not None:
            import warnings

            warnings.warn("mods argument is not needed anymore, you can stop passing it",
                          stacklevel=2)
        if custom_mapping:
            refuse("FlopCounterMode(custom_mapping=...)", "what counts is our own ops")
        self.depth, self.display = depth, display
        self.flop_counts: dict[str, dict[Any, int]] = defaultdict(lambda: defaultdict(int))
        self.mod_tracker = ModuleTracker()
        self.outer: Any = ()

    def get_total_flops(self) -> int:
        """All operations of the block."""
        return sum(self.flop_counts["Global"].values())

    def get_flop_counts(self) -> dict[str, dict[Any, int]]:
        """Operations by the path of the module ("Global": all) and by op of ``torch.ops.aten``."""
        return {k: dict(v) for k, v in self.flop_counts.items()}

    def get_table(self, depth: int | None = None) -> str:
        """The counts as a table of modules, share of the total and ops.

        All operations together come first unless a module has them all.
        """
        depth = self.depth if depth is None else depth
        total = self.get_total_flops()
        scale = _scale(total)

        def cells(number: int) -> list[str]:
            share = "0%" if total == 0 else f"{number / total:.2%}"
            return [f"{number / 1000**scale:.3f}{_SUFFIXES[scale]}", share]

        def lines(name: str, level: int) -> list[list[str]]:
            counts, pad = self.flop_counts[name], " " * level
            found = [[pad + name, *cells(sum(counts.values()))]]
            return found + [[f"{pad} - {op}", *cells(number)] for op, number in counts.items()]

        names = [
            name for name in sorted(self.flop_counts)
            if name != "Global" and (depth is None or name.count(".") < depth)
        ]  # fmt: skip
        covered = any(sum(self.flop_counts[name].values()) >= total for name in names)
        apart = "Global" in self.flop_counts and not covered
        rows = lines("Global", 0) if apart else []
        for name in names:
            rows += lines(name, name.count(".") + apart)
        return _table(("Module", "FLOP", "% Total"), rows or [["Global", "0", "0%"]])

    def __enter__(self) -> FlopCounterMode:
        self.flop_counts.clear()
        self.mod_tracker.__enter__()
        self._resume = pause()
        self.outer = state.interpreters
        state.update(interpreters=(*self.outer, self))
        return self

    def __exit__(self, *exception: object) -> None:
        state.update(interpreters=tuple(x for x in state.interpreters if x is not self))
        self._resume()
        self.mod_tracker.__exit__()
        if self.display:
            print(self.get_table(self.depth))

    def apply(self, op: Any, inputs: Any, params: Any) -> Any:
        result = self.outside(op, *inputs, **params)
        shape = result.aval.shape if not isinstance(result, tuple) else ()
        found = _count(op, inputs, params, shape)
        if found is not None:
            packet = getattr(ops.aten, found[0])
            for name in {"Global", *self.mod_tracker.parents}:
                self.flop_counts[name][packet] += found[1]
        return result



def _table(header: tuple[str, ...], rows: list[list[str]]) -> str:
    widths = [
        max(len(word) + 2, *(len(row[i]) for row in rows)) for i, word in enumerate(header)
    ]
    lines = [list(header), ["-" * width for width in widths], *rows]
    return "\n".join(
        "  ".join(
            cell.ljust(width) if i == 0 else cell.rjust(width)
            for i, (cell, width) in enumerate(zip(line, widths, strict=True))
        )
        for line in lines
    )
