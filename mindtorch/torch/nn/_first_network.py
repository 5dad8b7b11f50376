"""The first network on a machine: what its training will need is compiled beside its building.

Kernels are compiled when they are first called, so a first step used to wait for all of them, after
a network's initial weights had waited for theirs on one core. Where the cache of kernels was never
used for a network, a process of its own takes small training steps on zeros meanwhile: layers,
losses and optimizers that most programs have. It ends with them, or with the program.
"""

from __future__ import annotations

import contextlib
import os
import sys
import warnings
from typing import Any

from mindtorch.kernels.claims import Compiling

_MARK = "networks"  # the file in the cache that says that this was done


class _First:
    """The first parameter's number of axes."""

    axes = 0


def watch(axes: int) -> None:
    """A parameter is made: if a kernel is missing soon, this is a first network."""
    if not _First.axes:
        _First.axes = axes or 1
        if Compiling.begins is None:
            Compiling.begins = _begin


def _begin() -> None:
    from mindtorch.engine.graph import ahead
    from mindtorch.kernels.compile import cache_directory

    Compiling.begins = None
    if ahead.processes() < 2 or not hasattr(os, "fork") or "mpi4py.MPI" in sys.modules:
        return
    try:
        mark = os.open(cache_directory() / _MARK, os.O_CREAT | os.O_EXCL)
    except OSError:  # somebody has done it, or cannot
        return
    os.close(mark)
    program = os.getpid()
    with warnings.catch_warnings():
        # Python warns of threads: of ours, the child needs none, and locks are open in it
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            child = os.fork()
        except OSError:
            return
        if child:
            with contextlib.suppress(OSError):
                os.waitpid(child, 0)
            return
        try:  # a child of the child, which nobody has to wait for
            if os.fork() == 0:
                _compile(program)
        finally:
            os._exit(0)


def _compile(program: int) -> None:
    """The helping process's life."""
    from mindtorch.engine.graph import ahead
    from mindtorch.torch import enable_grad

    ahead.alone()
    os.closerange(3, 1 << 16)  # others may wait for the program's sockets to be closed with it
    for step in (_perceptron, _images if _First.axes > 2 else _sequences):
        try:
            os.kill(program, 0)
            with enable_grad():
                step()
        except ProcessLookupError:
            return
        except Exception:  # the program will come to it, and say so
            continue


def _zeros(*shape: int) -> Any:
    import mindtorch.torch as torch

    return torch.zeros(shape, device="cpu")


def _leaf(*shape: int) -> Any:
    return _zeros(*shape).requires_grad_()


def _perceptron() -> None:
    """Dense layers, a classification's loss, and the usual optimizers."""
    import mindtorch.torch as torch

    f = torch.nn.functional
    weights = [_leaf(16, 8), _leaf(16), _leaf(10, 16), _leaf(10)]
    for optimizer in (torch.optim.SGD(weights, 0.1, momentum=0.9), torch.optim.AdamW(weights)):
        hidden = f.relu(f.linear(_zeros(4, 8), weights[0], weights[1]))
        logits = f.linear(f.dropout(hidden, 0.5), weights[2], weights[3])
        f.cross_entropy(logits, _zeros(4).long()).backward()
        optimizer.step()


def _images() -> None:
    """Convolutions of images with few channels and with many, pooling, and batch norm."""
    import mindtorch.torch as torch

    f = torch.nn.functional
    for channels, features in ((3, 6), (64, 64)):
        x, weight = _leaf(2, channels, 14, 14), _leaf(features, channels, 3, 3)
        y = f.relu(f.conv2d(x, weight, _leaf(features), padding=1))
        mean, spread = _zeros(features), _zeros(features)
        y = f.batch_norm(y, mean, spread, _leaf(features), _leaf(features), training=True)
        f.max_pool2d(y, 2).sum().backward()


def _sequences() -> None:
    """A block of a transformer."""
    import mindtorch.torch as torch

    f = torch.nn.functional
    x = f.embedding(_zeros(2, 8).long(), _leaf(10, 16))
    x = f.layer_norm(x, (16,), _leaf(16), _leaf(16))
    heads = x.view(2, 8, 2, 8).transpose(1, 2)
    x = f.scaled_dot_product_attention(heads, heads, heads, is_causal=True)
    f.gelu(x.transpose(1, 2).reshape(2, 8, 16)).sum().backward()

