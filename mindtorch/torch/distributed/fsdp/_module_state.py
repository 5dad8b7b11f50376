"""When a module's parameters are gathered, freed and reduced: hooks around forward and backward.

What a hook decides from the tensors it is given is traced in a capture; what it does to parameters
and messages are calls of the host, which stand between the compiled parts and read the settings
that hold when they run.
"""

from __future__ import annotations

from typing import Any

from mindtorch.engine.autograd.backward import running
from mindtorch.engine.compile.capture.host_calls import host_call, traced_hook
from mindtorch.engine.tensor import Tensor
from mindtorch.torch.autograd.variable import Variable

from ...nn.modules._compiled_parts import divide
from ...utils._pytree import tree_leaves, tree_map
from ._parameter_group import ParameterGroup
from ._policies import MixedPrecisionPolicy

__all__ = ["Context", "ModuleState", "state_of"]

_FIELD = "_fsdp_state"
IDLE, FORWARD, BACKWARD = range(3)


def state_of(module: Any) -> ModuleState | None:
    """The state that ``fully_shard`` gave a module; None where it gave none."""
    found: ModuleState | None = module.__dict__.get(_FIELD)
    return found


class Context:
    """What the modules under one root share.

    Attributes:
        states: of all modules, the root's first.
        forward_root: the state in whose forward all others run; None outside of forward.
        last: the state whose forward began last.
        order: the groups in the order in which their forward ended, where backward follows.
        in_backward: the number of the backward pass that has a callback for its end.
        is_last: whether the next backward is the last one before the optimizer's step.
        reducing: the group whose gradients are being reduced.
    """

    def __init__(self) -> None:
        self.states: list[ModuleState] = []
        self.forward_root: ModuleState | None = None
        self.order: list[ParameterGroup] = []
        self.in_backward: int | None = None
        self.last: ModuleState | None = None
        self.is_last = True
        self.reducing: ParameterGroup | None = None

    def end_after_pass(self) -> None:
        """Have :meth:`end_backward` called when the backward pass under way is at its end."""
        number = running()[0].number
        if self.in_backward != number:
            self.in_backward = number
            Variable._execution_engine.queue_callback(self.end_backward)

    def end_backward(self) -> None:
        """The end of a backward pass: what has no gradient by now gets none."""
        self.in_backward = None
        for state in self.states:
            if state.group is not None and state.group.is_expecting:
                state.group.end_backward()
        self._finish_backward()

    @host_call
    def _finish_backward(self) -> None:
        """Wait for the gradients, after the last pass before the optimizer's step."""
        self.forward_root = None
        for state in self.states:
            state.phase, state.left = IDLE, set()
        if self.is_last:
            for state in self.states:
                if state.group is not None:
                    state.group.finish_backward()
            self.order = []
            self.reducing = None

    def wait_for_reduction(self, following: ParameterGroup) -> None:
        """Before another group's gradients are reduced: one at a time keeps memory small."""
        if self.reducing is not None:
            self.reducing.finish_reduction()
        self.reducing = following


