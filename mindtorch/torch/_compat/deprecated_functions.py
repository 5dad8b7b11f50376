"""Functions of ``torch`` that newer names have replaced: norms, sparse products, layers."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine import dtypes
from mindtorch.engine.aval import aval
from mindtorch.engine.devices.device import cpu
from mindtorch.engine.dtype_support import refuse_kinds
from mindtorch.engine.ops import scan

from .. import linalg, nn
from .._api.arguments import as_device, require_tensor
from ..autograd.grad_mode import no_grad
from ..func import functional_call
from ..functions.creation import finish, new_empty
from ..nn import functional as F  # noqa: N812
from ..nn.utils.rnn import PackedSequence
from ..storage import UntypedStorage

__all__ = [
    "_convolution", "binomial", "conv_tbc", "convolution", "dsmm", "embedding_bag",
    "embedding_renorm_",
    "frobenius_norm", "from_file", "gru", "hsmm", "hspmm", "init_num_threads",
    "is_vulkan_available", "lstm", "native_channel_shuffle", "nuclear_norm", "rnn_relu",
    "rnn_tanh", "saddmm", "smm", "spmm", "sspaddmm", "vander",
]  # fmt: skip
_MODES = ("sum", "mean", "max")


def vander(x: Any, N: int | None = None, increasing: bool = False) -> Any:  # noqa: N803
    """The powers ``N - 1, ..., 1, 0`` (or ``0, 1, ...``) of each element of a vector, in rows.

    Args:
        increasing: begin with the power 0.
    """
    if x.ndim != 1:
        raise RuntimeError("x must be a one-dimensional tensor.")
    if N is not None and N < 0:
        raise RuntimeError("N must be non-negative.")
    columns = x.shape[0] if N is None else N
    if columns == 0:
        kind = x.dtype if x.is_floating_point() or x.is_complex() else dtypes.int64
        return x.new_empty((x.shape[0], 0), dtype=kind)
    powers = scan.powers(x, columns)
    return powers if increasing else powers.flip(1)


def _deprecated(name: str, instead: str) -> None:
    warnings.warn(
        f"at::{name} is deprecated and it is just left for JIT compatibility. It will be removed "
        f"in a future PyTorch release. Please use `{instead}` instead",
        UserWarning,
        stacklevel=3,
    )


def nuclear_norm(input: Any, dim: Any = (-2, -1), keepdim: bool = False, *, out: Any = None) -> Any:  # noqa: A002
    """The sum of the singular values of matrices.

    Args:
        dim: the axes of the matrices; a bool stands for ``keepdim``.
    """
    _deprecated("nuclear_norm", "linalg.matrix_norm(A, 'nuc', dim, keepdim)")
    if isinstance(dim, bool):
        dim, keepdim = (-2, -1), dim
    return linalg.matrix_norm(input, "nuc", dim, keepdim, out=out)


def frobenius_norm(input: Any, dim: Any, keepdim: bool = False, *, out: Any = None) -> Any:  # noqa: A002
    """``sqrt(sum x^2)`` over axes."""
    _deprecated("frobenius_norm", "linalg.vector_norm(A, 2., dim, keepdim)")
    return linalg.vector_norm(input, 2.0, None if dim in ((), []) else dim, keepdim, out=out)


def spmm(input: Any, mat2: Any, *, out: Any = None) -> Any:  # noqa: A002
    """:func:`torch.mm`, by the name it had for sparse matrices."""
    return torch.mm(input, mat2) if out is None else torch.mm(input, mat2, out=out)


dsmm = spmm


def smm(input: Any, mat: Any) -> Any:  # noqa: A002
    """The product of a sparse and a dense matrix, as a sparse matrix.

    Args:
        mat: the dense matrix.
    """
    return spmm(input, mat).to_sparse()


def hspmm(mat1: Any, mat2: Any) -> Any:
    """The product of a sparse and a dense matrix, as a sparse matrix of rows."""
    return spmm(mat1, mat2).to_sparse(1)


hsmm = hspmm


def sspaddmm(input: Any, mat1: Any, mat2: Any, *, beta: Any = 1, alpha: Any = 1) -> Any:  # noqa: A002
    """``beta * input + alpha * mat1 @ mat2``; ``input`` and ``mat1`` are sparse, as the result."""
    return (beta * input.to_dense() + alpha * spmm(mat1, mat2)).to_sparse()


saddmm = sspaddmm


def _recurrent(
    kind: str, source: Any, states: Any, params: Any, rest: Any, batch_first: bool, options: Any
) -> Any:
    """The module of this kind, called with these parameters; ``rest`` as :func:`lstm` has it."""
    has_biases, num_layers, dropout, train, bidirectional = rest
    if kind == "LSTM" and states[0].size(-1) != states[1].size(-1):
        options["proj_size"] = states[0].size(-1)
    hidden = (states[1] if kind == "LSTM" else states).size(-1)
    layer = getattr(nn, kind)(
        params[0].size(-1), hidden, num_layers, bias=has_biases, batch_first=batch_first,
        dropout=dropout, bidirectional=bidirectional, device="meta", **options,
    ).train(train)  # fmt: skip
    named = dict(zip([name for name, _ in layer.named_parameters()], params, strict=True))
    return functional_call(layer, named, (source, states))


def _packed(data: Any, batch_sizes: Any) -> Any:
    return PackedSequence(data, batch_sizes)


def _layers(kind: str, arguments: tuple[Any, ...], **options: Any) -> tuple[Any, Any]:
    """Output and states; the arguments are a batch's, or those of packed sequences."""
    if len(arguments) != 9:
        raise TypeError(f"{kind.lower()}() takes 9 arguments, not {len(arguments)}")
    if not isinstance(arguments[3], bool):
        data, sizes, states, params, *rest = arguments
        source = _packed(data, sizes)
        output, states = _recurrent(kind, source, states, params, rest, False, options)
        return output.data, states
    data, states, params, *rest, batch_first = arguments
    output, states = _recurrent(kind, data, states, params, rest, batch_first, options)
    return output, states


