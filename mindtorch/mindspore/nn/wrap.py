"""Cells around a network: loss, one training step, loss scale, sums over processes."""

from __future__ import annotations

import functools
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.optim.multi_tensor import all_finite as kernel_all_finite
from mindtorch.engine.optim.multi_tensor import fits
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.functional import grad as gradient_of
from mindtorch.functional import value_and_grad
from mindtorch.transforms import GradOperation

from .. import communication, context
from ..common.parameter import Parameter
from ..common.tensor import Tensor, adopt, as_tensor, t
from ..ops.composite import HyperMap
from ._optimizer_slices import SliceReducer, Slices, wanted
from .cell import Cell
from .micro_batches import MicroBatchCell, PipelineCell, PipelineGradReducer

__all__ = [
    "DistributedGradReducer", "DynamicLossScaleUpdateCell", "FixedLossScaleUpdateCell",
    "ForwardValueAndGrad", "TrainOneStepCell", "TrainOneStepWithLossScaleCell", "WithEvalCell",
    "WithGradCell", "WithLossCell", "all_finite",
]  # fmt: skip


def all_finite(inputs: Any) -> Any:
    """Whether no element of any tensor is infinite or NaN, as a tensor of bool.

    Args:
        inputs: tensors.
    """
    tensors = [inputs] if isinstance(inputs, EngineTensor) else list(inputs)
    if not tensors:
        return Tensor(True)
    if fits(tensors):
        return Tensor(kernel_all_finite(tensors))
    return adopt(functools.reduce(t.logical_and, [t.isfinite(x).all() for x in tensors]))


class WithLossCell(Cell):
    """``loss_fn(backbone(data), label)``."""

    def __init__(self, backbone: Any, loss_fn: Any) -> None:
        super().__init__(auto_prefix=False)
        self._backbone = backbone
        self._loss_fn = loss_fn

    @property
    def backbone_network(self) -> Any:
        return self._backbone

    def construct(self, data: Any, label: Any) -> Any:
        return self._loss_fn(self._backbone(data), label)


class WithEvalCell(Cell):
    """(loss, output, label), for evaluation; the loss in float32 with ``add_cast_fp32``."""

    def __init__(self, network: Any, loss_fn: Any, add_cast_fp32: bool = False) -> None:
        super().__init__(auto_prefix=False)
        self._network, self._loss_fn = network, loss_fn
        self.add_cast_fp32 = add_cast_fp32

    def construct(self, data: Any, label: Any) -> Any:
        outputs = self._network(data)
        if self.add_cast_fp32:
            outputs = outputs.astype(dtypes.float32)
        return self._loss_fn(outputs, label), outputs, label


class WithGradCell(Cell):
    """The gradients of a network's loss by its trained parameters.

    Args:
        sens: what the loss's gradient is multiplied by.
    """

    def __init__(self, network: Any, loss_fn: Any = None, sens: Any = None) -> None:
        super().__init__(auto_prefix=False)
        self.network, self.loss_fn, self.sens = network, loss_fn, sens
        object.__setattr__(self, "weights", tuple(network.trainable_params()))

    def construct(self, *inputs: Any) -> Any:
        def forward(*args: Any) -> Any:
            if self.loss_fn is None:
                return self.network(*args)
            return self.loss_fn(self.network(*args[:-1]), args[-1])

        if self.sens is None:
            return gradient_of(forward, None, self.weights)(*inputs)
        return gradient_of(forward, None, self.weights, sens_param=True)(*inputs, self.sens)