class ModuleState:
    """The state of one module, or of several whose parameters are one group.

    Args:
        modules: those that share the group.
        group: their parameters; None for a module without any.
        policy: the types.
        automatic: whether a root keeps its wholes between forward and backward.

    Attributes:
        prefetches: whether backward gathers what comes next while it computes.
        prefetches_forward: whether forward does, after the first one, which shows the order.
    """

    def __init__(
        self, modules: tuple[Any, ...], group: ParameterGroup | None,
        policy: MixedPrecisionPolicy, automatic: bool,
    ) -> None:  # fmt: skip
        self.modules = modules
        self.group = group
        self.policy = policy
        self.automatic = automatic
        self.is_root: bool | None = None
        self.context = Context()
        self.phase = IDLE
        self.forward_prefetch: list[ModuleState] = []
        self.backward_prefetch: list[ModuleState] = []
        self.prefetches, self.prefetches_forward = True, False
        self.following: ParameterGroup | None = None
        self.left: set[int] = set()
        for module in modules:
            object.__setattr__(module, _FIELD, self)
            divide(module)
            module.register_forward_pre_hook(self.before_forward, prepend=True, with_kwargs=True)
            module.register_forward_hook(self.after_forward)

    def begin(self) -> None:
        """The first module that runs is the root, of all those inside it."""
        if self.is_root is not None:
            return
        if len(self.modules) > 1:
            raise RuntimeError(f"FSDP requires a single root module but got {self.modules}")
        self.is_root = True
        root = self.modules[0]
        seen: set[int] = set()
        for name, module in root.named_modules():
            state = state_of(module)
            if state is None:
                continue
            if state is not self:
                if state not in self.context.states and state.is_root is not None:
                    raise RuntimeError(
                        f"FSDP state has already been lazily initialized for {name}\nFSDP requires "
                        "running forward through the root module first"
                    )
                state.is_root = False
            if state not in self.context.states:
                self.context.states.append(state)
                state.share(self.context)
        if self.automatic and self.group is not None:
            self.group.reshards = False
        names = {id(p): name for name, p in root.named_parameters()}
        for state in self.context.states:
            if state.group is not None:
                self._check(state.group, names, seen)

    def share(self, context: Context) -> None:
        """Be one of the modules under a root."""
        self.context = context
        if self.group is not None:
            self.group.context = context

    def _check(self, group: ParameterGroup, names: dict[int, str], seen: set[int]) -> None:
        """Names for errors; a parameter on the meta device has no values to gather."""
        for p in group.parameters:
            p.refresh()
            p.name = names.get(id(p.sharded), p.name)
            if p.number in seen:
                raise ValueError(
                    f"Parameter '{p.name}' is shared with a parameter already managed by another "
                    "FSDP group. For shared/tied parameters, use fully_shard([module_a, module_b]) "
                    "to place them in the same FSDP group."
                )
            seen.add(p.number)
        lacking = [p.name for p in group.parameters if p.local().aval.device.type == "meta"]
        if lacking:
            raise RuntimeError(
                "FSDP parameters should be materialized from meta device before training, but the "
                f"following were still on meta device: {lacking}\nFor example, call "
                "module.to_empty(device) to materialize to device and call "
                "module.reset_parameters() on each module to initialize values."
            )

    # --- in captures -------------------------------------------------------------------------

    # user code reads nothing of a state
    host_methods = None

    def host_guard(self) -> tuple[Any, ...]:
        """What captures rely on: which wholes there are, and which of them get gradients."""
        group = self.group
        return () if group is None else group.host_guard()

    # --- forward -----------------------------------------------------------------------------

    @traced_hook
    def before_forward(self, module: Any, args: Any, kwargs: Any) -> Any:
        """Gather the module's parameters, and cast its inputs."""
        group = self.group
        again = self.phase == BACKWARD  # a call that is computed once more for its backward
        self._begin_forward()
        args, kwargs = self._cast_inputs(args, kwargs)
        if group is not None:
            group.show_wholes()
            if group.is_frozen and not again:
                self._watch_inputs(group, (args, kwargs))
        return args, kwargs

    @host_call
    def _begin_forward(self) -> None:
        first = self.phase == IDLE
        if first:
            self.phase = FORWARD
            self.begin()
            self.left = {id(m) for m in self.modules}
            if self.context.forward_root is None:
                self.context.forward_root = self
        if self.group is not None:
            self.group.unshard()
            self.group.wait_for_unshard()
        if first:
            self._prefetch_after()

    def _prefetch_after(self) -> None:
        """Gather what comes next in forward: what was told, or what came next the last time."""
        for state in self.forward_prefetch:
            if state.group is not None:
                state.group.unshard(later=True)
        last, self.context.last = self.context.last, self
        if last is not None and last is not self and last.prefetches_forward:
            last.following = self.group
        if self.prefetches_forward and self.following is not None:
            self.following.unshard(later=True)

    def _watch_inputs(self, group: ParameterGroup, given: Any) -> None:
        """The wholes of parameters without gradients are needed until the inputs have theirs."""
        for x in tree_leaves(given):
            if isinstance(x, Tensor) and x.requires_grad:
                group.inputs += 1
                x.register_hook(group.input_arrived)

    @traced_hook
    def after_forward(self, module: Any, args: Any, output: Any) -> Any:
        """Free the module's parameters, and wait for backward at its output."""
        if self.phase == BACKWARD:
            return self._cast_output(output)
        self.left.discard(id(module))
        is_outermost = self.context.forward_root is self
        if not self.left:
            output = self._end_forward(output)
            if is_outermost:
                for state in reversed(self.context.states):
                    if state is not self and state.left:
                        output = state._end_forward(output)
        return self._cast_output(output)

    def _end_forward(self, output: Any) -> Any:
        follows = False
        for x in tree_leaves(output):
            if isinstance(x, Tensor) and x.requires_grad:
                x.register_hook(self.before_backward)
                follows = True
        self._leave_forward(follows)
        return output

    @host_call
    def _leave_forward(self, follows: bool) -> None:
        """Free the wholes; ``follows``: whether backward will come here."""
        self.left = set()
        self.phase = IDLE
        if self.context.forward_root is self:
            self.context.forward_root = self.context.last = None
        group, order = self.group, self.context.order
        if group is not None:
            group.reshard_after_forward()
            if follows:
                group.order.append(len(order))
                order.append(group)

    def _cast_inputs(self, args: Any, kwargs: Any) -> Any:
        dtype = self.policy.param_dtype
        if dtype is None or not self.policy.cast_forward_inputs:
            return args, kwargs
        return _cast(args, dtype), _cast(kwargs, dtype)

    def _cast_output(self, output: Any) -> Any:
        return output if self.policy.output_dtype is None else _cast(
            output, self.policy.output_dtype
        )

    # --- backward ----------------------------------------------------------------------------

    @traced_hook
    def before_backward(self, gradient: Any) -> None:
        """The gradient of an output has come: gather the parameters, and the next module's."""
        self.context.end_after_pass()
        self._begin_backward()
        if self.group is not None and self.group.gathers_in_backward:
            self.group.expect_gradients()

    @host_call
    def _begin_backward(self) -> None:
        self.phase = BACKWARD
        group = self.group
        if group is not None and group.gathers_in_backward:
            group.unshard()
            group.wait_for_unshard()
            if self.prefetches and not self.backward_prefetch:
                self._prefetch_before(group)
        for state in self.backward_prefetch:
            if state.group is not None and state.group.gathers_in_backward:
                state.group.unshard(later=True)

    def _prefetch_before(self, group: ParameterGroup) -> None:
        """Gather what comes next: the group whose forward ended before."""
        if group.order:
            place = group.order.pop() - 1
            if place >= 0 and self.context.order[place].gathers_in_backward:
                self.context.order[place].unshard(later=True)

    def reset(self) -> None:
        """After an error in forward or backward: as before the first call."""
        if not self.is_root:
            raise RuntimeError("reset_iter_state must be called on the root FSDP module")
        self.context.forward_root = self.context.in_backward = None
        self.context.order = []
        for state in self.context.states:
            state.phase, state.left = IDLE, set()
            if state.group is not None:
                state.group.reset()


def _cast(values: Any, dtype: Any) -> Any:
    """Floating-point tensors among ``values`` in another type."""

    def cast(x: Any) -> Any:
        if isinstance(x, Tensor) and x.aval.dtype.is_floating_point and x.aval.dtype is not dtype:
            return x.to(dtype)
        return x

    return tree_map(cast, values)
