"""States of models and optimizers whose parameters are in several processes."""

from __future__ import annotations

from mindtorch.torch._compat.unsupported_names import absent_class, absent_function

__all__ = [
    "StateDictOptions", "get_model_state_dict", "get_optimizer_state_dict", "get_state_dict",
    "set_model_state_dict", "set_optimizer_state_dict", "set_state_dict",
]  # fmt: skip

_HERE = "torch.distributed.checkpoint.state_dict"
_WHY = "save and load take the state_dict of a module or optimizer as it is"

StateDictOptions = absent_class(_HERE, "StateDictOptions", _WHY)
get_model_state_dict = absent_function(_HERE, "get_model_state_dict", _WHY)
get_optimizer_state_dict = absent_function(_HERE, "get_optimizer_state_dict", _WHY)
get_state_dict = absent_function(_HERE, "get_state_dict", _WHY)
set_model_state_dict = absent_function(_HERE, "set_model_state_dict", _WHY)
set_optimizer_state_dict = absent_function(_HERE, "set_optimizer_state_dict", _WHY)
set_state_dict = absent_function(_HERE, "set_state_dict", _WHY)
