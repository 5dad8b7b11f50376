"""Cells that take a batch in parts: accumulated gradients, and pipelines over processes."""

from __future__ import annotations

from typing import Any

from mindtorch import torch
from mindtorch.engine import dtypes
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.functional import value_and_grad
from mindtorch.torch.autograd import Function
from mindtorch.torch.utils._pytree import tree_leaves, tree_map

from .. import communication, context
from ..common.tensor import adopt
from .cell import Cell

__all__ = [
    "GradAccumulationCell", "MicroBatchCell", "MicroBatchInterleaved", "PipelineCell",
    "PipelineGradReducer",
]  # fmt: skip


def _parts(inputs: Any, count: int) -> list[Any]:
    """Inputs whose tensors are cut into ``count`` equal parts along the first axis.

    Raises:
        ValueError: an axis that is not divided so.
    """

    def part(x: Any, number: int) -> Any:
        if not isinstance(x, EngineTensor) or not x.aval.ndim:
            return x
        if x.aval.shape[0] % count:
            raise ValueError(f"a batch of {x.aval.shape[0]} is not divided by micro_size {count}")
        each = x.aval.shape[0] // count
        return x[number * each : (number + 1) * each]

    return [tree_map(lambda x, n=n: part(x, n), inputs) for n in range(count)]


def _checked(name: str, network: Any, count: Any, what: str) -> None:
    if not isinstance(network, Cell):
        raise TypeError(f"For '{name}', the network must be a Cell, but got {type(network)}.")
    if not isinstance(count, int) or isinstance(count, bool):
        raise TypeError(f"For '{name}', '{what}' must be an int, but got {type(count)}.")
    if count < 1:
        raise ValueError(f"For '{name}', '{what}' must be above 0, but got {count}.")


class MicroBatchInterleaved(Cell):
    """The mean of ``network`` over the parts of a batch.

    Args:
        network: gives a loss.
        interleave_num: how many parts.

    Raises:
        TypeError, ValueError: no cell, no number above 0; when called: a batch that is not divided.
    """

    def __init__(self, network: Any, interleave_num: int = 2) -> None:
        super().__init__(auto_prefix=False)
        _checked(type(self).__name__, network, interleave_num, "interleave_num")
        self.network, self.interleave_num = network, interleave_num

    def construct(self, *inputs: Any) -> Any:
        total: Any = None
        for part in _parts(inputs, self.interleave_num):
            value = self.network(*part)
            total = value if total is None else total + value
        return total / self.interleave_num


class MicroBatchCell(Cell):
    """A cell that computes its own gradients, part after part.

    ``cell(*inputs)`` is the mean of the parts' losses. In ``value_and_grad`` its gradients by
    parameters are there when it returns, so that no part's history is kept; there are none by its
    inputs.

    Args:
        network: gives a loss.
        micro_size: how many parts.

    Raises:
        TypeError, ValueError: no cell, no number above 0; when called: a batch that is not divided.
    """

    def __init__(self, network: Any, micro_size: int) -> None:
        super().__init__(auto_prefix=False)
        _checked(type(self).__name__, network, micro_size, "micro_size")
        self.network, self.micro_size = network, micro_size

    def value_and_gradients(self, weights: Any, sens: Any, *inputs: Any, reduce: Any = None) -> Any:
        """The loss, and its gradients times ``sens``.

        Args:
            weights: by which.
            sens: a number.
            inputs: of all parts.
            reduce: what each part's gradients go through before they are added; None: nothing.
        """
        raise NotImplementedError

    def value(self, *inputs: Any) -> Any:
        """The loss alone."""
        raise NotImplementedError

    def construct(self, *inputs: Any) -> Any:
        weights = [p for p in self.network.get_parameters() if p.requires_grad]
        if not torch.is_grad_enabled() or not weights:
            return self.value(*inputs)
        if any(isinstance(x, EngineTensor) and x.requires_grad for x in tree_leaves(inputs)):
            raise NotImplementedError(
                f"{type(self).__name__}: there are gradients by parameters only, not by inputs"
            )
        return adopt(_WithGradients.apply(self, inputs, *weights))


class _WithGradients(Function):
    """A loss whose gradients were computed with it."""

    @staticmethod
    def forward(ctx: Any, cell: Any, inputs: Any, *weights: Any) -> Any:
        with torch.enable_grad():
            loss, ctx.gradients = cell.value_and_gradients(weights, 1.0, *inputs)
        return loss.detach()

    @staticmethod
    def backward(ctx: Any, *gradients: Any) -> Any:
        return None, None, *(each * gradients[0] for each in ctx.gradients)


