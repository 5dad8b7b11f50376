"""Optimizers whose states lie in slices over processes (enable_parallel_optimizer, ZeRO-2).

Each process gets the sum of its rows of a gradient, has the states of these rows, and updates them;
then all get all rows.
"""

from __future__ import annotations

from typing import Any

from mindtorch._module_names import is_ours
from mindtorch.engine import dtypes

from .. import communication, context
from ..common._adopting import TorchTensor, adopt
from ..common.parameter import Parameter, ParameterTuple
from .cell import Cell

__all__ = ["SliceReducer", "Slices", "wanted"]


def wanted() -> bool:
    """Whether the context asks for slices, and there are processes to have them."""
    asked = context.get_auto_parallel_context("enable_parallel_optimizer")
    mode = context.get_auto_parallel_context("parallel_mode")
    together = communication.is_initialized() and communication.get_group_size() > 1
    return bool(asked) and together and mode != context.ParallelMode.STAND_ALONE


class Slices:
    """Which rows of which parameters are this process's.

    Those are sliced whose first axis the number of processes divides, that are as large as
    ``parallel_optimizer_threshold`` says, and whose ``parallel_optimizer`` is not False.

    Args:
        optimizer: one that has made no step; its states become slices.

    Raises:
        NotImplementedError: an update that needs whole parameters.
        RuntimeError: it has made steps.
    """

    def __init__(self, optimizer: Any) -> None:
        own = not is_ours(type(optimizer).__module__)
        if own or not optimizer.by_element:
            raise NotImplementedError(
                f"enable_parallel_optimizer: {type(optimizer).__name__} may need whole parameters; "
                "use Adam, AdamWeightDecay, Momentum or another whose update is of each element"
            )
        if int(optimizer.global_step.array().item()):
            raise RuntimeError("enable_parallel_optimizer: the optimizer has made steps already")
        size, rank = communication.get_group_size(), communication.get_rank()
        settings = context.get_auto_parallel_context("parallel_optimizer_config")
        least = settings.get("parallel_optimizer_threshold", 64) * 1024
        self.size = size
        self.parameters = optimizer.parameters
        self.rows: dict[int, slice] = {}
        for i, p in enumerate(self.parameters):
            shape = p.aval.shape
            fits = len(shape) > 0 and shape[0] % size == 0 and p.nbytes >= least
            if fits and getattr(p, "parallel_optimizer", True):
                each = shape[0] // size
                self.rows[i] = slice(rank * each, (rank + 1) * each)
        for states in list(vars(optimizer).values()):
            if isinstance(states, ParameterTuple) and states is not self.parameters:
                for i, rows in self.rows.items():
                    states[i].set_data(states[i][rows], slice_shape=True)

    def own(self, place: int) -> Any:
        """The rows of a parameter, in its memory; all of one that is not sliced."""
        parameter = self.parameters[place]
        if place not in self.rows:
            return parameter
        part = TorchTensor._make_subclass(Parameter, parameter.detach()[self.rows[place]])
        part.name = parameter.name
        return part

    def gradient(self, place: int, gradient: Any) -> Any:
        """The rows of a gradient that may be sliced already."""
        whole = gradient.aval.shape == self.parameters[place].aval.shape
        return gradient[self.rows[place]] if place in self.rows and whole else gradient

    def gather(self) -> None:
        """After a step: the other processes' rows."""
        for place, rows in self.rows.items():
            whole = self.parameters[place].detach()
            communication.gather_into(whole, whole[rows].clone())


class SliceReducer(Cell):
    """``reducer(gradients)``: the mean over all processes, of what is sliced this one's rows.

    Args:
        slices: of the optimizer that takes them.
        mean: whether the sum is divided by the number of processes.
    """

    def __init__(self, slices: Slices, mean: bool) -> None:
        super().__init__(auto_prefix=False)
        object.__setattr__(self, "slices", slices)
        self.mean = mean

    def construct(self, grads: Any) -> Any:
        reduced = []
        for place, gradient in enumerate(grads):
            total = gradient.to(dtypes.float32)
            if place in self.slices.rows:
                total = communication.reduced_rows(total)
            elif not getattr(self.slices.parameters[place], "layerwise_parallel", False):
                total = communication.all_reduced(total)
            else:
                reduced.append(gradient)
                continue
            if self.mean:
                total = total * (1.0 / self.slices.size)
            reduced.append(adopt(total.to(gradient.aval.dtype)))
        return tuple(reduced)
