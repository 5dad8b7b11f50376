"""What optimizers do to all parameters at once, through kernels that take addresses.

A :class:`Bundle` holds the addresses of a list of tensors and gathers them again only when a
tensor's memory has changed. Tensors that a kernel cannot take (other types, gaps, other layouts)
are for the caller to treat one by one.
"""

from __future__ import annotations

import operator
from collections.abc import Sequence
from typing import Any

import numpy as np

from . import dtypes
from .core import state
from .device import cpu
from .inplace import copy_data
from .tensor import Tensor, constant

_TYPES = (dtypes.float32, dtypes.float64)


def fits(tensors: Sequence[Tensor]) -> bool:
    """Whether a kernel can take them together: one type, on the CPU, without gaps; and now, not
    when a graph that is being captured or replayed comes to it."""
    if not tensors or (state.interpreters and hasattr(state.interpreters[-1], "host")):
        return False
    dtype = tensors[0].aval.dtype
    if dtype not in _TYPES:
        return False
    return all(
        t.aval.dtype is dtype and t.aval.dense and t.aval.device is cpu for t in tensors
    )


def fits_on_device(tensors: Sequence[Tensor]) -> bool:
    """Whether CUDA's kernel can take them together: one type, on one device, without gaps."""
    if not tensors or tensors[0].aval.device.type != "cuda":
        return False
    dtype, device = tensors[0].aval.dtype, tensors[0].aval.device
    return dtype in _TYPES and all(
        t.aval.dtype is dtype and t.aval.dense and t.aval.device is device for t in tensors
    )


class Bundle:
    """The addresses of a list of tensors."""

    def __init__(self) -> None:
        self._flats: list[Any] = []
        self.addresses = np.empty(0, np.int64)
        self._sizes: Any = None
        self._total: int | None = None

    @property
    def sizes(self) -> Any:
        """How many elements each tensor has."""
        if self._sizes is None:
            self._sizes = np.array([flat.size for flat in self._flats], np.int64)
        return self._sizes

    @property
    def total(self) -> int:
        """How many elements all tensors have."""
        if self._total is None:
            self._total = int(self.sizes.sum())
        return self._total

    def of(self, tensors: Sequence[Tensor]) -> Any:
        """The addresses, gathered anew when a tensor's memory is another than last time."""
        flats = [t.flat for t in tensors]
        held = self._flats
        if len(flats) == len(held) and all(map(operator.is_, flats, held)):
            return self.addresses
        address = _kernels().address(flats[0].dtype)
        self.addresses = np.array([address(flat) for flat in flats], np.int64)
        self._flats = flats
        self._sizes, self._total = None, None
        return self.addresses

    def release(self) -> None:
        """Let go of the arrays (gradients that may be freed)."""
        self._flats = []


def written(tensors: Sequence[Tensor]) -> None:
    """Count a write to each tensor."""
    for tensor in tensors:
        storage = tensor._storage
        if storage is not None:
            storage.version += 1
        else:
            tensor._shared.version = 1


def _kernels() -> Any:
    """The kernels' module, imported when a first step is made."""
    global _module
    if _module is None:
        from mindtorch.kernels.cpu import optimizer

        _module = optimizer
    return _module


_module: Any = None


def _cuda_kernels() -> Any:
    from .cuda import kernels

    return kernels("optimizer")


def _kernel(name: str, dtype: Any) -> Any:
    return _kernels().update(name, dtype.np)


