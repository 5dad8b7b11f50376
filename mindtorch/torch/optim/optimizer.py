"""The base of optimizers: parameter groups, state, hooks, and what a checkpoint holds."""

from __future__ import annotations

import contextlib
import functools
import inspect
import itertools
from collections import OrderedDict, defaultdict
from collections.abc import Callable, Iterable
from copy import deepcopy
from typing import Any

from mindtorch.engine.autograd import tape
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.optim.multi_tensor import Fused, Update, expect
from mindtorch.engine.state import grad_mode
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import captures
from mindtorch.engine.transforms.profiler import Recorder
from mindtorch.torch._serialization.pickle_names import TorchPickler
from mindtorch.torch.autograd.grad_mode import enable_grad

from ..autograd.profiler import record_function
from ..utils.hooks import RemovableHandle
from ._parameter_tuple import ParameterTuple

Params = Any
ParamsT = Any


class _Required:
    """Stands for a setting that has no default."""

    def __repr__(self) -> str:
        return "<required parameter>"


required = _Required()
_global_hooks: dict[str, OrderedDict[int, Any]] = {"pre": OrderedDict(), "post": OrderedDict()}


def _get_capturable_supported_devices(supports_xla: bool = True) -> list[str]:
    """The types of device whose steps torch can record in graphs of their own."""
    return ["cuda", "xpu", "hpu", "privateuseone", *(["xla"] if supports_xla else [])]


def _default_to_fused_or_foreach(
    params: list[Any], differentiable: bool, use_fused: bool = False
) -> tuple[bool, bool]:
    """Which of torch's forms, (fused, foreach), an optimizer takes by itself; on a CPU neither."""
    return False, False


