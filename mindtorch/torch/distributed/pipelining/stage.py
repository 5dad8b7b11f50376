"""A stage of a pipeline: a part of a model in one process, and what it exchanges with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor

from ...nn.modules.module import Module
from ...nn.parallel.distributed import DistributedDataParallel
from ...utils._pytree import tree_leaves, tree_map
from .. import _world
from ..fsdp import FSDPModule
from . import _transfer
from ._backward import Gradients, WeightGradients, all_gradients, input_gradients
from ._pipe_info import PipeInfo, sources_of
from ._transfer import Kind, tag_of

__all__ = ["PipelineStage", "build_stage"]


def _as_tuple(output: Any) -> tuple[Any, ...]:
    return tuple(output) if type(output) in (tuple, list) else (output,)


class StageBase:
    """What all stages have.

    Args:
        submodule: the part of the model.
        stage_index, num_stages: which stage this is, of how many.
        device: where inputs are put.
        group: the processes of the pipeline; the default group when None.
        dw_builder: makes, after each backward, a function that computes gradients of weights.

    Raises:
        ValueError: there is no such stage.
        RuntimeError: there are more processes than stages.
    """

    def __init__(
        self, submodule: Any, stage_index: int, num_stages: int, device: Any, group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None,
    ) -> None:  # fmt: skip
        if stage_index >= num_stages:
            raise ValueError(f"Stage index {stage_index} is out of range of {num_stages}")
        self.submod = submodule
        self.stage_index = stage_index
        self.num_stages = num_stages
        self.device = device
        self.group = group
        self.dw_builder = dw_builder
        self._group = _world.group_of(group)
        self.group_rank = self._group.rank()
        self.group_size = self._group.size()
        if self.group_size > num_stages:
            raise RuntimeError(
                f"Pipeline group size {self.group_size} cannot be larger than number of stages "
                f"{num_stages}"
            )
        self.has_backward = False
        self.stage_index_to_group_rank = {i: i % self.group_size for i in range(num_stages)}
        self.output_chunks: list[Any] = []
        self._local: Mapping[int, StageBase] = {}
        self.clear_runtime_states()

    @property
    def is_first(self) -> bool:
        """Whether the model's inputs come here."""
        return self.stage_index == 0

    @property
    def is_last(self) -> bool:
        """Whether the model's outputs come from here."""
        return self.stage_index == self.num_stages - 1

    @property
    def log_prefix(self) -> str:
        """How messages name this stage."""
        return f"[Stage {self.stage_index}]"

    def clear_runtime_states(self) -> None:
        """Forget the microbatches of the last step."""
        self.fwd_cache: dict[int, tuple[Any, list[Any]]] = {}
        self.output_chunks.clear()
        self._handed: dict[int, list[Any]] = {}
        self._received: dict[int, dict[int, list[Any]]] = {}
        self._sent: dict[int, dict[int, list[bool]]] = {}
        self._weights_left: dict[int, Callable[[], None]] = {}

    # --- what comes from other stages, and goes to them ----------------------------------------

    def _inputs(self) -> dict[int, list[int]]:
        """The places among the arguments of what each earlier stage sends."""
        raise NotImplementedError

    def _outputs(self, count: int) -> dict[int, list[int]]:
        """The places among the outputs, ``count`` of them, of what each later stage is sent."""
        raise NotImplementedError

    def _exchange(self, kind: Kind, source: int, target: int, microbatch: int) -> tuple[Any, int]:
        """The stage at the other end where it is in this process, and the message's tag."""
        peer = target if source == self.stage_index else source
        return self._local.get(peer), tag_of(kind, source, target, microbatch, self.num_stages)

    def _send(self, kind: Kind, target: int, microbatch: int, tensors: list[Any]) -> None:
        peer, tag = self._exchange(kind, self.stage_index, target, microbatch)
        if peer is not None:
            peer._handed[tag] = _transfer.handed_over(tensors)
        else:
            place = self.stage_index_to_group_rank[target]
            _transfer.send(self._group, place, tag, tensors)

    def _receive(self, kind: Kind, source: int, microbatch: int) -> list[Any]:
        peer, tag = self._exchange(kind, source, self.stage_index, microbatch)
        if peer is not None:
            return self._handed.pop(tag)
        place = self.stage_index_to_group_rank[source]
        about = (
            f"recv of {kind.name.lower()} of microbatch {microbatch} from rank "
            f"{self._group.ranks[place]} (stage {source})"
        )
        return _transfer.receive(self._group, place, tag, self.device, about)

    def _receive_inputs(self, microbatch: int) -> tuple[Any, ...]:
        found = {source: self._receive(Kind.ACTIVATIONS, source, microbatch)
                 for source in self._inputs()}  # fmt: skip
        self._received[microbatch] = found
        places: dict[int, Any] = {}
        for source, tensors in found.items():
            # a stage that takes all outputs learns here how many there are
            wanted = self._inputs()[source] or range(len(tensors))
            places.update(zip(wanted, tensors, strict=True))
        return tuple(places[place] for place in sorted(places))

    def _send_outputs(self, microbatch: int, outputs: tuple[Any, ...]) -> None:
        told: dict[int, list[bool]] = {}
        for target, places in self._outputs(len(outputs)).items():
            tensors = [outputs[place] for place in places]
            self._send(Kind.ACTIVATIONS, target, microbatch, tensors)
            told[target] = [t.requires_grad for t in tensors]
        self._sent[microbatch] = told

    def _receive_gradients(self, microbatch: int, count: int) -> list[Any]:
        """The gradient of each output: the sum over the stages that it went to."""
        totals: list[Any] = [None] * count
        for target, tracked in self._sent.pop(microbatch).items():
            if not any(tracked):
                continue
            found = self._receive(Kind.GRADIENTS, target, microbatch)
            for place, gradient in zip(self._outputs(count)[target], found, strict=True):
                if gradient is not None:
                    before = totals[place]
                    totals[place] = gradient if before is None else before + gradient
        return totals

    def _send_gradients(self, microbatch: int, gradients: dict[int, Any]) -> None:
        for source, tensors in self._received.pop(microbatch, {}).items():
            if any(t.requires_grad for t in tensors):
                self._send(
                    Kind.GRADIENTS, source, microbatch, [gradients.get(id(t)) for t in tensors]
                )

    def _keywords(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        """Those of a step's keyword arguments that this stage is called with."""
        return kwargs

    # --- a microbatch ----------------------------------------------------------------------------

    def _run(self, *args: Any, **kwargs: Any) -> Any:
        if isinstance(self.submod, DistributedDataParallel):
            with self.submod.no_sync():
                return self.submod(*args, **kwargs)
        return self.submod(*args, **kwargs)

    def forward_one_chunk(
        self, fwd_chunk_id: int, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None,
        save_forward_output: bool = True,
    ) -> Any:  # fmt: skip
        """Take a microbatch forward; later stages get what they need of the outputs.

        Args:
            fwd_chunk_id: the number of the microbatch.
            args: of the first stage; others take what earlier ones send.
            kwargs: of this stage.
            save_forward_output: whether the last stage keeps its outputs for the step's result.

        Raises:
            RuntimeError: the module has raised; stage, microbatch and arguments are named.
        """
        if not self.is_first:
            args = self._receive_inputs(fwd_chunk_id)
        given = self._keywords(kwargs or {})
        try:
            output = self._run(*args, **given)
        except Exception as error:
            raise RuntimeError(
                f"{self.log_prefix} failed to run forward of microbatch {fwd_chunk_id}:\n"
                f"args: {_described(args)}\nkwargs: {_described(given)}"
            ) from error
        outputs = _as_tuple(output)
        if self.is_last:
            if save_forward_output:
                self.output_chunks.append(output)
        else:
            self._send_outputs(fwd_chunk_id, outputs)
        if self.has_backward:
            self.fwd_cache[fwd_chunk_id] = (outputs, tree_leaves((args, given)))
        return output

    def backward_one_chunk(
        self, bwd_chunk_id: int, loss: Any = None, full_backward: bool = True,
        last_backward: bool = False,
    ) -> None:  # fmt: skip
        """Take a microbatch backward; earlier stages get the gradients of what they have sent.

        Args:
            bwd_chunk_id: the number of the microbatch.
            loss: of the last stage.
            full_backward: False leaves gradients of weights to
                :meth:`backward_weight_one_chunk`.
            last_backward: of no effect; gradients are averaged by :meth:`perform_reduce_grad`.
        """
        del last_backward
        if not self.has_backward:
            return
        outputs, inputs = self.fwd_cache.pop(bwd_chunk_id)
        gradients = None
        target = loss
        if not self.is_last:
            target, gradients = outputs, self._receive_gradients(bwd_chunk_id, len(outputs))
        found = self._gradients(bwd_chunk_id, target, gradients, inputs, full_backward)
        by_input = {id(x): gradient for x, gradient in zip(inputs, found, strict=True)}
        self._send_gradients(bwd_chunk_id, by_input)
        if self.is_last:
            self._let_go(outputs)

    def _gradients(
        self, microbatch: int, outputs: Any, gradients: Any, inputs: list[Any], full: bool
    ) -> Gradients:
        if self.dw_builder is not None:
            found = self._without_averages(all_gradients, outputs, gradients, inputs)
            self._weights_left[microbatch] = self.dw_builder()
        elif full:
            return self._without_averages(all_gradients, outputs, gradients, inputs)
        elif self.is_first:
            # nobody waits for the gradients of the model's inputs
            self._weights_left[microbatch] = lambda: self._without_averages(
                all_gradients, outputs, gradients, inputs
            )
            return tuple(None for _ in inputs)
        else:
            later: WeightGradients
            found, later = self._without_averages(input_gradients, outputs, gradients, inputs)
            self._weights_left[microbatch] = later.run
        if full:
            self._weights_left.pop(microbatch)()
        return found

    def _without_averages(self, compute: Callable[..., Any], *args: Any) -> Any:
        """``compute(*args)``; gradients are averaged once, when all microbatches have theirs."""
        if isinstance(self.submod, DistributedDataParallel):
            with self.submod.no_sync():
                return compute(*args)
        if isinstance(self.submod, FSDPModule):
            self.submod.set_is_last_backward(False)
            self.submod.set_requires_gradient_sync(False)
            self.submod.set_reshard_after_backward(False)
        return compute(*args)

    def backward_weight_one_chunk(self, bwd_chunk_id: int, last_backward: bool = False) -> None:
        """Compute the gradients of weights that ``backward_one_chunk(full_backward=False)`` left.

        Args:
            bwd_chunk_id: the number of the microbatch.
            last_backward: of no effect.

        Raises:
            AssertionError: it has left none.
        """
        del last_backward
        if not self.has_backward:
            return
        if bwd_chunk_id not in self._weights_left:
            raise AssertionError(
                f"{self.log_prefix} Attempted to run backward_weight_one_chunk for chunk "
                f"{bwd_chunk_id} without first calling `backward_one_chunk(full_backward=False)`"
            )
        self._weights_left.pop(bwd_chunk_id)()

    def _let_go(self, outputs: tuple[Any, ...]) -> None:
        """The outputs that are kept for the step's result hold no history any more."""
        known = {id(x) for x in tree_leaves(outputs) if isinstance(x, EngineTensor)}

        def plain(value: Any) -> Any:
            return value.detach() if id(value) in known else value

        self.output_chunks[:] = [tree_map(plain, chunk) for chunk in self.output_chunks]

    # --- after all microbatches ------------------------------------------------------------------

    def scale_grads(self, grad_scale_factor: int) -> None:
        """Divide all gradients: by the number of microbatches where the loss is a mean.

        Args:
            grad_scale_factor: the divisor.
        """
        if grad_scale_factor != 1:
            for parameter in self.submod.parameters():
                if parameter.grad is not None:
                    parameter.grad.div_(grad_scale_factor)

    def perform_reduce_grad(self, grad_scale_factor: int) -> None:
        """Average gradients over the processes that share the stage, and scale them.

        Args:
            grad_scale_factor: see :meth:`scale_grads`.
        """
        if isinstance(self.submod, DistributedDataParallel):
            self.submod._average_gradients()
        elif isinstance(self.submod, FSDPModule):
            self.submod._reduce_gradients()
        self.scale_grads(grad_scale_factor)


def _described(value: Any) -> Any:
    """Nested values, with tensors as their shapes and types."""
    return tree_map(
        lambda x: f"Tensor({tuple(x.shape)}, {x.dtype})" if isinstance(x, EngineTensor) else x,
        value,
    )


class PipelineStage(StageBase):
    """A stage of a model that was cut by hand: it gets all outputs of the stage before it.

    Args:
        submodule: the part of the model; it is called with what the stage before returns, a
            tensor or a tuple of them.
        stage_index, num_stages: which stage this is, of how many.
        device: where it runs.
        input_args, output_args, output_grads, input_grads: examples, which torch takes shapes
            from; here the messages tell shapes, and the examples are not looked at.
        group: the processes of the pipeline; the default group when None.
        dw_builder: makes, after each backward, a function that computes gradients of weights.
        get_mesh: not available: tensors spread over processes do not go between stages.

    Raises:
        ValueError: there is no such stage.
        RuntimeError: there are more processes than stages.
        NotImplementedError: ``get_mesh``.
    """

    def __init__(
        self, submodule: Any, stage_index: int, num_stages: int, device: Any,
        input_args: Any = None, output_args: Any = None, output_grads: Any = None,
        input_grads: Any = None, group: Any = None,
        dw_builder: Callable[[], Callable[..., None]] | None = None, get_mesh: Any = None,
    ) -> None:  # fmt: skip
        del input_args, output_args, output_grads, input_grads
        if get_mesh is not None:
            raise NotImplementedError(
                "PipelineStage(get_mesh=...) is not available in mindtorch: only plain tensors go "
                "between stages"
            )
        super().__init__(submodule, stage_index, num_stages, device, group, dw_builder)

    def _inputs(self) -> dict[int, list[int]]:
        return {} if self.is_first else {self.stage_index - 1: []}

    def _outputs(self, count: int) -> dict[int, list[int]]:
        return {} if self.is_last else {self.stage_index + 1: list(range(count))}


class TracedStage(StageBase):
    """A stage that :func:`pipeline` has cut; it may get tensors of any earlier stage.

    Args:
        stage_module: the module of the stage.
        stage_index: which one it is.
        pipe_info: of the whole pipeline.
        device: where it runs; the module is moved there.
        group: the processes of the pipeline; the default group when None.
    """

    def __init__(
        self, stage_module: Module, stage_index: int, pipe_info: PipeInfo, device: Any,
        group: Any = None,
    ) -> None:  # fmt: skip
        super().__init__(stage_module.to(device), stage_index, pipe_info.num_stages, device, group)
        sources = sources_of(pipe_info.graph)
        self._from: dict[int, list[int]] = {}
        for place, (source, _) in enumerate(sources[stage_index]):
            self._from.setdefault(source, []).append(place)
        self._to: dict[int, list[int]] = {}
        for target, wanted in enumerate(sources):
            for source, place in wanted:
                if source == stage_index:
                    self._to.setdefault(target, []).append(place)

    def _keywords(self, kwargs: dict[str, Any]) -> dict[str, Any]:
        # the model's arguments are the first stage's, where that is in this process
        return {} if not self.is_first and 0 in self._local else kwargs

    def _inputs(self) -> dict[int, list[int]]:
        return self._from

    def _outputs(self, count: int) -> dict[int, list[int]]:
        return self._to


# torch's names of them
_PipelineStageBase, _PipelineStage = StageBase, TracedStage


def build_stage(
    stage_module: Module, stage_index: int, pipe_info: PipeInfo, device: Any, group: Any = None
) -> TracedStage:
    """A stage of a :class:`Pipe` that other processes have the other stages of.

    Args:
        stage_module: ``pipe.get_stage_module(stage_index)``, or a module around it.
        stage_index: which one it is.
        pipe_info: ``pipe.info()``.
        device: where it runs.
        group: the processes of the pipeline; the default group when None.
    """
    return TracedStage(stage_module, stage_index, pipe_info, device, group)
