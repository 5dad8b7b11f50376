"""`python -m mindtorch amp-report script.py`: what 16 bits would do to the layers of a network.

The script runs as it is, in float32 (O0). For the first training steps a copy of each network
computes the same batch at level O2 or O3, and each layer alone computes in 16 bits what it was
given in float32. Printed for each layer: results that overflow, the share of results and of
gradients that become zero, the bits lost, and which layers should stay float32.
"""

from __future__ import annotations

import argparse
import copy
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

import mindtorch
from mindtorch.engine.tensor import Tensor
from mindtorch.kernels.support.atomic_file import write_whole
from mindtorch.module_hooker import torch_disable

from .cli_types import count
from .run_script import ScriptNotFoundError, execute, report_failure
from .watchpoints.training_steps import Steps

__all__ = ["LayerReport", "Observer", "add_arguments", "main"]

SINGLE_BITS = 24.0
BITS = {"float16": 11.0, "bfloat16": 8.0}
LARGEST = {"float16": 65504.0, "bfloat16": 3.39e38}
SMALLEST = {"float16": 2.0**-25, "bfloat16": 2.0**-134}  # at and below half of it: zero
LOST_BEYOND_ROUNDING = 3.0
UNDERFLOW_SHARE = 0.01
MOST_NETWORKS = 20


@dataclass
class LayerReport:
    """Sums over the calls of one layer."""

    name: str
    kind: str
    calls: int = 0
    not_finite: int = 0  # in float32 already
    elements: int = 0
    nonzero: int = 0
    overflow: int = 0  # at the level
    own_overflow: int = 0  # of the layer alone
    underflow: int = 0
    gradient_nonzero: int = 0
    gradient_underflow: int = 0
    gradient_largest: float = 0.0
    error: float = 0.0  # sums of squares
    own_error: float = 0.0
    size: float = 0.0
    own_size: float = 0.0
    missing: int = 0  # calls that the copy did not make

    def lost_bits(self, own: bool = False) -> float:
        """Bits of float32's 24 that the root mean square error takes."""
        error, size = (self.own_error, self.own_size) if own else (self.error, self.size)
        if error == 0 or size == 0:
            return 0.0
        return float(min(SINGLE_BITS, max(0.0, SINGLE_BITS + 0.5 * math.log2(error / size))))

    def share(self, of_gradients: bool = False) -> float:
        """Of the numbers that are not zero, those that become so."""
        if of_gradients:
            return self.gradient_underflow / max(1, self.gradient_nonzero)
        return self.underflow / max(1, self.nonzero)

    def reasons(self, dtype: str) -> list[str]:
        """Why it should compute in float32."""
        found = []
        if self.own_overflow:
            found.append("overflows")
        if self.share() > UNDERFLOW_SHARE:
            found.append("results vanish")
        if self.lost_bits(own=True) > SINGLE_BITS - BITS[dtype] + LOST_BEYOND_ROUNDING:
            found.append("loses more than rounding")
        return found


def _array(x: Any) -> Any:
    """A tensor's numbers as float32; None for other things."""
    if isinstance(x, (tuple, list)):
        return next((a for a in map(_array, x) if a is not None), None)
    if not isinstance(x, Tensor) or not x.is_floating_point():
        return None
    tensor: Any = x
    return tensor.detach().float().cpu().numpy().copy()


def _squares(array: Any) -> float:
    return float(np.sum(np.square(array, dtype=np.float64)))


