"""torch.profiler: which ops took how long."""

from __future__ import annotations

import enum
import os
import socket
import sys
import time
import warnings
from collections.abc import Callable, Iterable
from typing import Any

from mindtorch.kernels.support.atomic_file import write_whole
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

from .autograd import profiler as _base
from .autograd.profiler import record_function as record_function

__path__: list[str] = []  # of modules that _compat/inner_modules.txt names

__all__ = ["ProfilerAction", "ProfilerActivity", "profile", "record_function", "schedule",
           "supported_activities", "tensorboard_trace_handler"]  # fmt: skip


class DeviceType(enum.Enum):
    """The kinds of devices, as events have them."""

    CPU = 0
    CUDA = 1
    MKLDNN = 2
    OPENGL = 3
    OPENCL = 4
    IDEEP = 5
    HIP = 6
    FPGA = 7
    MAIA = 8
    XLA = 9
    Vulkan = 10
    Metal = 11
    XPU = 12
    MPS = 13
    MTIA = 20
    Meta = 14
    HPU = 15
    VE = 16
    Lazy = 17
    IPU = 18
    PrivateUse1 = 19


class ProfilerActivity(enum.Enum):
    """What is watched."""

    CPU = 0
    XPU = 1
    MTIA = 2
    CUDA = 3
    HPU = 4
    PrivateUse1 = 5


class ProfilerAction(enum.Enum):
    """What a profiler does in a step."""

    NONE = 0
    WARMUP = 1
    RECORD = 2
    RECORD_AND_SAVE = 3


def kineto_available() -> bool:
    """True: times are taken, by our own recorder."""
    return True


def supported_activities() -> set[ProfilerActivity]:
    return {ProfilerActivity.CPU}


