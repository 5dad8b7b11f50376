"""What nodes keep of the tensors that scripts' hooks pack, and those hooks, by thread."""

from __future__ import annotations

import threading
from typing import Any

from ..state import grad_mode
from ..tensor import Tensor, alias, version_of

# (pack, unpack) of each thread that has any, by its number, the innermost last
saved_tensor_hooks: dict[int, tuple[Any, ...]] = {}

DETACHED = (
    "Trying to use a saved tensor that has been detached in-place, i.e. with .detach_()."
    "This is not supported, please use out-of-place `.detach()` instead"
)
_MODIFYING = (
    "A saved tensor pack hook is modifying its input in place. Tensors provided as input to pack "
    "hook cannot be modified by in-place operations as this can lead to unexpected side-effects. "
    "Please open an issue if you need to perform in-place operations on the input to a pack hook."
)


def hooks_of_thread() -> tuple[Any, ...]:
    """The hooks on saved tensors of this thread, the innermost last."""
    return saved_tensor_hooks.get(threading.get_ident(), ())


def set_hooks_of_thread(hooks: tuple[Any, ...]) -> None:
    """Make ``hooks`` those on what this thread saves."""
    if hooks:
        saved_tensor_hooks[threading.get_ident()] = hooks
    else:
        saved_tensor_hooks.pop(threading.get_ident(), None)


class PackedTensor:
    """A saved tensor that a script's hooks have packed, and its place in the graph.

    Args:
        tensor: what is saved; the pack hook runs without gradients, and must not write to it.
        node, index: what ``tensor`` is a result of, or None.
        hooks: (pack, unpack).
    """

    __slots__ = ("index", "node", "packed", "unpack_hook")

    def __init__(self, tensor: Tensor, node: Any, index: int, hooks: Any) -> None:
        self.node, self.index = node, index
        version = version_of(tensor)
        with grad_mode(False):
            self.packed = hooks[0](tensor)
        if version_of(tensor) != version:
            raise RuntimeError(_MODIFYING)
        self.unpack_hook = hooks[1]

    def unpack(self) -> Tensor:
        """What the hook gives back, in the place of the tensor that was saved."""
        value = self.unpack_hook(self.packed)
        if not isinstance(value, Tensor):
            raise TypeError(
                "Output of saved tensor unpack_hook expected to be a Tensor but got result of "
                f"type {type(value).__name__}"
            )
        if value._node is not self.node or value._output_index != self.index:
            value = alias(value)
            value._node = self.node
            value._output_index = self.index
        return value


def order_of(node: Any) -> list[int]:
    """The order in which hooks see what a node saves: as the derivatives by its inputs read it, so
    that of a product the second factor comes first."""
    order = list(range(len(node.kept)))
    if node.op.saves_second_first and tuple(node.kept[:2]) == (("in", 0), ("in", 1)):
        order[:2] = 1, 0
    return order


def kept(tensors: Any, places: Any, order: Any = None) -> list[Any]:
    """``tensors`` as a node saves them, packed where this thread has hooks.

    Args:
        places: for each of them (node, index) of what it is a result of.
        order: that in which hooks see them; None: as they stand.
    """
    hooks = hooks_of_thread()
    found = list(tensors)
    for at in (range(len(found)) if order is None else order) if hooks else ():
        if found[at] is not None and not found[at].aval.weak:
            node, index = places[at]
            found[at] = PackedTensor(found[at], node, index, hooks[-1])
    return found


class SavedTensor:
    """What a node saved, as it is kept: ``grad_fn._raw_saved_self``."""

    def __init__(self, node: Any = None, place: int = 0) -> None:
        if node is None:
            raise RuntimeError("Trying to create a SavedTensor object from Python is forbidden.")
        self._node, self._place = node, place

    def register_hooks(self, pack_hook: Any, unpack_hook: Any) -> None:
        """Keep ``pack_hook(tensor)``; ``unpack_hook`` makes the tensor of it when it is needed.

        Raises:
            RuntimeError: nothing is saved any more, or there are hooks.
        """
        node, place = self._node, self._place
        if not node.saved or not isinstance(node.saved, (list, tuple)):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor after it has been freed. Saved "
                "intermediate values of the graph are freed when you call .backward() or "
                "autograd.grad(). Specify retain_graph=True if you need to backward through the "
                "graph a second time or if you need to access saved variables after calling "
                "backward."
            )
        tensor = node.saved[place]
        if isinstance(tensor, PackedTensor):
            raise RuntimeError(
                "Calling register_hooks on a saved tensor whose hooks have already been set. "
                "Hint: only one pair of hooks is allowed at a time."
            )
        if tensor is None:
            raise RuntimeError(
                "Calling register_hooks on a saved tensor with value None is forbidden"
            )
        own, index = node.place_of_saved(place)
        packed = PackedTensor(tensor, own, index, (pack_hook, unpack_hook))
        node.saved = [*node.saved[:place], packed, *node.saved[place + 1 :]]
        node.versions = (*node.versions[:place], -1, *node.versions[place + 1 :])