@dataclass
class Observer:
    """Watches the outermost calls of networks in training.

    Attributes:
        level: "O2" or "O3".
        dtype: "float16" or "bfloat16".
        steps: how many calls of each network are watched.
        networks: the networks, and how many calls of each were.
        layers: by name; those of a second network as "Net 2: name".
    """

    level: str = "O2"
    dtype: str = "float16"
    steps: int = 5
    networks: list[list[Any]] = field(default_factory=list)
    label: str = ""
    layers: dict[str, LayerReport] = field(default_factory=dict)
    busy: bool = False
    backwards: int = 0
    bad_losses: list[tuple[int, float]] = field(default_factory=list)

    def on_loss(self, loss: Any) -> None:
        """`loss.backward()` is called: in which step, counted from 1, it was NaN or infinite."""
        self.backwards += 1
        value = float(loss.detach().float().mean())
        if not math.isfinite(value):
            self.bad_losses.append((self.backwards, value))

    def on_gradients(self, optimizer: Any) -> None:
        """Nothing is asked of gradients here."""

    def on_step(self, optimizer: Any) -> None:
        """Nothing is asked of steps."""

    @contextmanager
    def watching(self) -> Iterator[Observer]:
        """Networks called inside are watched; compiled functions run op by op."""
        from mindtorch.engine.compile.jit import Jitted
        from mindtorch.torch.nn.modules.module import Module

        kinds: Any = Module, Jitted
        before = [kind.__call__ for kind in kinds]
        plain = before[0]

        def watched(module: Any, *args: Any, **kwargs: Any) -> Any:
            if self.busy or not module.training or next(module.parameters(), None) is None:
                return plain(module, *args, **kwargs)
            if not self._begins(module):
                return self._unwatched(plain, module, args, kwargs)
            return self.observe(module, plain, args, kwargs)

        def uncompiled(jitted: Any, *args: Any, **kwargs: Any) -> Any:
            return jitted.function(*args, **kwargs)

        kinds[0].__call__, kinds[1].__call__ = watched, uncompiled
        steps = Steps(mindtorch.torch, self)
        steps.install()
        try:
            yield self
        finally:
            steps.remove()
            kinds[0].__call__, kinds[1].__call__ = before

    def _unwatched(self, call: Callable[..., Any], network: Any, args: Any, kwargs: Any) -> Any:
        """The call's result; the networks inside of it are no networks of their own."""
        self.busy = True
        try:
            return call(network, *args, **kwargs)
        finally:
            self.busy = False

    @property
    def seen(self) -> int:
        """The calls of the network that was called most."""
        return max((calls for _, calls in self.networks), default=0)

    def _begins(self, network: Any) -> bool:
        """Whether this call of a network is to be watched."""
        place = next((i for i, row in enumerate(self.networks) if row[0] is network), None)
        if place is None:
            place = len(self.networks)
            if place == MOST_NETWORKS:
                return False
            self.networks.append([network, 0])
        row = self.networks[place]
        if row[1] == self.steps:
            return False
        row[1] += 1
        self.label = f"{type(network).__name__} {place + 1}: " if place else ""
        return True

    def observe(self, network: Any, call: Callable[..., Any], args: Any, kwargs: Any) -> Any:
        """The call's result; what its layers do is taken down."""
        from mindtorch.mindspore.amp import auto_mixed_precision
        torch = mindtorch.torch

        if any(m.__dict__.get("_amp_level") for m in network.modules()):
            raise SystemExit(
                "mindtorch amp-report: the script sets a level of mixed precision itself; run it "
                "without auto_mixed_precision"
            )
        self.busy = True
        try:
            dtype = getattr(torch, self.dtype)
            lowered = auto_mixed_precision(copy.deepcopy(network), self.level, dtype)
            begin = torch.get_rng_state()
            reference = self._reference(dtype)
            handles = [
                module.register_forward_hook(reference(name))
                for name, module in _leaves(network)
            ]
            try:
                result = call(network, *args, **kwargs)
            finally:
                for handle in handles:
                    handle.remove()
            end = torch.get_rng_state()
            torch.set_rng_state(begin)
            self._at_level(lowered, args, kwargs, reference.outputs)
            torch.set_rng_state(end)
            return result
        finally:
            self.busy = False

    def _report(self, name: str, module: Any) -> LayerReport:
        key = self.label + (name or type(module).__name__)
        return self.layers.setdefault(key, LayerReport(key, type(module).__name__))

    def _reference(self, dtype: Any) -> Any:
        """``hook(name)`` of the network in float32; ``outputs`` are lists of arrays by name."""
        from mindtorch.mixed_precision import cast_all
        torch = mindtorch.torch

        outputs: dict[str, list[Any]] = {}

        def hook(name: str) -> Any:
            def after(module: Any, inputs: Any, output: Any) -> None:
                found = _array(output)
                if found is None:
                    return
                outputs.setdefault(name, []).append(found)
                report = self._report(name, module)
                self._count(report, found)
                if getattr(output, "requires_grad", False):
                    output.register_hook(lambda g: self._gradient(report, _array(g)))
                if _draws(module):
                    return
                state = torch.get_rng_state()
                with torch.no_grad(), np.errstate(over="ignore", invalid="ignore"):
                    alone = cast_all(copy.deepcopy(module), dtype)
                    for handles in (alone._forward_hooks, alone._forward_pre_hooks):
                        handles.clear()
                    own = _array(alone(*inputs))
                torch.set_rng_state(state)
                if own is not None and own.shape == found.shape:
                    report.own_overflow += self._compare(report, found, own, "own_")

            return after

        hook.outputs = outputs  # type: ignore[attr-defined]
        return hook

    def _count(self, report: LayerReport, found: Any) -> None:
        size = np.abs(found)
        report.calls += 1
        report.not_finite += int(np.count_nonzero(~np.isfinite(found)))
        report.elements += found.size
        report.nonzero += int(np.count_nonzero(found))
        report.underflow += int(np.count_nonzero((size > 0) & (size <= SMALLEST[self.dtype])))

    def _gradient(self, report: LayerReport, gradient: Any) -> None:
        size = np.abs(gradient)
        report.gradient_nonzero += int(np.count_nonzero(gradient))
        report.gradient_underflow += int(
            np.count_nonzero((size > 0) & (size <= SMALLEST[self.dtype]))
        )
        if np.isfinite(size).any():
            report.gradient_largest = max(
                report.gradient_largest, float(size[np.isfinite(size)].max())
            )

    def _compare(self, report: LayerReport, reference: Any, found: Any, prefix: str) -> int:
        """Adds the error of what is finite on both sides; the number of overflows."""
        finite = np.isfinite(reference) & np.isfinite(found)
        error = _squares(reference[finite].astype(np.float64) - found[finite])
        setattr(report, prefix + "error", getattr(report, prefix + "error") + error)
        size = _squares(reference[finite])
        setattr(report, prefix + "size", getattr(report, prefix + "size") + size)
        return int(np.count_nonzero(np.isfinite(reference) & ~np.isfinite(found)))

    def _at_level(self, lowered: Any, args: Any, kwargs: Any, outputs: Any) -> None:
        torch = mindtorch.torch

        found: dict[str, list[Any]] = {}

        def hook(name: str) -> Any:
            return lambda module, inputs, output: found.setdefault(name, []).append(_array(output))

        for name, module in _leaves(lowered):
            module.register_forward_hook(hook(name))
        with torch.no_grad(), np.errstate(over="ignore", invalid="ignore"):
            lowered(*args, **kwargs)
        modules = dict(lowered.named_modules())
        for name, arrays in outputs.items():
            report = self._report(name, modules[name])
            for i, reference in enumerate(arrays):
                other = found.get(name, [])
                if i >= len(other) or other[i] is None or other[i].shape != reference.shape:
                    report.missing += 1
                    continue
                report.overflow += self._compare(report, reference, other[i], "")

    # --- what follows from it ------------------------------------------------------------------

    def black_list(self) -> dict[str, list[str]]:
        """{class: why}: of the layers that should compute in float32."""
        found: dict[str, list[str]] = {}
        for report in self.layers.values():
            for reason in report.reasons(self.dtype):
                if reason not in found.setdefault(report.kind, []):
                    found[report.kind].append(reason)
        return found

    def findings(self) -> list[str]:
        """What is wrong without any lowering: nothing that is said of 16 bits holds then."""
        found = []
        if self.bad_losses:
            step, value = self.bad_losses[0]
            many = len(self.bad_losses)
            more = f" (and {many - 1} more of {self.backwards})" if many > 1 else ""
            found.append(f"the loss of step {step} is {value} in float32 already{more}")
        for report in self.layers.values():
            if report.not_finite:
                found.append(
                    f"{report.name} ({report.kind}) gives {report.not_finite} NaN or infinite "
                    "numbers in float32 already"
                )
                break
        return found

    def loss_scale(self) -> float:
        """The power of two that leaves the largest gradient a factor of 2 below the largest
        number; 1 where no gradient underflows."""
        if not any(r.gradient_underflow for r in self.layers.values()):
            return 1.0
        largest = max(r.gradient_largest for r in self.layers.values())
        if largest == 0:
            return 1.0
        exponent = math.floor(math.log2(LARGEST[self.dtype] / 2 / largest))
        return 2.0 ** max(0, min(24, exponent))