class Fused:
    """Fused updates of one parameter group; keeps the addresses between steps."""

    def __init__(self) -> None:
        self.bundles = [Bundle() for _ in range(6)]
        self._avals: list[Any] = []
        self._fits = False
        self._on_device = False

    def takes(self, parameters: Sequence[Tensor], *others: Sequence[Tensor | None]) -> bool:
        """Whether kernels can take them all; None among ``others`` is yet to be made."""
        avals = [p.aval for p in parameters]
        if avals != self._avals:
            self._avals = avals
            self._on_device = fits_on_device(parameters)
            self._fits = self._on_device or fits(parameters)
        if not self._fits:
            return False
        for many in others:
            if [a if o is None else o.aval for o, a in zip(many, avals, strict=True)] != avals:
                return False
        return True

    def count(self, steps: Sequence[Tensor]) -> Any:
        """Add one to each step counter; what they are now, as float64."""
        first = steps[0].aval
        if first.dtype is not dtypes.float32 or first.device is not cpu or any(
            s.aval is not first for s in steps
        ):
            counts = np.array([float(s.flat[0]) + 1 for s in steps])
            for step, now in zip(steps, counts, strict=True):
                copy_data(step, constant(float(now)))
        else:
            counts = np.empty(len(steps), np.float64)
            _kernels().count(self.bundles[5].of(steps), counts)
        written(steps)
        return counts

    def sgd(
        self, parameters: Sequence[Tensor], gradients: Sequence[Tensor],
        buffers: Sequence[Tensor | None], *, lr: float, momentum: float, dampening: float,
        weight_decay: float, nesterov: bool, maximize: bool,
    ) -> list[Tensor]:  # fmt: skip
        """One step of stochastic gradient descent; the momentum buffers, made where None."""
        from .ops.movement import clone

        fresh = np.zeros(len(parameters), np.int64)
        held: list[Tensor] = []
        if momentum != 0:
            for i, buffer in enumerate(buffers):
                if buffer is None:
                    fresh[i] = 1
                    buffer = clone.evaluate(0, (gradients[i],), {})
                held.append(buffer)
        if self._on_device:
            _cuda_kernels().sgd(
                *[[t.flat for t in many] for many in (parameters, gradients, held or parameters)],
                fresh, lr=lr, momentum=momentum, dampening=dampening, weight_decay=weight_decay,
                nesterov=nesterov, maximize=maximize,
            )  # fmt: skip
            written(parameters)
            written(held)
            return held
        p = self.bundles[0].of(parameters)
        g = self.bundles[1].of(gradients)
        m = self.bundles[2].of(held) if held else p
        _kernels().update_all(
            "sgd", parameters[0].aval.dtype.np, self.bundles[0].total,
            (p, g, m, self.bundles[0].sizes, fresh), float(lr), float(momentum),
            float(dampening), float(weight_decay), int(nesterov), int(maximize),
        )  # fmt: skip
        self.bundles[1].release()
        written(parameters)
        written(held)
        return held

    def adam(
        self, parameters: Sequence[Tensor], gradients: Sequence[Tensor], first: Sequence[Tensor],
        second: Sequence[Tensor], largest: Sequence[Tensor], steps: Any, *, lr: float,
        beta1: float, beta2: float, eps: float, weight_decay: float, decoupled: bool,
        maximize: bool,
    ) -> None:  # fmt: skip
        """One step of Adam (decoupled weight decay: AdamW); ``steps`` count from 1."""
        if self._on_device:
            lists = (parameters, gradients, first, second, largest)
            _cuda_kernels().adam(
                *[[t.flat for t in many] for many in lists], steps, lr=lr, beta1=beta1,
                beta2=beta2, eps=eps, weight_decay=weight_decay, decoupled=decoupled,
                maximize=maximize,
            )  # fmt: skip
            for many in (parameters, first, second, largest):
                written(many)
            return
        p = self.bundles[0].of(parameters)
        g = self.bundles[1].of(gradients)
        m, v = self.bundles[2].of(first), self.bundles[3].of(second)
        w = self.bundles[4].of(largest) if largest else v
        _kernels().update_all(
            "adam", parameters[0].aval.dtype.np, self.bundles[0].total,
            (p, g, m, v, w, self.bundles[0].sizes, np.asarray(steps, np.float64)), float(lr),
            float(beta1), float(beta2), float(eps), float(weight_decay), int(decoupled),
            int(bool(largest)), int(maximize),
        )  # fmt: skip
        self.bundles[1].release()
        for many in (parameters, first, second, largest):
            written(many)


def norms(tensors: Sequence[Tensor]) -> Any:
    """The Euclidean norm of each tensor, float64."""
    bundle = Bundle()
    result = np.empty(len(tensors), np.float64)
    _kernel("squares", tensors[0].aval.dtype)(bundle.of(tensors), bundle.sizes, result)
    return result


def scale_all(tensors: Sequence[Tensor], factor: float) -> None:
    """Multiply all by ``factor``, in place."""
    bundle = Bundle()
    _kernel("scale", tensors[0].aval.dtype)(bundle.of(tensors), bundle.sizes, float(factor))
    written(tensors)


def all_finite(tensors: Sequence[Tensor]) -> bool:
    """Whether no element is infinite or NaN."""
    bundle = Bundle()
    kernel = _kernel("all_finite", tensors[0].aval.dtype)
    return bool(kernel(bundle.of(tensors), bundle.sizes))


def zeros_like(tensor: Tensor) -> Tensor:
    """Zeros in the layout of ``tensor``."""
    from .tensor import full_flat, make

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
