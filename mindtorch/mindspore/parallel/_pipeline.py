"""A network whose cells lie in stages over processes, by torch.distributed's pipelines."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch import torch
from mindtorch.torch._compat.mindspore_bridge import cast_to_adapter_tensor
from mindtorch.torch.distributed.pipelining import Schedule1F1B, ScheduleGPipe, build_stage
from mindtorch.torch.distributed.pipelining._splitting import pipe_of
from mindtorch.torch.distributed.pipelining._value_tracer import ValueTracer
from mindtorch.torch.nn.modules.module import Module

from .. import communication, context
from ..common.tensor import Tensor, adopt
from ..nn.cell import Cell

__all__ = ["Pipeline"]

_SCHEDULES = {"1f1b": Schedule1F1B, "gpipe": ScheduleGPipe}


class _StageTracer(ValueTracer):
    """Marks where cells of the next stage are called; MindSpore's layers are one call each.

    Args:
        network: what is traced.
        args: an example.

    Attributes:
        stage: of the last cell.
    """

    def __init__(self, network: Any, args: tuple[Any, ...]) -> None:
        super().__init__({}, args, {})
        self.stage = 0
        self._opened = {
            id(cell) for _, cell in network.cells_and_names()
            if any(c is not cell and _stage_of(c) is not None for _, c in cell.cells_and_names())
        }  # fmt: skip

    def is_leaf_module(self, m: Any, module_qualified_name: str) -> bool:
        own = type(m).__module__.startswith("mindtorch.mindspore.")
        return own and id(m) not in self._opened and any(True for _ in m.parameters())

    def call_module(
        self, m: Any, forward: Callable[..., Any], args: tuple[Any, ...], kwargs: dict[str, Any]
    ) -> Any:
        stage = _stage_of(m)
        if stage is not None and not self._computing:
            if not self.stage <= stage <= self.stage + 1:
                raise ValueError(
                    f"pipeline_stage {stage} of {self.path_of_module(m)!r} comes after stage "
                    f"{self.stage}: stages must follow one another in the order of calls"
                )
            if stage > self.stage:
                self.stage = stage
                self.mark()
        return super().call_module(m, forward, args, kwargs)


class _Adopting(Module):
    """A stage whose code sees MindSpore's tensors, also where they came in messages.

    Args:
        stage: its module.
    """

    def __init__(self, stage: Module) -> None:
        super().__init__()
        self.stage = stage

    def forward(self, *args: Any) -> Any:
        return self.stage(*adopt(args))


def _stage_of(cell: Any) -> int | None:
    return cell.pipeline_stage if isinstance(cell, Cell) else None


class Pipeline:
    """This process's stage.

    Args:
        network: gives a loss; parameters of other stages become empty.
        count: into how many parts batches are cut.
        example: the inputs of one.

    Raises:
        ValueError: the cells' stages are not those of ``pipeline_stages``.
    """

    def __init__(self, network: Any, count: int, example: tuple[Any, ...]) -> None:
        stages = context.get_auto_parallel_context("pipeline_stages")
        tracer = _StageTracer(network, example)
        pipe = pipe_of(network, tracer)
        if pipe.num_stages != stages:
            raise ValueError(
                f"the cells are in {pipe.num_stages} stages, and pipeline_stages is {stages}"
            )
        scheduler = context.get_auto_parallel_context("pipeline_config")["pipeline_scheduler"]
        group, number = communication.pipeline_group(), communication.get_stage()
        self._group = group
        module = _Adopting(pipe.get_stage_module(number))
        stage = build_stage(module, number, pipe.info(), "cpu", group)
        self._first, self._last, self._stages = stage.is_first, stage.is_last, stages
        self._own = {id(p) for p in stage.submod.parameters()}
        self._schedule = _SCHEDULES[scheduler](stage, count, loss_fn=lambda loss, _: loss)
        self._targets = torch.zeros(count)
        self._count = count
        for parameter in network.get_parameters():
            if id(parameter) not in self._own and parameter.aval.ndim:
                parameter.elsewhere = True
                parameter.set_data(parameter.detach()[:0].clone(), slice_shape=True)

    def step(self, weights: Any, sens: Any, inputs: Any) -> Any:
        """The loss of a batch, and its gradients times ``sens``; empty ones of other stages."""
        kept = {id(p): p.grad for p in weights}
        for parameter in weights:
            parameter.grad = None
        losses: list[Any] = []
        with torch.enable_grad():
            self._schedule.step(
                *self._given(inputs), target=self._targets, losses=losses, return_outputs=False
            )  # fmt: skip
        found = []
        for parameter in weights:
            gradient = parameter.grad
            parameter.grad = kept[id(parameter)]
            if gradient is None:
                gradient = torch.zeros_like(parameter.detach())
            found.append(adopt(gradient * sens if sens != 1.0 else gradient))
        return self._told(losses), tuple(found)

    def evaluate(self, inputs: Any) -> Any:
        """The loss of a batch."""
        losses: list[Any] = []
        self._schedule.eval(*self._given(inputs), target=self._targets, losses=losses)
        return self._told(losses)

    def _given(self, inputs: Any) -> Any:
        return cast_to_adapter_tensor(tuple(inputs)) if self._first else ()

    def _told(self, losses: list[Any]) -> Any:
        """The last stage's mean, in all processes of the pipeline."""
        loss = torch.zeros(())
        if self._last:
            loss = torch.stack([each.detach().reshape(()) for each in losses]).mean()
        distributed = torch.distributed
        source = distributed.get_global_rank(self._group, self._stages - 1)
        distributed.broadcast(loss, source, group=self._group)
        return Tensor(loss)
