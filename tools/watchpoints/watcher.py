"""`mindtorch.tools.watch`: conditions on the numbers of a training, told where they arise.

A watch stands at the engine's door, where every op of the forward and of the backward pass comes
by, and listens to optimizers. While it stands there compiled functions run op by op, with the same
results, so what they compute is seen as well.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import math
import os
import pdb
import sys
import threading
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import numpy as np

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace
from mindtorch.engine.compile.lazy.pause import pause
from mindtorch.engine.dispatch import state
from mindtorch.engine.interpreter import Interpreter
from mindtorch.engine.op import Op
from mindtorch.engine.tensor import Tensor
from mindtorch.traceback_filtering import is_library

from .conditions import LIMITS, Hit, Place, chosen, tensor_faults
from .kernels import dead_units, has_other_than_zero
from .step_conditions import StepChecks
from .training_steps import Steps

__all__ = ["Watch", "WatchpointError", "watch"]

# Their results are what they were given: extremes in them are the user's own.
_MOVERS = frozenset("""
    masked_fill masked_scatter index_fill index_put constant_pad_nd scatter where copy_
""".split())
# Their further results are kept for the backward pass, as logarithms that may be of zero.
_KEEPING = frozenset(["ctc_loss"])
_SATURATING = {"sigmoid": (0.0, 1.0), "tanh": (-1.0, 1.0)}
_REPEATS = 3


class WatchpointError(RuntimeError):
    """A watchpoint was met, and the watch was to raise.

    Attributes:
        hit: what was met.
    """

    def __init__(self, hit: Hit) -> None:
        super().__init__(str(hit))
        self.hit = hit


@functools.cache
def _is_users(file: str) -> bool:
    if file.startswith("<frozen") or is_library(file):
        return False
    return os.path.basename(file) not in ("contextlib.py", "functools.py")


def _user_frame() -> FrameType | None:
    """The innermost frame that is not ours."""
    frame: FrameType | None = sys._getframe(1)
    while frame is not None and not _is_users(frame.f_code.co_filename):
        frame = frame.f_back
    return frame


def _is_watched(tensor: Any) -> bool:
    aval = getattr(tensor, "aval", None)
    return (
        isinstance(tensor, Tensor)
        and aval is not None
        and aval.dtype.category >= dtypes.FLOAT
        and isinstance(getattr(tensor, "flat", None), np.ndarray)
    )


def _elements(tensor: Any) -> np.ndarray:
    """A tensor's own elements in the order of memory: beyond a view's there are others."""
    return tensor.flat[: tensor.aval.size] if tensor.aval.dense else np.ravel(tensor.array())


def _largest(faults: dict[str, tuple[str, float]]) -> float:
    """The largest element that was told as too large, 0 where none was."""
    return faults["too_large"][1] if "too_large" in faults else 0.0


def _headline(hit: Hit) -> tuple[Any, ...]:
    """What hits that are told below one another have in common."""
    return hit.check, hit.step, hit.place.file, hit.place.line


class Watch(Interpreter):
    """Looks for watchpoints while it is entered.

    Attributes:
        hits: what was met, in order; of one check at one place the first few.
        counts: how often each was met: (check, layer, op) -> times.
        step: the optimizer's steps so far, and one.
    """

    observes_nodes = True

    def __init__(
        self,
        wanted: set[str],
        model: Any = None,
        on_hit: str | Callable[[Hit], Any] = "print",
        limits: dict[str, float] | None = None,
    ) -> None:
        unknown = set(limits or {}) - LIMITS.keys()
        if unknown:
            raise TypeError(f"no limit named {', '.join(sorted(unknown))}")
        if isinstance(on_hit, str) and on_hit not in ("print", "raise", "debug", "collect"):
            raise ValueError(
                f"on_hit must be 'print', 'raise', 'debug', 'collect' or a function, not {on_hit!r}"
            )
        self.wanted = wanted
        self.limits = {**LIMITS, **(limits or {})}
        self.model = model
        self.on_hit = on_hit
        self.hits: list[Hit] = []
        self.counts: dict[tuple[str, str, str], int] = {}
        self.step = 1
        self.thread = threading.get_ident()
        self.layers: list[Any] = []
        self.names: dict[int, tuple[Any, str]] = {}
        self.origins: dict[int, Place] = {}
        self.backward: list[Place] = []
        self.outer: Any = ()
        self.checks = StepChecks(self)
        self._undo = contextlib.ExitStack()
        self.followers: list[bool] = []  # for each hit, whether it follows from an earlier one
        self._folding = False
        self._printed: Hit | None = None

    # -- standing at the door ---------------------------------------------------------------------

    def __enter__(self) -> Watch:
        self._undo.callback(pause())
        self.steps = Steps(torch, self.checks)
        if self.model is not None:
            self._adopt(self.model)
        self.steps.install()
        self._undo.callback(self.steps.remove)
        self._stand_in(torch.nn.Module, "__call__", self._module_call)
        self.outer = state.interpreters
        state.update(interpreters=(*self.outer, self))
        self._undo.callback(self._leave)
        return self

    def __exit__(self, *error: object) -> None:
        self._undo.close()

    def _leave(self) -> None:
        state.update(interpreters=tuple(x for x in state.interpreters if x is not self))

    def _stand_in(self, owner: Any, name: str, make: Callable[[Any], Any]) -> None:
        original = owner.__dict__[name]
        setattr(owner, name, functools.wraps(original)(make(original)))
        self._undo.callback(setattr, owner, name, original)

    @contextlib.contextmanager
    def away(self) -> Iterator[None]:
        """Without this watch at the door: its own work, and that of the ops it lets through."""
        before = state.interpreters
        state.update(interpreters=self.outer)
        try:
            yield
        finally:
            state.update(interpreters=before)

    def apply(self, op: Op, inputs: Any, params: Any) -> Any:
        with self.away():
            result = op(*inputs, **params)
        results = result if isinstance(result, tuple) else (result,)
        if op.view is None:
            for each in results[:1] if op.name in _KEEPING else results:
                self._look(op.name, each, inputs)
        self._note_origin(op.name, results[0])
        return result

    def apply_in_place(self, op: Op, target: Any, inputs: Any, params: Any) -> Any:
        before = self._faults(target) if op.name not in _MOVERS else {}
        with self.away():
            result = inplace.apply_in_place(op, target, *inputs, **params)
        self._look(f"{op.name}_", target, inputs, before)
        self._note_origin(f"{op.name}_", target)
        return result

    def copy_into(self, target: Any, source: Any) -> Any:
        with self.away():
            return inplace.copy_(target, source)

    def item(self, tensor: Any) -> Any:
        with self.away():
            return type(tensor).item(tensor)

    # -- where we are -----------------------------------------------------------------------------

    def _adopt(self, model: Any) -> None:
        for name, part in model.named_modules():
            if id(part) in self.names:
                continue
            path = name or type(model).__name__
            self.names[id(part)] = (part, path)
            for key, parameter in part._parameters.items():
                for check, (words, value) in self._faults(parameter).items():
                    place = self.place(key)._replace(layer=path)
                    self.tell(check, place, f"before the first step, {words}", value)

    def layer(self) -> str:
        """The path of the module whose forward pass is running."""
        if not self.layers:
            return ""
        module = self.layers[-1]
        known = self.names.get(id(module))
        return known[1] if known is not None else type(module).__name__

    def place(self, op: str) -> Place:
        frame = _user_frame()
        file, line = (frame.f_code.co_filename, frame.f_lineno) if frame is not None else ("", 0)
        return Place(self.layer(), op, file, line)

    def _note_origin(self, op: str, result: Any) -> None:
        """Remember where a node of the tape was made, for its gradient."""
        node = getattr(result, "_node", None)
        if node is not None and not self.backward:
            self.origins[id(node)] = self.place(op)

    def _module_call(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            if threading.get_ident() != self.thread:
                return original(module, *args, **kwargs)
            if not self.layers and id(module) not in self.names:
                self._adopt(module)
            self.layers.append(module)
            try:
                result = original(module, *args, **kwargs)
                if "all_zero" in self.wanted:
                    self._look_at_output(module, result)
                return result
            finally:
                self.layers.pop()

        return call

    @contextlib.contextmanager
    def around_node(self, node: Any) -> Iterator[None]:
        place = self.origins.get(id(node), Place())
        self.backward.append(place._replace(op=f"backward of {place.op or node.name()}"))
        try:
            yield
        finally:
            self.backward.pop()

    def parameters(self) -> dict[str, Any]:
        """The parameters of the modules seen so far that are trained."""
        found = {}
        for module, path in self.names.values():
            for name, parameter in module._parameters.items():
                if parameter is not None and parameter.requires_grad:
                    found[f"{path}.{name}"] = parameter
        return found

    # -- looking ----------------------------------------------------------------------------------

    def _faults(self, tensor: Any) -> dict[str, tuple[str, float]]:
        if not _is_watched(tensor):
            return {}
        return tensor_faults(_elements(tensor), self.wanted, self.limits)

    def _look(
        self, name: str, result: Any, inputs: Any, before: dict[str, Any] | None = None
    ) -> None:
        if not _is_watched(result) or name.rstrip("_") in _MOVERS:
            return
        faults = self._faults(result)
        if faults:
            old = set(before or ())
            for each in filter(_is_watched, inputs):
                own = self._faults(each)
                if getattr(each.aval, "weak", False):  # a number that the user wrote
                    old |= own.keys() & {"overflow"}
                    if "too_large" in faults and _largest(own) * 1.001 >= _largest(faults):
                        old.add("too_large")
                else:
                    old |= own.keys()
            for check, (words, value) in faults.items():
                led = check in old  # infinite elements have become NaN
                if not led or (check == "overflow" and self._new_nan(result, inputs)):
                    self.tell(check, self._here(name), words, value, led)
        elif not self.backward:
            self._look_at_activation(name.rstrip("_"), result)

    def _new_nan(self, result: Any, inputs: Any) -> bool:
        """Whether infinite inputs have become the first NaN, as in inf - inf."""
        given = [x for x in inputs if _is_watched(x)]
        return bool(np.isnan(result.flat).any()) and not any(np.isnan(x.flat).any() for x in given)

    def _here(self, op: str) -> Place:
        return self.backward[-1] if self.backward else self.place(op)

    def _look_at_activation(self, name: str, result: Any) -> None:
        if name in _SATURATING and "activation_saturation" in self.wanted and result.flat.size:
            low, high = _SATURATING[name]
            margin = 1e-3 * (high - low)
            flat = _elements(result)
            share = float(np.mean((flat < low + margin) | (flat > high - margin)))
            if share > self.limits["activation_saturation"]:
                words = f"{share:.1%} of the results are within 0.1 % of {low:g} or {high:g}"
                self.tell("activation_saturation", self.place(name), words, share)
        elif name == "relu" and "dead_relu" in self.wanted:
            self._look_at_relu(result)

    def _look_at_relu(self, result: Any) -> None:
        """Units are channels (dimension 1) where there are more than two dimensions, else columns;
        a unit that is zero for every example and everywhere is dead for this batch."""
        shape = result.aval.shape
        if len(shape) < 2 or shape[0] < 2 or not result.flat.size:
            return
        array = _elements(result) if result.aval.contiguous else np.ravel(result.array())
        share = dead_units(array, shape) / shape[1]
        if share > self.limits["dead_relu"]:
            words = f"{share:.1%} of {shape[1]} units are zero for all {shape[0]} examples"
            self.tell("dead_relu", self.place("relu"), words, share)

    def _look_at_output(self, module: Any, result: Any) -> None:
        if any(True for _ in module.children()) or not _is_watched(result):
            return
        if result.flat.size and not has_other_than_zero(_elements(result)):
            words = f"all {result.flat.size} elements of the output are zero"
            self.tell("all_zero", self.place(""), words, 0.0)

    # -- telling ----------------------------------------------------------------------------------

    def tell(
        self, check: str, place: Place, statistic: str, value: float, led: bool = False
    ) -> None:
        """Note a hit, and do what the user wants done; `led`: what was given led to it."""
        key = (check, place.layer, place.op)
        count = self.counts[key] = self.counts.get(key, 0) + 1
        if count > _REPEATS:
            return
        hit = Hit(check, self.step, place, statistic, value)
        self.followers.append(self._follows(hit, led))
        self.hits.append(hit)
        with self.away():
            self._react(hit, count)

    def _react(self, hit: Hit, count: int) -> None:
        if callable(self.on_hit):
            self.on_hit(hit)
        elif self.on_hit == "raise":
            raise WatchpointError(hit)
        elif self.on_hit != "collect":
            if self.followers[-1]:
                if not self._folding:
                    print("    (what follows from it is counted at the end)", file=sys.stderr)
                self._folding = True
                return
            self._print(hit, count)
            if self.on_hit == "debug":
                frame = _user_frame()
                if frame is not None:
                    pdb.Pdb().set_trace(frame)

    def _follows(self, hit: Hit, led: bool) -> bool:
        """Whether a hit is what an earlier one leads to: a figure that is no number, once NaN or
        infinite elements were met; the change of a parameter whose gradient was told."""
        before = self.hits
        if hit.check != "overflow" and not math.isfinite(hit.value):
            return any(h.check == "overflow" for h in before)
        if hit.check == "overflow" and (led or hit.place.op.startswith("backward of")):
            return any(h.check == "overflow" and h.step == hit.step for h in before)
        same = (h for h in before if h.step == hit.step and h.place[:2] == hit.place[:2])
        return hit.check == "weight_change_too_large" and any(
            h.check == "gradient_exploding" for h in same
        )

    def _print(self, hit: Hit, count: int) -> None:
        last, self._printed = self._printed, hit
        if last is not None and last.place != hit.place and _headline(last) == _headline(hit):
            where = ", ".join(filter(None, hit.place[:2]))
            print(f"    also in {where}: {hit.statistic}", file=sys.stderr)
        else:
            print(f"watch: {hit}", file=sys.stderr)
            source = linecache.getline(hit.place.file, hit.place.line).strip()
            if source:
                print(f"    {source}", file=sys.stderr)
        if count == _REPEATS:
            print("    (no more of these are shown)", file=sys.stderr)

    def summary(self) -> str:
        """All hits, counted, in words; those that follow from earlier ones by their check alone."""
        if not self.hits:
            return "watch: nothing was met"
        firsts: dict[Any, tuple[Hit, bool]] = {}
        for hit, follows in zip(self.hits, self.followers, strict=True):
            firsts.setdefault((hit.check, hit.place.layer, hit.place.op), (hit, follows))
        lines: list[str] = []
        followed: dict[str, tuple[int, int]] = {}
        for key, (hit, follows) in firsts.items():
            if follows:
                places, times = followed.get(hit.check, (0, 0))
                followed[hit.check] = (places + 1, times + self.counts[key])
            else:
                lines.append(f"  {self.counts[key]} x from {hit}")
        count = len(lines)
        head = f"watch: {count} watchpoint{'s were' if count != 1 else ' was'} met"
        lines += [
            f"  follows from that: {check} in {places} place{'s' * (places != 1)}, {times} times"
            for check, (places, times) in followed.items()
        ]
        return "\n".join([head, *lines])


def watch(
    *checks: str,
    model: Any = None,
    on_hit: str | Callable[[Hit], Any] = "print",
    **limits: float,
) -> Watch:
    """Look for watchpoints in a block.

        with mindtorch.tools.watch("overflow", "dead_relu", model=model) as seen:
            train()
        seen.hits

    Args:
        checks: names of `watchpoints.CHECKS`; none, or "all", for all.
        model: gives layers their names from the start; else the outermost module called does.
        on_hit: "print" (to standard error), "raise" (a WatchpointError), "debug" (pdb at the
            user's line), "collect" (nothing), or a function of the hit.
        limits: of single checks, e.g. `gradient_exploding=100`.

    Raises:
        ValueError: there is no such check.
        TypeError: there is no such limit.
    """
    return Watch(chosen(checks), model, on_hit, limits)
