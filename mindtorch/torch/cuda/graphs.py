"""CUDA graphs: what a block issues on a stream, recorded once and replayed as a whole."""

from __future__ import annotations

import gc
import itertools
from collections.abc import Callable
from typing import Any, ClassVar

from mindtorch.engine.devices import cuda as engine

from .._api.publish import FUNCTIONS
from ..amp.autocast_mode import is_autocast_cache_enabled, is_autocast_enabled
from ..autograd import grad
from ..autograd.function import Function
from ..nn.modules.module import Module
from . import Stream, empty_cache, synchronize
from . import stream as on_stream

__all__ = [
    "CUDAGraph", "graph", "graph_pool_handle", "is_current_stream_capturing",
    "make_graphed_callables",
]  # fmt: skip

_numbers = itertools.count(1)


def _recordings() -> Any:
    return engine.kernels("graphs")


def _needs_device(name: str) -> None:
    if not engine.device_count():
        raise RuntimeError(f"Tried to instantiate dummy base class {name}")


def is_current_stream_capturing() -> bool:
    """Whether the current thread records a graph."""
    _needs_device("_cuda_isCurrentStreamCapturing")
    return _recordings().active() is not None


def graph_pool_handle() -> tuple[int, int]:
    """A name for memory that graphs may share. Each of our graphs keeps what it has taken, so that
    sharing it changes nothing."""
    _needs_device("_graph_pool_handle")
    return (0, next(_numbers))


class CUDAGraph:
    """A recording of what was issued between :meth:`capture_begin` and :meth:`capture_end`.

    Nothing is computed while it is recorded; each :meth:`replay` computes everything at the same
    addresses. What the host does in between (random numbers, ops without a CUDA kernel) is done
    again at each replay, so masks are new ones; numbers of the host, such as learning rates, stay.

    Args:
        keep_graph: taken for torch's sake: the executable graph is made at once.
    """

    def __init__(self, keep_graph: bool = False) -> None:
        _needs_device("CUDAGraph")
        self._recording: Any = None
        self._ended = False
        self._pool = graph_pool_handle()

    def capture_begin(
        self, pool: Any = None, capture_error_mode: str = "global",
        check_input_liveness: bool = False,
    ) -> None:  # fmt: skip
        """Record what this thread issues on the current stream.

        Args:
            pool: the handle that :meth:`pool` answers.
            capture_error_mode: "global", "thread_local" or "relaxed": what may be called meanwhile.
            check_input_liveness: taken for torch's sake: a graph keeps the memory that it reads.

        Raises:
            RuntimeError: it holds a recording, the mode is not known, or one is being made.
        """
        graphs, streams = _recordings(), engine.kernels("streams")
        if self._recording is not None:
            raise RuntimeError(
                "This CUDAGraph instance already owns a captured graph. To capture a new graph, "
                "create a new instance."
            )
        if capture_error_mode not in graphs.MODES:
            raise RuntimeError(
                "Unknown capture error mode. Expected `global`, `thread_local`, or `relaxed`, got "
                f"{capture_error_mode}"
            )
        driver = graphs.default_driver()
        if driver is not None and streams.handle(streams.current()) == 0:
            raise RuntimeError(
                "CUDA graphs must be captured on a non-default stream. (However, after capture, "
                "it's ok to replay them on the default stream.)"
            )
        recording = graphs.Recording(driver, capture_error_mode)
        recording.begin()
        self._recording = recording
        self._pool = self._pool if pool is None else pool

    def capture_end(self) -> None:
        """Stop recording."""
        if self._recording is None or self._ended:
            raise RuntimeError("capture_end() called without a matching capture_begin()")
        self._ended = True
        self._recording.end()

    def instantiate(self) -> None:
        """Nothing is left to do: ``capture_end`` makes the executable graph."""
        self._captured("instantiate")

    def replay(self) -> None:
        """Issue everything once more, on the current stream."""
        self._captured("replay").replay()

    def reset(self) -> None:
        """Give back the recording and its memory; another one can be made."""
        self._recording, self._ended = None, False

    def pool(self) -> Any:
        """The name of the graph's memory."""
        self._captured("pool")
        return self._pool

    def enable_debug_mode(self) -> None:
        """Nothing to enable: what :meth:`debug_dump` writes is always known."""

    def debug_dump(self, debug_path: str) -> None:
        """Write the kinds of the recording's pieces to a file."""
        pieces = self._captured("debug_dump").pieces
        with open(debug_path, "w") as file:
            file.writelines(f"{type(piece).__name__}\n" for piece in pieces)

    def _captured(self, name: str) -> Any:
        if self._recording is None or not self._ended:
            raise RuntimeError(f"Called CUDAGraph::{name} without a preceding successful capture.")
        return self._recording


