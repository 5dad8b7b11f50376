"""Softmax over very many classes, of which few are frequent."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, NamedTuple

import mindtorch.torch as torch

from .. import functional as F  # noqa: N812
from .container import ModuleList, Sequential
from .linear import Linear
from .module import Module

__all__ = ["AdaptiveLogSoftmaxWithLoss"]


class _ASMoutput(NamedTuple):
    """Log probabilities of the targets, and their negative mean."""

    output: Any
    loss: Any


class AdaptiveLogSoftmaxWithLoss(Module):
    """Classes in order of frequency: a head for the first ones, a cluster for each later range.

    The head gives log probabilities of the first ``cutoffs[0]`` classes and of the clusters; a
    class c of cluster k has log p(k) + log p(c | k). Cluster k has a layer of
    ``in_features // div_value**(k + 1)`` features before its classes.

    Args:
        cutoffs: the first class of each cluster, ascending, below ``n_classes``.
        head_bias: the head has a bias.
    """

    def __init__(
        self, in_features: int, n_classes: int, cutoffs: Sequence[int], div_value: float = 4.0,
        head_bias: bool = False, device: Any = None, dtype: Any = None,
    ) -> None:  # fmt: skip
        super().__init__()
        cutoffs = list(cutoffs)
        if not cutoffs:
            raise ValueError("cutoffs should be a sequence of length larger than 0")
        ascending = all(a < b for a, b in pairwise([0, *cutoffs, n_classes]))
        if not ascending or any(int(c) != c for c in cutoffs):
            raise ValueError(
                "cutoffs should be a sequence of unique, positive integers sorted in an increasing "
                "order, where each value is between 1 and n_classes-1"
            )
        self.in_features = in_features
        self.n_classes = n_classes
        self.cutoffs = [*cutoffs, n_classes]
        self.div_value = div_value
        self.head_bias = head_bias
        self.shortlist_size = self.cutoffs[0]
        self.n_clusters = len(self.cutoffs) - 1
        self.head_size = self.shortlist_size + self.n_clusters
        where = {"device": device, "dtype": dtype}
        self.head = Linear(in_features, self.head_size, bias=head_bias, **where)
        self.tail = ModuleList()
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            width = int(in_features // div_value ** (i + 1))
            self.tail.append(
                Sequential(
                    Linear(in_features, width, bias=False, **where),
                    Linear(width, high - low, bias=False, **where),
                )
            )

    def reset_parameters(self) -> None:
        """Draw the weights of all layers anew."""
        self.head.reset_parameters()
        for cluster in self.tail:
            for layer in cluster:
                layer.reset_parameters()

    def forward(self, input_: Any, target_: Any) -> _ASMoutput:
        """(N, in_features) and (N,), or without N -> log p of each target, the loss."""
        self._check(input_, target_)
        single = target_.dim() == 0
        x, target = (input_.unsqueeze(0), target_.unsqueeze(0)) if single else (input_, target_)
        head = F.log_softmax(self.head(x), dim=1)
        found, places = x.new_zeros(target.shape[0]), target.clone()
        used = int(((target >= 0) & (target < self.shortlist_size)).sum())
        for i, (low, high) in enumerate(pairwise(self.cutoffs)):
            rows = ((target >= low) & (target < high)).nonzero().squeeze(1)
            if rows.numel() == 0:
                continue
            used += rows.numel()
            own = (target[rows] - low).unsqueeze(1)
            logs = F.log_softmax(self.tail[i](x[rows]), dim=1).gather(1, own).squeeze(1)
            found = found.index_copy(0, rows, logs)
            places = places.index_fill(0, rows, self.shortlist_size + i)
        if used != target.shape[0]:
            raise RuntimeError(
                f"Target values should be in [0, {self.n_classes - 1}], but values in range "
                f"[{target.min().item()}, {target.max().item()}] were found. "
            )
        output = found + head.gather(1, places.unsqueeze(1)).squeeze(1)
        loss = (-output).mean()
        return _ASMoutput(output.squeeze(0) if single else output, loss)

    def _check(self, x: Any, target: Any) -> None:
        if target.dim() > 1:
            raise RuntimeError("0D or 1D target tensor expected, multi-target not supported")
        if target.dim() == 1 and x.shape[0] != target.shape[0]:
            raise RuntimeError(
                "Input and target should have the same size in the batch dimension."
            )
        if x.dim() != target.dim() + 1:
            raise RuntimeError(
                f"{target.dim()}D target tensor expects {target.dim() + 1}D input tensors, but "
                f"found inputs with size {x.size()}"
            )

    def log_prob(self, input: Any) -> Any:  # noqa: A002
        """(N, in_features) -> (N, n_classes), log probabilities of all classes."""
        return self._all(input, self.head(input))

    def _all(self, x: Any, scores: Any) -> Any:
        head = F.log_softmax(scores, dim=1)
        first = self.shortlist_size
        parts = [head[:, :first]]
        for i, cluster in enumerate(self.tail):
            parts.append(F.log_softmax(cluster(x), dim=1) + head[:, first + i].unsqueeze(1))
        return torch.cat(parts, 1)

    def predict(self, input: Any) -> Any:  # noqa: A002
        """(N, in_features) -> (N,), the most probable class."""
        scores = self.head(input)
        best = scores.argmax(1)
        rows = (best >= self.shortlist_size).nonzero().squeeze(1)
        if rows.numel() == 0:
            return best
        return best.index_copy(0, rows, self._all(input[rows], scores[rows]).argmax(1))
