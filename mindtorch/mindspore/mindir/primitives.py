"""What primitives of MindIR compute: the registry, and how a node's settings are found."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

from mindtorch.engine.tensor import Tensor as EngineTensor

from .. import ops
from .errors import UnsupportedPrimitiveError

__all__ = ["Primitive", "primitive_of", "reads", "whole", "whole_numbers"]

# What attributes of a primitive may say besides what it computes.
_REMARKS = {
    "input_names", "output_names", "N", "num", "cust_aicpu", "visited", "io_format", "data_type",
    "op_adaptation_processed", "side_effect_propagate", "side_effect_mem", "side_effect_io",
    "primitive_target", "instance_name", "need_infer_value", "jit_level", "value_depend",
    "dyn_input_sizes", "SrcT", "DstT", "inputNums", "gather_params_size",
    "SerializeNumThreads", "is_dynamic_len",
}  # fmt: skip


class Primitive(NamedTuple):
    """How a primitive computes: ``run(*inputs, **settings)``.

    Attributes:
        settings: the names of its settings: attributes of a primitive, or the last inputs of a
            node that calls a primitive function, in this order.
    """

    name: str
    run: Callable[..., Any]
    settings: tuple[str, ...]

    def call(self, inputs: Sequence[Any], attributes: dict[str, Any], function: bool) -> Any:
        """The result for a node's inputs.

        Args:
            function: whether the last inputs are the settings.

        Raises:
            UnsupportedPrimitiveError: an attribute that is not known.
        """
        given = {name: attributes[name] for name in self.settings if name in attributes}
        for name, value in attributes.items():
            if name not in given and name not in _REMARKS and not _plain(name, value):
                raise UnsupportedPrimitiveError(
                    f"{self.name} has the attribute {name} = {value!r}, which is not known here"
                )
        last = [name for name in self.settings if name not in given] if function else []
        count = len(inputs) - len(last)
        if count < 0:
            raise UnsupportedPrimitiveError(
                f"{self.name} has {len(inputs)} inputs, of which {len(last)} are to be settings"
            )
        given.update(zip(last, inputs[count:], strict=True))
        return self.run(*inputs[:count], **given)


def _plain(name: str, value: Any) -> bool:
    """Whether an attribute says that nothing out of the ordinary is wanted."""
    return name in ("format", "data_format") and value in ("NCHW", "NCDHW", "DefaultFormat", 0)


_PRIMITIVES: dict[str, Primitive] = {}


def reads(*names: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Make a function what these primitives compute. Its keywords without ``*`` before them are
    inputs, those behind it settings, in the order that MindSpore has them in."""

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        kinds = inspect.signature(function).parameters.values()
        settings = tuple(each.name for each in kinds if each.kind is each.KEYWORD_ONLY)
        for name in names:
            _PRIMITIVES[name] = Primitive(name, function, settings)
        return function

    return register


@functools.cache
def _of_ops(name: str) -> Primitive | None:
    """The primitive of `mindspore.ops` with this name."""
    if name not in ops.operations.DECLARED:
        return None
    kind = getattr(ops, name)
    settings = tuple(kind().keywords)

    def run(*inputs: Any, **given: Any) -> Any:
        return kind(**given)(*inputs)

    return Primitive(name, run, settings)


def primitive_of(name: str) -> Primitive:
    """What a primitive computes.

    Raises:
        UnsupportedPrimitiveError: it is not known.
    """
    found = _PRIMITIVES.get(name) or _of_ops(name)
    if found is None:
        raise UnsupportedPrimitiveError(f"the primitive {name} is not known here")
    return found


def whole(value: Any) -> int:
    """A whole number, which may be a tensor."""
    return int(value.item()) if isinstance(value, EngineTensor) else int(value)


def whole_numbers(value: Any) -> tuple[int, ...]:
    """Several whole numbers, which may be a tensor, a tuple of tensors, or one number."""
    if isinstance(value, EngineTensor):
        return tuple(int(n) for n in value.asnumpy().reshape(-1))
    if isinstance(value, (tuple, list)):
        return tuple(whole(n) for n in value)
    return (int(value),)
