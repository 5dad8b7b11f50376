"""Losses of logits that are cut along the classes."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

from mindtorch.engine.sharding.class_parallel import classes_cut

__all__ = ["loss_parallel"]


@contextlib.contextmanager
def loss_parallel() -> Iterator[None]:
    """A block in which softmax and cross entropy work on logits that are cut along the classes.

    Each process computes with its own classes, and sends one number for each sample; elsewhere the
    logits are gathered first. ``backward()`` of the loss belongs into the block, too. Targets and
    weights may be plain tensors, which every process has.
    """
    with classes_cut():
        yield
