"""Lists and dicts that hold arguments of nodes: changed only by assigning them anew."""

from __future__ import annotations

from typing import Any, NoReturn

from mindtorch.torch.utils._pytree import _dict_flatten, register_pytree_node

__all__ = ["immutable_dict", "immutable_list"]

_HINT = (
    "If you are attempting to modify the kwargs or args of a torch.fx.Node object,\n"
    "instead create a new copy of it and assign the copy to the node:\n\n"
    "    new_args = ...  # copy and mutate args\n"
    "    node.args = new_args\n"
)


def _refuse(self: Any, *args: Any, **kwargs: Any) -> NoReturn:
    raise TypeError(f"'{type(self).__name__}' object does not support mutation. {_HINT}")


def _frozen(base: type[Any], name: str, writers: str) -> type[Any]:
    """The subclass of a container whose methods that write raise TypeError."""
    members: dict[str, Any] = dict.fromkeys(writers.split(), _refuse)
    members["__hash__"] = lambda self: hash(tuple(self))
    members["__reduce__"] = lambda self: (type(self), (base(self),))
    members["__module__"] = __name__
    members["__doc__"] = f"A {base.__name__} that does not change."
    return type(name, (base,), members)


immutable_list = _frozen(
    list, "immutable_list",
    "__delitem__ __iadd__ __imul__ __setitem__ append clear extend insert pop remove reverse sort",
)  # fmt: skip
immutable_dict = _frozen(
    dict, "immutable_dict", "__delitem__ __ior__ __setitem__ clear pop popitem setdefault update"
)

register_pytree_node(
    immutable_list, lambda each: (list(each), None), lambda leaves, _: immutable_list(leaves)
)
register_pytree_node(
    immutable_dict,
    _dict_flatten,
    lambda leaves, keys: immutable_dict(zip(keys, leaves, strict=True)),
)
