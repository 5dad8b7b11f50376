"""Looking at tensors of either library without touching them."""

import inspect
import random
import re
import time
import weakref
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from mindtorch.engine.bounded_cache import Bounded
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import version_of

from .record_format import ArrayWriter, OptimizerSettings, Recorded
from .statistics import digest_of

__all__ = [
    "UNINITIALIZED",
    "Named",
    "Slot",
    "TensorProbe",
    "filled",
    "plain",
    "settings_of",
    "template",
    "tensors_in",
]

MOST_ITEMS = 16
UNINITIALIZED = "uninitialized"


@dataclass(frozen=True)
class Slot:
    """Where a tensor stood in the arguments of a call."""

    position: int


def tensors_in(value: Any, kind: type) -> Iterator[Any]:
    """The tensors of a nested value, in order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each, kind)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors_in(each, kind)
    elif isinstance(value, slice):
        yield from tensors_in((value.start, value.stop, value.step), kind)


@dataclass(frozen=True)
class Named:
    """A named tuple whose items are templates: its class may refuse what is no tensor."""

    cls: type
    parts: list[Any]


def template(value: Any, kind: type, seen: list[Any]) -> Any:
    """A nested value with a `Slot` for each tensor, which is appended to `seen`."""
    if isinstance(value, kind):
        seen.append(value)
        return Slot(len(seen) - 1)
    if isinstance(value, Mapping):
        return {name: template(each, kind, seen) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        parts = [template(each, kind, seen) for each in value]
        if hasattr(value, "_fields"):
            return Named(type(value), parts)
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, slice):
        parts = [template(each, kind, seen) for each in (value.start, value.stop, value.step)]
        return slice(*parts)
    return value


def filled(value: Any, tensors: list[Any]) -> Any:
    """A template with tensors in its slots."""
    if isinstance(value, Slot):
        return tensors[value.position]
    if isinstance(value, dict):
        return {name: filled(each, tensors) for name, each in value.items()}
    if isinstance(value, Named):
        return value.cls(*(filled(each, tensors) for each in value.parts))
    if isinstance(value, (tuple, list)):
        parts = [filled(each, tensors) for each in value]
        return tuple(parts) if isinstance(value, tuple) else parts
    if isinstance(value, slice):
        return slice(*(filled(each, tensors) for each in (value.start, value.stop, value.step)))
    return value


def plain(value: Any) -> Any:
    """What a template says beside its tensors, for JSON: numbers, texts, and names of the rest."""
    if isinstance(value, Slot):
        return "tensor"
    if isinstance(value, complex):
        return repr(value)
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    if isinstance(value, dict):
        return {str(name): plain(each) for name, each in list(value.items())[:MOST_ITEMS]}
    if isinstance(value, Named):
        value = value.parts
    if isinstance(value, (tuple, list)):
        return [plain(each) for each in value[:MOST_ITEMS]]
    if isinstance(value, slice):
        return f"[{plain(value.start)}:{plain(value.stop)}:{plain(value.step)}]"
    if isinstance(value, np.generic):
        return plain(value.item())
    if inspect.isroutine(value):  # written in C or in Python
        return "function"
    kind = type(value).__name__
    named = kind.lower() in ("dtype", "device", "memory_format", "layout")
    text = str(value) if named else kind
    return re.sub(r"^(mindtorch\.)?torch\.", "", text)


def settings_of(optimizer: Any, names: Mapping[int, str]) -> OptimizerSettings:
    """An optimizer's options, and whose parameters its groups have; `names` are by identity."""

    def known(value: Any) -> Any:
        if hasattr(value, "item") and not isinstance(value, (bool, int, float)):
            value = value.item()
        return plain(value)

    groups, parameters = [], []
    for group in optimizer.param_groups:
        groups.append({name: known(value) for name, value in group.items() if name != "params"})
        parameters.append(sorted(names.get(id(each), "") for each in group["params"]))
    return OptimizerSettings(type(optimizer).__name__, groups, parameters)