class graph:  # noqa: N801
    """A block whose work is recorded in a :class:`CUDAGraph`, on a stream of its own.

    Args:
        cuda_graph: takes the recording.
        pool: as in :meth:`CUDAGraph.capture_begin`.
        stream: the stream of the block; one that all graphs share when None.
        capture_error_mode, check_input_liveness: as of :meth:`CUDAGraph.capture_begin`.
        enable_annotations: False; True is refused.
    """

    default_capture_stream: ClassVar[Any] = None

    def __init__(
        self, cuda_graph: CUDAGraph, pool: Any = None, stream: Any = None,
        capture_error_mode: str = "global", enable_annotations: bool = False,
        check_input_liveness: bool = False,
    ) -> None:  # fmt: skip
        if enable_annotations:
            raise NotImplementedError("annotations of CUDA graphs are not implemented in mindtorch")
        if type(self).default_capture_stream is None:
            type(self).default_capture_stream = Stream()
        self.cuda_graph = cuda_graph
        self.pool = pool
        self.capture_error_mode = capture_error_mode
        self.capture_stream = stream if stream is not None else self.default_capture_stream
        self._block = on_stream(self.capture_stream)

    def __enter__(self) -> None:
        synchronize()
        gc.collect()
        empty_cache()
        self._block.__enter__()
        try:
            self.cuda_graph.capture_begin(self.pool, self.capture_error_mode)
        except BaseException:
            self._block.__exit__(None, None, None)
            raise

    def __exit__(self, *exception: Any) -> None:
        try:
            self.cuda_graph.capture_end()
        finally:
            self._block.__exit__(*exception)


class _Callable:
    """A callable as two recordings: forward, and backward to its inputs and parameters.

    Attributes:
        surface: static inputs, then the parameters.
    """

    def __init__(self, function: Any, sample: tuple[Any, ...], pool: Any, unused: bool) -> None:
        self.function = function
        self.sample = sample
        self.pool = pool
        self.unused = unused
        found = tuple(function.parameters()) if isinstance(function, Module) else ()
        self.surface = (*sample, *found)
        self.wanted = [x for x in self.surface if x.requires_grad]
        self.forward, self.backward = CUDAGraph(), CUDAGraph()
        self.outputs: tuple[Any, ...] = ()
        self.single = False
        self.given: list[Any] = []
        self.gradients: list[Any] = []

    def _differentiated(self, given: list[Any]) -> Any:
        tracked = [y for y in self.outputs if y.requires_grad]
        if not tracked or not self.wanted:
            return []
        return grad(tracked, self.wanted, given, allow_unused=self.unused)

    def run(self) -> None:
        """Call the function on the static inputs."""
        made = self.function(*self.sample)
        self.single = not isinstance(made, (tuple, list))
        self.outputs = (made,) if self.single else tuple(made)

    def warm(self) -> None:
        self.run()
        self._differentiated([FUNCTIONS["empty_like"](y) for y in self.outputs if y.requires_grad])
        self.outputs = ()

    def record_forward(self) -> None:
        with graph(self.forward, pool=self.pool):
            self.run()

    def record_backward(self) -> None:
        self.given = [FUNCTIONS["empty_like"](y) for y in self.outputs if y.requires_grad]
        with graph(self.backward, pool=self.pool):
            found = iter(self._differentiated(self.given))
            self.gradients = [next(found, None) if x.requires_grad else None for x in self.surface]

    def replayed(self) -> Callable[..., Any]:
        """A function that copies its arguments in, replays, and is differentiable."""
        graphed = self

        class Graphed(Function):
            @staticmethod
            def forward(ctx: Any, *surface: Any) -> Any:
                for static, x in zip(graphed.sample, surface, strict=False):
                    if static is not x:
                        static.copy_(x)
                graphed.forward.replay()
                return tuple(y.detach() for y in graphed.outputs)

            @staticmethod
            def backward(ctx: Any, *gradients: Any) -> Any:
                order = [g for g, y in zip(gradients, graphed.outputs, strict=True)
                         if y.requires_grad]  # fmt: skip
                for static, g in zip(graphed.given, order, strict=True):
                    static.copy_(g)
                graphed.backward.replay()
                return tuple(None if g is None else g.detach() for g in graphed.gradients)

        parameters = self.surface[len(self.sample) :]

        def call(*args: Any) -> Any:
            made = Graphed.apply(*args, *parameters)
            made = made if isinstance(made, tuple) else (made,)
            return made[0] if graphed.single else made

        return call


