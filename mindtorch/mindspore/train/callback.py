"""What happens beside training: losses printed, times taken, checkpoints written."""

from __future__ import annotations

import json
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.engine.tensor import Tensor as EngineTensor

from .serialization import save_checkpoint

__all__ = [
    "Callback", "CheckpointConfig", "EarlyStopping", "History", "LambdaCallback",
    "LearningRateScheduler", "LossMonitor", "ModelCheckpoint", "ReduceLROnPlateau", "RunContext",
    "TimeMonitor",
]  # fmt: skip


class _Arguments(dict[str, Any]):
    """What callbacks see of a run, as attributes and as a dict."""

    def __getattr__(self, name: str) -> Any:
        try:
            return self[name]
        except KeyError:
            raise AttributeError(f"the run has no {name!r}") from None

    def __setattr__(self, name: str, value: Any) -> None:
        self[name] = value


class RunContext:
    """The run that a callback is called in.

    Args:
        original_args: what callbacks read and write.
    """

    def __init__(self, original_args: _Arguments) -> None:
        self._arguments = original_args
        self._stop_requested = False

    def original_args(self) -> Any:
        """The run's values: cur_epoch_num, cur_step_num, batch_num, net_outputs, network, ..."""
        return self._arguments

    def request_stop(self) -> None:
        """End the training after this step."""
        self._stop_requested = True

    def get_stop_requested(self) -> bool:
        """Whether somebody asked to end."""
        return self._stop_requested


_PLACES = ("begin", "epoch_begin", "epoch_end", "step_begin", "step_end", "end")


class Callback:
    """Base of callbacks. Subclasses define some of ``begin``, ``epoch_begin``, ``step_begin``,
    ``step_end``, ``epoch_end``, ``end``, or the same with ``on_train_`` or ``on_eval_`` before
    the name, each with the run's context."""

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *error: Any) -> None:
        pass

    def begin(self, run_context: RunContext) -> None:
        """Before the first epoch."""

    def epoch_begin(self, run_context: RunContext) -> None:
        """Before an epoch."""

    def epoch_end(self, run_context: RunContext) -> None:
        """After an epoch."""

    def step_begin(self, run_context: RunContext) -> None:
        """Before a step."""

    def step_end(self, run_context: RunContext) -> None:
        """After a step."""

    def end(self, run_context: RunContext) -> None:
        """After the last epoch."""


def _forwarding(place: str) -> Callable[[Any, RunContext], None]:
    def call(self: Any, run_context: RunContext) -> None:
        getattr(self, place)(run_context)

    call.__doc__ = f"Calls ``{place}``."
    return call


for _place in _PLACES:
    for _kind in ("on_train_", "on_eval_"):
        setattr(Callback, _kind + _place, _forwarding(_place))


def call_all(callbacks: list[Any], place: str, context: RunContext, kind: str = "train") -> None:
    """Call one place of all callbacks."""
    for callback in callbacks:
        getattr(callback, f"on_{kind}_{place}")(context)


def scalar_loss(outputs: Any) -> float:
    """The mean of a loss, the first of several outputs."""
    first = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
    array = first.asnumpy() if isinstance(first, EngineTensor) else first
    return float(np.mean(array))


class LossMonitor(Callback):
    """Prints the loss every ``per_print_times`` steps, and ends on one that is no number.

    In ``Model.fit`` it prints the figures of each evaluation, too.

    Raises:
        ValueError: in training: the loss is NaN or infinite.
    """

    def __init__(self, per_print_times: int = 1) -> None:
        if not isinstance(per_print_times, int) or per_print_times < 0:
            raise ValueError(
                f"The argument 'per_print_times' must be int and >= 0, but got {per_print_times}"
            )
        self._period = per_print_times
        self._printed = 0

    def step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        loss = scalar_loss(run.net_outputs)
        step = (run.cur_step_num - 1) % run.batch_num + 1
        if not np.isfinite(loss):
            raise ValueError(
                f"In epoch: {run.cur_epoch_num} step: {step}, loss is NAN or INF, training process "
                "cannot continue, terminating training."
            )
        if run.cur_step_num <= self._printed:
            self._printed = 0
        if self._period and run.cur_step_num - self._printed >= self._period:
            self._printed = run.cur_step_num
            print(f"epoch: {run.cur_epoch_num} step: {step}, loss is {loss}", flush=True)

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        if run.metrics:
            print(f"Eval result: epoch {run.cur_epoch_num}, metrics: {run.metrics}", flush=True)


