"""`nn.GraphCell`: a network that runs the graph of a MindIR file."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import from_array

from ..common.parameter import Parameter
from ..common.tensor import adopt
from ..nn.cell import Cell
from .errors import MindIRError, UnsupportedPrimitiveError
from .graphs import Call, FuncGraph, Function
from .primitives import reads
from .values import MONAD

__all__ = ["GraphCell"]


class _Partial:
    """A function of the file, with its first arguments."""

    def __init__(self, function: Function, given: tuple[Any, ...]) -> None:
        self.function, self.given = function, given


@reads("Partial")
def _partial(function: Any, *given: Any) -> Any:
    if isinstance(function, _Partial):
        return _Partial(function.function, (*function.given, *given))
    return _Partial(function, given)


@reads("Switch", "switch")
def _switch(condition: Any, then: Any, otherwise: Any) -> Any:
    return then if bool(condition) else otherwise


@reads("SwitchLayer", "switch_layer")
def _switch_layer(index: Any, functions: Any) -> Any:
    return functions[int(index)]


class GraphCell(Cell):
    """A network that runs a graph of :func:`mindspore.load`. Its parameters have the file's names,
    are trained by default, and go to ``mindspore.export`` again.

    Args:
        graph: what `load` gave.
        params_init: {name: parameter or tensor}: other elements for some of the parameters.
        obf_random_seed: of obfuscated models, which are not read.

    Raises:
        TypeError: ``graph`` is none, or ``params_init`` no dict of tensors.
        NotImplementedError: ``obf_random_seed``.
    """

    def __init__(
        self, graph: FuncGraph, params_init: dict[str, Any] | None = None,
        obf_random_seed: int | None = None,
    ) -> None:  # fmt: skip
        super().__init__(auto_prefix=True)
        if not isinstance(graph, FuncGraph):
            raise TypeError(
                "For 'GraphCell', the argument 'graph' must be a FuncGraph loaded from MindIR, but "
                f"got type {type(graph)}."
            )
        if obf_random_seed is not None:
            raise NotImplementedError("GraphCell(obf_random_seed=...): obfuscated models")
        given = {} if params_init is None else params_init
        if not isinstance(given, dict):
            raise TypeError(
                "For 'GraphCell', the argument 'params_init' must be a dict, but got "
                f"{type(given)}."
            )
        for name, value in given.items():
            if not isinstance(value, EngineTensor):
                raise TypeError(
                    f"For 'GraphCell', the element of 'params_init' must be Tensor or Parameter, "
                    f"but got {name}: {type(value)}"
                )
        self.__dict__["graph"] = graph
        self.__dict__["_constants"] = {
            name: adopt(from_array(value.copy())) if hasattr(value, "dtype") else value
            for name, value in graph.constants.items()
        }
        places: dict[str, str] = {}
        for place, (name, array) in graph.weights.items():
            if name not in places.values():
                made = Parameter(given.get(name, from_array(array.copy())), name)
                self.register_parameter(name.replace(".", "_"), made)
            places[place] = name
        self.__dict__["_places"] = {k: v.replace(".", "_") for k, v in places.items()}

    def construct(self, *args: Any) -> Any:
        graph = self.graph
        if len(args) != len(graph.inputs):
            names = [name for name, _, _ in graph.inputs]
            raise TypeError(f"the graph takes {len(names)} inputs {names}, got {len(args)}")
        everywhere = {
            **self._constants, **graph.functions,
            **{place: getattr(self, name) for place, name in self._places.items()},
        }  # fmt: skip
        return _run(graph.main, args, everywhere)


def _run(function: Function, args: Any, everywhere: dict[str, Any]) -> Any:
    """The result of a function; a call that ends it takes its place, as loops do by thousands."""
    while True:
        if len(args) != len(function.parameters):
            raise MindIRError(
                f"{function.name!r} takes {len(function.parameters)} arguments, got {len(args)}"
            )
        known = dict(zip(function.parameters, args, strict=True))

        def of(name: str, known: dict[str, Any] = known) -> Any:
            return known[name] if name in known else everywhere[name]

        calls, outputs = function.calls, function.outputs
        last = calls[-1] if calls and not calls[-1].primitive else None
        ends = last is not None and outputs == (last.output,)
        for call in calls[:-1] if ends else calls:
            known[call.output] = _result(call, [of(name) for name in call.inputs], of, everywhere)
        if not ends:
            results = tuple(of(name) for name in outputs)
            return results[0] if len(results) == 1 else results
        assert last is not None
        function, args = _callee(of(last.callee), [of(name) for name in last.inputs], last)


def _callee(value: Any, inputs: list[Any], call: Call) -> tuple[Function, Any]:
    """The function that a value is, and its arguments; what orders effects may be left out."""
    given: tuple[Any, ...] = ()
    if isinstance(value, _Partial):
        value, given = value.function, value.given
    if not isinstance(value, Function):
        raise MindIRError(f"the node {call.name!r} calls what is no function")
    args = (*given, *inputs)
    missing = len(value.parameters) - len(args)
    return value, (*args, *[MONAD] * missing) if missing > 0 else args


def _result(call: Call, inputs: list[Any], of: Any, everywhere: dict[str, Any]) -> Any:
    if call.primitive is None:
        function, args = _callee(of(call.callee), inputs, call)
        return _run(function, args, everywhere)
    try:
        return call.primitive.call(inputs, call.attributes, call.function)
    except (UnsupportedPrimitiveError, TypeError, ValueError, RuntimeError, IndexError) as error:
        error.add_note(f"in the node {call.name!r} of the MindIR file")
        raise