class GradAccumulationCell(MicroBatchCell):
    """Gradients of a batch, added up over its parts.

    Args:
        network: gives a loss.
        micro_size: how many parts.
    """

    def value_and_gradients(self, weights: Any, sens: Any, *inputs: Any, reduce: Any = None) -> Any:
        both = value_and_grad(self.network, None, tuple(weights), sens_param=True)
        loss: Any = None
        total: Any = None
        for part in _parts(inputs, self.micro_size):
            value, found = both(*part, sens / self.micro_size)
            found = found if reduce is None else reduce(found)
            loss = value if loss is None else loss + value
            total = found if total is None else [a + b for a, b in zip(total, found, strict=True)]
        return adopt(loss / self.micro_size), tuple(adopt(list(total)))

    def value(self, *inputs: Any) -> Any:
        losses = [self.network(*part) for part in _parts(inputs, self.micro_size)]
        return adopt(torch.stack(losses).mean(0))


class PipelineCell(GradAccumulationCell):
    """``network`` with its cells in stages over the processes, a batch in parts.

    Cells say their stage by ``cell.pipeline_stage``, or ``stage_config`` does; what is called
    between follows. Each process keeps the parameters of its stage; those of others become empty,
    are neither updated nor saved, and have empty gradients. All processes of a pipeline are given
    the same batch, and have its loss.

    Args:
        network: gives a loss.
        micro_size: how many parts; not fewer than stages.
        stage_config: {path of a cell in the network: its stage}.

    Raises:
        KeyError: a path in ``stage_config`` is no cell's.
        ValueError: fewer parts than stages; when called: stages that go back, or are left out.
    """

    def __init__(
        self, network: Any, micro_size: int, stage_config: dict[str, int] | None = None
    ) -> None:
        super().__init__(network, micro_size)
        cells = dict(network.cells_and_names())
        unknown = sorted(set(stage_config or {}) - set(cells))
        if unknown:
            raise KeyError(
                f"For '{type(self).__name__}', the network has no cells {unknown} of 'stage_config'"
            )
        for path, stage in (stage_config or {}).items():
            cells[path].pipeline_stage = stage
        stages = context.get_auto_parallel_context("pipeline_stages")
        if micro_size < stages:
            raise ValueError(f"micro_size {micro_size} is below the {stages} pipeline_stages")
        object.__setattr__(self, "_pipeline", None)

    def _started(self, inputs: Any) -> Any:
        if self._pipeline is None:
            example = _parts(inputs, self.micro_size)[0]
            parallel = communication.sharding()
            made = parallel.Pipeline(self.network, self.micro_size, example)
            object.__setattr__(self, "_pipeline", made)
        return self._pipeline

    def construct(self, *inputs: Any) -> Any:
        if context.get_auto_parallel_context("pipeline_stages") > 1:
            self._started(inputs)
        return super().construct(*inputs)

    @host_call
    def value_and_gradients(self, weights: Any, sens: Any, *inputs: Any, reduce: Any = None) -> Any:
        if context.get_auto_parallel_context("pipeline_stages") == 1:
            return super().value_and_gradients(weights, sens, *inputs, reduce=reduce)
        return self._started(inputs).step(weights, sens, inputs)

    def value(self, *inputs: Any) -> Any:
        if context.get_auto_parallel_context("pipeline_stages") == 1:
            return super().value(*inputs)
        return self._started(inputs).evaluate(inputs)


class PipelineGradReducer(Cell):
    """``reducer(gradients)``: their means over the processes of this stage, over ``scale_sense``.

    Args:
        parameters: those whose gradients come.
        scale_sense: what the loss was multiplied by.
        opt_shard: whether optimizers keep slices; not available in pipelines.

    Raises:
        NotImplementedError: ``opt_shard``.
    """

    def __init__(
        self, parameters: Any, scale_sense: float = 1.0, opt_shard: bool | None = None
    ) -> None:
        super().__init__(auto_prefix=False)
        if opt_shard:
            raise NotImplementedError(
                "PipelineGradReducer(opt_shard=True): optimizers keep whole states of their stage"
            )
        object.__setattr__(self, "weights", tuple(parameters))
        self.scale_sense = float(scale_sense)

    def construct(self, grads: Any) -> Any:
        group, size = communication.stage_group(), 1
        if group is not None:
            size = communication.get_group_size(group)
        factor = 1 / (self.scale_sense * size)
        reduced = []
        for parameter, gradient in zip(self.weights, grads, strict=True):
            if parameter.elsewhere:
                reduced.append(gradient)
                continue
            total = gradient.to(dtypes.float32)
            if size > 1:
                total = communication.all_reduced(total, group)
            reduced.append(adopt((total * factor).to(gradient.aval.dtype)))
        return tuple(reduced)
