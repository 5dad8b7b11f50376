"""Attention over sequences that are cut over processes gives what one process has."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support.paths import PROGRAMS
from tests.torch.distributed.jobs import started_ranks

PROGRAM = PROGRAMS / "distributed" / "context_parallel_program.py"
ERRORS = [
    "ValueError: a sequence of 5 cannot be cut into",
    "ValueError: `seq_dims` must have the same number of elements as `buffers`.",
    "ValueError: `no_restore_buffers` must be a subset of `buffers`.",
    "NotImplementedError: Context Parallel does not support using ring for kv shards rotation",
    "NotImplementedError: context_parallel: attention with attn_mask or dropout_p",
    "NotImplementedError: context_parallel: nn.MultiheadAttention would look at its own part",
]


def _check(size: int, folder: Path) -> None:
    for own in started_ranks(PROGRAM, size, folder):
        for title, found in own["attention"].items():
            assert max(found) < (4e-3 if title == "half" else 3e-6), (title, found)
        assert len(own["attention"]) == 10 and max(own["model"]) < 1e-6, own["model"]
        for text, begun in zip(own["errors"], ERRORS, strict=True):
            assert text.startswith(begun), text


def test_two_processes(tmp_path: Path) -> None:
    """Gathered and in a ring, balanced or not, causal or not: values and all gradients; a model's
    loss and gradients; what is refused."""
    _check(2, tmp_path)


@pytest.mark.exhaustive
def test_three_processes(tmp_path: Path) -> None:
    """A ring in which a block's way home is longer than its way out."""
    _check(3, tmp_path)
