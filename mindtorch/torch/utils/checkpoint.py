"""Trading time for memory: what a function computed is computed again when backward needs it."""

from __future__ import annotations

import contextlib
import enum
import warnings
from collections.abc import Callable, Iterator
from typing import Any

from mindtorch.engine.autograd import backward as backward_pass
from mindtorch.engine.transforms import autocast as engine_autocast
from mindtorch.torch import autograd, cuda
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch._tensor.generator import fork_rng, restore, states
from mindtorch.torch._tensor.tensor import Tensor
from mindtorch.torch.amp.autocast_mode import autocast
from mindtorch.torch.autograd.function import Function
from mindtorch.torch.autograd.grad_mode import enable_grad, is_grad_enabled, no_grad
from mindtorch.torch.autograd.graph import saved_tensors_hooks
from mindtorch.torch.utils import _pytree

__all__ = [
    "CheckpointError",
    "CheckpointPolicy",
    "DefaultDeviceType",
    "SelectiveCheckpointContext",
    "check_backward_validity",
    "checkpoint",
    "checkpoint_sequential",
    "create_selective_checkpoint_contexts",
    "detach_variable",
    "get_device_states",
    "noop_context_fn",
    "set_checkpoint_debug_enabled",
    "set_checkpoint_early_stop",
    "set_device_states",
]

_early_stop: list[bool] = []
_policies_told = False


class CheckpointPolicy(enum.Enum):
    """What a policy of selective checkpointing says about the result of an op."""

    MUST_SAVE = 0
    PREFER_SAVE = 1
    MUST_RECOMPUTE = 2
    PREFER_RECOMPUTE = 3


class CheckpointError(RuntimeError):
    """The function computed something else the second time."""


def noop_context_fn() -> tuple[Any, Any]:
    """Two contexts that do nothing."""
    return contextlib.nullcontext(), contextlib.nullcontext()


def create_selective_checkpoint_contexts(
    policy_fn_or_list: Any, allow_cache_entry_mutation: bool = False
) -> tuple[Any, Any]:
    """Contexts for ``context_fn``; everything is computed again, whatever the policy prefers.

    A policy chooses between memory and time and changes no value. It is not asked here, and the
    first call says so.

    Raises:
        TypeError: neither a function nor a list of ops.
    """
    global _policies_told
    if not isinstance(policy_fn_or_list, list) and not callable(policy_fn_or_list):
        raise TypeError("policy_fn_or_list must be either a function or a list of ops.")
    if not _policies_told:
        _policies_told = True
        warnings.warn(
            "create_selective_checkpoint_contexts: mindtorch computes everything again; "
            "policy_fn_or_list and allow_cache_entry_mutation have no effect",
            stacklevel=2,
        )
    return noop_context_fn()


@contextlib.contextmanager
def set_checkpoint_early_stop(enable: bool) -> Iterator[None]:
    """In the block the second run ends early, or not, whatever ``checkpoint`` was told."""
    _early_stop.append(enable)
    try:
        yield
    finally:
        _early_stop.pop()


@contextlib.contextmanager
def set_checkpoint_debug_enabled(enabled: bool | None) -> Iterator[None]:
    """A block with ``debug`` for every ``checkpoint``; only off is possible.

    Raises:
        NotImplementedError: ``enabled`` is true.
    """
    if enabled:
        raise NotImplementedError("checkpoint(debug=True) is not available in mindtorch")
    yield


