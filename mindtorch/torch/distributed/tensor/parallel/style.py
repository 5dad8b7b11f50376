"""How a module's parameters are cut over the processes, and how its inputs and outputs lie."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from typing import Any, ClassVar

from mindtorch.engine.sharding.placements import Placement, Replicate, Shard
from mindtorch.engine.tensor import Tensor as EngineTensor

from ....nn.modules.linear import Linear
from ....nn.modules.sparse import Embedding
from ....nn.parameter import Parameter
from ...device_mesh import DeviceMesh
from .._distribute import distribute_module, distribute_tensor
from .._tensor import DTensor

__all__ = [
    "ColwiseParallel", "ParallelStyle", "PrepareModuleInput", "PrepareModuleInputOutput",
    "PrepareModuleOutput", "RowwiseParallel", "SequenceParallel",
]  # fmt: skip

Layouts = tuple[Placement | None, ...]


class ParallelStyle(ABC):
    """What ``parallelize_module`` does to a module.

    Attributes:
        src_data_rank: the process whose parameters are taken; None: each takes its own.
    """

    src_data_rank: int | None = 0
    shown: ClassVar[tuple[str, ...]] = ()

    @abstractmethod
    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        """``module``, changed."""

    def __repr__(self) -> str:
        facts = ", ".join(f"{name}={getattr(self, name)}" for name in self.shown)
        return f"{type(self).__name__}({facts})"


def _cut(module: Any, name: str, placement: Placement, mesh: DeviceMesh, source: Any) -> None:
    """Distribute one of a module's parameters."""
    whole = getattr(module, name, None)
    if whole is not None:
        part = distribute_tensor(whole, mesh, [placement], src_data_rank=source)
        module.register_parameter(name, Parameter(part, whole.requires_grad))


def _given(value: Any, mesh: DeviceMesh, layouts: Sequence[Any], wanted: Sequence[Any]) -> Any:
    """A module's input as a DTensor that lies as it is wanted."""
    if not isinstance(value, DTensor):
        value = DTensor.from_local(value, mesh, layouts, run_check=False)
    return value.redistribute(placements=wanted) if layouts != wanted else value


class _OneWay(ParallelStyle):
    """A linear layer or an embedding, cut along one axis of its weight."""

    shown = ("input_layouts", "output_layouts", "use_local_output")
    input_layouts: tuple[Placement, ...]
    output_layouts: tuple[Placement, ...]
    desired_input_layouts: tuple[Placement, ...]
    use_local_output: bool
    cuts: ClassVar[dict[type, tuple[Placement, Placement]]] = {}

    def _kind(self, module: Any) -> type:
        """Which kind of module it is that the style knows."""
        for kind in self.cuts:
            if isinstance(module, kind):
                return kind
        raise NotImplementedError(
            f"{type(self).__name__} currently only support nn.Linear and nn.Embedding!"
        )

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        weight, bias = self.cuts[self._kind(module)]

        def partition(name: str, each: Any, mesh: DeviceMesh) -> None:
            for own, _ in list(each.named_parameters(recurse=False)):
                placement = bias if own == "bias" else weight
                _cut(each, own, placement, mesh, self.src_data_rank)

        def inputs(own: Any, given: Any, mesh: DeviceMesh) -> Any:
            return _given(given[0], mesh, self.input_layouts, self.desired_input_layouts)

        def outputs(own: Any, made: Any, mesh: DeviceMesh) -> Any:
            if made.placements != self.output_layouts:
                made = made.redistribute(placements=self.output_layouts)
            return made.to_local() if self.use_local_output else made

        return distribute_module(module, device_mesh, partition, inputs, outputs)


class ColwiseParallel(_OneWay):
    """Each process computes some columns of the output.

    Of nn.Linear weight and bias are cut along axis 0, of nn.Embedding the weight along axis 1.

    Args:
        input_layouts: how the input lies; everywhere when None.
        output_layouts: how the output is to lie; cut along the last axis when None.
        use_local_output: give the local part of the output in place of a DTensor.
    """

    cuts: ClassVar[dict[type, tuple[Placement, Placement]]] = {
        Linear: (Shard(0), Shard(0)), Embedding: (Shard(1), Shard(1)),
    }  # fmt: skip

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.input_layouts = (input_layouts or Replicate(),)
        self.output_layouts = (output_layouts or Shard(-1),)
        self.desired_input_layouts = (Replicate(),)
        self.use_local_output = use_local_output


