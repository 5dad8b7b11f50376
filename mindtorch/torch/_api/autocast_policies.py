"""Which compositions of ops autocast casts as a whole, by torch's lists for the CPU and CUDA."""

from __future__ import annotations

import functools
from typing import Any

from mindtorch.engine.transforms.autocast import (
    FULL,
    LOWER,
    PLAIN,
    WIDEST,
    cast_inputs,
    state,
    whole,
)

NAMESPACE: dict[str, str] = {
    **dict.fromkeys(("addbmm", "addmm", "baddbmm", "prelu"), LOWER),
    **dict.fromkeys((
        "cdist", "cholesky", "cholesky_inverse", "cholesky_solve", "geqrf", "inverse", "lu_solve",
        "nanquantile", "orgqr", "ormqr", "pinverse", "polar", "prod", "qr", "quantile", "stft",
        "svd", "trace", "triangular_solve", "view_as_complex",
    ), FULL),
    **dict.fromkeys(("addbmm_", "addmm_", "addmv", "addmv_", "baddbmm_", "dot", "mv", "vdot"),
                    PLAIN),
}  # fmt: skip
FUNCTIONAL: dict[str, str] = {
    **dict.fromkeys((
        "conv_transpose1d", "conv_transpose2d", "conv_transpose3d", "prelu",
        "scaled_dot_product_attention",
    ), LOWER),
    **dict.fromkeys((
        "adaptive_avg_pool3d", "adaptive_max_pool3d", "adaptive_max_pool3d_with_indices",
        "avg_pool3d", "binary_cross_entropy", "binary_cross_entropy_with_logits",
        "cosine_embedding_loss", "cross_entropy", "ctc_loss", "fractional_max_pool2d",
        "fractional_max_pool3d", "grid_sample", "hinge_embedding_loss", "huber_loss", "kl_div",
        "l1_loss", "margin_ranking_loss", "max_pool3d", "max_unpool2d", "max_unpool3d",
        "mse_loss", "multi_margin_loss", "multilabel_margin_loss", "nll_loss", "poisson_nll_loss",
        "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    ), FULL),
    **dict.fromkeys(("bilinear",), PLAIN),
}  # fmt: skip
LINALG: dict[str, str] = {
    "vecdot": LOWER,
    **dict.fromkeys((
        "cholesky", "cholesky_ex", "cond", "eig", "eigh", "eigvals", "eigvalsh",
        "householder_product", "inv", "inv_ex", "lstsq", "matrix_rank", "qr", "solve", "svd",
        "svdvals", "tensorinv", "tensorsolve",
    ), FULL),
}  # fmt: skip
FFT: dict[str, str] = dict.fromkeys((
    "fft", "fft2", "fftn", "hfft", "ifft", "ifft2", "ifftn", "ihfft", "irfft", "irfft2", "irfftn",
    "rfft", "rfft2", "rfftn",
), FULL)  # fmt: skip

# by torch's lists for CUDA
ON_CUDA: dict[str, str] = {
    **dict.fromkeys((
        "addbmm", "addmm", "baddbmm", "addmv", "addr", "chain_matmul", "conv_transpose1d",
        "conv_transpose2d", "conv_transpose3d", "einsum", "mv", "prelu",
        "scaled_dot_product_attention", "vecdot", "multi_dot",
    ), LOWER),
    **dict.fromkeys((
        "binary_cross_entropy_with_logits", "cdist", "cosine_embedding_loss", "cosine_similarity",
        "cross_entropy", "dist", "hinge_embedding_loss", "huber_loss", "interpolate", "kl_div",
        "l1_loss", "margin_ranking_loss", "mse_loss", "multi_margin_loss",
        "multilabel_margin_loss", "nll_loss", "pdist", "poisson_nll_loss", "renorm",
        "smooth_l1_loss", "soft_margin_loss", "triplet_margin_loss",
    ), FULL),
    **dict.fromkeys(("bilinear", "cross", "dot", "grid_sample", "tensordot", "vdot"), WIDEST),
}  # fmt: skip
_NAMESPACE_ON_CUDA = ("addr", "chain_matmul", "cross", "dist", "einsum", "renorm", "tensordot")
_FUNCTIONAL_ON_CUDA = ("cosine_similarity", "interpolate", "pdist")
_LINALG_ON_CUDA = ("multi_dot",)
UNSAFE = (
    "torch.nn.functional.binary_cross_entropy and torch.nn.BCELoss are unsafe to autocast.\n"
    "Many models use a sigmoid layer right before the binary cross entropy layer.\n"
    "In this case, combine the two layers using "
    "torch.nn.functional.binary_cross_entropy_with_logits\n"
    "or torch.nn.BCEWithLogitsLoss.  binary_cross_entropy_with_logits and BCEWithLogits are\n"
    "safe to autocast."
)


def cast_whole(names: dict[str, Any], policies: dict[str, str]) -> None:
    """Let the functions of a module (its globals) or of a registry cast by their policies."""
    for table, more in ((NAMESPACE, _NAMESPACE_ON_CUDA), (FUNCTIONAL, _FUNCTIONAL_ON_CUDA),
                        (LINALG, _LINALG_ON_CUDA)):  # fmt: skip
        if table is policies:
            policies = {**dict.fromkeys(more, ""), **policies}
    for name, policy in policies.items():
        if name in names and not hasattr(names[name], "_autocast_policy"):
            function = names[name]
            if name == "binary_cross_entropy":
                function = _refusing(function)
            wrapped = whole(policy or None, function, ON_CUDA.get(name))
            wrapped._autocast_policy = policy  # type: ignore[attr-defined]
            names[name] = wrapped


def _refusing(loss: Any) -> Any:
    """A loss whose gradient overflows in float16, which autocast on CUDA therefore refuses."""

    @functools.wraps(loss)
    def wrapped(input: Any, *args: Any, **kwargs: Any) -> Any:  # noqa: A002
        if state.cuda.enabled and getattr(input, "is_cuda", False):
            raise RuntimeError(UNSAFE)
        return loss(input, *args, **kwargs)

    return wrapped


def full_precision(function: Any) -> Any:
    """A layer that computes in float32 on the CPU, and in the lower precision on CUDA."""
    return whole(FULL, function, LOWER)


def cast_pad(function: Any) -> Any:
    """``F.pad``, which reflects and replicates in full precision, as torch's kernels do."""

    @functools.wraps(function)
    def wrapped(input: Any, pad: Any, mode: str = "constant", value: Any = None) -> Any:  # noqa: A002
        if state.cpu.enabled and (mode == "replicate" or (mode == "reflect" and len(pad) < 6)):
            (input,) = cast_inputs(FULL, (input,), state.cpu)  # noqa: A001
        return function(input, pad, mode, value)

    return wrapped