class TimeMonitor(Callback):
    """Prints how long each epoch, and a step of it, took, in training and evaluation.

    Args:
        data_size: the number of steps, for runs that do not know it.
        data_time: print also how long a step waited for its data.
    """

    def __init__(self, data_size: int | None = None, data_time: bool = False) -> None:
        if not isinstance(data_time, bool):
            raise TypeError(f"For 'TimeMonitor', data_time must be a bool, but got {data_time!r}")
        self.data_size, self.data_time = data_size, data_time
        self._start = self._waiting = time.perf_counter()
        self._waited = 0.0

    def epoch_begin(self, run_context: RunContext) -> None:
        self._start = self._waiting = time.perf_counter()
        self._waited = 0.0

    def on_train_step_begin(self, run_context: RunContext) -> None:
        self._waited += time.perf_counter() - self._waiting

    def on_train_step_end(self, run_context: RunContext) -> None:
        self._waiting = time.perf_counter()

    def epoch_end(self, run_context: RunContext) -> None:
        taken = (time.perf_counter() - self._start) * 1000
        run = run_context.original_args()
        steps = int(run.get("batch_num") or self.data_size or 1)
        text = (
            f"{run.get('mode', '').title()} epoch time: {taken:5.3f} ms, "
            f"per step time: {taken / steps:5.3f} ms"
        )
        if self.data_time:
            text += f" (data time: {self._waited * 1000 / steps:5.3f} ms)"
        print(text, flush=True)


class CheckpointConfig:
    """When checkpoints are written, and how many are kept.

    Args:
        save_checkpoint_steps: after as many steps; 0 and None switch that off.
        save_checkpoint_seconds: after as many seconds; for when steps are switched off.
        keep_checkpoint_max: how many are kept, the oldest are removed; 0 for all.
        saved_network: save this network and not the training cell (network and optimizer).
        append_info: what is saved beside the parameters: "epoch_num", "step_num", or a dict.
        keep_checkpoint_per_n_minutes: 0; others are refused.
        async_save: the file is written at once in any case: training waits for it.
        integrated_save: parameters are whole in every process, there is nothing to join.
    """

    def __init__(
        self, save_checkpoint_steps: int | None = 1, save_checkpoint_seconds: int | None = 0,
        keep_checkpoint_max: int | None = 5, keep_checkpoint_per_n_minutes: int | None = 0,
        integrated_save: bool = True, async_save: bool = False, saved_network: Any = None,
        append_info: Any = None,
    ) -> None:  # fmt: skip
        if not any((save_checkpoint_steps, save_checkpoint_seconds, keep_checkpoint_max,
                    keep_checkpoint_per_n_minutes)):  # fmt: skip
            raise ValueError("The input arguments of CheckpointConfig can not be all None or 0")
        for number in (save_checkpoint_steps, save_checkpoint_seconds, keep_checkpoint_max):
            if number is not None and (isinstance(number, bool) or int(number) != number):
                raise TypeError(f"CheckpointConfig: {number!r} is no whole number")
            if number is not None and number < 0:
                raise ValueError(f"CheckpointConfig: {number} is less than 0")
        if keep_checkpoint_per_n_minutes and not keep_checkpoint_max:
            raise NotImplementedError(
                "CheckpointConfig: keep_checkpoint_per_n_minutes is not implemented; "
                "keep_checkpoint_max says how many files are kept"
            )
        self.steps, self.seconds = save_checkpoint_steps or 0, save_checkpoint_seconds or 0
        self.keep, self.saved_network = keep_checkpoint_max or 0, saved_network
        self.append_info = list(append_info or [])
        self.integrated_save, self.async_save = integrated_save, async_save

    @property
    def save_checkpoint_steps(self) -> int:
        """After how many steps; 0 for never."""
        return self.steps

    @property
    def save_checkpoint_seconds(self) -> int:
        """After how many seconds; 0 for never."""
        return self.seconds

    @property
    def keep_checkpoint_max(self) -> int:
        """How many are kept; 0 for all."""
        return self.keep


