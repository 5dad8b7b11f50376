"""Which functions' calls are remembered: those that follow from descriptions and arguments alone.

Short ones are not: to look a call up would take as long.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from mindtorch.engine.remembered import remembered

from ._signatures import kind_check

# methods and functions of the namespace
NAMES = """
adjoint all amax amin any argmax argmin argsort broadcast_to cat clamp clamp_max clamp_min clip
clone concat concatenate cosine_similarity cummax cummin cumprod cumsum diag diag_embed
diagonal diff dot expand expand_as flatten flip fliplr flipud gather index_add index_copy
index_select inner kron lerp log_softmax logcumsumexp logsumexp masked_fill matrix_power max mean
min moveaxis movedim mv narrow norm outer permute prod ravel repeat reshape reshape_as roll rot90
scatter scatter_add select softmax sort square squeeze stack std sum swapaxes swapdims t
take_along_dim tile topk trace transpose tril triu unflatten unfold unsqueeze var view view_as
vdot vstack hstack where
""".split()
FUNCTIONAL = """
celu cosine_similarity elu gelu glu hardsigmoid hardswish hardtanh huber_loss l1_loss layer_norm
leaky_relu log_softmax logsigmoid mish mse_loss normalize pairwise_distance pixel_shuffle
relu relu6 rms_norm selu silu smooth_l1_loss softmax softplus tanh sigmoid
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
            made: Any = remembered(function, check_of(name, function, bool(inside)))
            _made[function] = _made[made] = made
            home = vars(sys.modules[function.__module__])
            if home.get(function.__qualname__) is function:
                home[made.__qualname__] = made
            else:
                made.__module__, made.__qualname__ = module, inside + name
        table[name] = _made[function]


_made: dict[Any, Any] = {}  # of a function and of itself
