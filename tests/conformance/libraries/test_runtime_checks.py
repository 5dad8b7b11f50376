"""Names that libraries use around their own code, against real torch."""

import importlib
from collections import namedtuple
from typing import Any

import pytest
import torch as theirs
from torch.utils import _pytree as their_trees

import mindtorch.torch as ours
from mindtorch.torch import distributed
from mindtorch.torch.utils import _pytree as our_trees

Point = namedtuple("Point", ["x", "y"])

CALLS = {
    "check": lambda t: t._check(False),
    "message": lambda t: t._check(False, lambda: "text"),
    "tensor": lambda t: t._check(t.tensor(True)),
    "value": lambda t: t._check_value(False, lambda: "text"),
    "all": lambda t: t._check_tensor_all(t.tensor([True, False]), lambda: "text"),
    "all of numbers": lambda t: t._check_tensor_all(t.tensor([1, 0])),
    "assert": lambda t: t._assert(t.tensor(0), "text"),
    "larger": lambda t: t.sym_max(5, 4.0),
    "sum": lambda t: t.sym_sum([1, 2.5]),
    "either": lambda t: t.sym_ite(True, 1, 2.0),
    "single mask": lambda t: t.arange(6.0).view(2, 3)[:, t.tensor(True), 1].tolist(),
    "single false mask": lambda t: tuple(t.arange(6.0)[t.tensor(False)].shape),
}


def outcome(call: Any, torch: Any) -> Any:
    try:
        return call(torch)
    except Exception as error:
        return type(error).__name__, str(error)


@pytest.mark.parametrize("name", CALLS)
def test_a_check_answers_as_in_torch(name: str) -> None:
    """Libraries show these texts to their users."""
    expected, found = outcome(CALLS[name], theirs), outcome(CALLS[name], ours)
    assert found == expected and type(found) is type(expected)


def test_paths_to_the_leaves_of_a_tree_are_torchs() -> None:
    """transformers registers its outputs with keys, and export names tensors by their paths."""
    tree = {"a": [1, (2,)], "b": Point(3, {"c": 4})}
    expected = [their_trees.keystr(p) for p, _ in their_trees.tree_flatten_with_path(tree)[0]]
    pairs, spec = our_trees.tree_flatten_with_path(tree)
    assert [our_trees.keystr(path) for path, _ in pairs] == expected
    assert spec.unflatten(leaf for _, leaf in pairs) == tree


def test_absent_parts_can_be_named_and_not_used() -> None:
    """Libraries ask whether something is a reference to another process's value."""
    assert not isinstance(ours.ones(1), distributed.rpc.RRef)
    with pytest.raises(NotImplementedError, match=r"torch.distributed.rpc.RRef is not avail"):
        distributed.rpc.RRef()
    older = importlib.import_module("mindtorch.torch.distributed._tensor.experimental")
    with older.implicit_replication():  # opacus imports it
        assert not isinstance(ours.ones(1), distributed.tensor.DTensor)
    with pytest.raises(NotImplementedError, match=r"quint8 are not available"):
        ours.ones(1).to(ours.quint8)
