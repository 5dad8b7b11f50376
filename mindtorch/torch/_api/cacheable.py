"""Which functions' calls are cached: those that follow from descriptions and arguments alone.

Short ones are not: to look a call up would take as long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mindtorch.engine.call_cache.call_cache import cached

from .signatures import kind_check

# methods and functions of the namespace
NAMES = """
addbmm addcdiv addcmul addmm addmv addr adjoint all amax amin aminmax any argmax argmin argsort
baddbmm broadcast_to cat clamp clamp_max clamp_min clip clone concat concatenate cosine_similarity
count_nonzero cross cummax cummin cumprod cumsum diag diag_embed diagonal diff dot einsum expand
expand_as flatten flip fliplr flipud gather hstack index_add index_copy index_select inner kron
kthvalue lerp log_softmax logcumsumexp logsumexp masked_fill matrix_power max mean min moveaxis
movedim mv nan_to_num nanmean nansum narrow norm outer permute prod ravel repeat repeat_interleave
reshape reshape_as roll rot90 scatter scatter_add select softmax sort square squeeze stack std
std_mean sum swapaxes swapdims t take_along_dim tensordot tile topk trace transpose tril triu
unflatten unfold unsqueeze var var_mean vdot view view_as vstack where
""".split()
FUNCTIONAL = """
adaptive_avg_pool1d adaptive_avg_pool2d adaptive_avg_pool3d adaptive_max_pool1d
adaptive_max_pool2d adaptive_max_pool3d affine_grid avg_pool1d avg_pool2d avg_pool3d
binary_cross_entropy_with_logits celu channel_shuffle cosine_embedding_loss cosine_similarity
cross_entropy elu embedding_bag fold gelu glu group_norm hardshrink hardsigmoid
hardswish hardtanh hinge_embedding_loss huber_loss instance_norm interpolate kl_div l1_loss
layer_norm leaky_relu local_response_norm log_softmax logsigmoid lp_pool1d lp_pool2d
margin_ranking_loss max_pool1d max_pool2d max_pool3d mish mse_loss multi_margin_loss
multilabel_soft_margin_loss nll_loss normalize pad pairwise_distance pdist pixel_shuffle
pixel_unshuffle poisson_nll_loss prelu relu relu6 rms_norm scaled_dot_product_attention selu
sigmoid silu smooth_l1_loss softmax softmin softplus softshrink softsign tanh
tanhshrink threshold triplet_margin_loss unfold
""".split()

LINALG = """
cross det diagonal inv matrix_norm multi_dot norm pinv slogdet solve solve_triangular vecdot
vector_norm
""".split()
FFT = """
fft fft2 fftn fftshift hfft ifft ifft2 ifftn ifftshift ihfft irfft irfft2 irfftn rfft rfft2 rfftn
""".split()


def remember(
    table: dict[str, Any], names: list[str], module: str, inside: str = "",
    check_of: Callable[[str, Any, bool], Any] = kind_check,
) -> None:  # fmt: skip
    """Let the functions of a registry, or of a module (its globals), remember their calls.

    ``check_of`` makes, for a name, the check of calls of a new kind.

    Pickle finds each where it was defined, whatever is put over it later; those that were made
    there, in ``module`` or ``inside`` something of it (``Tensor.``).
    """
    for name in names:
        if name not in table:
            continue
        function = table[name]
        if function not in _made:
            made: Any = cached(function, check_of(name, function, bool(inside)))
            _made[function] = _made[made] = made
            home = vars(sys.modules[function.__module__])
            if home.get(function.__qualname__) is function:
                home[made.__qualname__] = made
            else:
                made.__module__, made.__qualname__ = module, inside + name
        table[name] = _made[function]


_made: dict[Any, Any] = {}  # of a function and of itself