def _leaves(network: Any) -> list[tuple[str, Any]]:
    """(name, module) of modules without children."""
    return [(n, m) for n, m in network.named_modules() if next(m.children(), None) is None]


def _draws(module: Any) -> bool:
    """Whether its results are random: two calls cannot be compared."""
    return module.training and "Dropout" in type(module).__name__


# --- the command ------------------------------------------------------------------------------


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument(
        "--level", choices=["O2", "O3"], default="O2",
        help="O2 (default): normalisation stays float32; O3: all is lowered",
    )  # fmt: skip
    parser.add_argument(
        "--dtype", choices=list(BITS), default="float16", help="the 16 bits (default float16)"
    )
    parser.add_argument("--steps", type=count, default=5, help="calls to watch (default 5)")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers as JSON")
    parser.add_argument("script", type=Path, help="a script that trains in float32")
    parser.add_argument("arguments", nargs=argparse.REMAINDER, help="the script's own arguments")


def main(options: argparse.Namespace) -> int:
    """0: nothing to keep in float32; 1: a black list is suggested, or the loss is NaN or infinite;
    2: nothing was seen."""
    torch_disable()
    observer = Observer(options.level, options.dtype, options.steps)
    try:
        with observer.watching():
            execute(options.script, options.arguments)
    except ScriptNotFoundError as error:
        print(f"mindtorch amp-report: {error}", file=sys.stderr)
        return 2
    except SystemExit as error:
        if error.code not in (None, 0):
            raise
    except BaseException as error:
        report_failure(error)
        return 2
    if not observer.layers:
        print("mindtorch amp-report: the script trained no network", file=sys.stderr)
        return 2
    show(observer)
    if options.json is not None:
        rows = [asdict(r) | {"lost_bits": r.lost_bits(), "own_lost_bits": r.lost_bits(own=True)}
                for r in observer.layers.values()]  # fmt: skip
        result = {"level": observer.level, "dtype": observer.dtype, "layers": rows,
                  "black_list": observer.black_list(), "findings": observer.findings(),
                  "loss_scale": observer.loss_scale()}  # fmt: skip
        write_whole(options.json, json.dumps(result, indent=1) + "\n")
    return 1 if observer.black_list() or observer.findings() else 0


