"""``torch.compile(backend=function)``: calls as graphs of torch.fx, which the function compiles.

The first call for each structure of arguments is run, and the functions of torch that it calls
become a graph; tensors that it did not make are inputs. What the function makes of the graph runs
from then on, while the values that the call read are as they were (the guards of captured calls).
A call that needs a tensor's data on the way, or makes a tensor out of sight, runs op by op.
"""

from __future__ import annotations

import functools
import logging
import operator
import re
import sys
import types
import weakref
from collections.abc import Callable
from typing import Any

from mindtorch.engine.autograd import backward
from mindtorch.engine.compile.capture.live_objects import live_objects
from mindtorch.engine.compile.capture.pytree import Flattened, rebuild
from mindtorch.engine.compile.guards import global_state
from mindtorch.engine.compile.guards.recorder import GuardRecorder
from mindtorch.engine.dispatch import state
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import version_of

from .._api.torch_function import TorchFunctionMode, install
from .._tensor.tensor import Tensor
from ..fx.graph import Graph
from ..fx.graph_module import GraphModule
from ..fx.node import Node
from ..nn.modules.module import Module
from ..random import get_rng_state, set_rng_state
from . import config
from .exc import BackendCompilerFailed, Unsupported

__all__ = ["BackendFunction", "forget_all"]

# methods that give elements to Python: what follows from them is no part of a graph
_DATA = frozenset({"item", "tolist", "numpy", "__array__", "__bool__", "__int__", "__float__"})
_every: weakref.WeakSet[BackendFunction] = weakref.WeakSet()


def _operator(name: str, count: int) -> Any:
    """Python's operator for a method of tensors with so many arguments, where there is one."""
    base = name.strip("_")
    base = {"div": "truediv", "remainder": "mod"}.get(base, base)
    if name.endswith("_") and not name.startswith("_"):
        base = f"i{base}"
    if count != (3 if base == "setitem" else 1 if base == "neg" else 2):
        return None
    return getattr(operator, base, None) or getattr(operator, f"{base}_", None)


def forget_all() -> None:
    """Drop what functions made of graphs."""
    for each in _every:
        each.forget()


class _Untraceable(Exception):
    """The call cannot be a graph."""


