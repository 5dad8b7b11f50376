"""ZeroRedundancyOptimizer: each process keeps and applies the optimizer of some parameters."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch.optim import Optimizer

from .. import distributed_c10d as c10d
from .._device import broadcast_together
from .._objects import broadcast_object_list
from ..algorithms import Join, Joinable, JoinHook

__all__ = ["ZeroRedundancyOptimizer"]

_NOT_CONSOLIDATED = (
    "Optimizer state has not been consolidated on this rank. Please call "
    "`consolidate_state_dict(to={rank})` on all ranks beforehand if you meant to save the global "
    "state."
)


class ZeroRedundancyOptimizer(Optimizer, Joinable):
    """An optimizer of class ``optimizer_class`` whose parameters are divided among processes.

    Parameters go, the largest first, to the process that has the fewest elements. In ``step()``
    each process updates its own ones and gives them to the others, so that its optimizer state
    is for its own ones only.

    Args:
        params: parameters or groups of them, the same in all processes.
        optimizer_class: of the optimizer that each process has.
        process_group: the processes; the default group when None.
        parameters_as_bucket_view: how torch lays out parameters in memory; it changes no value.
        overlap_with_ddp: must be False.
        **defaults: for ``optimizer_class``.
    """

    def __init__(
        self, params: Any, optimizer_class: type[Optimizer], process_group: Any = None,
        parameters_as_bucket_view: bool = False, overlap_with_ddp: bool = False, **defaults: Any,
    ) -> None:  # fmt: skip
        if overlap_with_ddp:
            raise NotImplementedError(
                "ZeroRedundancyOptimizer(overlap_with_ddp=True) is not available in mindtorch"
            )
        self.process_group = c10d.group_of(process_group)
        self.world_size = self.process_group.size()
        self.rank = self.process_group.rank()
        self.optim: Any = None
        self._sizes = [0] * self.world_size
        self._owners: dict[int, int] = {}
        self._all_states: list[Any] = []
        super().__init__(params, defaults)
        Joinable.__init__(self)
        self.parameters_as_bucket_view = parameters_as_bucket_view
        self.initialized = True
        self.optim = optimizer_class([self._own(group) for group in self.param_groups], **defaults)
        self._share_settings(self.optim.param_groups, self.param_groups)

    # --- who has what ------------------------------------------------------------------------

    def _divide(self, group: dict[str, Any]) -> None:
        """Give the parameters of a group to processes."""
        for parameter in sorted(group["params"], key=lambda p: p.numel(), reverse=True):
            rank = self._sizes.index(min(self._sizes))
            self._owners[id(parameter)] = rank
            self._sizes[rank] += parameter.numel()

    def _own(self, group: dict[str, Any]) -> dict[str, Any]:
        mine = [p for p in group["params"] if self._owners[id(p)] == self.rank]
        return {**group, "params": mine}

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Divide a further group of parameters, too; all processes must call it."""
        super().add_param_group(param_group)
        self._divide(self.param_groups[-1])
        if self.optim is not None:
            self.optim.add_param_group(self._own(self.param_groups[-1]))
            self._share_settings(self.optim.param_groups, self.param_groups)

    @staticmethod
    def _share_settings(source: list[dict[str, Any]], target: list[dict[str, Any]]) -> None:
        """Learning rates and the like, which schedulers change in one and optimizers in another."""
        for each, other in zip(source, target, strict=True):
            other.update({key: value for key, value in each.items() if key != "params"})

    # --- a step ------------------------------------------------------------------------------

    def step(
        self, closure: Callable[[], Any] | None = None, grads: Any = None, **kwargs: Any
    ) -> Any:
        """Update this process's parameters, then take over those of the others.

        Args:
            closure: evaluates the loss again, and returns it.
            grads: gradients of all parameters, in place of their ``grad``.
        """
        Join.notify_join_context(self)
        self._share_settings(self.param_groups, self.optim.param_groups)
        if grads is not None:
            kwargs["grads"] = tuple(grads[i] for i in self._numbers(self.rank))
        loss = self.optim.step(**kwargs) if closure is None else self.optim.step(closure, **kwargs)
        self._share_settings(self.optim.param_groups, self.param_groups)
        self._share_parameters()
        return loss

    def _share_parameters(self) -> None:
        """Every process gives its parameters to all, those of one type in one message."""
        messages: dict[tuple[int, Any], list[Any]] = {}
        for group in self.param_groups:
            for p in group["params"]:
                messages.setdefault((self._owners[id(p)], p.aval.dtype), []).append(p)
        world = self.process_group
        for (owner, _), parameters in sorted(messages.items(), key=lambda item: item[0][0]):
            broadcast_together(world, parameters, owner)

    # --- state -------------------------------------------------------------------------------

    def consolidate_state_dict(self, to: int = 0) -> None:
        """Collect the states of all processes in process ``to``; all must call it."""
        self._share_settings(self.param_groups, self.optim.param_groups)
        self._all_states = []
        for rank in range(self.world_size):
            holder = [self.optim.state_dict() if rank == self.rank else None]
            broadcast_object_list(
                holder, src=c10d.get_global_rank(self.process_group, rank),
                group=self.process_group,
            )  # fmt: skip
            if self.rank == to:
                self._all_states.append(holder[0])

    def _numbers(self, rank: int) -> list[int]:
        """The numbers, among all parameters, of a process's parameters."""
        every = [p for group in self.param_groups for p in group["params"]]
        return [i for i, p in enumerate(every) if self._owners[id(p)] == rank]

    def state_dict(self) -> dict[str, Any]:
        """The whole state, after :meth:`consolidate_state_dict`, as one optimizer would give it."""
        if not self._all_states:
            raise RuntimeError(_NOT_CONSOLIDATED.format(rank=self.rank))
        result = super().state_dict()
        result["state"] = {}
        for rank, own in enumerate(self._all_states):
            numbers = self._numbers(rank)
            result["state"].update({numbers[k]: v for k, v in own["state"].items()})
        result["state"] = dict(sorted(result["state"].items()))
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take this process's part of a whole state."""
        numbers = {number: i for i, number in enumerate(self._numbers(self.rank))}
        own = self.optim.state_dict()
        own["state"] = {numbers[k]: v for k, v in state_dict["state"].items() if k in numbers}
        for group, given in zip(own["param_groups"], state_dict["param_groups"], strict=True):
            group.update({k: v for k, v in given.items() if k != "params"})
        self.optim.load_state_dict(own)
        self._share_settings(self.optim.param_groups, self.param_groups)

    # --- uneven inputs -----------------------------------------------------------------------

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """A process without data still takes part in the exchange of parameters."""
        return _Shadow(self)

    @property
    def join_device(self) -> Any:
        return self.param_groups[0]["params"][0].device

    @property
    def join_process_group(self) -> Any:
        return self.process_group


class _Shadow(JoinHook):
    def __init__(self, optimizer: ZeroRedundancyOptimizer) -> None:
        self.optimizer = optimizer

    def main_hook(self) -> None:
        """Apply the gradients that the others' backward pass left here, as torch does."""
        self.optimizer.step()
