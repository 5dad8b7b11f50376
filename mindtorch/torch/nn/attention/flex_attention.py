"""Attention whose scores a function changes: names that packages import, for now."""

from __future__ import annotations

from mindtorch.torch._absent import absent_class, absent_function

_WHY = "scaled_dot_product_attention takes a mask; scores are not changed by functions"
_NAME = "torch.nn.attention.flex_attention"
_DEFAULT_SPARSE_BLOCK_SIZE = 128

AuxRequest = absent_class(_NAME, "AuxRequest", _WHY)
BlockMask = absent_class(_NAME, "BlockMask", _WHY)
create_block_mask = absent_function(_NAME, "create_block_mask", _WHY)
flex_attention = absent_function(_NAME, "flex_attention", _WHY)