def make_graphed_callables(
    callables: Any, sample_args: Any, num_warmup_iters: int = 3, allow_unused_input: bool = False,
    pool: Any = None,
) -> Any:  # fmt: skip
    """Callables that run as recorded graphs, forward and backward.

    A module is changed: while it is in the mode in which it was recorded, its ``forward`` replays.

    Args:
        callables: a function, a module, or a tuple of them, in the order in which they are called.
        sample_args: its tensors, or a tuple of such tuples: shapes, types and ``requires_grad``.
        num_warmup_iters: calls before recording.
        allow_unused_input: whether inputs may have no gradient.
        pool: as in :meth:`CUDAGraph.capture_begin`.

    Raises:
        RuntimeError: autocast keeps casts, a module has hooks, or a buffer requires a gradient.
    """
    _needs_device("CUDAGraph")
    if is_autocast_enabled() and is_autocast_cache_enabled():
        raise RuntimeError(
            "make_graphed_callables does not support the autocast caching. Please set "
            "`cache_enabled=False`."
        )
    single = not isinstance(callables, tuple)
    functions = (callables,) if single else callables
    samples = (sample_args,) if single else sample_args
    for function in functions:
        if isinstance(function, Module):
            _check_module(function)
    handle = graph_pool_handle() if pool is None else pool
    made = [_Callable(f, tuple(s), handle, allow_unused_input)
            for f, s in zip(functions, samples, strict=True)]  # fmt: skip
    synchronize()
    with on_stream(Stream()):
        for each in made:
            for _ in range(num_warmup_iters):
                each.warm()
    synchronize()
    for each in made:
        each.record_forward()
    for each in reversed(made):
        each.record_backward()
    results = tuple(_installed(each) for each in made)
    return results[0] if single else results


def _check_module(module: Any) -> None:
    if module._backward_hooks or module._forward_hooks or module._forward_pre_hooks:
        raise RuntimeError(
            "Modules must not have hooks registered at the time they are passed. However, "
            "registering hooks on modules after passing them through make_graphed_callables is "
            "allowed."
        )
    if any(b.requires_grad for b in module.buffers()):
        raise RuntimeError(
            "In any :class:`~torch.nn.Module` passed to :func:`~make_graphed_callables`, only "
            "parameters may be trainable. All buffers must have ``requires_grad=False``."
        )


def _installed(graphed: _Callable) -> Any:
    """The callable that is handed out for one of the given."""
    module, replayed = graphed.function, graphed.replayed()
    if not isinstance(module, Module):
        return replayed
    training, before = module.training, module.forward

    def forward(*args: Any) -> Any:
        return replayed(*args) if module.training == training else before(*args)

    module.forward = forward  # type: ignore[method-assign]
    return module
