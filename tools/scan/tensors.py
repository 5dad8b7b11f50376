"""Which calls give a tensor, as far as their names tell."""

from __future__ import annotations

__all__ = ["LIKELY_METHODS", "makes_tensor", "method_makes_tensor"]

_MAKERS = frozenset("""
    abs absolute add addmm arange argmax argmin argsort as_strided as_tensor atan2 baddbmm bernoulli
    bmm cat clamp clone concat cos cosh cross cumprod cumsum diag diagonal diff dot einsum empty
    empty_like erf exp eye flatten flip floor from_numpy full full_like gather hstack index_select
    linspace log log1p log2 log_softmax logsumexp masked_select matmul maximum mean minimum mm
    multinomial nonzero normal ones ones_like outer permute pow prod rand rand_like randint
    randint_like randn randn_like randperm relu repeat_interleave reshape roll round rsqrt scatter
    sigmoid sign sin softmax sqrt square squeeze stack std sub sum swapaxes t take tanh tensor
    tensordot tile transpose tril triu unsqueeze var vstack where zeros zeros_like Tensor
    FloatTensor LongTensor
""".split())
_METHODS = frozenset("""
    abs add add_ addmm argmax argmin argsort bfloat16 bmm bool byte clamp clamp_ clip clone
    contiguous copy_ cos cpu cuda cumprod cumsum detach detach_ diag diagonal div div_ double exp
    expand expand_as fill_ flatten flip float floor gather half index_select int log log_softmax
    long masked_fill masked_fill_ masked_select matmul mean mm mul mul_ narrow norm normal_ permute
    pow prod relu repeat requires_grad_ reshape roll round rsqrt scatter scatter_ scatter_add_
    select sigmoid sign sin softmax sqrt square squeeze std sub sub_ sum t tanh to tril triu type_as
    unflatten unfold uniform_ unsqueeze var view view_as where zero_
""".split())
_ATTRIBUTES = frozenset("T mT H data grad real imag".split())

# Methods that nothing but a tensor has, so that the receiver need not be known.
LIKELY_METHODS = frozenset("""
    chalf dequantize int_repr map_ q_per_channel_axis q_per_channel_scales q_per_channel_zero_points
    q_scale q_zero_point qscheme slice_inverse smm sparse_resize_ sparse_resize_and_clear_ sspaddmm
    symeig to_mkldnn to_padded_tensor to_sparse_bsc to_sparse_bsr
""".split())


def makes_tensor(name: str) -> bool:
    """Whether a call of this function gives one tensor."""
    module, _, function = name.rpartition(".")
    if module == "torch":
        return function in _MAKERS
    return module in ("torch.nn.functional", "torch.special", "torch.fft") and (
        function != "multi_head_attention_forward"
        and not function.endswith("_with_indices")
    )


def method_makes_tensor(name: str, called: bool) -> bool:
    """Whether a tensor's method (or attribute) gives one tensor."""
    return name in (_METHODS if called else _ATTRIBUTES)
