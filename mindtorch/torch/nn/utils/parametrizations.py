"""Parametrizations that keep a weight orthogonal, or its norm or singular value known."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from ...autograd.grad_mode import no_grad
from .. import functional as F  # noqa: N812
from ..modules.module import Module
from . import parametrize
from ._householder import householder_product, orthonormal_columns, reflectors
from ._norms import as_matrix, norm_except_axis, scaled, spectral_axis, unit

__all__ = ["orthogonal", "spectral_norm", "weight_norm"]

_MAPS = ("matrix_exp", "cayley", "householder")


def _is_orthogonal(q: Any) -> bool:
    n, k = q.shape[-2:]
    unit_matrix = torch.eye(k, dtype=q.dtype)
    return bool(torch.allclose(q.mH @ q, unit_matrix, atol=10.0 * n * torch.finfo(q.dtype).eps))


class _Orthogonal(Module):
    base: Any

    def __init__(self, weight: Any, orthogonal_map: str, *, use_trivialization: bool) -> None:
        super().__init__()
        if weight.is_complex() and orthogonal_map == "householder":
            raise ValueError(
                "The householder parametrization does not support complex tensors."
            )
        self.shape = weight.shape
        self.orthogonal_map = orthogonal_map
        self.use_trivialization = use_trivialization
        if use_trivialization:
            self.register_buffer("base", None)

    def forward(self, X: Any) -> Any:  # noqa: N803
        """The orthogonal matrix; of a wide one the rows are orthonormal."""
        wide = X.shape[-2] < X.shape[-1]
        x = X.mT if wide else X
        if self.orthogonal_map == "householder":
            q = self._reflected(x)
        else:
            q = self._rotated(x)
        if self.use_trivialization:
            q = self.base @ q
        return q.mT if wide else q

    @staticmethod
    def _reflected(x: Any) -> Any:
        below = x.tril(diagonal=-1)
        factors = 2.0 / (1.0 + (below * below).sum(dim=-2))
        q = householder_product(below, factors)
        # The diagonal holds signs; as integers they have no gradient.
        return q * x.diagonal(dim1=-2, dim2=-1).int().unsqueeze(-2)

    def _rotated(self, x: Any) -> Any:
        n, k = x.shape[-2:]
        x = x.tril()
        if n != k:
            x = torch.cat([x, x.new_zeros((*x.shape[:-2], n, n - k))], dim=-1)
        skew = x - x.mH
        if self.orthogonal_map == "matrix_exp":
            q = torch.matrix_exp(skew)
        else:
            one = torch.eye(n, dtype=skew.dtype)
            q = torch.linalg.solve(one - 0.5 * skew, one + 0.5 * skew)
        return q[..., :k] if n != k else q

    def right_inverse(self, Q: Any) -> Any:  # noqa: N803
        """What the map takes to ``Q``; where Q is not orthogonal, to a matrix near it."""
        if Q.shape != self.shape:
            raise ValueError(
                f"Expected a matrix or batch of matrices of shape {self.shape}. Got a tensor of "
                f"shape {Q.shape}."
            )
        with no_grad():
            wide = Q.shape[-2] < Q.shape[-1]
            q = Q.mT if wide else Q
            if self.use_trivialization:
                self.base = self._completed(q)
                result = Q.new_zeros(Q.shape)
                result.diagonal(dim1=-2, dim2=-1).fill_(-1.0)
                return result
            if self.orthogonal_map != "householder":
                raise NotImplementedError(
                    "It is not possible to assign to the matrix exponential or the Cayley "
                    "parametrizations when use_trivialization=False."
                )
            compact, factors = reflectors(q)
            diagonal = compact.diagonal(dim1=-2, dim2=-1)
            diagonal.sign_()
            diagonal.copy_(diagonal.where(factors != 0.0, -diagonal))
            return compact.mT if wide else compact

    @staticmethod
    def _completed(q: Any) -> Any:
        """An orthogonal matrix that begins with the columns of ``q``."""
        n, k = q.shape[-2:]
        if n == k:
            return q.clone() if _is_orthogonal(q) else orthonormal_columns(q)
        more = torch.randn(*q.shape[:-2], n, n - k, dtype=q.dtype)
        return orthonormal_columns(torch.cat([q, more], dim=-1))


def _tensor_of(module: Module, name: str) -> Any:
    weight = getattr(module, name, None)
    if not isinstance(weight, EngineTensor):
        raise ValueError(f"Module '{module}' has no parameter or buffer with name '{name}'")
    return weight


def orthogonal(
    module: Module, name: str = "weight", orthogonal_map: str | None = None, *,
    use_trivialization: bool = True,
) -> Module:  # fmt: skip
    """Keep a matrix orthogonal (unitary): Q* Q = 1, or Q Q* = 1 for a wide one.

    Args:
        module: holds the matrix or batch of matrices.
        name: its name.
        orthogonal_map: "matrix_exp" (exp(A), A* = -A), "cayley" ((1 + A/2)(1 - A/2)^-1) or
            "householder" (a product of reflections); None is the first for square or complex
            matrices, else the last.
        use_trivialization: map around the present matrix, which makes assignment possible.

    Raises:
        ValueError: where there is no such tensor or map, or it has fewer than two axes.
    """
    weight = _tensor_of(module, name)
    if weight.dim() < 2:
        raise ValueError(
            f"Expected a matrix or batch of matrices. Got a tensor of {weight.dim()} dimensions."
        )
    if orthogonal_map is None:
        square = weight.shape[-2] == weight.shape[-1]
        orthogonal_map = "matrix_exp" if square or weight.is_complex() else "householder"
    if orthogonal_map not in _MAPS:
        raise ValueError(
            'orthogonal_map has to be one of "matrix_exp", "cayley", "householder". Got: '
            f"{orthogonal_map}"
        )
    made = _Orthogonal(weight, orthogonal_map, use_trivialization=use_trivialization)
    parametrize.register_parametrization(module, name, made, unsafe=True)
    return module


class _WeightNorm(Module):
    def __init__(self, dim: int | None = 0) -> None:
        super().__init__()
        self.dim = -1 if dim is None else dim

    def forward(self, weight_g: Any, weight_v: Any) -> Any:
        """g v / |v|."""
        return scaled(weight_v, weight_g, self.dim)

    def right_inverse(self, weight: Any) -> tuple[Any, Any]:
        """The weight's length and the weight."""
        return norm_except_axis(weight, self.dim), weight