def detach_variable(inputs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Each tensor as a leaf with the same ``requires_grad``; other values as they are."""
    if not isinstance(inputs, tuple):
        raise RuntimeError(
            "Only tuple of tensors is supported. Got Unsupported input type: "
            f"{type(inputs).__name__}"
        )
    return tuple(
        x.detach().requires_grad_(x.requires_grad) if isinstance(x, Tensor) else x for x in inputs
    )


def get_device_states(*args: Any) -> tuple[list[int], list[Tensor]]:
    """(numbers, random states) of the devices that hold tensors among ``args``, the CPU aside."""
    found = (each for each in _pytree.tree_leaves(args) if isinstance(each, Tensor))
    devices = [each.get_device() for each in found if each.device.type not in ("cpu", "meta")]
    return devices, [cuda.get_rng_state(device) for device in devices]


def set_device_states(
    devices: list[int], states: list[Tensor], *, device_type: str | None = None
) -> None:
    """Give the devices back the random states of :func:`get_device_states`.

    Args:
        device_type: "cuda", or "meta", which has no random numbers.
    """
    if device_type == "meta":
        return
    for device, state in zip(devices, states, strict=False):
        cuda.set_rng_state(state, device)


@contextlib.contextmanager
def _as_it_was(state: Any) -> Iterator[None]:
    """The random state of the first time, where it was kept."""
    if state is None:
        yield
        return
    with fork_rng(devices=[]):
        restore(state)
        yield


def _autocast_of_now() -> Callable[[], Any]:
    """Opens a block in which ops cast as they do now."""
    known, modes = engine_autocast.state.key(), []
    for mode in (engine_autocast.state.cpu, engine_autocast.state.cuda):
        modes.append((mode.device, mode.dtype, mode.enabled))
    cache = engine_autocast.state.cache_enabled

    @contextlib.contextmanager
    def block() -> Iterator[None]:
        with contextlib.ExitStack() as stack:
            if engine_autocast.state.key() != known:
                for kind, dtype, enabled in modes:
                    if kind == "cpu" or cuda.is_available():
                        stack.enter_context(autocast(kind, dtype, enabled, cache))
            yield

    return block


def _tensors_of(output: Any) -> list[Tensor]:
    values = output if isinstance(output, (tuple, list)) else (output,)
    return [value for value in values if isinstance(value, Tensor)]


class _Checkpoint(Function):
    """Runs without a tape; backward runs again with one, and backward through that."""

    _node_name = "CheckpointFunctionBackward"
    _plain = False

    @staticmethod
    def forward(ctx: Any, run: Callable[..., Any], keep_state: bool, *args: Any) -> Any:
        ctx._run = run
        ctx._state = states() if keep_state else None
        ctx._cast = _autocast_of_now()
        ctx._places = [at for at, arg in enumerate(args) if isinstance(arg, Tensor)]
        ctx._args = [None if isinstance(arg, Tensor) else arg for arg in args]
        ctx._wanted = [isinstance(arg, Tensor) and arg.requires_grad for arg in args]
        ctx.save_for_backward(*(args[at] for at in ctx._places))
        with no_grad():
            return run(*args)

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        if backward_pass.running()[-1].targets is not None:
            raise RuntimeError(
                "When use_reentrant=True, torch.utils.checkpoint is incompatible with .grad() or "
                "passing an `inputs` parameter to .backward(). To resolve this error, you can "
                "either set use_reentrant=False, or call .backward() without passing the `inputs` "
                "argument."
            )
        args = list(ctx._args)
        for at, tensor in zip(ctx._places, ctx.saved_tensors, strict=True):
            args[at] = tensor.detach().requires_grad_(ctx._wanted[at])
        with _as_it_was(ctx._state), enable_grad(), ctx._cast():
            output = ctx._run(*args)
        outputs = _tensors_of(output)
        if len(outputs) != len(gradients):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was computed during the "
                f"original forward and recomputation: {len(gradients)} and {len(outputs)}."
            )
        pairs = [
            (each, gradient)
            for each, gradient in zip(outputs, gradients, strict=True)
            if each.requires_grad and gradient is not None
        ]
        if not pairs:
            raise RuntimeError(
                "none of output has requires_grad=True, this checkpoint() is not necessary"
            )
        autograd.backward([each for each, _ in pairs], [gradient for _, gradient in pairs])
        return (None, None, *(x.grad if isinstance(x, Tensor) else None for x in args))


class _Enough(Exception):  # noqa: N818
    """All that was saved the first time has been computed again."""


class _Recomputation:
    """What nodes would have saved, as numbers, and how to compute it again.

    Args:
        run: the function with its arguments.
        context: entered for the second time.
        state: the random state of the first time, or None.
        check: whether to compare shapes and types with those of the first time.
        early_stop: stop as soon as everything is there.
    """

    def __init__(
        self, run: Callable[[], Any], context: Any, state: Any, check: bool, early_stop: bool
    ) -> None:
        self.run, self.context, self.state = run, context, state
        self.check, self.early_stop = check, early_stop
        self.described: list[Any] = []
        self.found: dict[int, dict[int, Any]] = {}  # by the number of the pass
        self.cast = _autocast_of_now()

    @staticmethod
    def _describe(tensor: Any) -> dict[str, Any]:
        return {"shape": tensor.shape, "dtype": tensor.dtype, "device": tensor.device}

    def pack(self, tensor: Any) -> int:
        """Keep the tensor's number only."""
        self.described.append(self._describe(tensor))
        return len(self.described) - 1

    def unpack(self, number: int) -> Any:
        """The tensor, computed again; each is handed out once in a pass."""
        tasks = [each.number for each in backward_pass.running()]
        if not tasks:
            return self._recompute()[number]
        if tasks[-1] not in self.found:
            self.found = {task: self.found[task] for task in tasks if task in self.found}
            self.found[tasks[-1]] = self._recompute()
        if number not in self.found[tasks[-1]]:
            raise CheckpointError(
                "torch.utils.checkpoint: Unpack is being triggered for a tensor that was already "
                "unpacked once. If you are calling ctx.saved_tensors in backward, make sure to do "
                "so only once. Otherwise please open an issue with details on your use case."
            )
        return self.found[tasks[-1]].pop(number)

    def _recompute(self) -> dict[int, Any]:
        computed: list[Any] = []

        def collect(tensor: Any) -> Any:
            if len(computed) == len(self.described):
                raise CheckpointError(
                    "torch.utils.checkpoint: trying to save more tensors during recomputation than "
                    "during the original forward pass."
                )
            computed.append(tensor)
            if self.early_stop and len(computed) == len(self.described):
                raise _Enough
            return tensor

        with (
            contextlib.suppress(_Enough), _as_it_was(self.state), enable_grad(), self.cast(),
            saved_tensors_hooks(collect, lambda tensor: tensor), self.context,
        ):  # fmt: skip
            self.run()
        if len(computed) != len(self.described):
            raise CheckpointError(
                "torch.utils.checkpoint: A different number of tensors was saved during the "
                "original forward and recomputation.\n"
                f"Number of tensors saved during forward: {len(self.described)}\n"
                f"Number of tensors saved during recomputation: {len(computed)}."
            )
        self._compare(computed)
        return dict(enumerate(computed))

    def _compare(self, computed: list[Any]) -> None:
        texts = [
            f"tensor at position {i}:\nsaved metadata: {before}\n"
            f"recomputed metadata: {self._describe(tensor)}\n"
            for i, (before, tensor) in enumerate(zip(self.described, computed, strict=True))
            if self.check and before != self._describe(tensor)
        ]
        if texts:
            raise CheckpointError(
                "torch.utils.checkpoint: Recomputed values for the following tensors have "
                f"different metadata than during the forward pass.\n{''.join(texts)}"
            )


def _reentrant(
    function: Callable[..., Any], args: tuple[Any, ...], keep_state: bool,
    context_fn: Callable[[], tuple[Any, Any]],
) -> Any:  # fmt: skip
    """torch's older way, where there is something to compute again."""
    if context_fn is not noop_context_fn:
        raise ValueError(
            "Passing `context_fn` or `debug` is only supported when use_reentrant=False."
        )
    if not is_grad_enabled():
        return function(*args)
    if not any(isinstance(arg, Tensor) and arg.requires_grad for arg in args):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=3
        )
    return _Checkpoint.apply(function, keep_state, *args)


