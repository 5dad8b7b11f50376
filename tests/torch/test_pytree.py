"""torch.utils._pytree against real torch's."""

from collections import OrderedDict, defaultdict, deque, namedtuple
from typing import Any

import pytest

from mindtorch.torch.utils import _pytree as ours

Point = namedtuple("Point", ["x", "y"])

TREES: list[Any] = [
    3,
    None,
    [],
    [1, (2, {"b": 3, "a": [4, None]})],
    Point(1, [2, 3]),
    OrderedDict(z=1, a=(2,)),
    deque([1, [2]], maxlen=4),
    {"k": defaultdict(list, {"q": [1]})},
]


@pytest.mark.parametrize("tree", TREES)
def test_trees_flatten_as_in_torch(tree: Any) -> None:
    """torchvision's transforms walk their inputs with these, and rely on the order."""
    pytest.importorskip("torch")
    from torch.utils import _pytree as theirs

    leaves, spec = ours.tree_flatten(tree)
    expected, expected_spec = theirs.tree_flatten(tree)
    assert leaves == expected == ours.tree_leaves(tree)
    assert spec.num_leaves == expected_spec.num_leaves
    rebuilt = ours.tree_unflatten(leaves, spec)
    assert rebuilt == tree and type(rebuilt) is type(tree)


def test_a_map_keeps_the_tree() -> None:
    """With further trees, what stands in the same place is passed along."""
    assert ours.tree_map(lambda x: x + 1, {"a": [1, (2,)]}) == {"a": [2, (3,)]}
    assert ours.tree_map(lambda x, y: x * y, Point(2, [3]), Point(5, [7])) == Point(10, [21])
    assert ours.tree_map_only(int, lambda x: -x, [1, "a", (2.5, 3)]) == [-1, "a", (2.5, -3)]
    assert ours.tree_map(len, [[1, 2], [3]], is_leaf=lambda x: x and x[0] in (1, 3)) == [2, 1]


def test_trees_that_do_not_match_are_refused() -> None:
    """A silent truncation would lose a tensor."""
    with pytest.raises(ValueError, match="arity mismatch; expected 2, but got 1"):
        ours.tree_map(lambda x, y: x, [1, 2], [1])
    with pytest.raises(ValueError, match="type mismatch"):
        ours.tree_map(lambda x, y: x, [1], (1,))
    with pytest.raises(ValueError, match="`leaves` has length 1"):
        ours.tree_unflatten([1], ours.tree_structure([1, 2]))
