"""Which compositions of ops autocast casts as a whole, by torch's lists for the CPU."""

from __future__ import annotations

import functools
from typing import Any

from mindtorch.engine.autocast import FULL, LOWER, PLAIN, cast_inputs, state, whole

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


def cast_whole(names: dict[str, Any], policies: dict[str, str]) -> None:
    """Let the functions of a module (its globals) or of a registry cast by their policies."""
    for name, policy in policies.items():
        if name in names and not hasattr(names[name], "_autocast_policy"):
            wrapped = whole(policy, names[name])
            wrapped._autocast_policy = policy  # type: ignore[attr-defined]
            names[name] = wrapped


full_precision = functools.partial(whole, FULL)


def cast_pad(pad: Any) -> Any:
    """``F.pad``, which reflects and replicates in full precision, as torch's kernels do."""

    @functools.wraps(pad)
    def wrapped(input: Any, pad_: Any, mode: str = "constant", value: Any = None) -> Any:  # noqa: A002
        if state.enabled and (mode == "replicate" or (mode == "reflect" and len(pad_) < 6)):
            (input,) = cast_inputs(FULL, (input,))  # noqa: A001
        return pad(input, pad_, mode, value)

    return wrapped