def lstm(*arguments: Any) -> tuple[Any, Any, Any]:
    """Output and both states of ``nn.LSTM``.

    Args:
        arguments: (input, hx, params, has_biases, num_layers, dropout, train, bidirectional,
            batch_first), or of packed sequences (data, batch_sizes, hx, params, has_biases,
            num_layers, dropout, train, bidirectional).
    """
    output, states = _layers("LSTM", arguments)
    return output, states[0], states[1]


def gru(*arguments: Any) -> tuple[Any, Any]:
    """Output and state of ``nn.GRU``; arguments as :func:`lstm` has them."""
    return _layers("GRU", arguments)


def rnn_tanh(*arguments: Any) -> tuple[Any, Any]:
    """Output and state of ``nn.RNN``; arguments as :func:`lstm` has them."""
    return _layers("RNN", arguments)


def rnn_relu(*arguments: Any) -> tuple[Any, Any]:
    """Output and state of ``nn.RNN(nonlinearity="relu")``; arguments as :func:`lstm`."""
    return _layers("RNN", arguments, nonlinearity="relu")


def convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,  # noqa: A002
    transposed: bool, output_padding: Any, groups: int,
) -> Any:  # fmt: skip
    """A convolution over one to three axes, or its transpose."""
    axes = input.ndim - 2
    if transposed:
        return getattr(F, f"conv_transpose{axes}d")(
            input, weight, bias, stride, padding, output_padding, groups, dilation
        )
    return getattr(F, f"conv{axes}d")(input, weight, bias, stride, padding, dilation, groups)


def _convolution(
    input: Any, weight: Any, bias: Any, stride: Any, padding: Any, dilation: Any,  # noqa: A002
    transposed: bool, output_padding: Any, groups: int, *choices: bool, **named: bool,
) -> Any:  # fmt: skip
    """:func:`convolution`; ``choices`` of kernels (deterministic, cudnn, ...) change nothing."""
    names = ("benchmark", "deterministic", "cudnn_enabled", "allow_tf32")
    if len(choices) > len(names) or not set(named) <= set(names[len(choices) :]):
        raise TypeError("_convolution() received an invalid combination of arguments")
    return convolution(
        input, weight, bias, stride, padding, dilation, transposed, output_padding, groups
    )


def conv_tbc(input: Any, weight: Any, bias: Any, pad: int = 0) -> Any:  # noqa: A002
    """A convolution over time: input (time, batch, in), weight (width, in, out).

    Args:
        pad: zeros added at both ends of the time.
    """
    found = F.conv1d(input.permute(1, 2, 0), weight.permute(2, 1, 0), bias, padding=pad)
    return found.permute(2, 0, 1).contiguous()


def native_channel_shuffle(input: Any, groups: int) -> Any:  # noqa: A002
    """:func:`torch.channel_shuffle`.

    Args:
        groups: into how many parts the channels are divided.
    """
    return F.channel_shuffle(input, groups)


