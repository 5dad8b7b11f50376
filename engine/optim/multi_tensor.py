"""What optimizers do to all parameters at once, through kernels that take addresses.

A :class:`Bundle` holds the addresses of a list of tensors and gathers them again only when a
tensor's memory has changed. Tensors that a kernel cannot take (other types, gaps, other layouts)
are for the caller to treat one by one.
"""

from __future__ import annotations

import itertools
import operator
import weakref
from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import numpy as np

from mindtorch.kernels.codegen.compile_lock import Compiling
from mindtorch.kernels.scalar.updates import Update as Update

from .. import dtypes
from ..autograd.inplace import copy_data
from ..devices import cuda
from ..devices.device import cpu
from ..dispatch import graph_under_way, state
from ..sharding.sharded import local_part
from ..tensor import Tensor, constant, full_flat, make

_TYPES = (dtypes.float32, dtypes.float64)


def _made_of_ops() -> bool:
    """Whether an interpreter is to have the ops: a graph that is captured, or one that sees all."""
    if not state.interpreters:
        return False
    return graph_under_way() is not None or any(x.sees_writes for x in state.interpreters)


def fits(tensors: Sequence[Tensor]) -> bool:
    """Whether a kernel can take them together: one type, on the CPU, without gaps; and now, not
    when a graph that is being captured, or lazy mode, comes to it."""
    if not tensors or _made_of_ops():
        return False
    dtype = tensors[0].aval.dtype
    if dtype not in _TYPES:
        return False
    return all(
        t.aval.dtype is dtype and t.aval.dense and t.aval.device is cpu and not t.aval.answered
        for t in tensors
    )


def fits_on_device(tensors: Sequence[Tensor]) -> bool:
    """Whether CUDA's kernel can take them together: one type, on one device, without gaps."""
    if not tensors or tensors[0].aval.device.type != "cuda":
        return False
    dtype, device = tensors[0].aval.dtype, tensors[0].aval.device
    return dtype in _TYPES and all(
        t.aval.dtype is dtype and t.aval.dense and t.aval.device is device for t in tensors
    )


def _same_on_device(parameters: Sequence[Tensor], *others: Sequence[Tensor]) -> bool:
    """Whether CUDA's kernel can take them all; the others are laid out as the parameters."""
    if parameters[0].aval.device is cpu or not fits_on_device(parameters):
        return False
    avals = [p.aval for p in parameters]
    return all([t.aval for t in many] == avals for many in others)


class Bundle:
    """The addresses of lists of tensors, as many in each.

    Args:
        passing: the memory may be freed between two calls, as that of gradients is: it is not held.

    Attributes:
        held: the memory; weak references to it where it is ``passing``.
        rows: the addresses, a row for each list; ``first`` is the first of them.
        sizes: elements of the first list's tensors, ``total`` together.
    """

    def __init__(self, passing: bool = False) -> None:
        self.held: list[Any] = []
        self._storages: list[Any] = []
        self._passing = passing
        self.rows: Any = np.empty((1, 0), np.int64)
        self.first: Any = self.rows[0]
        self.sizes = np.empty(0, np.int64)
        self.total = 0

    def of(self, tensors: Sequence[Tensor], count: int) -> Any:
        """:attr:`rows` for lists of ``count`` tensors, one after another; made anew when a
        tensor's memory is another than last time."""
        flats = [t.flat for t in tensors]
        held: Any = self.held
        same = len(flats) == len(held)
        if same:
            if self._passing:
                held = [reference() for reference in held]
            if all(map(operator.is_, flats, held)):
                return self.rows
        kernels = _kernels()
        addresses = [kernels.address(flat.dtype)(flat) for flat in flats]
        if same and self._passing:  # nobody asks for their sizes
            self.first[:] = addresses
            self.held[:] = map(weakref.ref, flats)
            return self.rows
        self.rows = np.array(addresses, np.int64).reshape(-1, count)
        self.first = self.rows[0]
        self.sizes = np.array([flat.size for flat in flats[:count]], np.int64)
        self.total = int(self.sizes.sum())
        self.held = [weakref.ref(flat) for flat in flats] if self._passing else flats
        self._storages = [] if self._passing else [t._shared for t in tensors]
        return self.rows

    def count_writes(self) -> None:
        """Count a write to each tensor."""
        for storage in self._storages:
            storage.version += 1


