"""Model: training, evaluation and prediction in a few words."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mindtorch.engine.autograd import api
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.mixed_precision import uncast_results

from .. import nn
from .._metrics import Loss, get_metrics
from ..amp import build_train_network
from ..common.tensor import as_tensor
from . import callback as callbacks_of

__all__ = ["Model"]


class Model:
    """A network with what trains and judges it.

    Args:
        network: the network; with ``loss_fn`` None it returns the loss itself.
        loss_fn: of (outputs, labels).
        optimizer: updates the parameters.
        metrics: names, or {name: metric}.
        eval_network: returns what metrics take in, if it is not (loss, outputs, labels).
        eval_indexes: places of loss, outputs and labels among its results.
        amp_level: "O0" to "O3", "auto": the precision of the network's computations.
        boost_level: "O0".
        loss_scale_manager, keep_batchnorm_fp32: of ``amp.build_train_network``.
    """

    def __init__(
        self, network: Any, loss_fn: Any = None, optimizer: Any = None, metrics: Any = None,
        eval_network: Any = None, eval_indexes: list[int] | None = None, amp_level: str = "O0",
        boost_level: str = "O0", **kwargs: Any,
    ) -> None:  # fmt: skip
        unknown = set(kwargs) - {"loss_scale_manager", "keep_batchnorm_fp32", "amp_level"}
        if unknown:
            raise ValueError(f"For 'Model', unknown arguments {sorted(unknown)}")
        if boost_level != "O0":
            raise NotImplementedError(f"Model(boost_level={boost_level!r}): only 'O0'")
        self._network, self._loss_fn, self._optimizer = network, loss_fn, optimizer
        self._metrics = get_metrics(metrics)
        self._last_loss = Loss()
        self._train_network = self._network_for_training(amp_level, kwargs)
        self._eval_network = eval_network
        if eval_network is None and loss_fn is not None:
            cast = amp_level in ("O2", "O3", "auto")
            self._eval_network = nn.WithEvalCell(network, loss_fn, cast)
        self._eval_places = [0, 1, 2] if eval_network is None else eval_indexes

    def _network_for_training(self, level: str, options: dict[str, Any]) -> Any:
        if self._optimizer is not None:
            return build_train_network(
                self._network, self._optimizer, self._loss_fn, level, **options
            )
        if self._loss_fn is not None:
            return nn.WithLossCell(self._network, self._loss_fn)
        return self._network

    @property
    def train_network(self) -> Any:
        """The cell that makes a step."""
        return self._train_network

    @property
    def predict_network(self) -> Any:
        """The network."""
        return self._network

    @property
    def eval_network(self) -> Any:
        """The cell that evaluation calls."""
        return self._eval_network

    def build(
        self, train_dataset: Any = None, valid_dataset: Any = None, sink_size: int = -1,
        epoch: int = 1,
    ) -> None:  # fmt: skip
        """Nothing is compiled beforehand."""

    # --- training ----------------------------------------------------------------------------

    def train(
        self, epoch: int, train_dataset: Any, callbacks: Any = None,
        dataset_sink_mode: bool = False, sink_size: int = -1, initial_epoch: int = 0,
    ) -> None:  # fmt: skip
        """Train for ``epoch`` epochs.

        Args:
            dataset_sink_mode: accepted; data are not sent ahead, which changes no result.
            sink_size: with ``dataset_sink_mode``: how many steps count as an epoch.
            initial_epoch: the number of epochs that were made before.
        """
        size = sink_size if dataset_sink_mode else -1
        self._train(epoch, train_dataset, callbacks, size, initial_epoch, None)

    def fit(
        self, epoch: int, train_dataset: Any, valid_dataset: Any = None, valid_frequency: Any = 1,
        callbacks: Any = None, dataset_sink_mode: bool = False,
        valid_dataset_sink_mode: bool = False, sink_size: int = -1, initial_epoch: int = 0,
    ) -> None:  # fmt: skip
        """Train, and evaluate after every ``valid_frequency`` epochs, or after those it lists."""
        size = sink_size if dataset_sink_mode else -1

        def evaluate(number: int) -> Any:
            if valid_dataset is None:
                return None
            due = (
                number % valid_frequency == 0 if isinstance(valid_frequency, int)
                else number in valid_frequency
            )  # fmt: skip
            if not due:
                return None
            own = callbacks_of.Callback.__module__
            seen = [
                c for c in _listed(callbacks)
                if type(c).__module__ != own or isinstance(c, callbacks_of.TimeMonitor)
            ]  # fmt: skip
            results = self.eval(valid_dataset, seen)
            self._train_network.set_train(True)
            return results

        self._train(epoch, train_dataset, callbacks, size, initial_epoch, evaluate)

    def _train(
        self, epoch: int, dataset: Any, callbacks: Any, sink_size: int, initial_epoch: int,
        evaluate: Any,
    ) -> None:  # fmt: skip
        if isinstance(epoch, bool) or not isinstance(epoch, int):
            raise TypeError(f"The input value must be int, but got {type(epoch).__name__!r}")
        if epoch < 1:
            raise ValueError(f"The input value must be int and must > 0, but got '{epoch}'.")
        if epoch <= initial_epoch:
            raise ValueError(f"For 'Model.train', the 'epoch' must be > 'initial_epoch': {epoch}")
        if dataset.get_dataset_size() == 0:
            raise ValueError("There is no valid data in dataset, please check dataset file first.")
        steps = sink_size if sink_size > 0 else dataset.get_dataset_size()
        listed = _listed(callbacks)
        run = callbacks_of._Arguments(
            mode="train", train_network=self._train_network, network=self._network,
            epoch_num=epoch - initial_epoch, batch_num=steps, loss_fn=self._loss_fn,
            optimizer=self._optimizer, train_dataset=dataset, list_callback=listed, cur_step_num=0,
            cur_epoch_num=initial_epoch, net_outputs=None, metrics=None,
            eval_results=None, dataset_sink_mode=sink_size > 0,
        )  # fmt: skip
        context = callbacks_of.RunContext(run)
        self._train_network.set_train(True)
        callbacks_of.call_all(listed, "begin", context)
        batches = _batches(dataset)
        for number in range(initial_epoch + 1, epoch + 1):
            run.cur_epoch_num = number
            self._epoch(run, context, listed, batches, steps)
            run.metrics = run.eval_results = None if evaluate is None else evaluate(number)
            if run.metrics is not None and self._eval_places is not None:
                run.eval_results = {**run.metrics, "eval_loss": self._last_loss.eval()}
            callbacks_of.call_all(listed, "epoch_end", context)
            if context.get_stop_requested():
                break
        callbacks_of.call_all(listed, "end", context)

    def _epoch(self, run: Any, context: Any, listed: Any, batches: Any, steps: int) -> None:
        callbacks_of.call_all(listed, "epoch_begin", context)
        for _ in range(steps):
            inputs = next(batches)
            run.cur_step_num += 1
            run.train_dataset_element = inputs
            callbacks_of.call_all(listed, "step_begin", context)
            outputs = self._train_network(*inputs)
            run.net_outputs = outputs
            callbacks_of.call_all(listed, "step_end", context)
            if context.get_stop_requested():
                return

    # --- evaluation --------------------------------------------------------------------------

    def eval(
        self, valid_dataset: Any, callbacks: Any = None, dataset_sink_mode: bool = False
    ) -> dict[str, Any]:
        """{name: figure} of the metrics over a data set.

        Raises:
            ValueError: no metrics were given, or there is neither a loss nor an eval_network.
        """
        if not self._metrics:
            raise ValueError(
                "For Model.eval, the model argument 'metrics' can not be None or empty, you should "
                "set the argument 'metrics' for model."
            )
        if self._eval_network is None:
            raise ValueError("For Model.eval, a loss function or an eval_network is needed")
        listed = _listed(callbacks)
        run = callbacks_of._Arguments(
            mode="eval", network=self._network, eval_network=self._eval_network,
            batch_num=valid_dataset.get_dataset_size(), valid_dataset=valid_dataset,
            cur_step_num=0, cur_epoch_num=0, net_outputs=None, metrics=None,
            list_callback=listed,
        )  # fmt: skip
        context = callbacks_of.RunContext(run)
        was_training = getattr(self._network, "training", False)
        self._eval_network.set_train(False)
        for metric in (*self._metrics.values(), self._last_loss):
            metric.clear()
        callbacks_of.call_all(listed, "begin", context, "eval")
        callbacks_of.call_all(listed, "epoch_begin", context, "eval")
        for inputs in _one_pass(valid_dataset):
            run.cur_step_num += 1
            callbacks_of.call_all(listed, "step_begin", context, "eval")
            with api.grad_mode(False):
                run.net_outputs = self._eval_network(*inputs)
            self._update_metrics(run.net_outputs)
            callbacks_of.call_all(listed, "step_end", context, "eval")
        results = {name: metric.eval() for name, metric in self._metrics.items()}
        run.metrics = results
        callbacks_of.call_all(listed, "epoch_end", context, "eval")
        callbacks_of.call_all(listed, "end", context, "eval")
        self._network.set_train(was_training)
        return results

    def _update_metrics(self, outputs: Any) -> None:
        listed = outputs if isinstance(outputs, (tuple, list)) else (outputs,)
        if self._eval_places is not None:
            self._last_loss.update(listed[self._eval_places[0]])
        for metric in self._metrics.values():
            if self._eval_places is None:
                chosen = metric.indexes
                metric.update(*(listed if chosen is None else [listed[i] for i in chosen]))
                continue
            loss, predicted, labels = self._eval_places
            if isinstance(metric, Loss):
                metric.update(listed[loss])
            else:
                metric.update(listed[predicted], listed[labels])

    def predict(self, *predict_data: Any) -> Any:
        """The network's outputs, out of training mode; those of 16 bits that O2 and O3 compute
        are not cast."""
        was_training = getattr(self._network, "training", False)
        self._network.set_train(False)
        try:
            with api.grad_mode(False), uncast_results(self._network):
                return self._network(*map(as_tensor, predict_data))
        finally:
            self._network.set_train(was_training)


def _listed(callbacks: Any) -> list[Any]:
    if callbacks is None:
        return []
    listed = list(callbacks) if isinstance(callbacks, (list, tuple)) else [callbacks]
    for each in listed:
        if not isinstance(each, callbacks_of.Callback):
            raise TypeError(f"'callbacks' should be Callbacks, but got {type(each)}")
    return listed


def _one_pass(dataset: Any) -> Iterator[list[Any]]:
    for row in dataset.create_tuple_iterator(num_epochs=1):
        yield [x if isinstance(x, EngineTensor) else as_tensor(x) for x in row]


def _batches(dataset: Any) -> Iterator[list[Any]]:
    """Batches of one pass after another."""
    while True:
        yield from _one_pass(dataset)