def checkpoint(
    function: Callable[..., Any],
    *args: Any,
    use_reentrant: bool | None = None,
    context_fn: Callable[[], tuple[Any, Any]] = noop_context_fn,
    determinism_check: str = "default",
    debug: bool = False,
    early_stop: bool = True,
    **kwargs: Any,
) -> Any:
    """`function(*args)`, of which only the inputs are kept until backward.

    Backward calls the function again, with the random state of the first time (unless
    `preserve_rng_state=False`).

    Args:
        function: what to compute.
        *args, **kwargs: what it takes.
        use_reentrant: True is torch's older way, with a backward pass inside of backward: a
            gradient only if an input requires one, no keyword arguments for the function, no
            `autograd.grad`. With False, what nodes save is computed again when it is asked for.
        context_fn: a context for the first time and one for the second, with
            `use_reentrant=False`.
        determinism_check: "default" compares shapes, types and devices of what is computed
            again with those of the first time; "none" only how many there are.
        debug: accepted as False; there is no list of operations to show.
        early_stop: end the second run as soon as everything is there that nodes had saved.

    Raises:
        ValueError: keyword arguments or contexts with `use_reentrant=True`, or an unknown check.
        NotImplementedError: `debug=True`.
    """
    if use_reentrant is None:
        warnings.warn(
            "torch.utils.checkpoint: the use_reentrant parameter should be passed explicitly. "
            "Starting in PyTorch 2.9, calling checkpoint without use_reentrant will raise an "
            "exception. use_reentrant=False is recommended, but if you need to preserve the "
            "current default behavior, you can pass use_reentrant=True. Refer to docs for more "
            "details on the differences between the two variants.",
            stacklevel=2,
        )
        use_reentrant = True
    keep_state = kwargs.pop("preserve_rng_state", True)
    if debug:
        raise NotImplementedError("checkpoint(debug=True) is not available in mindtorch")
    if determinism_check not in ("default", "none"):
        raise ValueError(
            f"determinism_check should be one of ['default', 'none'], but got {determinism_check}"
        )
    if use_reentrant:
        if kwargs:
            raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
        return _reentrant(function, args, keep_state, context_fn)
    if not is_grad_enabled():
        return function(*args, **kwargs)
    first, second = context_fn()
    frame = _Recomputation(
        lambda: function(*args, **kwargs), second, states() if keep_state else None,
        determinism_check == "default", _early_stop[-1] if _early_stop else early_stop,
    )  # fmt: skip
    with saved_tensors_hooks(frame.pack, frame.unpack), first:
        return function(*args, **kwargs)


