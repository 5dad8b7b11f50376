"""The graph's nodes and edges, and hooks on what nodes save and on several gradients."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, NamedTuple

from mindtorch.engine.autograd import backward, saved_tensors, tape
from mindtorch.engine.autograd.tape import Node as Node
from mindtorch.engine.devices.cuda import device_count
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import version_of
from mindtorch.torch._api.public_names import own_names as _own_names

from ..functions.creation import filled

__all__ = [
    "GradientEdge", "Node", "allow_mutation_on_saved_tensors", "disable_saved_tensors_hooks",
    "get_gradient_edge", "increment_version", "region_activation_memory_budget",
    "register_multi_grad_hook", "save_on_cpu", "saved_tensors_hooks",
    "set_override_stale_capture_stream", "set_warn_on_accumulate_grad_stream_mismatch",
]  # fmt: skip



class _Forbidden(threading.local):
    """The texts of this thread's blocks that forbid hooks on saved tensors."""

    def __init__(self) -> None:
        self.texts: list[str] = []


_forbidden = _Forbidden()
# the block of allow_mutation_on_saved_tensors that is open
_mutable: list[object] = []


class GradientEdge(NamedTuple):
    """Where a gradient arrives: a node and the number of its result.

    ``torch.autograd.grad`` and ``backward`` take edges in place of tensors.
    """

    node: Any
    output_nr: int
    ownership_token: Any = None


def get_gradient_edge(tensor: Any) -> GradientEdge:
    """The edge at which the gradient of ``tensor`` arrives.

    Raises:
        RuntimeError: it does not require a gradient.
    """
    if not tensor.requires_grad:
        raise RuntimeError("It is not possible to get the gradient edge for a Tensor that does not "
                           "require gradients")
    return GradientEdge(tape.shown(tape.node_of(tensor)), tensor._output_index)


def tensor_at(edge: GradientEdge) -> Any:
    """A tensor whose gradient arrives at an edge: the leaf, or zeros that stand for a result."""
    if type(edge.node) is tape.AccumulateGrad:
        return edge.node.variable
    made = filled(edge.node.out_avals[edge.output_nr], 0)
    made._node = edge.node
    made._output_index = edge.output_nr
    return made


class saved_tensors_hooks:  # noqa: N801
    """Pack what nodes save with ``pack_hook``, without recording, and unpack it for backward."""

    def __init__(
        self, pack_hook: Callable[[Any], Any], unpack_hook: Callable[[Any], Any]
    ) -> None:
        self.hooks = (pack_hook, unpack_hook)

    def __enter__(self) -> None:
        if _forbidden.texts:
            raise RuntimeError(_forbidden.texts[-1])
        saved_tensors.set_hooks_of_thread((*saved_tensors.hooks_of_thread(), self.hooks))

    def __exit__(self, *exception: object) -> None:
        saved_tensors.set_hooks_of_thread(saved_tensors.hooks_of_thread()[:-1])


def hooks_allowed() -> bool:
    """Whether hooks on saved tensors may be entered: no block forbids them."""
    return not _forbidden.texts


class save_on_cpu(saved_tensors_hooks):  # noqa: N801
    """Keep saved tensors on the CPU; those of the CPU are kept as they are.

    Args:
        pin_memory: keep copies, in memory that a device can copy by itself where there is one.
        device_type: whose pinned memory is meant; there is CUDA's alone.
    """

    def __init__(self, pin_memory: bool = False, device_type: str = "cuda") -> None:
        def pack(tensor: Any) -> Any:
            held = tensor.detach()
            if not pin_memory:
                return tensor.device, held.cpu()
            copied = held.clone() if held.device.type == "cpu" else held.cpu()
            pinned = device_count() and not held.is_sparse
            return tensor.device, copied.pin_memory() if pinned else copied

        super().__init__(pack, lambda packed: packed[1].to(packed[0]))


@contextlib.contextmanager
def disable_saved_tensors_hooks(error_message: str) -> Iterator[None]:
    """RuntimeError with this text where a block asks for hooks on saved tensors."""
    if saved_tensors.hooks_of_thread():
        raise RuntimeError(error_message)
    _forbidden.texts.append(error_message)
    try:
        yield
    finally:
        _forbidden.texts.pop()


