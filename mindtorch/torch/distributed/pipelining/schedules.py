"""Schedules: microbatches taken through the stages, forward and backward."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import mindtorch.torch as torch

from . import _orders
from ._orders import REDUCE_GRAD, F, I, Orders, W, parts_of
from .microbatch import merge_chunks, split_args_kwargs_into_chunks, split_tensor
from .stage import StageBase

__all__ = [
    "PipelineScheduleMulti", "PipelineScheduleSingle", "Schedule1F1B", "ScheduleDualPipeV",
    "ScheduleGPipe", "ScheduleInterleaved1F1B", "ScheduleInterleavedZeroBubble",
    "ScheduleLoopedBFS", "ScheduleZBVZeroBubble", "get_schedule_class",
]  # fmt: skip

logger = logging.getLogger(__name__)


class _PipelineSchedule:
    """What all schedules have.

    Args:
        stages: this process's stages.
        n_microbatches: into how many parts a batch is cut.
        loss_fn: ``loss_fn(output, target)`` of a microbatch; None for forward alone.
        args_chunk_spec, kwargs_chunk_spec: how arguments are cut, see
            :func:`~torch.distributed.pipelining.microbatch.split_args_kwargs_into_chunks`.
        output_merge_spec: how outputs are put together, see
            :func:`~torch.distributed.pipelining.microbatch.merge_chunks`.
        scale_grads: divide gradients by the number of microbatches, for losses that are means.
    """

    def __init__(
        self, stages: list[StageBase], n_microbatches: int, loss_fn: Any = None,
        args_chunk_spec: Any = None, kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        self._stages = stages
        self._n_microbatches = n_microbatches
        self._num_stages = stages[0].num_stages
        self._loss_fn = loss_fn
        self._args_chunk_spec = args_chunk_spec
        self._kwargs_chunk_spec = kwargs_chunk_spec
        self._output_merge_spec = output_merge_spec
        self.scale_grads = scale_grads
        self._has_backward = loss_fn is not None
        self._backward_requires_autograd = True
        self._internal_losses: dict[int, Any] = {}
        self.pp_group_size = stages[0].group_size
        self.rank = stages[0].group_rank
        self.pipeline_order: Orders = {}
        logger.info("Using %s", type(self).__name__)

    def step(
        self, *args: Any, target: Any = None, losses: list[Any] | None = None,
        return_outputs: bool = True, loss_kwargs: dict[str, Any] | None = None, **kwargs: Any,
    ) -> Any:  # fmt: skip
        """Take a batch through the pipeline, in microbatches; gradients are added to the
        parameters' ``grad``.

        Args:
            args: the model's arguments; in the process of the first stage.
            target: what the loss function gets beside the outputs, cut along axis 0.
            losses: is filled with the losses of the microbatches where the last stage is.
            return_outputs: whether to put the outputs together.
            loss_kwargs: more arguments of the loss function.
            kwargs: keyword arguments of this process's stages.

        Returns:
            The outputs of the batch where the last stage is, else None.

        Raises:
            RuntimeError: gradients are switched off though there is a loss function.
            ValueError: a batch that cannot be cut into as many microbatches.
        """
        grads = self._has_backward and self._backward_requires_autograd
        if grads and not torch.is_grad_enabled():
            raise RuntimeError(
                "step() requires gradients to be enabled for backward computation; it should not "
                "be used under torch.no_grad() context. Please call eval() instead."
            )
        local = {stage.stage_index: stage for stage in self._stages}
        for stage in self._stages:
            stage.has_backward = self._has_backward
            stage._local = local
            stage.clear_runtime_states()
        arg_parts, kwarg_parts = self._split_inputs(args, kwargs)
        count = self._n_microbatches
        targets = None if target is None else list(split_tensor(target, 0, count))
        self._step_microbatches(
            arg_parts, kwarg_parts, targets, losses, return_outputs, loss_kwargs
        )
        last = [stage for stage in self._stages if stage.is_last]
        if last and return_outputs:
            return merge_chunks(last[0].output_chunks, self._output_merge_spec)
        return None

    def eval(
        self, *args: Any, target: Any = None, losses: list[Any] | None = None, **kwargs: Any
    ) -> Any:
        """:meth:`step` that goes forward alone.

        Args:
            args, target, losses, kwargs: as for :meth:`step`.
        """
        before, self._has_backward = self._has_backward, False
        try:
            return self.step(*args, target=target, losses=losses, **kwargs)
        finally:
            self._has_backward = before

    def _split_inputs(
        self, args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> tuple[list[Any], list[Any]]:
        if not args and not kwargs:
            return [()] * self._n_microbatches, [{}] * self._n_microbatches
        return split_args_kwargs_into_chunks(
            args, kwargs, self._n_microbatches, self._args_chunk_spec, self._kwargs_chunk_spec
        )

    def _check_inputs(
        self, arg_mbs: Any, kwarg_mbs: Any, target_mbs: Any, losses: Any
    ) -> tuple[list[Any], list[Any]]:
        """The arguments of the microbatches; torch's errors for lists of other lengths."""
        count = self._n_microbatches
        named = {"arg_mbs": arg_mbs, "kwarg_mbs": kwarg_mbs, "target_mbs": target_mbs}
        for name, value in named.items():
            if value is None:
                continue
            if not isinstance(value, list):
                raise TypeError(f"{name} must be a list but got a {type(value)}")
            if len(value) != count:
                raise ValueError(f"Expecting {count} {name} but got {len(value)}")
        if losses is not None and not isinstance(losses, list):
            raise TypeError(f"losses must be a list but got a {type(losses)}")
        return (
            [()] * count if arg_mbs is None else arg_mbs,
            [{}] * count if kwarg_mbs is None else kwarg_mbs,
        )

    def _step_microbatches(
        self, arg_mbs: Any = None, kwarg_mbs: Any = None, target_mbs: Any = None,
        losses: Any = None, return_outputs: bool = True,
        loss_kwargs: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        """Run this process's list of actions."""
        args, kwargs = self._check_inputs(arg_mbs, kwarg_mbs, target_mbs, losses)
        stages = {stage.stage_index: stage for stage in self._stages}
        self._internal_losses.clear()
        factor = self._n_microbatches if self.scale_grads else 1
        order = _orders.with_reductions(self.pipeline_order[self.rank], self._n_microbatches)
        for action in (part for each in order for part in parts_of(each)):
            stage, number = stages[action.stage_index], action.microbatch_index
            if action.computation_type is F:
                assert number is not None
                output = stage.forward_one_chunk(
                    number, args[number], kwargs[number], return_outputs
                )
                self._take_loss(stage, number, output, target_mbs, loss_kwargs)
            elif not self._has_backward:
                continue
            elif action.computation_type is REDUCE_GRAD:
                stage.perform_reduce_grad(factor)
            elif action.computation_type is W:
                assert number is not None
                stage.backward_weight_one_chunk(number)
            else:
                assert number is not None
                full = action.computation_type is not I
                stage.backward_one_chunk(number, self._internal_losses.get(number), full)
        if losses is not None and any(stage.is_last for stage in self._stages):
            losses[:] = [self._internal_losses[n] for n in sorted(self._internal_losses)]
        self._internal_losses.clear()

    def _take_loss(
        self, stage: Any, number: int, output: Any, targets: Any, options: dict[str, Any] | None
    ) -> None:
        if stage.is_last and self._loss_fn is not None:
            if targets is None:
                raise ValueError("step() needs a target where the last stage has a loss function")
            self._internal_losses[number] = self._loss_fn(
                output, targets[number], **(options or {})
            )


class PipelineScheduleSingle(_PipelineSchedule):
    """Schedules in which every process has one stage.

    Args:
        stage: this process's.
        n_microbatches, loss_fn, scale_grads: as :meth:`step`'s class has them.
        args_chunk_spec, kwargs_chunk_spec, output_merge_spec: as there.
    """

    def __init__(
        self, stage: StageBase, n_microbatches: int, loss_fn: Any = None,
        args_chunk_spec: Any = None, kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None, scale_grads: bool = True,
    ) -> None:  # fmt: skip
        super().__init__(
            [stage], n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
            output_merge_spec, scale_grads,
        )  # fmt: skip
        self._stage = stage
        if stage.group_size != self._num_stages:
            raise ValueError(
                f"{type(self).__name__} has one stage in every process, but there are "
                f"{self._num_stages} stages and {stage.group_size} processes"
            )
        order = self._get_pipeline_order()
        if order is not None:
            self.pipeline_order = order

    def _get_pipeline_order(self) -> Orders | None:
        """The actions of each process."""
        return None


class ScheduleForwardOnly(PipelineScheduleSingle):
    """All microbatches forward, and nothing else."""

    def _get_pipeline_order(self) -> Orders:
        full = _orders.all_forward_first(self._num_stages, self._n_microbatches)
        return {
            rank: [each for each in order if each.computation_type is F]
            for rank, order in full.items()
        }

    def _step_microbatches(self, *args: Any, **kwargs: Any) -> None:
        if self._has_backward:
            raise RuntimeError("Forward-only schedule does not support loss computation")
        super()._step_microbatches(*args, **kwargs)


class ScheduleGPipe(PipelineScheduleSingle):
    """All microbatches forward, then all of them backward (GPipe, 1811.06965)."""

    def _get_pipeline_order(self) -> Orders:
        return _orders.all_forward_first(self._num_stages, self._n_microbatches)


class Schedule1F1B(PipelineScheduleSingle):
    """A forward and a backward in turn, so that few microbatches are kept (PipeDream, 1806.03377).

    Raises:
        ValueError: fewer microbatches than stages.
    """

    def _get_pipeline_order(self) -> Orders:
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                f"Number of microbatches ({self._n_microbatches}) must be greater than "
                f"or equal to the number of stages ({self._num_stages})."
            )
        return _orders.one_forward_one_backward(self._num_stages, self._n_microbatches)