def _axes(tensor: Any) -> tuple[int, ...]:
    """The dimensions of a tensor by falling strides; () where that is their usual order."""
    if str(tensor.layout) != "torch.strided":
        return ()
    strides = tensor.stride()
    order = tuple(sorted(range(tensor.ndim), key=lambda axis: -strides[axis]))
    return () if order == tuple(range(tensor.ndim)) else order


class TensorProbe:
    """Turns tensors into records.

    Args:
        torch: the namespace whose tensors are looked at.
        arrays: where values go.
    """

    def __init__(self, torch: Any, arrays: ArrayWriter) -> None:
        self.torch = torch
        self.arrays = arrays
        self.overhead = 0.0
        self.inside = False
        self._known = Bounded(4096)

    @contextmanager
    def probing(self) -> Iterator[None]:
        """Our own work: not watched, without gradients, and not counted as the script's time."""
        began = time.perf_counter()
        self.inside = True
        try:
            with self.torch.no_grad():
                yield
        finally:
            self.inside = False
            self.overhead += time.perf_counter() - began

    def array_of(self, tensor: Any) -> tuple[np.ndarray, str]:
        """A tensor's values, C-contiguous and perhaps its own memory, and the name of its dtype."""
        torch, dtype = self.torch, tensor.dtype
        tensor = tensor.detach()
        if str(tensor.layout) != "torch.strided":
            tensor = tensor.to_dense()
        if tensor.device.type != "cpu":
            tensor = tensor.cpu()
        if dtype == torch.bfloat16:
            tensor = tensor.to(torch.float32)
        if dtype.is_complex:
            tensor = tensor.resolve_conj()
        # ascontiguousarray alone would make a 0-d array 1-d
        array = np.asarray(tensor.numpy(), order="C")
        return array, str(dtype).removeprefix("torch.")

    def record(self, tensor: Any, store: bool) -> Recorded:
        """The record of a tensor; values that did not change since are not read again."""
        if tensor.is_inference():  # which has no version
            return self.record_afresh(tensor, store)
        known = self._known.get(id(tensor))
        # ours without telling a capture, which would guard it
        own = isinstance(tensor, EngineTensor)
        version = version_of(tensor) if own else tensor._version
        if known is not None and known[0]() is tensor and known[1:3] == (version, store):
            return known[3]
        found = self.record_afresh(tensor, store)
        self._known.keep(id(tensor), (weakref.ref(tensor), version, store, found))
        return found

    def record_afresh(self, tensor: Any, store: bool) -> Recorded:
        """The record of a tensor that may have changed behind its version counter."""
        if self.torch.nn.parameter.is_lazy(tensor):
            return Recorded(UNINITIALIZED, (), "", 0.0, 0.0, 0.0, 0, "", False)
        try:
            array, dtype = self.array_of(tensor)
        except (RuntimeError, TypeError, NotImplementedError, ValueError):
            kind = str(tensor.dtype).removeprefix("torch.")
            shape = tuple(int(size) for size in tensor.shape)
            return Recorded("unreadable", shape, kind, 0.0, 0.0, 0.0, 0, "", False)
        found = self.arrays.add(array, dtype, store)
        if tensor.ndim > 1 and not tensor.is_contiguous():
            return replace(found, axes=_axes(tensor))
        return found

    def record_all(self, value: Any, store: bool) -> list[Recorded]:
        return [self.record(tensor, store) for tensor in tensors_in(value, self.torch.Tensor)]

    def generator(self) -> np.ndarray:
        """The state of the default generator."""
        return np.array(self.torch.get_rng_state().numpy())

    def generators(self) -> dict[str, str]:
        """Digests of the states of the generators that scripts use."""
        words = np.array(random.getstate()[1], np.uint64)
        numpy_state: Any = np.random.get_state()  # noqa: NPY002 (the one that scripts use)
        return {
            "torch": digest_of(self.generator(), "generator"),
            "numpy": digest_of(np.append(numpy_state[1], np.uint32(numpy_state[2])), "generator"),
            "random": digest_of(words, "generator"),
        }
