"""Where and how a Lite model runs."""

from __future__ import annotations

import warnings
from typing import Any

__all__ = ["Context"]


class _Cpu:
    """Settings of the processor.

    Attributes:
        thread_num: that kernels may use; 0: as many as the process is set to.
        inter_op_parallel_num: 1: nodes run one after another.
        precision_mode: "enforce_fp32", or "preferred_fp16", which is a preference: sums are in
            float32 here, as MindSpore Lite's are on processors without such arithmetic, and a
            warning says so.
        enable_fp16: whether that is preferred.
        thread_affinity_mode: 0: threads are not bound to cores.
    """

    def __init__(self) -> None:
        self._threads, self._precision = 0, "enforce_fp32"

    @property
    def thread_num(self) -> int:
        return self._threads

    @thread_num.setter
    def thread_num(self, count: int) -> None:
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"cpu.thread_num must be int, but got {type(count)}.")
        if count < 0:
            raise ValueError("cpu.thread_num must be a non-negative int.")
        self._threads = count

    @property
    def inter_op_parallel_num(self) -> int:
        return 1

    @inter_op_parallel_num.setter
    def inter_op_parallel_num(self, count: int) -> None:
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"cpu.inter_op_parallel_num must be int, but got {type(count)}.")
        if count not in (0, 1):
            raise ValueError("cpu.inter_op_parallel_num: nodes run one after another here")

    @property
    def precision_mode(self) -> str:
        return self._precision

    @precision_mode.setter
    def precision_mode(self, mode: str) -> None:
        if not isinstance(mode, str):
            raise TypeError(f"cpu.precision_mode must be str, but got {type(mode)}.")
        if mode not in ("enforce_fp32", "preferred_fp16"):
            raise ValueError(
                "cpu.precision_mode must be in ['enforce_fp32', 'preferred_fp16'], but got "
                f"{mode!r}."
            )
        if mode == "preferred_fp16":
            warnings.warn("cpu.precision_mode: sums are in float32 here", stacklevel=2)
        self._precision = mode

    @property
    def enable_fp16(self) -> bool:
        return self._precision == "preferred_fp16"

    @enable_fp16.setter
    def enable_fp16(self, wanted: bool) -> None:
        if not isinstance(wanted, bool):
            raise TypeError(f"cpu.enable_fp16 must be bool, but got {type(wanted)}.")
        self.precision_mode = "preferred_fp16" if wanted else "enforce_fp32"

    @property
    def thread_affinity_mode(self) -> int:
        return 0

    @thread_affinity_mode.setter
    def thread_affinity_mode(self, mode: int) -> None:
        if mode != 0:
            raise ValueError("cpu.thread_affinity_mode: threads are not bound to cores here")

    @property
    def thread_affinity_core_list(self) -> list[int]:
        return []

    @thread_affinity_core_list.setter
    def thread_affinity_core_list(self, cores: Any) -> None:
        if list(cores):
            raise ValueError("cpu.thread_affinity_core_list: threads are not bound to cores here")


class _Parallel:
    """Settings of `ModelParallelRunner`.

    Attributes:
        workers_num: how many models there are; 0: as the cores allow.
        config_info, config_path: empty: there are no settings in files here.
    """

    def __init__(self) -> None:
        self._workers = 0

    @property
    def workers_num(self) -> int:
        return self._workers

    @workers_num.setter
    def workers_num(self, count: int) -> None:
        if not isinstance(count, int) or isinstance(count, bool):
            raise TypeError(f"parallel.workers_num must be int, but got {type(count)}.")
        if count < 0:
            raise ValueError("parallel.workers_num must be a non-negative int.")
        self._workers = count

    @property
    def config_info(self) -> dict[str, dict[str, str]]:
        return {}

    @config_info.setter
    def config_info(self, settings: Any) -> None:
        if not isinstance(settings, dict):
            raise TypeError(f"parallel.config_info must be dict, but got {type(settings)}.")
        if settings:
            raise ValueError(f"parallel.config_info {sorted(settings)} is not read here")

    @property
    def config_path(self) -> str:
        return ""

    @config_path.setter
    def config_path(self, path: Any) -> None:
        if not isinstance(path, str):
            raise TypeError(f"parallel.config_path must be str, but got {type(path)}.")
        if path:
            raise ValueError("parallel.config_path: files of settings are not read here")


class Context:
    """Where a model runs: on the processor.

    Attributes:
        target: ["cpu"].
        cpu: its settings.
        parallel: settings of `ModelParallelRunner`.
    """

    def __init__(self) -> None:
        self.cpu = _Cpu()
        self.parallel = _Parallel()

    @property
    def target(self) -> list[str]:
        return ["cpu"]

    @target.setter
    def target(self, names: Any) -> None:
        if not isinstance(names, (list, tuple)):
            raise TypeError(f"target must be list, but got {type(names)}.")
        for name in names:
            if not isinstance(name, str):
                raise TypeError(f"target element must be str, but got {type(name)}.")
            if name.lower() != "cpu":
                raise ValueError(f"target {name!r} is not supported: Lite models run on 'cpu'")

    def __repr__(self) -> str:
        return f"Context(target=['cpu'], cpu.thread_num={self.cpu.thread_num})"