class PipelineScheduleMulti(_PipelineSchedule):
    """Schedules in which every process has several stages.

    Args:
        stages: this process's: ``rank``, ``rank + processes`` and so on.
        n_microbatches: into how many parts a batch is cut.
        loss_fn: ``loss_fn(output, target)`` of a microbatch; None for forward alone.
        args_chunk_spec, kwargs_chunk_spec, output_merge_spec: how arguments are cut and outputs
            put together.
        use_full_backward: deprecated in torch, and of no effect there.
        scale_grads: divide gradients by the number of microbatches.
        backward_requires_autograd: whether :meth:`step` wants gradients switched on.
        defer_pp_recv: of no effect: what arrives is taken at once, and waited for when it is used.
    """

    _v_shaped = False

    def __init__(
        self, stages: list[Any], n_microbatches: int, loss_fn: Any = None,
        args_chunk_spec: Any = None, kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None, use_full_backward: bool | None = None,
        scale_grads: bool = True, backward_requires_autograd: bool = True,
        defer_pp_recv: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
            output_merge_spec, scale_grads,
        )  # fmt: skip
        del defer_pp_recv
        if use_full_backward is not None:
            logger.warning("'use_full_backward' has no effect: stop passing it")
        self._backward_requires_autograd = backward_requires_autograd
        self.n_local_stages = len(stages)
        self.stage_index_to_group_rank = stages_by_rank(
            self.pp_group_size, self._num_stages, self._v_shaped
        )
        own = sorted(
            stage for stage, rank in self.stage_index_to_group_rank.items() if rank == self.rank
        )
        if sorted(stage.stage_index for stage in stages) != own:
            raise ValueError(
                f"{type(self).__name__} wants stages {own} in process {self.rank} of "
                f"{self.pp_group_size}, and got {[stage.stage_index for stage in stages]}"
            )
        for stage in stages:
            stage.stage_index_to_group_rank = self.stage_index_to_group_rank
        self.pipeline_order = self._order()

    def _order(self) -> Orders:
        return {}