class ModelCheckpoint(Callback):
    """Writes ``directory/prefix-epoch_step.ckpt`` as the configuration says, and at the end.

    Args:
        prefix: of the names; one that is taken already gets a number at its end.
        config: a :class:`CheckpointConfig`; None for its defaults.
    """

    def __init__(
        self, prefix: str = "CKP", directory: str | None = None,
        config: CheckpointConfig | None = None,
    ) -> None:  # fmt: skip
        if not isinstance(prefix, str) or "/" in prefix:
            raise ValueError(
                "For 'ModelCheckpoint', the argument 'prefix' must be str and without '/', but got "
                f"{prefix}"
            )
        self._prefix, self._directory = prefix, Path(directory or ".")
        self._config = config or CheckpointConfig()
        self._files: list[Path] = []
        self._last_step, self._last_time = 0, time.monotonic()
        self._latest = ""

    @property
    def latest_ckpt_file_name(self) -> str:
        """The file that was written last."""
        return self._latest

    def begin(self, run_context: RunContext) -> None:
        self._directory.mkdir(parents=True, exist_ok=True)
        base, number = self._prefix, 0
        while any(self._directory.glob(f"{self._prefix}-*_*.ckpt")):
            number += 1
            self._prefix = f"{base}_{number}"
        self._last_step, self._last_time = 0, time.monotonic()

    def step_end(self, run_context: RunContext) -> None:
        step = run_context.original_args().cur_step_num
        if self._config.steps:
            due = step - self._last_step >= self._config.steps
        else:
            seconds = self._config.seconds
            due = seconds > 0 and time.monotonic() - self._last_time >= seconds
        if due:
            self._save(run_context)

    def end(self, run_context: RunContext) -> None:
        if run_context.original_args().cur_step_num != self._last_step:
            self._save(run_context)

    def _save(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        step = (run.cur_step_num - 1) % run.batch_num + 1
        path = self._directory / f"{self._prefix}-{run.cur_epoch_num}_{step}.ckpt"
        network = self._config.saved_network or run.train_network
        save_checkpoint(network, path, append_dict=self._appended(run))
        self._last_step, self._last_time = run.cur_step_num, time.monotonic()
        self._latest = str(path)
        if path not in self._files:
            self._files.append(path)
        while self._config.keep and len(self._files) > self._config.keep:
            self._files.pop(0).unlink(missing_ok=True)

    def _appended(self, run: Any) -> dict[str, Any]:
        values: dict[str, Any] = {}
        for entry in self._config.append_info:
            if isinstance(entry, dict):
                values.update(entry)
            elif entry == "epoch_num":
                values["epoch_num"] = np.int64(run.cur_epoch_num)
            elif entry == "step_num":
                values["step_num"] = np.int64(run.cur_step_num)
            else:
                raise ValueError(f"append_info: {entry!r} is neither epoch_num, step_num nor dict")
        return values


class LearningRateScheduler(Callback):
    """Sets the optimizer's rate to ``function(rate, step)`` after each step.

    Args:
        learning_rate_function: as above.
    """

    def __init__(self, learning_rate_function: Callable[[float, int], float]) -> None:
        self._function = learning_rate_function

    def step_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        rate = run.optimizer.learning_rate
        before = float(rate.asnumpy())
        after = self._function(before, run.cur_step_num)
        if after != before:
            rate.assign_value(np.float32(after))


class LambdaCallback(Callback):
    """Calls functions at the places that the arguments name: ``on_train_step_end=print``."""

    def __init__(self, **functions: Callable[[RunContext], Any]) -> None:
        known = {kind + place for kind in ("on_train_", "on_eval_") for place in _PLACES}
        for name, function in functions.items():
            if name not in known:
                raise TypeError(f"LambdaCallback() has no argument {name!r}")
            setattr(self, name, function)


class History(Callback):
    """Keeps outputs of the network, or the metrics, of each epoch in ``epoch`` and ``history``."""

    def __init__(self) -> None:
        self.history: dict[str, list[Any]] = {}
        self.epoch: dict[str, list[int]] = {}

    def begin(self, run_context: RunContext) -> None:
        self.epoch = {"epoch": []}

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        values = dict(run.get("metrics") or {})
        if run.get("mode") == "train":
            self.epoch.setdefault("epoch", []).append(run.cur_epoch_num)
            values = {"net_output": scalar_loss(run.net_outputs), **(run.get("eval_results") or {})}
        for name, value in values.items():
            self.history.setdefault(name, []).append(value)

    def __repr__(self) -> str:
        return f"History({json.dumps(self.history, default=float)})"


class EarlyStopping(Callback):
    """Ends training when a monitored figure has not improved for ``patience`` epochs.

    Args:
        monitor: "loss", or a metric of ``Model.fit``.
        mode: "min", "max", or "auto": "min" for losses and errors.
        patience: with 0 training ends after the first epoch.
        min_delta: what is less does not count as better.
        baseline: waiting begins anew only with figures better than this.
        restore_best_weights: put back the parameters of the best epoch when training is stopped.
    """

    def __init__(
        self, monitor: str = "eval_loss", min_delta: float = 0, patience: int = 0,
        verbose: bool = False, mode: str = "auto", baseline: float | None = None,
        restore_best_weights: bool = False,
    ) -> None:  # fmt: skip
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"For 'EarlyStopping', 'mode' must be auto, min or max, got {mode!r}")
        self.monitor, self.min_delta, self.patience = monitor, abs(min_delta), patience
        self.verbose, self.baseline, self.restore = verbose, baseline, restore_best_weights
        self._sign = _direction(mode, monitor)
        self._weights: Any = None

    def begin(self, run_context: RunContext) -> None:
        self._best, self._wait, self._stopped = -np.inf, 0, 0

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        found = monitored(run, self.monitor, "EarlyStopping")
        if found is None:
            return
        value = self._sign * found
        self._wait += 1
        if value > self._best + self.min_delta:
            self._best = value
            if self.restore:
                self._weights = [(p, p.asnumpy()) for p in run.network.get_parameters()]
            if self.baseline is None or value > self._sign * self.baseline + self.min_delta:
                self._wait = 0
        if self._wait >= self.patience:
            self._stopped = run.cur_epoch_num
            run_context.request_stop()
            for parameter, array in self._weights or []:
                parameter.assign_value(array)

    def end(self, run_context: RunContext) -> None:
        if self._stopped and self.verbose:
            print(f"Epoch {self._stopped:05d}: early stopping", flush=True)


