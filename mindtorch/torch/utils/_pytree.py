"""Nested containers as trees: flattened to their leaves, rebuilt, mapped.

Lists, tuples, named tuples, dicts, ordered and default dicts and deques are nodes, and what was
registered; everything else, None included, is a leaf. Dicts keep their order.
"""

from __future__ import annotations

from collections import OrderedDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from ._pytree_paths import WITH_KEYS, KeyPath
from ._pytree_paths import GetAttrKey as GetAttrKey
from ._pytree_paths import MappingKey as MappingKey
from ._pytree_paths import SequenceKey as SequenceKey
from ._pytree_paths import _dict_flatten_with_keys as _dict_flatten_with_keys
from ._pytree_paths import keystr as keystr

__all__ = [
    "LeafSpec",
    "PyTree",
    "TreeSpec",
    "register_pytree_node",
    "tree_all",
    "tree_all_only",
    "tree_any",
    "tree_any_only",
    "tree_flatten",
    "tree_flatten_with_path",
    "tree_iter",
    "tree_leaves",
    "tree_leaves_with_path",
    "tree_map",
    "tree_map_",
    "tree_map_only",
    "tree_map_only_",
    "tree_map_with_path",
    "tree_structure",
    "tree_unflatten",
]

PyTree = Any
Context = Any
IsLeaf = Callable[[Any], bool] | None


class _Node(NamedTuple):
    """How a type of container is taken apart and put together again."""

    flatten_fn: Callable[[Any], tuple[list[Any], Any]]
    unflatten_fn: Callable[[Iterable[Any], Any], Any]


def _dict_flatten(tree: dict[Any, Any]) -> tuple[list[Any], list[Any]]:
    return list(tree.values()), list(tree)


def _dict_unflatten(values: Iterable[Any], context: list[Any]) -> dict[Any, Any]:
    return dict(zip(context, values, strict=True))


SUPPORTED_NODES: dict[Any, _Node] = {
    list: _Node(lambda tree: (tree, None), lambda leaves, _: list(leaves)),
    tuple: _Node(lambda tree: (list(tree), None), lambda leaves, _: tuple(leaves)),
    dict: _Node(_dict_flatten, _dict_unflatten),
    OrderedDict: _Node(
        _dict_flatten, lambda leaves, keys: OrderedDict(zip(keys, leaves, strict=True))
    ),
    defaultdict: _Node(
        lambda tree: (list(tree.values()), (tree.default_factory, list(tree))),
        lambda leaves, context: defaultdict(context[0], zip(context[1], leaves, strict=True)),
    ),
    deque: _Node(
        lambda tree: (list(tree), tree.maxlen), lambda leaves, length: deque(leaves, length)
    ),
    namedtuple: _Node(
        lambda tree: (list(tree), type(tree)), lambda leaves, cls: cls(*leaves)
    ),
}


def register_pytree_node(
    cls: type[Any],
    flatten_fn: Callable[[Any], tuple[list[Any], Any]],
    unflatten_fn: Callable[[Iterable[Any], Any], Any],
    *,
    serialized_type_name: str | None = None,
    to_dumpable_context: Any = None,
    from_dumpable_context: Any = None,
    flatten_with_keys_fn: Any = None,
) -> None:
    """Make a class a node. What writes specs to text has no use here.

    Args:
        flatten_fn: the children of an instance, and whatever else is needed to rebuild it.
        unflatten_fn: rebuilds from the children and that.
        flatten_with_keys_fn: as `flatten_fn`, with pairs of key and child; for paths.

    Raises:
        ValueError: the class is a node already.
    """
    if cls in SUPPORTED_NODES:
        raise ValueError(f"{cls} is already registered as pytree node.")
    SUPPORTED_NODES[cls] = _Node(flatten_fn, unflatten_fn)
    if flatten_with_keys_fn is not None:
        WITH_KEYS[cls] = flatten_with_keys_fn


# the names by which files know classes of named tuples
NAMED_TUPLES: dict[str, type[Any]] = {}


def _register_namedtuple(cls: type[Any], *, serialized_type_name: str) -> None:
    """Let files of exported programs know a class of named tuples by a name.

    Raises:
        ValueError: another class has the name.
    """
    if NAMED_TUPLES.setdefault(serialized_type_name, cls) is not cls:
        raise ValueError(f"{serialized_type_name} is already registered as a named tuple's name.")


def _is_named_tuple(tree: Any) -> bool:
    return isinstance(tree, tuple) and isinstance(getattr(tree, "_fields", None), tuple)