class RowwiseParallel(_OneWay):
    """Each process computes a term of the output.

    Of nn.Linear the weight is cut along axis 1 and the bias is everywhere, of nn.Embedding the
    weight is cut along axis 0.

    Args:
        input_layouts: how the input lies; cut along the last axis when None.
        output_layouts: how the output is to lie; everywhere when None.
        use_local_output: give the local part of the output in place of a DTensor.
    """

    cuts: ClassVar[dict[type, tuple[Placement, Placement]]] = {
        Linear: (Shard(1), Replicate()), Embedding: (Shard(0), Shard(0)),
    }  # fmt: skip

    def __init__(
        self, *, input_layouts: Placement | None = None, output_layouts: Placement | None = None,
        use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.input_layouts = (input_layouts or Shard(-1),)
        self.output_layouts = (output_layouts or Replicate(),)
        self.use_local_output = use_local_output

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        linear = self._kind(module) is Linear
        self.desired_input_layouts = (Shard(-1),) if linear else (Replicate(),)
        return super()._apply(module, device_mesh)


class SequenceParallel(ParallelStyle):
    """Each process computes some places of the sequence; parameters are everywhere.

    For nn.LayerNorm, nn.RMSNorm, nn.Dropout and the like.

    Args:
        sequence_dim: the axis that the input is cut along.
        use_local_output: give the local part of the output in place of a DTensor.
    """

    shown = ("sequence_dim", "use_local_output")

    def __init__(self, *, sequence_dim: int = 1, use_local_output: bool = False) -> None:
        self.sequence_dim = sequence_dim
        self.sequence_sharding = (Shard(sequence_dim),)
        self.use_local_output = use_local_output

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        def partition(name: str, each: Any, mesh: DeviceMesh) -> None:
            for own, whole in list(each.named_parameters(recurse=False)):
                made = DTensor.from_local(whole.detach(), mesh, [Replicate()], run_check=False)
                each.register_parameter(own, Parameter(made, whole.requires_grad))

        def inputs(own: Any, given: Any, mesh: DeviceMesh) -> Any:
            value, wanted = given[0], self.sequence_sharding
            if isinstance(value, DTensor):
                return value if value.placements == wanted else value.redistribute(
                    placements=wanted
                )
            if isinstance(value, EngineTensor):
                return DTensor.from_local(value, mesh, wanted, run_check=False)
            raise ValueError(
                f"expecting input of {own} to be a torch.Tensor or DTensor, but got {value}"
            )

        def outputs(own: Any, made: Any, mesh: DeviceMesh) -> Any:
            return made.to_local() if self.use_local_output else made

        return distribute_module(module, device_mesh, partition, inputs, outputs)


def _listed(layouts: Any) -> Any:
    return (layouts,) if isinstance(layouts, Placement) else layouts


def _arranged(
    value: Any, mesh: DeviceMesh, layout: Placement | None, wanted: Placement | None, local: bool
) -> Any:
    """A tensor that lies by ``layout`` as it is wanted; as it is where there is no layout."""
    if layout is None:
        return value
    if not isinstance(value, DTensor):
        if not isinstance(value, EngineTensor):
            raise AssertionError("expecting input to be a torch.Tensor!")
        value = DTensor.from_local(value, mesh, (layout,), run_check=False)
    if wanted is not None and layout != wanted:
        value = value.redistribute(placements=(wanted,))
    return value.to_local() if local else value


class PrepareModuleInput(ParallelStyle):
    """Make DTensors of a module's inputs, lying as they are wanted.

    Args:
        input_layouts: how the positional inputs lie, None for one that stays as it is.
        desired_input_layouts: how they are to lie.
        input_kwarg_layouts, desired_input_kwarg_layouts: the same of inputs by name.
        use_local_output: give the local parts in place of DTensors.
    """

    shown = (
        "input_layouts", "desired_input_layouts", "input_kwarg_layouts",
        "desired_input_kwarg_layouts", "use_local_output",
    )  # fmt: skip

    def __init__(
        self, *, input_layouts: Placement | Layouts | None = None,
        desired_input_layouts: Placement | Layouts | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_output: bool = False,
    ) -> None:  # fmt: skip
        self.input_layouts = _listed(input_layouts)
        self.desired_input_layouts = _listed(desired_input_layouts)
        self.use_local_output = use_local_output
        if self.input_layouts is not None:
            if self.desired_input_layouts is None:
                raise AssertionError("desired module inputs should not be None!")
            if len(self.input_layouts) != len(self.desired_input_layouts):
                raise AssertionError(
                    "input_layouts and desired_input_layouts should have same length!"
                )
        self.with_kwargs = input_kwarg_layouts is not None
        self.input_kwarg_layouts = input_kwarg_layouts or {}
        self.desired_input_kwarg_layouts = desired_input_kwarg_layouts or {}
        if self.with_kwargs and len(self.input_kwarg_layouts) != len(
            self.desired_input_kwarg_layouts
        ):
            raise AssertionError(
                "input_kwarg_layouts and desired_input_kwarg_layouts should have same length!"
            )

    def _positional(self, given: Any, mesh: DeviceMesh) -> Any:
        if self.input_layouts is None:
            return given
        given = given if isinstance(given, tuple) else (given,)
        if len(given) != len(self.input_layouts):
            raise ValueError("module inputs and input_layouts should have same length!")
        ways = zip(given, self.input_layouts, self.desired_input_layouts, strict=True)
        return tuple([
            _arranged(value, mesh, layout, wanted, self.use_local_output)
            for value, layout, wanted in ways
        ])

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        def named(own: Any, given: Any, kwargs: dict[str, Any]) -> Any:
            return self._positional(given, device_mesh), {
                name: _arranged(
                    value, device_mesh, self.input_kwarg_layouts.get(name),
                    self.desired_input_kwarg_layouts.get(name), self.use_local_output,
                )
                for name, value in kwargs.items()
            }  # fmt: skip

        if self.with_kwargs:
            module.register_forward_pre_hook(named, with_kwargs=True)
        else:
            module.register_forward_pre_hook(
                lambda own, given: self._positional(given, device_mesh)
            )
        return module


class PrepareModuleOutput(ParallelStyle):
    """Make DTensors of a module's outputs, lying as they are wanted.

    Args:
        output_layouts: how the outputs lie, None for one that stays as it is.
        desired_output_layouts: how they are to lie.
        use_local_output: give the local parts in place of DTensors.
    """

    shown = ("output_layouts", "desired_output_layouts", "use_local_output")

    def __init__(
        self, *, output_layouts: Placement | Layouts,
        desired_output_layouts: Placement | tuple[Placement, ...], use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.output_layouts = _listed(output_layouts)
        self.desired_output_layouts = _listed(desired_output_layouts)
        self.use_local_output = use_local_output
        if len(self.output_layouts) != len(self.desired_output_layouts):
            raise AssertionError(
                "output_layouts and desired_output_layouts should have same length!"
            )

    def _arrange(self, outputs: Any, mesh: DeviceMesh) -> Any:
        made = outputs if isinstance(outputs, tuple) else (outputs,)
        if len(made) != len(self.output_layouts):
            raise ValueError("module outputs and output_layouts should have same length!")
        ways = zip(made, self.output_layouts, self.desired_output_layouts, strict=True)
        found = [
            _arranged(value, mesh, layout, wanted, self.use_local_output)
            for value, layout, wanted in ways
        ]
        return found[0] if len(found) == 1 else tuple(found)

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        module.register_forward_hook(lambda own, given, made: self._arrange(made, device_mesh))
        return module


class PrepareModuleInputOutput(ParallelStyle):
    """:class:`PrepareModuleInput` and :class:`PrepareModuleOutput` of one module.

    Args:
        input_layouts, desired_input_layouts, input_kwarg_layouts, desired_input_kwarg_layouts: as
            there.
        use_local_input: give the module the local parts in place of DTensors.
        output_layouts, desired_output_layouts, use_local_output: as there.
    """

    def __init__(
        self, *, input_layouts: Placement | Layouts | None = None,
        desired_input_layouts: Placement | Layouts | None = None,
        input_kwarg_layouts: dict[str, Placement] | None = None,
        desired_input_kwarg_layouts: dict[str, Placement] | None = None,
        use_local_input: bool = False, output_layouts: Placement | Layouts,
        desired_output_layouts: Placement | tuple[Placement, ...], use_local_output: bool = True,
    ) -> None:  # fmt: skip
        self.prepare_module_input = PrepareModuleInput(
            input_layouts=input_layouts, desired_input_layouts=desired_input_layouts,
            input_kwarg_layouts=input_kwarg_layouts,
            desired_input_kwarg_layouts=desired_input_kwarg_layouts,
            use_local_output=use_local_input,
        )  # fmt: skip
        self.prepare_module_output = PrepareModuleOutput(
            output_layouts=output_layouts, desired_output_layouts=desired_output_layouts,
            use_local_output=use_local_output,
        )  # fmt: skip

    def _apply(self, module: Any, device_mesh: DeviceMesh) -> Any:
        self.prepare_module_input._apply(module, device_mesh)
        self.prepare_module_output._apply(module, device_mesh)
        return module

    def __repr__(self) -> str:
        first, second = self.prepare_module_input, self.prepare_module_output
        named = {**{name: getattr(first, name) for name in first.shown[:-1]},
                 "use_local_input": first.use_local_output,
                 **{name: getattr(second, name) for name in second.shown}}  # fmt: skip
        facts = ", ".join(f"{name}={value}" for name, value in named.items())
        return f"{type(self).__name__}({facts})"