def register_optimizer_step_pre_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` before every step of every optimizer."""
    return RemovableHandle.add(_global_hooks["pre"], hook)


def register_optimizer_step_post_hook(hook: Callable[..., Any]) -> RemovableHandle:
    """Call ``hook(optimizer, args, kwargs)`` after every step of every optimizer."""
    return RemovableHandle.add(_global_hooks["post"], hook)


class Rate(float):
    """A group's learning rate: a plain number that knows where it stands, so that MindSpore's
    ``ops.assign(group["lr"], value)`` can change it."""

    __slots__ = ("_group", "_key")
    _group: dict[str, Any]
    _key: str

    @classmethod
    def of(cls, group: dict[str, Any], key: str = "lr") -> None:
        """Let ``group[key]``, where it is a plain float, be one."""
        if type(group.get(key)) is float:
            rate = group[key] = cls(group[key])
            rate._group, rate._key = group, key

    def assign(self, value: float) -> Rate:
        """Write another number in the group, and return that."""
        self._group[self._key] = float(value)
        Rate.of(self._group, self._key)
        rate: Rate = self._group[self._key]
        return rate

    def set_data(self, data: Any) -> Rate:
        """:meth:`assign` in the spelling of MindSpore's parameters."""
        return self.assign(float(data))

    def __reduce__(self) -> Any:
        return float, (float(self),)

    def __deepcopy__(self, memo: Any) -> float:
        return float(self)


# a file has plain numbers, wherever a rate stands in what is saved
TorchPickler.dispatch[Rate] = TorchPickler.dispatch[float]


class Optimizer:
    """Base of all optimizers.

    Args:
        params: tensors, (name, tensor) pairs, or dicts with "params" and settings of their own.
        defaults: settings of groups that do not give theirs.
    """

    def __init__(self, params: Params, defaults: dict[str, Any]) -> None:
        self.defaults = defaults
        self._reset_hooks()
        self._patch_step_function()
        if isinstance(params, EngineTensor):
            raise TypeError(
                "params argument given to the optimizer should be an iterable of Tensors or dicts, "
                "but got " + _type_name(params)
            )
        self.state: Any = defaultdict(dict)
        self.param_groups: list[dict[str, Any]] = []
        groups = list(params)
        if not groups:
            raise ValueError("optimizer got an empty parameter list")
        if not isinstance(groups[0], dict):
            groups = [{"params": groups}]
        for group in groups:
            self.add_param_group(group)

    _names_sparse = False  # whether the class itself refuses sparse parameters

    # what captured calls may use while the groups have the same parameters
    host_methods = frozenset({"step", "zero_grad", "parameters"})

    def host_guard(self) -> tuple[int, ...]:
        """The identities of the parameters, by which captured calls know the optimizer again."""
        params = [group["params"] for group in self.param_groups]
        return tuple(map(id, itertools.chain.from_iterable(params)))

    def _reset_hooks(self) -> None:
        self._optimizer_step_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_step_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_state_dict_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_state_dict_post_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_load_state_dict_pre_hooks: OrderedDict[int, Any] = OrderedDict()
        self._optimizer_load_state_dict_post_hooks: OrderedDict[int, Any] = OrderedDict()

    def _patch_step_function(self) -> None:
        """Put hooks around the class's ``step``, once: a class that is never initialised as an
        optimizer (it may wrap another one) keeps its own, as in torch."""
        cls = type(self)
        if not getattr(cls.step, "hooked", False):
            cls.step = _hooked(cls.step)  # type: ignore[method-assign]

    def __getstate__(self) -> dict[str, Any]:
        return {
            "defaults": self.defaults, "state": self.state, "param_groups": self.param_groups,
        }  # fmt: skip

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self.__dict__.pop("_updates", None)
        if "_optimizer_step_pre_hooks" not in self.__dict__:
            self._reset_hooks()
        self._patch_step_function()
        self.defaults.setdefault("differentiable", False)

    def __repr__(self) -> str:
        text = type(self).__name__ + " ("
        for i, group in enumerate(self.param_groups):
            text += f"\nParameter Group {i}\n"
            for key in sorted(group):
                if key != "params":
                    text += f"    {key}: {group[key]}\n"
        return text + ")"

    # --- MindTorch's surface ------------------------------------------------------------------

    @property
    def parameters(self) -> ParameterTuple:
        """All parameters of all groups, in order."""
        return ParameterTuple(p for group in self.param_groups for p in group["params"])

    @staticmethod
    def profile_hook_step(func: Callable[..., Any]) -> Callable[..., Any]:
        """A ``step`` method's function with the hooks around its call, shown to profilers."""
        return _hooked(func)

    def __call__(self, grads: Any) -> Any:
        """Step with these gradients, one for each of :attr:`parameters`."""
        return self.step(grads)

    # --- groups -------------------------------------------------------------------------------

    def add_param_group(self, param_group: dict[str, Any]) -> None:
        """Add a group: {"params": tensors, settings...}."""
        if not isinstance(param_group, dict):
            raise TypeError(f"param_group must be a dict, but got {type(param_group)}")
        params = param_group["params"]
        if isinstance(params, EngineTensor):
            param_group["params"] = [params]
        elif isinstance(params, set):
            raise TypeError(
                "optimizer parameters need to be organized in ordered collections, but the "
                "ordering of tensors in sets will change between runs. Please use a list instead."
            )
        else:
            param_group["params"] = list(params)
        _split_names(param_group)
        for p in param_group["params"]:
            if not isinstance(p, EngineTensor):
                raise TypeError(f"optimizer can only optimize Tensors, but one of the params is "
                                f"{_type_name(p)}")
            if p._sparse and not self._names_sparse:
                raise NotImplementedError(
                    "optimizers do not update sparse tensors here, only dense ones by sparse "
                    "gradients"
                )
            if not self.defaults.get("differentiable", None) and not (
                p.is_leaf or p.retains_grad
            ):
                raise ValueError("can't optimize a non-leaf Tensor")
        for name, default in self.defaults.items():
            if default is required and name not in param_group:
                raise ValueError(
                    f"parameter group didn't specify a value of required optimization parameter "
                    f"{name}"
                )
            param_group.setdefault(name, default)
        own = param_group["params"]
        if len(own) != len({id(p) for p in own}):
            import warnings

            warnings.warn(
                "optimizer contains a parameter group with duplicate parameters; in future, this "
                "will cause an error; see github.com/pytorch/pytorch/issues/40967 for more "
                "information",
                stacklevel=3,
            )
        for group in self.param_groups:
            if ("param_names" in param_group) != ("param_names" in group):
                given = "with" if "param_names" in param_group else "without"
                raise ValueError(
                    "all optimizer param groups should be with/without names. cannot add param "
                    f"group {given} names to the optimizer"
                )
        held = {id(p) for group in self.param_groups for p in group["params"]}
        if any(id(p) in held for p in own):
            raise ValueError("some parameters appear in more than one parameter group")
        self.param_groups.append(param_group)
        Rate.of(param_group)
        update = self._update_of(param_group)
        if update is not None:
            expect(update, own)

    def zero_grad(self, set_to_none: bool = True) -> None:
        """Drop all gradients, or set them to zero."""
        for group in self.param_groups:
            for p in group["params"]:
                if captures:
                    tape.note_leaf(p, False)
                if p._grad is None:
                    continue
                if set_to_none:
                    p._grad = None
                else:
                    if tape.requires_grad(p._grad):
                        p._grad.detach_()
                    p._grad.zero_()

    def step(self, closure: Any = None, grads: Any = None) -> Any:
        """Update the parameters once; gradients may stand in the closure's place."""
        raise NotImplementedError

    def _update_of(self, group: dict[str, Any]) -> Update | None:
        """The update of a group that one kernel makes of all its parameters, where there is one."""
        return None

    def _fused(self, group: dict[str, Any]) -> Fused:
        """The fused updates of a group, which remember its tensors' addresses."""
        updates: dict[int, Fused] = self.__dict__.setdefault("_updates", {})
        found = updates.get(id(group))
        if found is None:
            found = updates[id(group)] = Fused()
        return found

    def _begin(self, closure: Any, grads: Any) -> tuple[Any, Any]:
        """(the closure's loss, gradients by parameter id or None) of a call of ``step``."""
        if closure is not None and not callable(closure) and hasattr(closure, "__iter__"):
            closure, grads = None, closure
        loss = None
        if closure is not None:
            with enable_grad():
                loss = closure()
        if grads is None:
            return loss, None
        many = [grads] if isinstance(grads, EngineTensor) else list(grads)
        own = self.parameters
        if len(many) != len(own):
            raise RuntimeError(f"step() got {len(many)} gradients for {len(own)} parameters")
        return loss, {id(p): g for p, g in zip(own, many, strict=True)}

    # --- checkpoints --------------------------------------------------------------------------

    def state_dict(self) -> dict[str, Any]:
        """State by parameter number, and groups with numbers for parameters; torch's layout."""
        for hook in self._optimizer_state_dict_pre_hooks.values():
            hook(self)
        numbers: dict[int, int] = {}
        groups = []
        start = 0
        for group in self.param_groups:
            packed = {
                k: float(v) if type(v) is Rate else v for k, v in group.items() if k != "params"
            }
            # of a parameter that a group holds twice the last place counts
            places = enumerate(group["params"], start)
            numbers.update({id(p): i for i, p in places if id(p) not in numbers})
            start += len(group["params"])
            packed["params"] = [numbers[id(p)] for p in group["params"]]
            groups.append(packed)
        state = {
            (numbers[id(k)] if isinstance(k, EngineTensor) else k): v
            for k, v in self.state.items()
        }
        result = {"state": state, "param_groups": groups}
        for hook in self._optimizer_state_dict_post_hooks.values():
            changed = hook(self, result)
            result = result if changed is None else changed
        return result

    def load_state_dict(self, state_dict: dict[str, Any]) -> None:
        """Take over what :meth:`state_dict` gave, here or in torch."""
        given = state_dict.copy()
        for hook in self._optimizer_load_state_dict_pre_hooks.values():
            changed = hook(self, given)
            given = given if changed is None else changed
        groups, saved = self.param_groups, deepcopy(given["param_groups"])
        if len(groups) != len(saved):
            raise ValueError("loaded state dict has a different number of parameter groups")
        for group, other in zip(groups, saved, strict=True):
            if len(group["params"]) != len(other["params"]):
                raise ValueError(
                    "loaded state dict contains a parameter group that doesn't match the size of "
                    "optimizer's group"
                )
        by_number = dict(
            zip(
                itertools.chain.from_iterable(g["params"] for g in saved),
                itertools.chain.from_iterable(g["params"] for g in groups),
                strict=True,
            )
        )
        state: Any = defaultdict(dict)
        for key, value in given["state"].items():
            if key in by_number:
                state[by_number[key]] = _cast(by_number[key], value)
            else:
                state[key] = value
        for group, other in zip(groups, saved, strict=True):
            other["params"] = group["params"]
            if "param_names" in group and "param_names" not in other:
                other["param_names"] = group["param_names"]
        self.__setstate__({"state": state, "param_groups": saved})
        for group in self.param_groups:
            Rate.of(group)
        for hook in self._optimizer_load_state_dict_post_hooks.values():
            hook(self)

    # --- hooks --------------------------------------------------------------------------------

    def register_step_pre_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return RemovableHandle.add(self._optimizer_step_pre_hooks, hook)

    def register_step_post_hook(self, hook: Callable[..., Any]) -> RemovableHandle:
        return RemovableHandle.add(self._optimizer_step_post_hooks, hook)

    def register_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        return RemovableHandle.add(self._optimizer_state_dict_pre_hooks, hook, prepend=prepend)

    def register_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        return RemovableHandle.add(self._optimizer_state_dict_post_hooks, hook, prepend=prepend)

    def register_load_state_dict_pre_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        return RemovableHandle.add(self._optimizer_load_state_dict_pre_hooks, hook, prepend=prepend)

    def register_load_state_dict_post_hook(
        self, hook: Callable[..., Any], prepend: bool = False
    ) -> RemovableHandle:
        hooks = self._optimizer_load_state_dict_post_hooks
        return RemovableHandle.add(hooks, hook, prepend=prepend)


def _named_step(optimizer: Optimizer) -> Any:
    """The block under which a running profiler shows the step."""
    if not Recorder.active:
        return contextlib.nullcontext()
    return record_function(f"Optimizer.step#{type(optimizer).__name__}.step")


@contextlib.contextmanager
def _own_gradients(optimizer: Optimizer, step: Any, args: Any, kwargs: Any) -> Any:
    """Gradients given to a ``step`` that has no argument for them (a user's, as torch has it)
    stand in the parameters' ``grad`` during the step. Where a closure is the first argument,
    gradients in its place are given by name."""
    given = args[0] if args else kwargs.get("grads")
    if not isinstance(given, (tuple, list, EngineTensor)):
        yield args, kwargs
        return
    if _takes_gradients(step):
        closure_first = bool(args) and _argument_names(step)[:1] == ["closure"]
        with grad_mode(False):  # no tape is written where gradients are values
            yield (args[1:], {**kwargs, "grads": given}) if closure_first else (args, kwargs)
        return
    grads = [given] if isinstance(given, EngineTensor) else list(given)
    parameters = optimizer.parameters
    if len(grads) != len(parameters):
        raise RuntimeError(f"step() got {len(grads)} gradients for {len(parameters)} parameters")
    held = [p._grad for p in parameters]
    for p, g in zip(parameters, grads, strict=True):
        p._grad = g
    try:
        with grad_mode(False):
            yield args[1:], {k: v for k, v in kwargs.items() if k != "grads"}
    finally:
        for p, g in zip(parameters, held, strict=True):
            p._grad = g


@functools.cache
def _argument_names(step: Any) -> list[str]:
    return list(inspect.signature(step).parameters)[1:]


def _takes_gradients(step: Any) -> bool:
    """Whether a step has an argument for gradients: "grads", or a first one not for a closure."""
    names = _argument_names(step)
    gradients = ("grads", "gradients")
    return any(n in names for n in gradients) or bool(names and names[0] != "closure")


def _hooked(step: Callable[..., Any]) -> Callable[..., Any]:
    """``step`` with hooks around it."""

    @host_call
    @functools.wraps(step)
    def wrapper(self: Optimizer, *args: Any, **kwargs: Any) -> Any:
        if not (
            args or kwargs or self._optimizer_step_pre_hooks or self._optimizer_step_post_hooks
            or _global_hooks["pre"] or _global_hooks["post"] or Recorder.active
        ):
            return step(self)
        pre = (*_global_hooks["pre"].values(), *self._optimizer_step_pre_hooks.values())
        for hook in pre:
            changed = hook(self, (self, *args), kwargs)
            if changed is not None:
                if not (isinstance(changed, tuple) and len(changed) == 2):
                    raise RuntimeError(
                        f"{step} must return None or a tuple of (new_args, new_kwargs), but got "
                        f"{changed}."
                    )
                (self, *args), kwargs = changed
        with _named_step(self), _own_gradients(self, step, args, kwargs) as (args, kwargs):
            result = step(self, *args, **kwargs)
        for hook in (*self._optimizer_step_post_hooks.values(), *_global_hooks["post"].values()):
            hook(self, (self, *args), kwargs)
        return result

    wrapper.hooked = True  # type: ignore[attr-defined]
    return wrapper


def _type_name(value: Any) -> str:
    if isinstance(value, EngineTensor):
        return str(value.type())
    kind = type(value)
    return kind.__qualname__ if kind.__module__ == "builtins" else (
        f"{kind.__module__}.{kind.__qualname__}"
    )


def _split_names(group: dict[str, Any]) -> None:
    """Take the names out of (name, parameter) pairs."""
    pairs = [isinstance(p, tuple) for p in group["params"]]
    if not any(pairs):
        return
    if not all(pairs):
        raise ValueError("all optimizer params should be with/without names. Some param names are "
                         "missing")
    group["param_names"] = [name for name, _ in group["params"]]
    group["params"] = [p for _, p in group["params"]]


def _cast(param: Any, value: Any, key: str | None = None) -> Any:
    """Loaded state with the parameter's element type; step counters keep theirs."""
    if isinstance(value, EngineTensor):
        if key == "step":
            return value.clone()
        if param.is_floating_point():
            return value.to(param.dtype).clone()
        return value.clone()
    if isinstance(value, dict):
        return {k: _cast(param, v, k) for k, v in value.items()}
    if isinstance(value, Iterable) and not isinstance(value, (str, bytes)):
        return type(value)(_cast(param, v) for v in value)  # type: ignore[call-arg]
    return deepcopy(value)


def to_scalar(value: Any) -> Any:
    """A setting that may be a tensor of one element, as a Python number."""
    return value.item() if isinstance(value, EngineTensor) else value
