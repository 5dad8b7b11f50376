"""Where and how a Lite model runs."""

from __future__ import annotations

from typing import Any

__all__ = ["Context"]


class _Cpu:
    """Settings of the processor.

    Attributes:
        thread_num: that kernels may use; 0: as many as the process is set to.
        inter_op_parallel_num: 1: nodes run one after another.
        precision_mode: "enforce_fp32": sums are in float32.
        thread_affinity_mode: 0: threads are not bound to cores.
    """

    def __init__(self) -> None:
        self._threads = 0

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
        return "enforce_fp32"

    @precision_mode.setter
    def precision_mode(self, mode: str) -> None:
        if mode != "enforce_fp32":
            raise ValueError(f"cpu.precision_mode {mode!r} is not supported: only 'enforce_fp32'")

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
