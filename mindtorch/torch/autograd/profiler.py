"""Timing of ops and of named blocks."""

from __future__ import annotations

import contextlib
import time
import warnings
from typing import Any

from mindtorch.engine.transforms.profiler import USER, Recorder, recorder_here
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

from .profiler_util import EventList as EventList
from .profiler_util import FunctionEvent as FunctionEvent
from .profiler_util import FunctionEventAvg as FunctionEventAvg

__all__ = ["EventList", "FunctionEvent", "FunctionEventAvg", "emit_nvtx", "profile",
           "record_function"]  # fmt: skip


class record_function(contextlib.ContextDecorator):  # noqa: N801
    """Name a block (or a function): a running profiler times it under that name."""

    def __init__(self, name: str, args: str | None = None) -> None:
        self.name = name
        self.args = args
        self._open: list[Any] = []

    def __enter__(self) -> record_function:
        recorder = recorder_here() if Recorder.active else None
        record = None if recorder is None else recorder.enter(self.name, USER)
        self._open.append((recorder, record))
        return self

    def __exit__(self, *exception: object) -> None:
        recorder, record = self._open.pop()
        if recorder is not None:
            recorder.leave_record(record)


class profile:  # noqa: N801
    """A block whose ops are timed.

    Args:
        enabled: False times nothing.
        record_shapes: keep the shapes of inputs.
        profile_memory: show the bytes of results in tables.
        with_stack: keep the lines of Python that led to each op.
        use_cuda, use_device, with_flops, with_modules: met with a warning; there is no device to
            time, and operations and modules are not counted.
        use_kineto, use_cpu, experimental_config, acc_events: choices of torch's implementation.
    """

    def __init__(
        self, enabled: bool = True, *, use_cuda: bool = False, use_device: str | None = None,
        record_shapes: bool = False, with_flops: bool = False, profile_memory: bool = False,
        with_stack: bool = False, with_modules: bool = False, use_kineto: bool = False,
        use_cpu: bool = True, experimental_config: Any = None, acc_events: bool = False,
    ) -> None:  # fmt: skip
        self.enabled = enabled
        self.profile_memory = profile_memory
        if use_cuda or use_device == "cuda":
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        for name, wanted in (("with_flops", with_flops), ("with_modules", with_modules)):
            if wanted:
                warnings.warn(f"{name}=True has no effect in mindtorch", stacklevel=2)
        self.recorder = Recorder(record_shapes, with_stack)
        self.function_events: EventList | None = None
        self.origin = 0
        self.entered = False

    def __enter__(self) -> profile | None:
        if not self.enabled:
            return None
        if self.entered:
            raise RuntimeError("Profiler context manager is not reentrant")
        self.entered = True
        self.origin = time.perf_counter_ns()
        self.recorder.start()
        return self

    def __exit__(self, *exception: object) -> None:
        if self.enabled:
            self.recorder.stop()
            self.function_events = EventList.of(
                self.recorder.records, self.origin, self.profile_memory
            )

    def _events(self) -> EventList:
        if self.function_events is None:
            raise RuntimeError("Profiler didn't finish running")
        return self.function_events

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> EventList:  # fmt: skip
        """Sums by name; see :meth:`EventList.key_averages`."""
        return self._events().key_averages(group_by_input_shape, group_by_stack_n)

    def total_average(self) -> FunctionEventAvg:
        return self._events().total_average()

    def table(self, *args: Any, **kwargs: Any) -> str:
        """All events as text; see :meth:`EventList.table`."""
        return self._events().table(*args, **kwargs)

    def export_chrome_trace(self, path: Any) -> None:
        """Write a file for chrome://tracing or Perfetto."""
        self._events().export_chrome_trace(path)

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for a flame graph; needs ``with_stack=True``."""
        assert self.recorder.keep_stack, "export_stacks() requires with_stack=True"
        self._events().export_stacks(path, metric)

    @property
    def self_cpu_time_total(self) -> float:
        return self._events().self_cpu_time_total

    def __str__(self) -> str:
        return "<unfinished profiler>" if self.function_events is None else str(
            self.function_events
        )

    def __repr__(self) -> str:
        return "<unfinished torch.autograd.profile>" if self.function_events is None else repr(
            self.function_events
        )


class emit_nvtx:  # noqa: N801
    """Marks for NVIDIA's tools; there is no CUDA device to watch."""

    def __init__(self, enabled: bool = True, record_shapes: bool = False) -> None:
        self.enabled = enabled

    def __enter__(self) -> emit_nvtx:
        if self.enabled:
            raise RuntimeError("NVTX functions not installed. Are you sure you have a CUDA build?")
        return self

    def __exit__(self, *exception: object) -> None:
        """Nothing was begun."""


_give_reasons(globals())