def embedding_bag(
    weight: Any, indices: Any, offsets: Any, scale_grad_by_freq: bool = False, mode: int = 0,
    sparse: bool = False, per_sample_weights: Any = None, include_last_offset: bool = False,
    padding_idx: int | None = None,
) -> tuple[Any, Any, Any, Any]:  # fmt: skip
    """(the sum 0, mean 1 or maximum 2 of the rows of each bag, bag of each index, sizes, rows).

    Of sums torch's kernels keep no more than their backward pass reads: the sizes are 0, and of
    floats of at most 32 bits there are no bags of indices. The last of the four has the rows of
    the maxima, else the sizes.

    Args:
        mode: 0, 1 or 2.
        weight: the table.
        padding_idx: a row that counts as none; of a negative number, from the end.
    """
    if per_sample_weights is not None and mode:
        raise RuntimeError("embedding_bag: per_sample_weights only supported with mode='sum'")
    found = F.embedding_bag(
        indices, weight, offsets, None, 2.0, scale_grad_by_freq, _MODES[mode], sparse,
        per_sample_weights, include_last_offset, padding_idx,
    )  # fmt: skip
    ends = offsets.tolist()
    if not include_last_offset:
        ends.append(indices.numel())
    none = padding_idx if padding_idx is None else padding_idx % len(weight)
    parts = [[n for n in indices[a:b].tolist() if n != none] for a, b in itertools.pairwise(ends)]
    lengths = offsets.new_tensor([b - a for a, b in itertools.pairwise(ends)])
    bags = lengths.new_tensor(range(len(lengths))).repeat_interleave(lengths)
    sizes = lengths.new_tensor([len(part) for part in parts]) if mode else offsets.new_zeros(
        len(offsets)
    )  # fmt: skip
    if not mode and none is None and weight.itemsize <= 4:
        bags = bags[:0]
    if mode != 2:
        return found, bags, sizes, sizes.clone()
    rows = sizes.new_zeros((len(parts), weight.shape[1]))
    for row, part in zip(rows, parts, strict=True):
        if part:
            row.copy_(sizes.new_tensor(part)[weight.detach()[part].argmax(0)])
    return found, bags, sizes, rows


def embedding_renorm_(input: Any, indices: Any, max_norm: float, norm_type: float) -> Any:  # noqa: A002
    """Scale the rows that ``indices`` name to norms of at most ``max_norm``, in place.

    Args:
        norm_type: the order of the norm.
    """
    with no_grad():
        rows = indices.unique()
        chosen = input[rows]
        norms = chosen.norm(norm_type, 1, keepdim=True)
        input[rows] = chosen.where(norms <= max_norm, chosen * (max_norm / (norms + 1e-7)))
    return input


def binomial(count: Any, prob: Any, generator: Any = None) -> Any:
    """Numbers of successes in ``count`` trials of probability ``prob``: tensors of one type.

    Raises:
        RuntimeError, ValueError: their types differ, or are no floating-point ones.
    """
    require_tensor(count, "binomial", "count", 1)
    require_tensor(prob, "binomial", "prob", 2)
    for name, x in (("count", count), ("prob", prob)):
        if x.aval.dtype.category != dtypes.FLOAT:
            kind = dtypes.scalar_type_name(x.aval.dtype)
            raise ValueError(
                f"binomial only supports floating-point dtypes for {name}, got: {kind}"
            )
    if prob.aval.dtype is not count.aval.dtype:
        found, expected = (dtypes.scalar_type_name(x.aval.dtype) for x in (prob, count))
        raise RuntimeError(f"Found dtype {found} but expected {expected}")
    refuse_kinds("binomial_cpu", count.aval, "short")
    counts, chances = torch.broadcast_tensors(count, prob)
    return torch.distributions._sampling.binomial(counts, chances, generator)


def from_file(
    filename: str, shared: bool | None = None, size: int = 0, *, dtype: Any = None,
    layout: Any = None, device: Any = None, pin_memory: bool = False, requires_grad: bool = False,
) -> Any:  # fmt: skip
    """A tensor of ``size`` elements over a file's memory.

    Args:
        shared: writes go to the file, which is made or lengthened as needed.
        filename: of an existing file; with ``shared`` it is made where it is missing.
        dtype: of the elements.
        layout, pin_memory: as of :func:`torch.empty`.
        device: the CPU.
        requires_grad: whether autograd follows the result.
    """
    if as_device(device) is not cpu:
        raise NotImplementedError("torch.from_file makes tensors on the CPU only")
    chosen = dtypes.default if dtype is None else dtype
    made = new_empty(aval((0,), chosen))
    if size:
        storage = UntypedStorage.from_file(filename, bool(shared), size * chosen.itemsize)
        made.set_(storage, 0, (size,))
    return finish(made, bool(requires_grad), layout, bool(pin_memory))


def is_vulkan_available() -> bool:
    """False: there is no Vulkan."""
    return False


def init_num_threads() -> None:
    """Threads are made when a kernel first runs."""