def _get_node_type(tree: Any) -> Any:
    """The type by which SUPPORTED_NODES knows the tree: `namedtuple` for all named tuples."""
    known = type(tree) in SUPPORTED_NODES or not _is_named_tuple(tree)
    return type(tree) if known else namedtuple


def _node_of(tree: Any) -> _Node | None:
    node = SUPPORTED_NODES.get(type(tree))
    return SUPPORTED_NODES[namedtuple] if node is None and _is_named_tuple(tree) else node


@dataclass(repr=False)
class TreeSpec:
    """A tree without its leaves."""

    type: Any
    context: Any
    children_specs: list[TreeSpec]
    num_leaves: int = field(init=False)
    num_children: int = field(init=False)

    def __post_init__(self) -> None:
        self.num_children = len(self.children_specs)
        self.num_leaves = sum(spec.num_leaves for spec in self.children_specs)

    def __repr__(self) -> str:
        parts = ",\n".join(repr(spec) for spec in self.children_specs).replace("\n", "\n  ")
        return f"TreeSpec({self.type.__name__}, {self.context}, [{parts}])"

    @property
    def num_nodes(self) -> int:
        """The number of nodes, leaves counted."""
        return 1 + sum(spec.num_nodes for spec in self.children_specs)

    def is_leaf(self) -> bool:
        return False

    def flatten_up_to(self, tree: Any) -> list[Any]:
        """The pieces of ``tree`` that stand where this one has leaves."""
        return _parts_like(self, tree)

    def unflatten(self, leaves: Iterable[Any]) -> Any:
        """The tree with these leaves.

        Raises:
            ValueError: their number is another.
        """
        given = list(leaves)
        if len(given) != self.num_leaves:
            raise ValueError(
                f"treespec.unflatten(leaves): `leaves` has length {len(given)} but the spec refers "
                f"to a pytree that holds {self.num_leaves} items ({self})."
            )
        return self._build(iter(given))

    def _build(self, leaves: Iterator[Any]) -> Any:
        children = [spec._build(leaves) for spec in self.children_specs]
        node = SUPPORTED_NODES[self.type]
        return node.unflatten_fn(children, self.context)


class LeafSpec(TreeSpec):
    """The place of one leaf."""

    def __init__(self) -> None:
        super().__init__(None, None, [])
        self.num_leaves = 1

    def is_leaf(self) -> bool:
        return True

    def _build(self, leaves: Iterator[Any]) -> Any:
        return next(leaves)

    def __repr__(self) -> str:
        return "*"


def _flatten(tree: Any, leaves: list[Any], is_leaf: IsLeaf) -> TreeSpec:
    node = None if is_leaf is not None and is_leaf(tree) else _node_of(tree)
    if node is None:
        leaves.append(tree)
        return LeafSpec()
    children, context = node.flatten_fn(tree)
    specs = [_flatten(each, leaves, is_leaf) for each in children]
    return TreeSpec(_get_node_type(tree), context, specs)


def tree_flatten(tree: PyTree, is_leaf: IsLeaf = None) -> tuple[list[Any], TreeSpec]:
    """The leaves from left to right, and the spec that puts them back.

    Args:
        is_leaf: makes a leaf of a container.
    """
    leaves: list[Any] = []
    spec = _flatten(tree, leaves, is_leaf)
    return leaves, spec


def _leaves_with_path(tree: Any, path: KeyPath, is_leaf: IsLeaf) -> Iterator[tuple[KeyPath, Any]]:
    if (is_leaf is not None and is_leaf(tree)) or _node_of(tree) is None:
        yield path, tree
        return
    kind = _get_node_type(tree)
    if kind not in WITH_KEYS:
        raise ValueError(
            f"Did not find a flatten_with_keys_fn for type: {kind}. Please pass a "
            "flatten_with_keys_fn argument to register_pytree_node."
        )
    for key, child in WITH_KEYS[kind](tree)[0]:
        yield from _leaves_with_path(child, (*path, key), is_leaf)


def tree_flatten_with_path(
    tree: PyTree, is_leaf: IsLeaf = None
) -> tuple[list[tuple[KeyPath, Any]], TreeSpec]:
    """The leaves, each with the keys that lead to it, and the spec.

    Raises:
        ValueError: a registered class has no function that gives keys.
    """
    return list(_leaves_with_path(tree, (), is_leaf)), tree_flatten(tree, is_leaf)[1]


def arg_tree_leaves(*args: PyTree, **kwargs: PyTree) -> list[Any]:
    """The leaves of a call's arguments, in order."""
    return tree_leaves((args, kwargs))


def tree_leaves_with_path(tree: PyTree, is_leaf: IsLeaf = None) -> list[tuple[KeyPath, Any]]:
    """The leaves, each with the keys that lead to it."""
    return list(_leaves_with_path(tree, (), is_leaf))