def _written(tensors: Sequence[Tensor]) -> None:
    for tensor in tensors:
        tensor._shared.version += 1


def _kernels() -> Any:
    """The kernels' module, imported when a first step is made."""
    global _module
    if _module is None:
        from mindtorch.kernels.cpu import multi_tensor_update  # which imports numba

        _module = multi_tensor_update
    return _module


_module: Any = None


def _kernel(name: str, dtype: Any) -> Any:
    return _kernels().update(name, dtype.np)


def expect(update: Update, tensors: Sequence[Tensor]) -> None:
    """Say that ``tensors`` will have such updates: where kernels are compiled for them, the
    update's is compiled meanwhile."""
    for dtype in {t.aval.dtype for t in tensors if t.aval.device is cpu} & set(_TYPES):
        Compiling.expected[update.name, dtype] = partial(_group_update, update, dtype.np)


def _group_update(update: Update, dtype: Any) -> Any:
    return _kernels().group_update(update, dtype)


_MOST_WATCHED = 64  # parameters that one generated expression compares
_REPEATED = 2  # updates with the same memory, after which it is generated


def _gone() -> None:
    """What a reference to memory says that is there no more."""


def _unmoved(
    state: dict[Any, Any], parameters: Sequence[Tensor], names: Sequence[str]
) -> Callable[[dict[Any, Any], Sequence[Tensor], list[Any], Any], bool]:
    """``f(state, parameters, gradients, addresses)``: whether these are the same, and they and the
    tensors that the state holds of them under ``names`` in the same memory as now, and their
    gradients as they were. Where a gradient is not in the memory that ``gradients`` refers to, its
    address is written. One generated function: looking at the tensors of a small network takes
    longer than its update."""
    keys, values = list(state), list(state.values())
    known: dict[str, Any] = {
        "state": state, "keys": keys, "values": values, "own": list(parameters),
        "is_": operator.is_, "gone": _gone,
        "address": _kernels().address(parameters[0].aval.dtype.np),
    }  # fmt: skip
    tests = [
        "now is state", f"len(now) == {len(keys)}", f"len(given) == {len(parameters)}",
        "all(map(is_, now, keys))", "all(map(is_, now.values(), values))",
        "all(map(is_, given, own))",
    ]  # fmt: skip
    lines = []

    def same(expression: str, tensor: Tensor, number: str) -> None:
        known[f"a{number}"], known[f"f{number}"] = tensor.aval, tensor.flat
        tests.append(f"{expression}.flat is f{number} and t.aval is a{number}")

    for i, p in enumerate(parameters):
        known[f"p{i}"], known[f"s{i}"] = p, state.get(p)
        same(f"(t := p{i})", p, f"p{i}")
        gradient: Any = p._grad
        known[f"ag{i}"], known[f"kind{i}"] = gradient.aval, type(gradient)
        tests.append(f"(g{i} := p{i}._grad).aval is ag{i} and type(g{i}) is kind{i}")
        lines += [
            f"    if (flat := g{i}.flat) is not gradients[{i}]():",
            f"        gradients[{i}], addresses[{i}] = gone, address(flat)",
        ]
        for j, name in enumerate(names):
            known[f"t{i}_{j}"] = held = state[p][name]
            tests.append(f"(t := s{i}[{name!r}]) is t{i}_{j}")
            same("t", held, f"{i}_{j}")
    head = "def unmoved(now, given, gradients, addresses):"
    text = "\n".join([head, f"    if not ({' and '.join(tests)}):", "        return False", *lines])
    exec(f"{text}\n    return True", known)
    found: Callable[..., bool] = known.pop("unmoved")  # else it would hold itself, and tensors
    return found