def checkpoint_sequential(
    functions: Any, segments: int, input: Any, use_reentrant: bool | None = None, **kwargs: Any
) -> Any:
    """A sequence of modules in `segments` parts, all but the last one of them checkpointed.

    Raises:
        ValueError: unknown keyword arguments.
    """
    keep_state = kwargs.pop("preserve_rng_state", True)
    if kwargs:
        raise ValueError("Unexpected keyword arguments: " + ",".join(kwargs))
    steps = list(functions.children()) if hasattr(functions, "children") else list(functions)
    size = len(steps) // segments

    def part(start: int, end: int) -> Callable[[Any], Any]:
        def forward(value: Any) -> Any:
            for step in steps[start:end]:
                value = step(value)
            return value

        return forward

    end = 0
    for start in range(0, size * (segments - 1), size):
        end = start + size
        input = checkpoint(
            part(start, end), input, use_reentrant=use_reentrant, preserve_rng_state=keep_state
        )
    return part(end, len(steps))(input)


class DefaultDeviceType:
    """The device whose random numbers a checkpoint keeps, where no input tells one."""

    _chosen: str | None = None

    @staticmethod
    def set_device_type(device: str = "cuda") -> None:
        """Choose it."""
        DefaultDeviceType._chosen = device

    @staticmethod
    def get_device_type() -> str:
        """The one chosen, else CUDA where there is a device, else the CPU."""
        found = DefaultDeviceType._chosen
        return found or ("cuda" if cuda.device_count() else "cpu")


class SelectiveCheckpointContext:
    """What a policy is told of a call.

    Attributes:
        is_recompute: it is made in the backward pass.
        op_output: the result, where it is known.
    """

    def __init__(self, *, is_recompute: bool, op_output: Any = None) -> None:
        self.is_recompute, self.op_output = is_recompute, op_output


def check_backward_validity(inputs: Any) -> None:
    """Warn where no tensor among the inputs of a checkpoint requires a gradient."""
    if not any(x.requires_grad for x in inputs if isinstance(x, Tensor)):
        warnings.warn(
            "None of the inputs have requires_grad=True. Gradients will be None", stacklevel=2
        )


_give_reasons(globals())