def show(observer: Observer) -> None:
    """Print the table and what follows from it."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=f"{observer.level} in {observer.dtype} beside O0, {observer.seen} steps")
    for name in ("layer", "kind", "overflow", "alone", "results to 0", "gradients to 0",
                 "bits lost", "alone", "keep float32"):  # fmt: skip
        table.add_column(name, justify="left" if name in ("layer", "kind") else "right")
    for r in observer.layers.values():
        table.add_row(
            r.name, r.kind, str(r.overflow), str(r.own_overflow), f"{r.share():.2%}",
            f"{r.share(of_gradients=True):.2%}", f"{r.lost_bits():.1f}",
            f"{r.lost_bits(own=True):.1f}", ", ".join(r.reasons(observer.dtype)),
        )  # fmt: skip
    console = Console()
    console = console if console.is_terminal else Console(width=130)
    console.print(table)
    for line in observer.findings():
        console.print(f"FOUND: {line}", style="bold red", highlight=False)
    if observer.findings():
        console.print("mindtorch run --watch overflow SCRIPT names the op that it begins in")
    kept = observer.black_list()
    usual = SINGLE_BITS - BITS[observer.dtype]
    console.print(f"rounding to {observer.dtype} alone loses about {usual:.0f} bits of 24")
    if kept:
        console.print(f"black list: {', '.join(sorted(kept))}")
        usually = {r.kind for r in observer.layers.values()
                   if observer.level == "O2" and r.kind.startswith(("BatchNorm", "LayerNorm"))}
        kinds = ", ".join(f"nn.{kind}" for kind in sorted(usually | set(kept)))
        call = f"    custom_mixed_precision(network, black_list=[{kinds}])"
        console.print(call, markup=False)
    else:
        console.print("black list: none needed")
    if observer.loss_scale() > 1:
        scale = f"{observer.loss_scale():.0f}"
        console.print(f"loss scale: gradients vanish without one; begin with {scale}")
