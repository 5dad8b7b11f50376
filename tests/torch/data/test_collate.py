"""Samples in every kind of container, put together as PyTorch does."""

from __future__ import annotations

import dataclasses
import types
from collections import OrderedDict, UserDict, defaultdict, namedtuple
from typing import Any

import numpy as np
import pytest
import torch.utils.data as theirs
from torch import nn as _  # noqa: F401  (torch.utils.data alone does not load torch.nn)

import mindtorch.torch as our_torch
import mindtorch.torch.utils.data as ours

Point = namedtuple("Point", "x y")


@dataclasses.dataclass
class Record:
    x: int


class Row(list[int]):
    pass


class Table(dict[str, int]):
    pass


BATCHES: dict[str, Any] = {
    "namedtuple": [Point(1, 2.0), Point(3, 4.0)], "dataclass": [Record(1), Record(2)],
    "dict": [{"a": 1, "b": [1, 2]}, {"a": 2, "b": [3, 4]}],
    "ordered": [OrderedDict(a=1), OrderedDict(a=2)],
    "defaultdict": [defaultdict(int, a=1), defaultdict(int, a=2)],
    "userdict": [UserDict(a=1), UserDict(a=2)], "dict subclass": [Table(a=1), Table(a=2)],
    "proxy": [types.MappingProxyType({"a": 1})] * 2, "tuple": [(1, "a"), (2, "b")],
    "list subclass": [Row([1, 2]), Row([3, 4])], "uneven": [[1], [1, 2]], "none": [None, None],
    "bytes": [b"a", b"b"], "numbers": [1, 2.0], "number and word": [1, "a"], "complex": [1j, 2j],
    "other keys": [{"a": 1}, {"b": 1}], "nothing": [], "set": [{1}, {2}],
    "range": [range(2), range(2, 4)], "numpy": [np.ones(2), np.zeros(2)],
    "numpy word": [np.array(["a"])] * 2, "numpy 0-d": [np.array(1), np.array(2)],
    "numpy numbers": [np.int8(1), np.int8(2)], "numpy bool": [np.bool_(True), np.bool_(False)],
    "numpy uint16": [np.ones(1, np.uint16)] * 2, "nested": [{"a": (Point(1, {"z": 2}),)}] * 2,
    "large": [1 << 40, 1], "bool": [True, False],
}  # fmt: skip


@pytest.mark.parametrize("name", BATCHES)
@pytest.mark.parametrize("function", ["default_collate", "default_convert"])
def test_containers_are_collated_as_by_pytorch(name: str, function: str) -> None:
    """Types, values, and errors, all visible in the printed form."""
    found = []
    for data in (ours, theirs):
        try:
            made = getattr(data, function)(BATCHES[name])
            found.append((type(made).__name__, repr(made)))
        except Exception as error:
            found.append((type(error).__name__, str(error)))
    assert found[0] == found[1]


def test_sparse_samples_are_refused() -> None:
    """In PyTorch's words."""
    with pytest.raises(RuntimeError, match="Batches of sparse tensors are not"):
        ours.default_collate([our_torch.eye(2).to_sparse()] * 2)


def test_stacked_data_sets_answer_for_several_indices() -> None:
    """Each part is asked once where it can answer so; a wrong count is an error."""

    class Several(list[int]):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [self[i] for i in indices]

    class Wrong(Several):
        def __getitems__(self, indices: list[int]) -> list[int]:
            return [0]

    for data in (ours, theirs):
        many: Any = data.StackDataset(Several([1, 2, 3]), [4, 5, 6])
        assert many.__getitems__([0, 2]) == [(1, 4), (3, 6)]
        named: Any = data.StackDataset(a=Several([1, 2, 3]))
        assert named.__getitems__([0, 2]) == [{"a": 1}, {"a": 3}]
        wrong: Any = data.StackDataset(Wrong([1, 2]))
        with pytest.raises(ValueError, match="Expected 2, got 1"):
            wrong.__getitems__([0, 1])


def test_a_context_set_later_is_checked() -> None:
    """As the argument is."""
    for data in (ours, theirs):
        loader = data.DataLoader([1, 2])
        with pytest.raises(ValueError, match="can only be used with multi-process loading"):
            loader.multiprocessing_context = "fork"


def test_the_old_name_of_cumulative_sizes_warns() -> None:
    """It is misspelt in PyTorch, too."""
    for data in (ours, theirs):
        joined: Any = data.ConcatDataset([[1], [2, 3]])
        with pytest.warns(FutureWarning, match="renamed to `cumulative_sizes`"):
            assert joined.cummulative_sizes == [1, 3]