def tree_map_with_path(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> PyTree:
    """`tree_map` whose function is given each leaf's path first."""
    pairs, spec = tree_flatten_with_path(tree, is_leaf)
    others = [_parts_like(spec, each) for each in rests]
    columns = zip(pairs, *others, strict=True)
    return spec.unflatten(func(*pair, *rest) for pair, *rest in columns)


def tree_unflatten(leaves: Iterable[Any], treespec: TreeSpec) -> PyTree:
    """The tree of a spec with these leaves.

    Raises:
        TypeError: `treespec` is none.
        ValueError: the number of leaves is not the spec's.
    """
    if not isinstance(treespec, TreeSpec):
        raise TypeError(
            f"tree_unflatten(leaves, treespec): Expected `treespec` to be instance of TreeSpec but "
            f"got item of type {type(treespec)}."
        )
    return treespec.unflatten(leaves)


def tree_iter(tree: PyTree, is_leaf: IsLeaf = None) -> Iterator[Any]:
    """The leaves from left to right."""
    yield from tree_leaves(tree, is_leaf)


def tree_leaves(tree: PyTree, is_leaf: IsLeaf = None) -> list[Any]:
    """The leaves from left to right."""
    return tree_flatten(tree, is_leaf)[0]


def tree_structure(tree: PyTree, is_leaf: IsLeaf = None) -> TreeSpec:
    """The tree without its leaves."""
    return tree_flatten(tree, is_leaf)[1]


def _parts_like(spec: TreeSpec, tree: Any) -> list[Any]:
    """The pieces of `tree` that stand where `spec` has leaves."""
    if spec.is_leaf():
        return [tree]
    if _get_node_type(tree) is not spec.type:
        raise ValueError(f"Node type mismatch; expected {spec.type}, but got {type(tree)}.")
    node = _node_of(tree)
    assert node is not None
    children = node.flatten_fn(tree)[0]
    if isinstance(tree, dict) and set(tree) == set(spec.context):
        children = [tree[key] for key in spec.context]
    if len(children) != spec.num_children:
        raise ValueError(
            f"Node arity mismatch; expected {spec.num_children}, but got {len(children)}."
        )
    pairs = zip(spec.children_specs, children, strict=True)
    return [part for each, child in pairs for part in _parts_like(each, child)]


def tree_map(func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None) -> Any:
    """The tree with `func` of each leaf, and of what stands in its place in the other trees."""
    leaves, spec = tree_flatten(tree, is_leaf)
    others = [_parts_like(spec, rest) for rest in rests]
    return spec.unflatten(func(*each) for each in zip(leaves, *others, strict=True))


def tree_map_(
    func: Callable[..., Any], tree: PyTree, *rests: PyTree, is_leaf: IsLeaf = None
) -> Any:
    """Call `func` on each leaf for what it does; returns `tree`."""
    tree_map(func, tree, *rests, is_leaf=is_leaf)
    return tree


def _chosen(condition: Any) -> Callable[[Any], bool]:
    """A test of leaves: a function, or the types that they must have."""
    if callable(condition) and not isinstance(condition, type):
        return lambda leaf: bool(condition(leaf))
    return lambda leaf: isinstance(leaf, condition)


def tree_map_only(
    type_or_types_or_pred: Any, func: Any = None, tree: Any = None, is_leaf: IsLeaf = None
) -> Any:
    """The tree with `func` of the leaves of some types, the others as they are."""
    chosen = _chosen(type_or_types_or_pred)
    return tree_map(lambda leaf: func(leaf) if chosen(leaf) else leaf, tree, is_leaf=is_leaf)


def tree_map_only_(
    type_or_types_or_pred: Any, func: Any = None, tree: Any = None, is_leaf: IsLeaf = None
) -> Any:
    """Call `func` on the leaves of some types for what it does; returns `tree`."""
    tree_map_only(type_or_types_or_pred, func, tree, is_leaf)
    return tree


def tree_all(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds of all leaves."""
    return all(map(pred, tree_leaves(tree, is_leaf)))


def tree_any(pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None) -> bool:
    """Whether `pred` holds of a leaf."""
    return any(map(pred, tree_leaves(tree, is_leaf)))


def tree_all_only(
    type_or_types: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether `pred` holds of all leaves of some types."""
    return all(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))


def tree_any_only(
    type_or_types: Any, pred: Callable[[Any], bool], tree: PyTree, is_leaf: IsLeaf = None
) -> bool:
    """Whether `pred` holds of a leaf of some types."""
    return any(pred(leaf) for leaf in tree_leaves(tree, is_leaf) if isinstance(leaf, type_or_types))
