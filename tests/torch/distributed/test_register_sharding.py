"""register_sharding in two processes, here and in PyTorch."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path
from typing import Any

import pytest
import torch.distributed.tensor as real

import mindtorch.torch as torch
from mindtorch.torch.distributed.tensor.experimental import register_sharding
from tests.support.paths import GOLDEN_FILES, PROGRAMS
from tests.torch.distributed.jobs import assert_near, started_ranks

PROGRAM = PROGRAMS / "distributed" / "register_sharding_program.py"


# what PyTorch found; python -m tests.torch.distributed.test_register_sharding writes it
GOLDEN = GOLDEN_FILES / "register_sharding.json"


def under_pytorch(folder: Path) -> list[Any]:
    return started_ranks(PROGRAM, 2, folder, namespace="torch")


def test_operators_lie_as_their_functions_say(tmp_path: Path) -> None:
    """Placements, values and gradients of a custom operator and of one of aten's, as in PyTorch."""
    assert_near(started_ranks(PROGRAM, 2, tmp_path), json.loads(GOLDEN.read_text()), rel=1e-5)


@pytest.mark.exhaustive
def test_what_is_stored_is_pytorchs(tmp_path: Path) -> None:
    """PyTorch finds nothing else on another day; what it imports for this takes four seconds."""
    assert_near(under_pytorch(tmp_path), json.loads(GOLDEN.read_text()), rel=1e-5)


def test_what_cannot_be_registered() -> None:
    """A packet is no overload; an inner operator has no function of its name."""
    wrong: list[tuple[Any, type[Exception], str]] = [
        (torch.ops.aten.cumsum, TypeError, "takes overloads"),
        (torch.ops.aten._softmax.default, NotImplementedError, "no public function"),
    ]
    for overload, kind, text in wrong:
        with pytest.raises(kind, match=text):
            register_sharding(overload)


def test_pieces_are_those_of_torch() -> None:
    """Lengths and beginnings, empty pieces too; names of reductions."""
    theirs = real.Shard
    for length, count in ((5, 2), (3, 4), (0, 2), (8, 4)):
        for rank in range(count):
            found = torch.distributed.tensor.Shard.local_shard_size_and_offset(length, count, rank)
            assert found == theirs.local_shard_size_and_offset(length, count, rank)
    partial = torch.distributed.tensor.Partial
    assert partial.ALL_REDUCE_OPS == real.Partial.ALL_REDUCE_OPS
    assert partial.LINEAR_REDUCE_OPS == real.Partial.LINEAR_REDUCE_OPS


if __name__ == "__main__":
    with tempfile.TemporaryDirectory() as place:
        GOLDEN.write_text(json.dumps(under_pytorch(Path(place))) + "\n")