@contextlib.contextmanager
def allow_mutation_on_saved_tensors() -> Iterator[None]:
    """Tensors that nodes saved may be written to: backward has the values of before.

    Each saved tensor is copied at once, so the block takes the memory of what is saved twice.
    """

    if _mutable:
        raise RuntimeError("allow_mutation_on_saved_tensors contexts cannot be nested")
    block = object()

    def pack(tensor: Any) -> Any:
        return tensor, version_of(tensor), tensor.detach().clone()

    def unpack(packed: Any) -> Any:
        if _mutable[-1:] != [block]:
            raise AssertionError(
                "Trying to backward outside of the 'allow_mutation_on_saved_tensors' context"
                "in which the graph was originally recorded."
            )
        tensor, version, copy = packed
        return tensor if version_of(tensor) == version else copy

    _mutable.append(block)
    try:
        with saved_tensors_hooks(pack, unpack):
            yield
    finally:
        _mutable.pop()


def increment_version(tensor: Any) -> None:
    """Count a write to the tensor (or to each of several), as if its values had changed."""
    for each in [tensor] if isinstance(tensor, EngineTensor) else tensor:
        if not each._shared.inference:
            each._shared.version += 1


class _MultiHandle:
    """Removes what was registered at several tensors."""

    def __init__(self, handles: Iterable[Any]) -> None:
        self.handles = tuple(handles)

    def remove(self) -> None:
        for handle in self.handles:
            handle.remove()

    def __enter__(self) -> _MultiHandle:
        return self

    def __exit__(self, *exception: object) -> None:
        self.remove()


def register_multi_grad_hook(
    tensors: Sequence[Any], fn: Callable[[Any], None], *, mode: str = "all"
) -> _MultiHandle:
    """Call a function once in each backward pass that computes gradients of these tensors.

    Args:
        fn: with mode "all" it gets the list of the gradients (None where there is none) at the end
            of the pass; with "any" the first of them as soon as it is there.

    Returns:
        A handle with ``remove()``.
    """
    if mode not in ("all", "any"):
        raise ValueError(f"Expects mode to be one of ('all', 'any') but got {mode}")
    seen: dict[int, list[Any]] = {}

    def arrived(place: int, gradient: Any) -> None:
        run = backward.running()[-1]
        gradients = seen.get(id(run))
        first = gradients is None
        if gradients is None:
            gradients = seen[id(run)] = [None] * len(tensors)
            run.callbacks.append(lambda: finish(id(run)))
        gradients[place] = gradient
        if first and mode == "any":
            fn(gradient)

    def finish(key: int) -> None:
        gradients = seen.pop(key)
        if mode == "all":
            fn(gradients)

    def hook_at(place: int) -> Callable[[Any], None]:
        return lambda gradient: arrived(place, gradient)

    return _MultiHandle(x.register_hook(hook_at(i)) for i, x in enumerate(tensors))


def region_activation_memory_budget(budget: float) -> Any:
    """A share of a compiled region's activations that may be kept for backward.

    Raises:
        TypeError, ValueError: it is no number between 0 and 1.
        RuntimeError: as in torch, outside of a compiled region; compiled regions of ours keep what
            their backward pass reads, so that none begins with a budget.
    """
    where = "torch.autograd.graph.region_activation_memory_budget"
    if type(budget) not in (int, float):
        raise TypeError(f"{where}: expects a float, got {type(budget).__name__}")
    if not 0.0 <= budget <= 1.0:
        raise ValueError(f"{where}: must be in [0, 1], got {budget}")
    raise RuntimeError(
        f"{where} can only be used inside a torch.compile region; it has no effect in eager mode."
    )


_streams = {"mismatch": True, "stale": False}


def set_warn_on_accumulate_grad_stream_mismatch(enabled: bool) -> None:
    """Whether a gradient that comes on another stream is warned of; backward has one stream."""
    _streams["mismatch"] = bool(enabled)


def set_override_stale_capture_stream(enabled: bool) -> None:
    """Whether streams of captures that have ended are replaced; backward has one stream."""
    _streams["stale"] = bool(enabled)

_own_names(globals())