def stages_by_rank(ranks: int, stages: int, v_shaped: bool) -> dict[int, int]:
    """The process of each stage: in turn, or down and up again.

    Args:
        ranks, stages: how many there are.
        v_shaped: down and up.
    """
    if not v_shaped:
        return {stage: stage % ranks for stage in range(stages)}
    if stages % ranks:
        raise ValueError(
            f"num_stages {stages} must be evenly divisible by pp_size {ranks} for V schedules"
        )
    there_and_back = [*range(ranks), *reversed(range(ranks))]
    return {stage: there_and_back[stage % (2 * ranks)] for stage in range(stages)}


class _Spelled(PipelineScheduleMulti):
    """The constructor of torch's public schedules of several stages."""

    def __init__(
        self, stages: list[Any], n_microbatches: int, loss_fn: Any = None,
        args_chunk_spec: Any = None, kwargs_chunk_spec: Any = None,
        output_merge_spec: Any = None, scale_grads: bool = True,
        backward_requires_autograd: bool = True, defer_pp_recv: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            stages, n_microbatches, loss_fn, args_chunk_spec, kwargs_chunk_spec,
            output_merge_spec, None, scale_grads, backward_requires_autograd, defer_pp_recv,
        )  # fmt: skip

    def _rounds(self, name: str) -> int:
        """How many microbatches are a round; ValueError where rounds are not even."""
        rounds = max(1, self._n_microbatches // self.pp_group_size)
        if self._n_microbatches % rounds:
            raise ValueError(
                f"{name} requires the number of microbatches to be a multiple of the number of "
                f"rounds ({rounds}), but got {self._n_microbatches}."
            )
        return self._n_microbatches // rounds


class ScheduleLoopedBFS(PipelineScheduleMulti):
    """All microbatches of a process's first stage, then of its next (2211.05953)."""

    def __init__(
        self, stages: list[Any], n_microbatches: int, loss_fn: Any = None,
        output_merge_spec: Any = None, scale_grads: bool = True,
        backward_requires_autograd: bool = True, defer_pp_recv: bool = False,
    ) -> None:  # fmt: skip
        super().__init__(
            stages, n_microbatches, loss_fn, None, None, output_merge_spec, None, scale_grads,
            backward_requires_autograd, defer_pp_recv,
        )  # fmt: skip

    def _order(self) -> Orders:
        return _orders.looped_breadth_first(
            self.pp_group_size, self.n_local_stages, self._n_microbatches
        )


class ScheduleInterleaved1F1B(_Spelled):
    """A forward and a backward in turn, of several stages in rounds (2104.04473).

    Raises:
        ValueError: microbatches that are no whole number of rounds.
    """

    _words, _zero_bubble = "Interleaved 1F1B", False

    def _order(self) -> Orders:
        count = self._n_microbatches
        length = self._rounds(self._words)
        ranks, local = self.pp_group_size, self.n_local_stages
        return _orders.interleaved(ranks, local, count, length, self._zero_bubble)


class ScheduleInterleavedZeroBubble(ScheduleInterleaved1F1B):
    """:class:`ScheduleInterleaved1F1B` in which gradients of weights fill idle times (ZB1P of
    2401.10241).

    Raises:
        ValueError: microbatches that are no whole number of rounds.
    """

    _words, _zero_bubble = "Zero bubble", True


class _TwoStages(_Spelled):
    """Stages down and up again."""

    _v_shaped = True

    def _order(self) -> Orders:
        if self.n_local_stages != 2:
            raise ValueError(
                f"ZBV requires exactly 2 stages per rank, but got {self.n_local_stages}."
            )
        return {}


class ScheduleZBVZeroBubble(_TwoStages):
    """Two stages in each process, ``rank`` and the one as far from the end (ZB-V of 2401.10241).

    Raises:
        ValueError: not two stages in each process.
    """

    def _order(self) -> Orders:
        super()._order()
        return _orders.v_shaped(self.pp_group_size, self._n_microbatches)


class ScheduleDualPipeV(_TwoStages):
    """Two stages in each process; a forward of one and a backward of the other are neighbours
    (DualPipeV of 2412.19437). They run one after the other.

    Raises:
        ValueError: not two stages in each process, or fewer microbatches than stages.
    """

    def _order(self) -> Orders:
        super()._order()
        if self._n_microbatches < self._num_stages:
            raise ValueError(
                "DualPipeV requires at least as many microbatches as stages, but got "
                f"{self._n_microbatches} microbatches and {self._num_stages} stages."
            )
        return _orders.both_ways(self.pp_group_size, self._n_microbatches)


_NAMES: dict[str, Callable[..., Any]] = {
    "1F1B": Schedule1F1B,
    "Interleaved1F1B": ScheduleInterleaved1F1B,
    "GPipe": ScheduleGPipe,
    "LoopedBFS": ScheduleLoopedBFS,
    "InterleavedZeroBubble": ScheduleInterleavedZeroBubble,
    "PipelineScheduleSingle": PipelineScheduleSingle,
    "PipelineScheduleMulti": PipelineScheduleMulti,
    "ZBVZeroBubble": ScheduleZBVZeroBubble,
    "DualPipeV": ScheduleDualPipeV,
}


def get_schedule_class(schedule_name: str) -> Any:
    """The schedule of a name, in upper or lower case.

    Args:
        schedule_name: "1F1B", "GPipe" and so on: a class's name without "Schedule".

    Raises:
        ValueError: there is none of that name.
    """
    found = {name.lower(): kind for name, kind in _NAMES.items()}.get(schedule_name.lower())
    if found is None:
        raise ValueError(
            f"Unknown schedule name '{schedule_name}'. The valid options are {list(_NAMES)}"
        )
    return found
