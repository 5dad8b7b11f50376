"""What is in a Lite file, as lines of text."""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Iterator
from typing import Any

from .file import VERSION, read
from .graph import LiteGraph, LiteTensor, Size

__all__ = ["described"]


def _shown(tensor: LiteTensor) -> str:
    lengths: list[Any] = ["?" if isinstance(n, Size) else n for n in tensor.shape]
    return f"{tensor.name}: {tensor.dtype}[{', '.join(map(str, lengths))}]"


def described(path: str | os.PathLike[str]) -> Iterator[str]:
    """Lines on a file: what it takes and gives, its nodes, and the bytes of its weights.

    Raises:
        LiteFileError: as :func:`.file.read`.
    """
    graph = read(path)
    yield f"file: {os.fspath(path)}, {os.path.getsize(path)} bytes, version {VERSION}"
    for name in sorted(graph.information):
        yield f"{name}: {graph.information[name]}"
    for place in graph.inputs:
        yield f"input {_shown(graph.tensors[place])}"
    for place in graph.outputs:
        yield f"output {_shown(graph.tensors[place])}"
    kinds = Counter("+".join([n.op, *[t.op for t in n.then]]) for n in graph.nodes)
    for kind, count in sorted(kinds.items()):
        yield f"nodes {kind}: {count}"
    yield from _weights(graph)


def _weights(graph: LiteGraph) -> Iterator[str]:
    amounts: Counter[str] = Counter()
    for tensor in graph.tensors:
        if tensor.data is not None:
            q = tensor.quantization
            kind = f"{q.bits} bits" if q is not None else tensor.data.dtype.name
            amounts[kind] += tensor.data.nbytes
    for kind, size in sorted(amounts.items()):
        yield f"weights of {kind}: {size} bytes"