def schedule(
    *, wait: int, warmup: int, active: int, repeat: int = 0, skip_first: int = 0,
    skip_first_wait: int = 0,
) -> Callable[[int], ProfilerAction]:  # fmt: skip
    """What to do in which step: skip, then cycles of waiting, warming up and recording.

    Args:
        repeat: how many cycles; 0 for no end.
        skip_first_wait: not 0 leaves the wait out of the first cycle.
    """
    assert (
        wait >= 0 and warmup >= 0 and active > 0 and repeat >= 0 and skip_first >= 0
    ), (
        f"Invalid profiler schedule arguments. Got wait={wait} (need >= 0), warmup={warmup} "
        f"(need >= 0), active={active} (need > 0), repeat={repeat} (need >= 0), "
        f"skip_first={skip_first} (need >= 0)."
    )
    if warmup == 0:
        warnings.warn("Profiler won't be using warmup, this can skew profiler results",
                      stacklevel=2)  # fmt: skip
    cycle = wait + warmup + active

    def action(step: int) -> ProfilerAction:
        assert step >= 0, f"Step number must be non-negative. Got {step}."
        step -= skip_first
        if step >= 0 and skip_first_wait:
            step += wait
        if step < 0 or (repeat and step // cycle >= repeat):
            return ProfilerAction.NONE
        place = step % cycle
        if place < wait:
            return ProfilerAction.NONE
        if place < wait + warmup:
            return ProfilerAction.WARMUP
        last = place == cycle - 1
        return ProfilerAction.RECORD_AND_SAVE if last else ProfilerAction.RECORD

    return action


def _default_schedule_fn(step: int) -> ProfilerAction:
    return ProfilerAction.RECORD


class profile:  # noqa: N801
    """A block whose ops are timed, step by step where a ``schedule`` says so.

    Args:
        activities: what to watch; only the CPU is here.
        schedule: ``schedule(step) -> ProfilerAction``; None records everything.
        on_trace_ready: called with the profiler when a cycle (or the block) has ended.
        record_shapes, profile_memory, with_stack: see :class:`torch.autograd.profiler.profile`.
        with_flops, with_modules: met with a warning; they are not counted.
        acc_events: keep the events of all cycles, not of the last alone.
    """

    def __init__(
        self, *, activities: Iterable[Any] | None = None,
        schedule: Callable[[int], ProfilerAction] | None = None,
        on_trace_ready: Callable[..., Any] | None = None, record_shapes: bool = False,
        profile_memory: bool = False, with_stack: bool = False, with_flops: bool = False,
        with_modules: bool = False, experimental_config: Any = None,
        execution_trace_observer: Any = None, acc_events: bool = False,
        use_cuda: bool | None = None,
    ) -> None:  # fmt: skip
        self.activities = set(supported_activities() if activities is None else activities)
        assert self.activities, "No valid profiler activities found"
        if ProfilerActivity.CUDA in self.activities:
            warnings.warn("CUDA is not available, disabling CUDA profiling", stacklevel=2)
        if execution_trace_observer is not None:
            raise NotImplementedError("execution_trace_observer is not available in mindtorch")
        self.schedule = _default_schedule_fn if schedule is None else schedule
        self.record_steps = schedule is not None
        self.on_trace_ready = on_trace_ready
        self.options: dict[str, Any] = {
                        "record_shapes": record_shapes, "profile_memory": profile_memory,
                        "with_stack": with_stack, "with_flops": with_flops,
                        "with_modules": with_modules}  # fmt: skip
        self.acc_events = acc_events
        self.step_num = 0
        self.current_action = self.schedule(0)
        self.profiler: _base.profile | None = None
        self._recording = False
        self._step_block: record_function | None = None
        self._metadata: dict[str, Any] = {}

    def __enter__(self) -> profile:
        self.start()
        return self

    def __exit__(self, *exception: object) -> None:
        self.stop()

    def start(self) -> None:
        """Begin with step 0."""
        if ProfilerActivity.CPU not in self.activities:
            raise AssertionError("No activities specified for the profiler")
        self._begin(self.current_action)

    def stop(self) -> None:
        """End; a cycle that is being recorded is ready."""
        self._close_step()
        if self._recording:
            self._finish()
            self._ready()

    def step(self) -> None:
        """The next step begins."""
        self._close_step()
        before = self.current_action
        self.step_num += 1
        self.current_action = self.schedule(self.step_num)
        if before is ProfilerAction.RECORD_AND_SAVE:
            self._finish()
            self._ready()
        self._begin(self.current_action)

    def _begin(self, action: ProfilerAction) -> None:
        recording = action in (ProfilerAction.RECORD, ProfilerAction.RECORD_AND_SAVE)
        if recording and not self._recording:
            kept = self.profiler.recorder.records if self.acc_events and self.profiler else []
            self.profiler = _base.profile(**self.options)
            self.profiler.recorder.records += kept
            self.profiler.__enter__()
            self._recording = True
        elif not recording and self._recording:
            self._finish()
        elif action is ProfilerAction.WARMUP and self.profiler and not self.acc_events:
            with _base.profile(**self.options) as self.profiler:
                pass  # a cycle forgets the one before
        if self._recording and self.record_steps:
            self._step_block = record_function(f"ProfilerStep#{self.step_num}")
            self._step_block.__enter__()

    def _close_step(self) -> None:
        if self._step_block is not None:
            self._step_block.__exit__(None, None, None)
            self._step_block = None

    def _finish(self) -> None:
        assert self.profiler is not None
        self.profiler.__exit__(None, None, None)
        self._recording = False

    def _ready(self) -> None:
        if self.on_trace_ready is not None:
            self.on_trace_ready(self)

    def _finished(self, what: str) -> _base.profile:
        assert self.profiler is not None, f"Profiler must be initialized before {what}"
        return self.profiler

    def events(self) -> Any:
        """All events, in the order in which they began."""
        return self._finished("accessing events")._events()

    def key_averages(
        self, group_by_input_shape: bool = False, group_by_stack_n: int = 0,
        group_by_overload_name: bool = False,
    ) -> Any:  # fmt: skip
        """Sums by name; see :meth:`torch.autograd.profiler_util.EventList.key_averages`."""
        return self._finished("getting key averages").key_averages(
            group_by_input_shape, group_by_stack_n
        )

    def export_chrome_trace(self, path: str) -> None:
        """Write a file for chrome://tracing or Perfetto; gzipped when its name ends in .gz."""
        done = self._finished("exporting chrome trace")
        if not str(path).endswith(".gz"):
            done.export_chrome_trace(path)
            return
        import gzip

        write_whole(path, gzip.compress(done._events().chrome_trace().encode()))

    def export_stacks(self, path: str, metric: str = "self_cpu_time_total") -> None:
        """Write stacks for a flame graph; needs ``with_stack=True``."""
        self._finished("exporting stacks").export_stacks(path, metric)

    def add_metadata(self, key: str, value: str) -> None:
        """Keep a remark with the profile."""
        self._metadata[key] = value


def tensorboard_trace_handler(
    dir_name: str, worker_name: str | None = None, use_gzip: bool = False
) -> Callable[[profile], None]:
    """An ``on_trace_ready`` that writes a trace file into ``dir_name`` for each cycle."""

    def write(finished: profile) -> None:
        os.makedirs(dir_name, exist_ok=True)
        name = worker_name or f"{socket.gethostname()}_{os.getpid()}"
        suffix = ".gz" if use_gzip else ""
        file = f"{name}.{time.time_ns()}.pt.trace.json{suffix}"
        finished.export_chrome_trace(os.path.join(dir_name, file))

    return write


# torch keeps the class in a module of this name; packages import it from there.
profiler = sys.modules[__name__]


_give_reasons(globals())