_SMALLER_IS_BETTER = ("loss", "eval_loss", "mae", "mse", "perplexity")


class ReduceLROnPlateau(Callback):
    """Multiplies the optimizer's rate by ``factor`` when a monitored figure has not improved for
    ``patience`` epochs.

    Args:
        monitor: "loss", or a metric of ``Model.fit``.
        mode: "min", "max", or "auto": "min" for losses and errors.
        min_delta: what counts as an improvement.
        cooldown: epochs after a change in which none is counted.
        min_lr: the rate does not fall below it.
    """

    def __init__(
        self, monitor: str = "eval_loss", factor: float = 0.1, patience: int = 10,
        verbose: bool = False, mode: str = "auto", min_delta: float = 1e-4, cooldown: int = 0,
        min_lr: float = 0,
    ) -> None:  # fmt: skip
        if factor >= 1:
            raise ValueError("ReduceLROnPlateau does not support a factor >= 1.0.")
        if mode not in ("auto", "min", "max"):
            raise ValueError(f"For 'ReduceLROnPlateau', 'mode' must be auto, min or max: {mode!r}")
        self.monitor, self.factor, self.patience = monitor, factor, patience
        self.verbose, self.min_delta = verbose, abs(min_delta)
        self.cooldown, self.min_lr = cooldown, min_lr
        self._sign = _direction(mode, monitor)

    def begin(self, run_context: RunContext) -> None:
        self._best, self._wait, self._rest = -np.inf, 0, 0

    def epoch_end(self, run_context: RunContext) -> None:
        run = run_context.original_args()
        rate = run.optimizer.learning_rate
        if not isinstance(rate, EngineTensor):
            raise ValueError(
                "ReduceLROnPlateau does not support dynamic learning rate and group learning rate "
                "now."
            )
        found = monitored(run, self.monitor, "ReduceLROnPlateau")
        if found is None:
            return
        value = self._sign * found
        if self._rest > 0:
            self._rest -= 1
            self._wait = 0
        if value > self._best + self.min_delta:
            self._best, self._wait = value, 0
            return
        if self._rest > 0:
            return
        self._wait += 1
        if self._wait >= self.patience:
            self._lower(rate, run.cur_epoch_num)
            self._rest, self._wait = self.cooldown, 0

    def _lower(self, rate: Any, epoch: int) -> None:
        before = float(rate.asnumpy())
        if before <= self.min_lr:
            return
        after = max(before * self.factor, self.min_lr)
        rate.assign_value(np.float32(after))
        if self.verbose:
            print(f"Epoch {epoch:05d}: ReduceLROnPlateau reducing learning rate to {after}.")


def _direction(mode: str, monitor: str) -> float:
    """-1 where smaller figures are better."""
    falls = mode == "min" or (mode == "auto" and monitor in _SMALLER_IS_BETTER)
    return -1.0 if falls else 1.0


def monitored(run: Any, name: str, owner: str) -> float | None:
    """The loss of the last step, or a figure of ``Model.fit``'s evaluation; None, with a warning,
    where it was not evaluated."""
    if name == "loss":
        return scalar_loss(run.net_outputs)
    results = run.get("eval_results") or {}
    if name in results:
        return float(results[name])
    warnings.warn(
        f"{owner} is conditioned on {name}, which is not available. Available choices are: "
        f"{['loss', *results]}",
        stacklevel=2,
    )
    return None