class ForwardValueAndGrad(Cell):
    """(value, gradients) of a network, by its inputs (``get_all``) and weights (``get_by_list``).

    Args:
        sens_param: the last input is the sensitivity of the value.
    """

    def __init__(
        self, network: Any, weights: Any = None, get_all: bool = False, get_by_list: bool = False,
        sens_param: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(auto_prefix=False)
        self.network = network
        listed = network.trainable_params() if weights is None else weights
        object.__setattr__(self, "weights", tuple(listed) if get_by_list else None)
        self.get_all, self.sens_param = get_all, sens_param

    def construct(self, *inputs: Any) -> Any:
        count = len(inputs) - self.sens_param
        positions = tuple(range(count)) if self.get_all else None
        if positions is None and self.weights is None:
            positions = (0,)
        function = value_and_grad(
            self.network, positions, self.weights, sens_param=self.sens_param
        )
        value, gradients = function(*inputs)
        if self.get_all and count == 1:  # a tuple also of one gradient
            own, *of_weights = gradients if self.weights is not None else (gradients,)
            gradients = ((own,), *of_weights) if of_weights else (own,)
        return value, gradients


class TrainOneStepCell(Cell):
    """``cell(*inputs)``: one step of the optimizer down the network's loss, which is returned.

    Args:
        network: returns the loss.
        sens: what the gradients are multiplied by; an optimizer's ``loss_scale`` divides by it.
            None means 1.
        return_grad: return (loss, {name: gradient}).

    Subclasses find ``network``, ``weights``, ``optimizer``, ``sens``, ``grad`` (gradients by the
    weights; the last input is the loss's sensitivity), ``grad_no_sens`` and ``grad_reducer``.
    """

    def __init__(
        self, network: Any, optimizer: Any, sens: float | None = None, return_grad: bool = False
    ) -> None:
        super().__init__(auto_prefix=False)
        self.network, self.optimizer = network, optimizer
        object.__setattr__(self, "weights", optimizer.parameters)
        self.sens = 1.0 if sens is None else float(sens)
        self.return_grad = return_grad
        self.grad = GradOperation(get_by_list=True, sens_param=True)
        self.grad_no_sens = GradOperation(get_by_list=True)
        self.follow_context()

    def follow_context(self) -> None:
        """Share the work as ``set_auto_parallel_context`` says now."""
        self.grad_reducer = _reducer_of(self.weights)
        if wanted():
            self._slice_optimizer()
        mode, modes = context.get_auto_parallel_context("parallel_mode"), context.ParallelMode
        together = communication.is_initialized() and communication.get_group_size() > 1
        self._searching = (
            together and mode == modes.AUTO_PARALLEL and not isinstance(self.network, PipelineCell)
        )
        self._one_loss = together and mode in (modes.SEMI_AUTO_PARALLEL, modes.AUTO_PARALLEL)

    @host_call
    def _divide(self, inputs: Any) -> None:
        """Find a strategy for the network, and keep this process's parts of it."""
        parallel = communication.sharding()
        strategy = parallel.searched(self.network, inputs, self.optimizer)
        self.__dict__["_division"] = parallel.Division(self.network, strategy, self.optimizer)
        self._searching = False
        if strategy.cut > 1:  # the tape adds what the processes have
            self._one_loss = False
            del self.grad_reducer
            self.grad_reducer = _passed_on

    def _slice_optimizer(self) -> None:
        """Have each process keep a slice of the optimizer's states (enable_parallel_optimizer).

        Raises:
            NotImplementedError: an update that needs whole parameters, gradients that are returned,
                or a loss scale that all processes would have to agree on.
        """
        scaled = isinstance(self, TrainOneStepWithLossScaleCell)
        if scaled or self.return_grad:
            raise NotImplementedError(
                f"enable_parallel_optimizer: {type(self).__name__} looks at whole gradients"
            )
        if self.optimizer._slices is None:
            object.__setattr__(self.optimizer, "_slices", Slices(self.optimizer))
        mode = context.get_auto_parallel_context("parallel_mode")
        mean = mode != context.ParallelMode.DATA_PARALLEL
        mean = mean or bool(context.get_auto_parallel_context("gradients_mean"))
        self.grad_reducer = SliceReducer(self.optimizer._slices, mean)

    def construct(self, *inputs: Any) -> Any:
        loss, gradients = self._reduced(self.sens, inputs)
        self.optimizer(gradients)
        if not self.return_grad:
            return loss
        names = [p.name for p in self.weights]
        return loss, dict(zip(names, gradients, strict=True))

    def _reduced(self, sens: Any, inputs: Any) -> Any:
        """The loss, and its gradients times ``sens``, of all processes."""
        settings = context.get_auto_parallel_context("parallel_optimizer_config")
        slices = isinstance(self.grad_reducer, SliceReducer)
        if slices and settings["gradient_accumulation_shard"] and self._takes_parts:
            loss, gradients = self.network.value_and_gradients(
                self.weights, sens, *inputs, reduce=self.grad_reducer
            )
        else:
            loss, gradients = self.loss_and_gradients(sens, *inputs)
            gradients = self.grad_reducer(gradients)
        return self._joined(loss), gradients

    def _joined(self, loss: Any) -> Any:
        """The mean over the processes, where each has computed its part of a batch."""
        if not self._one_loss:
            return loss
        total = communication.all_reduced(loss.to(dtypes.float32))
        return adopt((total * (1.0 / communication.get_group_size())).to(loss.aval.dtype))

    @property
    def _takes_parts(self) -> bool:
        return isinstance(self.network, MicroBatchCell) and self._division is None

    def loss_and_gradients(self, sens: Any, *inputs: Any) -> Any:
        """The loss, and its gradients times ``sens``."""
        if self._searching:
            self._divide(inputs)
        if self._takes_parts:
            factor = float(sens.item()) if isinstance(sens, EngineTensor) else sens
            return self.network.value_and_gradients(self.weights, factor, *inputs)
        network = self.network if self._division is None else self._division
        if isinstance(sens, float) and sens == 1.0:
            return value_and_grad(network, None, self.weights)(*inputs)
        both = value_and_grad(network, None, self.weights, sens_param=True)
        factor = float(sens.item()) if isinstance(sens, EngineTensor) else sens
        return both(*inputs, factor)


def _reducer_of(weights: Any) -> Any:
    """What sums gradients over processes, or passes them on."""
    mode = context.get_auto_parallel_context("parallel_mode")
    if mode == context.ParallelMode.DATA_PARALLEL:
        return DistributedGradReducer(weights)
    if mode == context.ParallelMode.STAND_ALONE:
        return _passed_on
    if context.get_auto_parallel_context("pipeline_stages") > 1:
        return PipelineGradReducer(weights)
    return DistributedGradReducer(weights, mean=True)  # the whole batch's


def _passed_on(gradients: Any) -> Any:
    return gradients


class DistributedGradReducer(Cell):
    """``reducer(gradients)``: their sums over all processes, in a new tuple.

    Args:
        mean: divide by ``degree``; None asks ``set_auto_parallel_context(gradients_mean=...)``.
        degree: the number of processes unless given.
        group: the processes.
        parameters: those whose gradients come.
        fusion_type: a number above 0, of no further effect.
    """

    def __init__(
        self, parameters: Any, mean: bool | None = None, degree: int | None = None,
        fusion_type: int = 1, group: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(auto_prefix=False)
        if not isinstance(fusion_type, int) or fusion_type < 1:
            raise ValueError(f"'fusion_type' must be a positive int, but got {fusion_type}")
        if degree is None:
            degree = communication.get_group_size() if communication.is_initialized() else 1
        if not isinstance(degree, int) or isinstance(degree, bool) or degree <= 0:
            raise ValueError(
                "For 'DistributedGradReducer', parameter 'degree' in DistributedGradReducer should "
                f"large than 0 and be int, degree: {degree}."
            )
        if mean is None:
            mean = context.get_auto_parallel_context("gradients_mean")
        self.mean, self.degree, self.group = bool(mean), degree, group
        self.skipped = tuple(bool(getattr(p, "layerwise_parallel", False)) for p in parameters)

    def construct(self, grads: Any) -> Any:
        alone = not communication.is_initialized() or communication.get_group_size() == 1
        reduced = []
        for gradient, skipped in zip(grads, self.skipped, strict=True):
            if skipped:
                reduced.append(gradient)
                continue
            total = gradient.to(dtypes.float32)
            if not alone:
                total = communication.all_reduced(total, self.group)
            if self.mean:
                total = total * (1.0 / self.degree)
            reduced.append(total.to(gradient.aval.dtype))
        return tuple(reduced)


class FixedLossScaleUpdateCell(Cell):
    """A loss scale that stays: ``cell(scale, overflow)`` returns ``overflow``."""

    def __init__(self, loss_scale_value: float) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value

    def get_loss_scale(self) -> float:
        """The scale."""
        return self.loss_scale_value

    def construct(self, _: Any, overflow: Any) -> Any:
        return overflow


class DynamicLossScaleUpdateCell(Cell):
    """A loss scale that is divided by ``scale_factor`` after an overflow, never below 1, and
    multiplied by it after ``scale_window`` steps without."""

    def __init__(self, loss_scale_value: float, scale_factor: int, scale_window: int) -> None:
        super().__init__()
        self.loss_scale_value = loss_scale_value
        self.scale_factor, self.scale_window = scale_factor, scale_window
        self.cur_iter = Parameter(Tensor(1, dtypes.int32), "current_iterator_step", False)
        self.last_overflow_iter = Parameter(Tensor(0, dtypes.int32), "last_overflow_step", False)

    def get_loss_scale(self) -> float:
        """The first scale."""
        return self.loss_scale_value

    def construct(self, loss_scale: Any, overflow: Any) -> Any:
        step, last = int(self.cur_iter.item()), int(self.last_overflow_iter.item())
        scale = float(loss_scale.item())
        if bool(overflow):
            scale = max(scale / self.scale_factor, 1.0)
            last = step
        elif step - last >= self.scale_window:
            scale *= self.scale_factor
            last = step
        loss_scale.assign_value(Tensor(scale, dtypes.float32).reshape(loss_scale.aval.shape))
        self.last_overflow_iter.assign_value(Tensor(last, dtypes.int32))
        self.cur_iter.assign_value(Tensor(step + 1, dtypes.int32))
        return overflow


class TrainOneStepWithLossScaleCell(TrainOneStepCell):
    """``cell(*inputs)`` returns (loss, overflow, scale); a step that overflows is left out.

    Args:
        scale_sense: a tensor with the scale, or an update cell that also adapts it.
    """

    def __init__(self, network: Any, optimizer: Any, scale_sense: Any) -> None:
        super().__init__(network, optimizer)
        self.loss_scaling_manager = None
        value = scale_sense
        if isinstance(scale_sense, Cell):
            self.loss_scaling_manager = scale_sense
            value = Tensor(float(scale_sense.get_loss_scale()), dtypes.float32)
        elif not isinstance(scale_sense, EngineTensor):
            raise TypeError(
                "For 'TrainOneStepWithLossScaleCell', the 'scale_sense' must be Cell or Tensor, "
                f"but got {type(scale_sense)}"
            )
        self.scale_sense = Parameter(as_tensor(value), "scale_sense", False)
        self.hyper_map = HyperMap()

    def set_sense_scale(self, sens: Any) -> None:
        """Use another scale."""
        self.scale_sense.assign_value(as_tensor(sens).reshape(self.scale_sense.aval.shape))

    def process_loss_scale(self, overflow: Any) -> Any:
        """Adapt the scale; returns ``overflow``."""
        if self.loss_scaling_manager is not None:
            return self.loss_scaling_manager(self.scale_sense, overflow)
        return overflow

    def start_overflow_check(self, pre_cond: Any, compute_input: Any) -> Any:
        """(status, ``compute_input``): the status is looked at after the gradients."""
        return Tensor(False), compute_input

    def get_overflow_status(self, status: Any, compute_output: Any) -> Any:
        """Whether some element of the gradients is infinite or NaN, as a tensor of bool."""
        overflow = Tensor(not bool(all_finite(compute_output)))
        if self._division is None and not isinstance(self.network, PipelineCell):
            return overflow  # all processes have the same gradients
        return adopt(communication.all_reduced(overflow.to(dtypes.int32), op="max") > 0)

    def construct(self, *inputs: Any) -> Any:
        scale = float(self.scale_sense.item())
        loss, gradients = self._reduced(scale, inputs)
        gradients = tuple(g * (1 / scale) for g in gradients)
        overflow = self.process_loss_scale(self.get_overflow_status(None, gradients))
        if not bool(overflow):
            self.optimizer(gradients)
        return loss, overflow, Tensor(scale, dtypes.float32)