_SAVED_INPUTS = {"self": 0, "input": 0, "condition": 0, "other": 1, "weight": 1, "exponent": 1}
# what torch calls params of ops otherwise
_PARAMS = {"dim": "axis", "keepdim": "keepdims"}


class InputMetadata:
    """What a node knows of a result whose gradient it takes: ``grad_fn._input_metadata``."""

    def __init__(self, aval: Any) -> None:
        self.dtype, self.shape, self.device = aval.dtype, aval.shape, aval.device
        self.is_nested_tensor = False


def _named_by_rules(op: Any) -> set[tuple[str, int]]:
    """The inputs that an op's rules name."""
    several = op.rules if isinstance(op.rules, (list, tuple)) else [op.rules]
    return {("in", at) for rule in several if rule is not None for at in rule.inputs}


def _places(node: Any) -> dict[str, tuple[str, int]]:
    """What the rules name of inputs, and the first result, by the names that scripts have."""
    named = _named_by_rules(node.op)
    found = {name: ("in", at) for name, at in _SAVED_INPUTS.items() if ("in", at) in named}
    return {**found, "result": ("out", 0)}


def names_shown(node: Any) -> list[str]:
    """The attributes of a node that scripts see."""
    usual = ("result", "self", "exponent" if node.name() == "PowBackward0" else "other")
    held = [name for name, place in _places(node).items() if place in node.kept and name in usual]
    params = {name: name for name in (*node.op.defaults, *node.params)}
    for name, own in _PARAMS.items():
        if params.pop(own, None):
            params[name] = own
    return sorted([
        "_input_metadata", "_sequence_nr", "metadata", "name", "next_functions", "register_hook",
        "register_prehook", "requires_grad", *(f"_saved_{name}" for name in (*held, *params)),
        *(f"_raw_saved_{name}" for name in held),
    ])  # fmt: skip


def saved_value(node: Any, name: str) -> Any:
    """What a script reads of what a node saved: ``grad_fn._saved_self``, ``_saved_result``, sizes
    of its input and the op's arguments; and ``metadata``, which it may write to."""
    if name == "metadata":
        node.metadata = {}
        return node.metadata
    if name == "_input_metadata":
        return tuple(map(InputMetadata, node.out_avals))
    kind, _, what = name.partition("saved_")
    place = _places(node).get(what)
    if kind not in ("_", "_raw_") or not what:
        raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")
    if name == "_saved_exponent" and node.name() == "PowBackward0":
        inputs = node._unpack()[0]
        exponent = inputs[1].item() if 1 in inputs else 2
        return int(exponent) if exponent == int(exponent) else exponent
    if place is not None and place in node.kept:
        if kind == "_raw_":
            return SavedTensor(node, node.kept.index(place))
        inputs, outs = node._unpack()
        return outs[0] if place[0] == "out" else inputs[place[1]]
    return _described(node, name, what, place)


def _described(node: Any, name: str, what: str, place: Any) -> Any:
    """What a node tells besides tensors: sizes, arguments, and None for an input that is not kept
    since the other one needs no gradient."""
    if name.startswith("_saved"):
        first = node.plan.in_avals[0]
        if what in ("self_sym_sizes", "input_sym_sizes"):
            return first.shape
        if what in ("self_sym_numel", "input_sym_numel"):
            return first.size
        own = _PARAMS.get(what, what)
        for params in (node.params, node.op.defaults):
            if own in params:
                return params[own]
        if place is not None and place[0] == "in":
            return None
    raise AttributeError(f"'{type(node).__name__}' object has no attribute '{name}'")