class _Recorder(TorchFunctionMode):
    """Runs calls of torch's functions, and adds a node for each that makes a tensor.

    Args:
        names: of the tensors that the call is given, by ``id``.
        before: the ids of all tensors that are older than the call.
    """

    def __init__(self, names: dict[int, str], before: set[int]) -> None:
        self.graph = Graph()
        self.inputs: list[Any] = []
        self.refused = ""
        self._names, self._before = names, before
        self._nodes: dict[int, Node] = {}
        self._kept: list[Any] = []  # so that ids stay theirs
        self._last: Node | None = None

    def __torch_function__(
        self, func: Any, types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in _DATA:
            self.refused = self.refused or f"it asks for a tensor's data ({name})"
        profile = sys.getprofile()
        sys.setprofile(None)  # what the library reads is not the call's
        try:
            result = func(*args, **kwargs)
        finally:
            sys.setprofile(profile)
        if self.refused or not (self._makes_tensors(result) or name == "__setitem__"):
            return result
        try:
            target, kind, given = self._target(func, name, args)
            made = self.graph.create_node(
                kind, target, self._argument(given), self._argument(dict(kwargs))
            )
        except (_Untraceable, NotImplementedError) as error:
            self.refused = str(error)
            return result
        self._note(result, made)
        if name == "__setitem__":
            self._nodes[id(args[0])] = made.args[0]
        return result

    def _makes_tensors(self, result: Any) -> bool:
        if isinstance(result, (tuple, list)):
            return any(isinstance(x, EngineTensor) for x in result)
        return isinstance(result, EngineTensor)

    def _target(self, func: Any, name: str, args: Any) -> tuple[Any, str, Any]:
        if getattr(Tensor, name, None) is func:
            found = _operator(name, len(args))
            if found is not None:
                return found, "call_function", args
            return name, "call_method", args
        if name == "__get__":
            found = next(k for k, p in vars(Tensor).items() if getattr(p, "fget", None) is func)
            return getattr, "call_function", (args[0], found)
        return func, "call_function", args

    def _argument(self, value: Any) -> Any:
        if isinstance(value, EngineTensor):
            return self.node_of(value)
        if isinstance(value, (tuple, list)):
            made = [self._argument(x) for x in value]
            return made if type(value) is list else tuple(made)
        if isinstance(value, dict):
            return {k: self._argument(v) for k, v in value.items()}
        if isinstance(value, slice):
            return slice(*map(self._argument, (value.start, value.stop, value.step)))
        return value

    def node_of(self, tensor: Any) -> Node:
        """The node that made a tensor, or a new input for one that is older than the call."""
        node = self._nodes.get(id(tensor))
        if node is not None:
            return node
        if id(tensor) not in self._before:
            raise _Untraceable("it uses a tensor that was made out of sight of torch's functions")
        name = self._names.get(id(tensor), f"l_tensor_{len(self.inputs)}_")
        last = self._last  # inputs come first, in the order of their use
        with self.graph.inserting_after(last) if last else self.graph.inserting_before():
            node = self._last = self.graph.placeholder(name)
        node.meta["example_value"] = tensor
        self.inputs.append(tensor)
        self._nodes[id(tensor)] = node
        self._kept.append(tensor)
        return node

    def _note(self, result: Any, node: Node) -> None:
        self._kept.append(result)
        node.meta["example_value"] = result
        if isinstance(result, EngineTensor):
            self._nodes[id(result)] = node
            return
        for at, each in enumerate(result):
            if isinstance(each, EngineTensor):
                self._nodes[id(each)] = self.graph.call_function(operator.getitem, (node, at))


class _Call:
    """What a backend made of a graph, and when it may run."""

    def __init__(self, guards: Any, compiled: Any, inputs: list[Any], returned: Any) -> None:
        self.guards, self.compiled = guards, compiled
        self.places, self.returned = inputs, returned

    def run(self, leaves: list[Any]) -> Any:
        given = [leaves[x] if isinstance(x, int) else x for x in self.places]
        made = self.compiled(*given)
        if isinstance(made, EngineTensor):
            made = (made,)
        return rebuild(self.returned, iter(made), [])


class BackendFunction:
    """A function whose calls a backend compiles.

    Args:
        function: what is called.
        backend: ``backend(graph_module, example_inputs)`` gives a callable on such inputs.
        whole: raise where a call cannot be one graph.
        module: whose parameters and buffers give inputs their names.
    """

    def __init__(
        self, function: Callable[..., Any], backend: Callable[..., Any], whole: bool,
        module: Module | None = None, options: dict[str, Any] | None = None,
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, function, updated=())
        self.function, self.backend, self.whole = function, backend, whole
        self.module, self.options = module, options
        self._torchdynamo_orig_callable = function
        self.calls: dict[Any, list[_Call]] = {}
        self.eager = ""
        install()
        _every.add(self)

    def __get__(self, instance: Any, owner: Any = None) -> Any:
        return self if instance is None else types.MethodType(self, instance)

    def forget(self) -> None:
        """Drop what was compiled."""
        self.calls.clear()
        self.eager = ""

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        observed = state.interpreters or global_state.intercepting or backward.running()
        if self.eager or observed or sys.getprofile() is not None:
            return self.function(*args, **kwargs)
        flattened = Flattened()
        try:
            key = flattened.describe((args, kwargs)), global_state.current()
            known = self.calls.setdefault(key, [])
        except (TypeError, RecursionError) as error:
            self._refuse(f"an argument cannot be compared: {error}")
            return self.function(*args, **kwargs)
        for each in known:
            if not each.guards.broken():
                return each.run(flattened.leaves)
        limit = config.recompile_limit
        if len(known) >= limit:
            self._refuse(f"it was compiled {limit} times")
            return self.function(*args, **kwargs)
        return self._trace(known, flattened, args, kwargs)

    def _refuse(self, reason: str) -> None:
        self.eager = reason
        name = getattr(self, "__name__", self.function)
        if self.whole:
            self.eager = ""
            raise Unsupported(f"{reason}; fullgraph=True wants one graph")
        logging.getLogger("mindtorch.graph").warning(
            "%s runs op by op and its backend is not called, because %s", name, reason
        )

    def _trace(self, known: list[_Call], flattened: Flattened, args: Any, kwargs: Any) -> Any:
        tensors, functions = live_objects(EngineTensor, types.FunctionType)
        mode = _Recorder(self._names(args, kwargs), set(map(id, tensors)))
        guards = GuardRecorder(functions)
        del functions
        for each in (self.function, *flattened.objects):
            guards.argument(each)
        before = [version_of(x) for x in tensors]
        drawn = get_rng_state()
        with mode:
            sys.setprofile(guards.profile)
            try:
                result = self.function(*args, **kwargs)
            finally:
                sys.setprofile(None)
        guards.finish()
        outputs = Flattened()
        try:
            returned = outputs.describe(result)
            reason = mode.refused or guards.impure
            made = None if reason else tuple(mode.node_of(x) for x in outputs.leaves)
        except (_Untraceable, TypeError, RecursionError) as error:
            reason, made = str(error), None
        if made is None:
            self._refuse(reason)
            return result
        mode.graph.output(made)
        wrote = before != [version_of(x) for x in tensors]
        del tensors
        places = [flattened.places.get(id(x), x) for x in mode.inputs]
        call = _Call(guards.guards, self._compiled(mode), places, returned)
        known.append(call)
        if wrote:  # which is not to be done twice
            return result
        set_rng_state(drawn)
        return call.run(flattened.leaves)

    def _names(self, args: Any, kwargs: Any) -> dict[int, str]:
        """Names of inputs, as torch forms them, from the places of tensors."""
        found: dict[int, str] = {}
        code = getattr(self.module.forward if self.module else self.function, "__code__", None)
        names = code.co_varnames[self.module is not None :] if code is not None else ()
        given = dict(zip(names, args, strict=False)) | kwargs
        for name, value in given.items():
            each = value if isinstance(value, (tuple, list)) else (value,)
            for at, x in enumerate(each):
                if isinstance(x, EngineTensor):
                    found[id(x)] = f"l_{name}_" + (f"{at}_" if each is value else "")
        if self.module is not None:
            kinds = (("parameters", self.module.named_parameters()),
                     ("buffers", self.module.named_buffers()))  # fmt: skip
            for kind, members in kinds:
                for path, x in members:
                    *outer, last = path.split(".")
                    lead = "".join(f"modules_{part}_" for part in outer)
                    found[id(x)] = re.sub(r"\W", "_", f"l_self_{lead}{kind}_{last}_")
        return found

    def _compiled(self, mode: _Recorder) -> Any:
        graph = GraphModule(Module(), mode.graph)
        given = {} if self.options is None else {"options": self.options}
        try:
            compiled = self.backend(graph, list(mode.inputs), **given)
        except Exception as error:
            raise BackendCompilerFailed(self.backend, error) from error
        if not callable(compiled):
            raise TypeError("compiler_fn did not return callable")
        return compiled
