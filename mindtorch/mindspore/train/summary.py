"""Summaries of a training: values recorded by hand, or collected by a callback.

MindSpore writes its own files for MindInsight; here the tensorboard package writes the same values
to its event files, and lineage goes beside them. `mindtorch insight --summary-base-dir DIR` shows
both; TensorBoard the former.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.insight.run_file import RunFile

from .callback import Callback, RunContext, scalar_loss

__all__ = ["SummaryCollector", "SummaryRecord"]

_MODES = ("train", "eval")
_PLUGINS = ("graph", "histogram", "image", "scalar", "tensor")
_COLLECTED = {
    "collect_metric": True,
    "collect_graph": True,
    "collect_input_data": True,
    "histogram_regular": r".*",
    "collect_train_lineage": True,
    "collect_eval_lineage": True,
}


def _array(value: Any) -> np.ndarray:
    array = value.detach() if isinstance(value, EngineTensor) else value
    return np.asarray(array.asnumpy() if hasattr(array, "asnumpy") else array)


def _pictures(array: np.ndarray) -> np.ndarray:
    """(N, C, H, W) between 0 and 1; bytes stay as they are, other values are stretched."""
    if array.dtype == np.uint8:
        return array
    low, high = float(array.min(initial=0.0)), float(array.max(initial=0.0))
    if low >= 0 and high <= 1:
        return array
    return (array - low) / (high - low)


def _checked_lineage(given: Any) -> dict[str, Any]:
    """MindSpore's rules for `custom_lineage_data`."""
    if given is None:
        return {}
    if not isinstance(given, dict):
        raise TypeError(
            f"For 'SummaryCollector', the 'custom_lineage_data' must be dict, but got {given!r}"
        )
    for name, value in given.items():
        if not isinstance(name, str) or not isinstance(value, (int, float, str)):
            raise TypeError(
                "For 'SummaryCollector', the 'custom_lineage_data' must be {str: int, float or "
                f"str}}, but got {name!r}: {value!r}"
            )
    return dict(given)


def _train_lineage(run: Any) -> dict[str, Any]:
    """MindSpore's fields of a training's lineage, as far as they are known."""
    optimizer, loss, dataset = run.get("optimizer"), run.get("loss_fn"), run.get("train_dataset")
    parameters: dict[str, Any] = {
        "network": type(run.network).__name__, "epoch": run.epoch_num,
        "steps per epoch": run.batch_num,
    }  # fmt: skip
    if optimizer is not None:
        parameters["optimizer"] = type(optimizer).__name__
        rate = getattr(optimizer, "learning_rate", None)
        if isinstance(rate, EngineTensor) and rate.numel() == 1:
            parameters["learning_rate"] = float(f"{float(rate.asnumpy()):.7g}")
    if loss is not None:
        parameters["loss_function"] = type(loss).__name__
    data: dict[str, Any] = {"name": "train", "class": type(dataset).__name__}
    for name, method in (("batch size", "get_batch_size"), ("steps", "get_dataset_size")):
        held = getattr(dataset, method, None)
        if callable(held):
            data[name] = held()
    return {"parameters": parameters, "data": [data]}


