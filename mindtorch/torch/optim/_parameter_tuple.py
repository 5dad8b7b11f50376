"""The parameters of an optimizer, and copies of them for what is kept beside them."""

from __future__ import annotations

from typing import Any

from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.torch.autograd.grad_mode import no_grad

__all__ = ["ParameterTuple", "copy_of_parameter"]

_NUMBERS = {"zeros": 0, "ones": 1}


def copy_of_parameter(parameter: Any, init: Any = "same", name: str | None = None) -> Any:
    """A parameter of the same class, shape and type.

    Args:
        init: "same" copies the values; "zeros", "ones", a number or a tensor gives them; another
            word names an initialiser of MindSpore's.
    """
    with no_grad():
        data = parameter.detach()
        number = _NUMBERS.get(init) if isinstance(init, str) else init
        if isinstance(init, str) and init == "same":
            data = data.new_empty(data.aval.shape).copy_(data)
        elif isinstance(number, (bool, int, float)):
            data = data.new_full(data.aval.shape, number)
        elif isinstance(init, EngineTensor):
            if init.aval.shape != data.aval.shape:
                raise ValueError(
                    f"init has shape {init.aval.shape}, the parameter {data.aval.shape}"
                )
            data = data.new_empty(data.aval.shape).copy_(init)
        else:
            from mindtorch.mindspore.common.initializer import initializer

            data = initializer(init, data.aval.shape, data.aval.dtype)
    copy = parameter._make_subclass(type(parameter), data, parameter._node is not None)
    copy.name = parameter.name if name is None else name
    return copy


class ParameterTuple(tuple[Any, ...]):
    """The parameters of an optimizer or a network, in order."""

    __slots__ = ()

    def clone(self, prefix: str, init: Any = "same") -> ParameterTuple:
        """A parameter for each of these, of its shape and type, named ``prefix.name``.

        Args:
            init: "same", "zeros", "ones", a number, a tensor or an initialiser.

        Raises:
            TypeError: the prefix is not text.
        """
        if not isinstance(prefix, str):
            raise TypeError(f"the prefix should be str, but got {type(prefix).__name__}")
        return ParameterTuple(
            copy_of_parameter(p, init, f"{prefix}.{p.name}" if p.name else prefix) for p in self
        )