def weight_norm(module: Module, name: str = "weight", dim: int | None = 0) -> Module:
    """Split a weight into its length (``original0``) and its direction (``original1``).

    Args:
        module: holds the weight; its ``load_state_dict`` also takes ``<name>_g``, ``<name>_v``.
        name: the weight's name.
        dim: the axis that keeps lengths of its own; None for one length.
    """
    parametrize.register_parametrization(module, name, _WeightNorm(dim), unsafe=True)

    def take_old_names(state_dict: Any, prefix: str, *rest: Any) -> None:
        old = [f"{prefix}{name}_{end}" for end in "gv"]
        if all(key in state_dict for key in old):
            for i, key in enumerate(old):
                place = f"{prefix}parametrizations.{name}.original{i}"
                state_dict[place] = state_dict.pop(key)

    module._register_load_state_dict_pre_hook(take_old_names)
    return module


class _SpectralNorm(Module):
    def __init__(
        self, weight: Any, n_power_iterations: int = 1, dim: int = 0, eps: float = 1e-12
    ) -> None:
        super().__init__()
        ndim = weight.dim()
        if dim >= ndim or dim < -ndim:
            raise IndexError(
                f"Dimension out of range (expected to be in range of [-{ndim}, {ndim - 1}] but "
                f"got {dim})"
            )
        if n_power_iterations <= 0:
            raise ValueError(
                "Expected n_power_iterations to be positive, but got "
                f"n_power_iterations={n_power_iterations}"
            )
        self.dim = dim % ndim
        self.eps = eps
        if ndim > 1:
            self.n_power_iterations = n_power_iterations
            matrix = as_matrix(weight, self.dim).detach()
            rows, columns = matrix.shape
            u = matrix.new_empty(rows).normal_(0, 1)
            v = matrix.new_empty(columns).normal_(0, 1)
            self.register_buffer("_u", unit(u, eps))
            self.register_buffer("_v", unit(v, eps))
            self._improve(matrix, 15)

    def _improve(self, matrix: Any, times: int) -> None:
        """Power iterations on the estimates of the singular vectors."""
        with no_grad():
            for _ in range(times):
                self._u.copy_(unit(matrix.mv(self._v), self.eps))
                self._v.copy_(unit(matrix.mH.mv(self._u), self.eps))

    def forward(self, weight: Any) -> Any:
        """weight / (u* weight v)."""
        if weight.dim() == 1:
            return F.normalize(weight, dim=0, eps=self.eps)
        matrix = as_matrix(weight, self.dim)
        if self.training:
            self._improve(matrix.detach(), self.n_power_iterations)
        # Later calls write to the buffers; this one's gradient needs what is there now.
        u, v = self._u.clone(), self._v.clone()
        return weight / u.vdot(matrix.mv(v))

    def right_inverse(self, value: Any) -> Any:
        """``value``, which is then divided."""
        return value


def spectral_norm(
    module: Module, name: str = "weight", n_power_iterations: int = 1, eps: float = 1e-12,
    dim: int | None = None,
) -> Module:  # fmt: skip
    """Divide a weight by its largest singular value, estimated by power iterations.

    Args:
        module, name: the weight.
        n_power_iterations: how often the estimate is improved in each call in training.
        eps: the least length of a vector in a division.
        dim: the axis of outputs; None is 1 for transposed convolutions and 0 for all else.
    """
    made = _SpectralNorm(
        _tensor_of(module, name), n_power_iterations, spectral_axis(module, dim), eps
    )
    parametrize.register_parametrization(module, name, made)
    return module