class SummaryRecord:
    """Values that are written to event files, step by step.

        with SummaryRecord("./summary", network=network) as record:
            record.add_value("scalar", "loss", loss)
            record.record(step)

    Args:
        log_dir: the folder, made where it is missing.
        file_prefix, file_suffix: kept for MindSpore's sake: the suffix ends the file's name, the
            prefix must be the default.
        network: for the plugin "graph".
        num_process: checked; one thread writes.
        max_file_size: checked; larger files are not cut off, so it must be None.
        raise_exception: raise where a value cannot be written (else it is left out, and told).
        export_options: not available; tensors are written as histograms.

    Raises:
        ModuleNotFoundError: the tensorboard package is not installed.
        NotImplementedError: an option that MindInsight alone understands.
    """

    def __init__(
        self, log_dir: str, file_prefix: str = "events", file_suffix: str = "_MS",
        num_process: int = 32, network: Any = None, max_file_size: int | None = None,
        raise_exception: bool = False, export_options: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(log_dir, (str, Path)):
            raise TypeError(f"For 'SummaryRecord', the 'log_dir' must be str, but got {log_dir!r}")
        if isinstance(num_process, bool) or not isinstance(num_process, int) or num_process < 1:
            raise ValueError(f"'num_process' must be an int above 0, but got {num_process!r}")
        if max_file_size is not None or export_options is not None:
            raise NotImplementedError(
                "SummaryRecord(max_file_size=..., export_options=...) is not available in "
                "mindtorch: the tensorboard package writes the files"
            )
        if file_prefix != "events":
            raise NotImplementedError("event files of TensorBoard begin with 'events'")
        from mindtorch.torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(str(log_dir), filename_suffix=file_suffix)
        self._network = network
        self._raise = raise_exception
        self._mode = "train"
        self._pending: list[tuple[str, str, Any]] = []
        self._closed = False

    def __enter__(self) -> SummaryRecord:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @property
    def log_dir(self) -> str:
        """The folder that is written to."""
        return str(self._writer.get_logdir())

    def set_mode(self, mode: str) -> None:
        """"train" or "eval": the first part of tags recorded from now on."""
        if mode not in _MODES:
            raise ValueError(f"{mode!r} is not a recognized mode; it must be one of {_MODES}")
        self._mode = mode

    def add_value(self, plugin: str, name: str, value: Any) -> None:
        """Keep a value for the next `record`.

        Args:
            plugin: "scalar", "image" (N, C, H, W), "histogram", "tensor" or "graph" (a network).
            name: its tag.

        Raises:
            ValueError: an unknown plugin, an empty name, or a value of the wrong shape.
        """
        if plugin not in _PLUGINS:
            raise ValueError(f"No such plugin of {plugin!r}; there are {', '.join(_PLUGINS)}")
        if not isinstance(name, str) or not name:
            raise ValueError(f"The 'name' must be a valid str, but got {name!r}")
        if plugin != "graph":
            value = np.array(_array(value))
            if plugin == "scalar" and value.size != 1:
                raise ValueError(f"a scalar has one element, {name!r} has {value.size}")
            if plugin == "image" and (value.ndim != 4 or value.shape[1] not in (1, 3)):
                raise ValueError(f"images are (N, 1 or 3, H, W), {name!r} is {value.shape}")
        self._pending.append((plugin, name, value))

    def record(
        self, step: int, train_network: Any = None,
        plugin_filter: Callable[[str, str], bool] | None = None,
    ) -> bool:  # fmt: skip
        """Write the values that are waiting. False where nothing could be written.

        Args:
            step: their step.
            train_network: takes the network's place.
            plugin_filter: `plugin_filter(plugin, name)` says what is written; the rest is dropped.
        """
        if self._closed:
            print("SummaryRecord: the record has been closed")
            return False
        if isinstance(step, bool) or not isinstance(step, int):
            raise TypeError(f"For 'record', the 'step' must be int, but got {type(step)}")
        self._network = self._network if train_network is None else train_network
        pending, self._pending = self._pending, []
        for plugin, name, value in pending:
            if plugin_filter is not None and not plugin_filter(plugin, name):
                continue
            try:
                self._write(plugin, name, value, step)
            except Exception as error:
                if self._raise:
                    raise
                print(f"SummaryRecord: {plugin} {name!r} was left out: {error}")
        return True

    def _write(self, plugin: str, name: str, value: Any, step: int) -> None:
        tag = f"{self._mode}/{name}" if self._mode == "eval" else name
        if plugin == "scalar":
            self._writer.add_scalar(tag, float(value.reshape(())), step)
        elif plugin == "image":
            self._writer.add_images(tag, _pictures(value), step)
        elif plugin == "graph":
            network, inputs = value
            self._writer.add_graph(network, inputs)
        else:
            self._writer.add_histogram(tag, value, step)

    def flush(self) -> None:
        """Write to the disk what the thread still holds."""
        self._writer.flush()

    def close(self) -> None:
        """Write what is left, and end."""
        if not self._closed:
            self._closed = True
            self._writer.close()


class SummaryCollector(Callback):
    """Records a training: the loss, inputs that are images, parameters, the graph, metrics.

    Args:
        summary_dir: the folder.
        collect_freq: every so many steps.
        collect_specified_data: which of "collect_metric", "collect_graph", "collect_input_data"
            (True or False), "collect_train_lineage", "collect_eval_lineage" (what the training
            was made of, and what it reached), and "histogram_regular" (an expression for names of
            parameters, or None). Others, of MindInsight's pages, must be off.
        keep_default_action: what is not specified is collected.
        custom_lineage_data: {name: number or text}, shown as hyperparameters.
        collect_tensor_freq, max_file_size, export_options: not available.

    Raises:
        NotImplementedError: what MindInsight alone shows is asked for.
    """

    def __init__(
        self, summary_dir: str, collect_freq: int = 10, num_process: int = 32,
        collect_specified_data: dict[str, Any] | None = None, keep_default_action: bool = True,
        custom_lineage_data: Any = None, collect_tensor_freq: int | None = None,
        max_file_size: int | None = None, export_options: Any = None,
    ) -> None:  # fmt: skip
        if not isinstance(collect_freq, int) or collect_freq < 1:
            raise ValueError(
                f"For 'SummaryCollector', 'collect_freq' must be an int above 0: {collect_freq}"
            )
        if collect_tensor_freq is not None:
            raise NotImplementedError("SummaryCollector: tensors are MindInsight's")
        self._custom = _checked_lineage(custom_lineage_data)
        given = dict(collect_specified_data or {})
        for name in [name for name in given if name not in _COLLECTED]:
            if given.pop(name):
                raise NotImplementedError(f"SummaryCollector: {name} is MindInsight's")
        defaults: dict[str, Any] = dict(_COLLECTED) if keep_default_action else {}
        self._wanted = {**defaults, **given}
        expression = self._wanted.get("histogram_regular")
        self._names = re.compile(expression) if expression else None
        self._freq = collect_freq
        self._make = lambda: SummaryRecord(
            summary_dir, num_process=num_process, max_file_size=max_file_size,
            export_options=export_options,
        )
        self._record: SummaryRecord | None = None
        self._file: RunFile | None = None
        self._folder = summary_dir

    def __exit__(self, *error: object) -> None:
        self._close()

    def _close(self) -> None:
        if self._record is not None:
            self._record.close()
            self._record = None
        if self._file is not None:
            self._file.close()
            self._file = None

    def begin(self, run_context: RunContext) -> None:
        if self._record is None:
            self._record = self._make()
        if self._file is None:
            self._file = RunFile(self._folder)
            if self._custom:
                self._file.add("lineage", parameters=self._custom)
        run = run_context.original_args()
        if run.get("mode") == "train" and self._wanted.get("collect_train_lineage"):
            self._file.add("lineage", **_train_lineage(run))

    def step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.get("mode") != "train" or self._record is None:
            return
        first = run.cur_step_num == 1
        if first and self._wanted.get("collect_graph"):
            self._collect_graph(run)
        if not first and run.cur_step_num % self._freq:
            return
        if self._wanted.get("collect_metric"):
            self._record.add_value("scalar", "loss", np.float64(scalar_loss(run.net_outputs)))
        if self._wanted.get("collect_input_data"):
            self._collect_input(run)
        if self._names is not None:
            for name, parameter in run.network.parameters_and_names():
                if self._names.search(name):
                    self._record.add_value("histogram", name, parameter)
        self._record.record(run.cur_step_num)

    def _collect_graph(self, run: Any) -> None:
        assert self._record is not None
        inputs = run.get("train_dataset_element")
        if inputs and isinstance(inputs[0], EngineTensor):
            self._record.add_value("graph", "network", (run.network, inputs[0]))

    def _collect_input(self, run: Any) -> None:
        assert self._record is not None
        inputs = run.get("train_dataset_element")
        if not inputs or not isinstance(inputs[0], EngineTensor):
            return
        array = _array(inputs[0])
        if array.ndim == 4 and array.shape[1] in (1, 3):
            self._record.add_value("image", "input_data", array)

    def epoch_end(self, run_context: RunContext) -> None:
        """Metrics of an evaluation between epochs."""
        run = run_context.original_args()
        if run.get("mode") == "train" and run.get("eval_results"):
            self._metrics(run.eval_results, run.cur_step_num)

    def _metrics(self, results: dict[str, Any], step: int) -> None:
        assert self._record is not None
        if self._file is not None and self._wanted.get("collect_eval_lineage"):
            figures = {f"eval/{k}": float(v) for k, v in results.items() if np.ndim(v) == 0}
            self._file.add("lineage", metrics=figures)
        self._record.set_mode("eval")
        for name, value in results.items():
            if np.ndim(value) == 0:
                self._record.add_value("scalar", name, np.float64(value))
        self._record.record(step)
        self._record.set_mode("train")

    def end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.get("mode") == "eval":
            if run.get("metrics") and self._record is not None:
                self._metrics(run.metrics, run.cur_step_num)
        elif self._file is not None:
            self._file.add("end", error="")
        self._close()