class Fused:
    """Fused updates of one parameter group; keeps the addresses between steps."""

    def __init__(self) -> None:
        self._own, self._gradients = Bundle(), Bundle(passing=True)
        self._avals: list[Any] = []
        self._alike: list[Any] = []
        self._fits = self._counts_itself = False
        self._made: Update | None = None
        self._update: Any = None
        self._counts: Any = None
        self._repeated = 0  # updates since a tensor's memory has changed
        self._unmoved: Callable[..., bool] | None = None

    def unchanged(
        self, update: Update, state: dict[Any, Any], parameters: Sequence[Tensor]
    ) -> bool:
        """Whether the last step was of this update, and all that it was made of is where it was,
        so that :meth:`again` may follow; the other arguments are those of :meth:`watch`."""
        if self._unmoved is None or update is not self._made or _made_of_ops():
            return False
        gradients = self._gradients
        try:
            return self._unmoved(state, parameters, gradients.held, gradients.first)
        except (AttributeError, KeyError, NotImplementedError):  # no gradient, or a sparse one
            return False

    def watch(
        self, state: dict[Any, Any], parameters: Sequence[Tensor], names: Sequence[str]
    ) -> None:
        """Prepare for :meth:`unchanged`, after a step of ``parameters`` with their gradients and
        with what ``state`` holds of each under ``names``."""
        few = max(len(state), len(parameters)) <= _MOST_WATCHED
        if self._repeated == _REPEATED and self._counts_itself and few and not (
            any(p.aval.sharded for p in parameters)  # gradients' memory is not theirs alone
        ):
            self._unmoved = _unmoved(state, parameters, names)

    def _rows(
        self, update: Update, gradients: Sequence[Tensor], own: Sequence[Tensor], counters: int
    ) -> bool:
        """Whether a kernel can take them all; then both bundles have their addresses.

        ``own`` are lists laid out as the gradients, and step counters for the last ``counters``.
        """
        count = len(gradients)
        avals = [t.aval for t in own]
        if update is not self._made:
            self._made, self._avals, self._repeated, self._unmoved = update, [], -1, None
        if avals != self._avals:
            self._avals = avals
            alike, counts = avals[: len(avals) - counters], avals[len(avals) - counters :]
            self._alike = avals[:count]
            self._fits = fits(own[:count]) and alike == avals[:count] * (len(alike) // count)
            self._counts_itself = all(map(_is_counter, counts))
            if self._fits:
                self._update = _group_update(update, avals[0].dtype.np)
        if not self._fits or [g.aval for g in gradients] != self._alike:
            return False
        self._gradients.of(gradients, count)
        before = self._own.rows
        if self._own.of(own, count) is before:
            self._repeated += 1
        else:
            self._repeated, self._unmoved = 0, None
        return True

    def takes(
        self, update: Update, parameters: Sequence[Tensor], gradients: Sequence[Tensor],
        states: Sequence[Sequence[Tensor]], counters: Sequence[Tensor] = (),
    ) -> bool:  # fmt: skip
        """Whether a kernel can take the tensors, now."""
        parameters, gradients, *states = _local_parts(parameters, gradients, *states)
        return self._takes(update, parameters, gradients, states, counters)

    def _takes(
        self, update: Update, parameters: Sequence[Tensor], gradients: Sequence[Tensor],
        states: Sequence[Sequence[Tensor]], counters: Sequence[Tensor],
    ) -> bool:  # fmt: skip
        if _made_of_ops():
            return False
        if parameters[0].aval.device is not cpu:
            return _same_on_device(gradients, parameters, *states)
        own = [*itertools.chain(parameters, *states, counters)]
        return self._rows(update, gradients, own, len(counters))

    def step(
        self, update: Update, parameters: Sequence[Tensor], gradients: Sequence[Tensor],
        states: Sequence[Sequence[Tensor]], steps: Sequence[Any], maximize: bool,
        settings: Sequence[float],
    ) -> bool:  # fmt: skip
        """One step of all parameters.

        Args:
            states: a list for each of the update's states.
            steps: the step counters, to which one is added, or numbers, of which the first is 1.
            maximize: whether gradients are negated.
            settings: the update's.

        Returns:
            False where no kernel can take the tensors: then nothing was done.
        """
        counters = steps if isinstance(steps[0], Tensor) else ()
        whole = parameters
        parameters, gradients, *states = _local_parts(parameters, gradients, *states)
        if not self._takes(update, parameters, gradients, states, counters):
            return False
        if parameters is not whole:
            _written([t for t in whole if t.aval.sharded])
        if parameters[0].aval.device is cpu:
            counts = bool(counters) and self._counts_itself
            self._counts = _NO_COUNTS if counts else _counted(steps)
            self.again(maximize, settings)
            return True
        lists = [[t.flat for t in many] for many in (parameters, gradients, *states)]
        with cuda.on(parameters[0].aval.device):
            cuda.kernels("multi_tensor_update").step(
                update, *lists[:2], lists[2:], _counted(steps).tolist(), maximize, *settings
            )
        _written([*itertools.chain(parameters, *states, counters)])
        return True

    def again(self, maximize: bool, settings: Sequence[float]) -> None:
        """One more step with the same tensors."""
        own = self._own
        self._update(
            own.total, own.rows, self._gradients.first, self._counts, own.sizes, maximize,
            *settings,
        )  # fmt: skip
        own.count_writes()


_NO_COUNTS = np.empty(0, np.float64)


def _local_parts(*lists: Sequence[Tensor]) -> tuple[Sequence[Tensor], ...]:
    """The lists, where parameters lie over several processes with what this process has of them.

    Args:
        lists: the parameters, their gradients, and the states.
    """
    if not any(p.aval.sharded for p in lists[0]):
        return lists
    return tuple([
        [local_part(t) if t.aval.sharded else t for t in many] for many in lists
    ])  # fmt: skip


def _is_counter(described: Any) -> bool:
    """Whether Adam's kernel counts up a step counter of this type itself."""
    return described.dtype is dtypes.float32 and described.device is cpu


def _counted(steps: Any) -> Any:
    """Add one to each step counter, a tensor; what they are now, as float64. Numbers are what they
    are to be already."""
    if not isinstance(steps[0], Tensor):
        return np.asarray(steps, np.float64)
    counts = np.array([float(s.flat[0]) + 1 for s in steps])
    for step, now in zip(steps, counts, strict=True):
        if _is_counter(step.aval):
            step.flat[0] = now
        else:
            copy_data(step, constant(float(now)))
    return counts


def norms(tensors: Sequence[Tensor]) -> Any:
    """The Euclidean norm of each tensor, float64."""
    bundle = Bundle()
    result = np.empty(len(tensors), np.float64)
    addresses = bundle.of(tensors, len(tensors))[0]
    _kernel("squares", tensors[0].aval.dtype)(addresses, bundle.sizes, result)
    return result


def scale_all(tensors: Sequence[Tensor], factor: float) -> None:
    """Multiply all by ``factor``, in place."""
    bundle = Bundle()
    addresses = bundle.of(tensors, len(tensors))[0]
    _kernel("scale", tensors[0].aval.dtype)(addresses, bundle.sizes, float(factor))
    _written(tensors)


def all_finite(tensors: Sequence[Tensor]) -> bool:
    """Whether no element is infinite or NaN."""
    bundle = Bundle()
    kernel = _kernel("all_finite", tensors[0].aval.dtype)
    return bool(kernel(bundle.of(tensors, len(tensors))[0], bundle.sizes))


def zeros_like(tensor: Tensor) -> Tensor:
    """Zeros in the layout of ``tensor``."""
    described = tensor.aval
    if described.device is cpu and described.dense:
        return make(np.zeros(described.size, described.dtype.np), described)
    if not described.dense:
        return full_flat(described.shape, described.dtype, 0, described.device)
    row = full_flat((described.size,), described.dtype, 0, described.device)
    return make(row.flat, described)


def split(
    parameters: Sequence[Tensor], *others: Sequence[Tensor]
) -> tuple[list[int], list[int]]:
    """Places of the parameters that one kernel call can take, and of the rest."""
    together: list[int] = []
    rest: list[int] = []
    first = None
    for i, p in enumerate(parameters):
        described = p.aval
        first = first or described.dtype
        fit = (
            described.dense
            and described.dtype in _TYPES
            and described.dtype is first
            and described.device is cpu
            and not described.answered
            and all(many[i].aval is described for many in others)
        )
        (together if fit else rest).append(i)
    return together, rest


def global_norm(tensors: Sequence[Tensor]) -> float:
    """The Euclidean norm of all elements of all tensors; each tensor's is summed in float64."""
    total = 0.0
    together, rest = split(tensors)
    if together:
        total = float(np.square(norms([tensors[i] for i in together])).sum())
    for i in rest:
        total += float(np.square(tensors[i].array().astype(np.float64)).sum())
    return float(np.sqrt(total))
