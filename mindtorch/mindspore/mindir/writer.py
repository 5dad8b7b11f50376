"""What writers of ops write MindIR with: names, nodes, primitives, constants."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mindtorch.engine.symbolic_sizes import Count
from mindtorch.exporting.elementwise import ELEMENTWISE
from mindtorch.exporting.writers import Writers

from ..common.dtype import text_of
from .errors import UnsupportedOperatorError
from .primitives_shapes import type_number
from .schema import AttributeType, GraphProto, ModelProto, PrimType
from .values import put_tensor, put_value

__all__ = ["WRITERS", "Writer", "writes"]

WRITERS = Writers(ELEMENTWISE)
writes = WRITERS.writes
_VERSION = 1  # which MindSpore 2.10 loads; Lite 2.0 reads no other
_PRODUCER = "2.10.0"  # MindSpore refuses files without a version that it knows


def _word(primitive: str) -> Any:
    """An operator of the common words that MindSpore calls otherwise."""

    def write(self: Any, *inputs: str) -> str:
        return str(self.node(primitive, inputs, {}))

    return write


class Writer:
    """The nodes, primitives and constants of a model under way.

    ``writer.MatMul(a, b, transpose_b=True)`` appends a node and gives the name of its result; names
    of primitives are MindSpore's, keywords are a primitive's attributes. ``results`` says how many
    results the primitive has, which are taken out of its tuple.

    Args:
        name: of the graph.
    """

    def __init__(self, name: str) -> None:
        self.graph_name = name
        self.model = ModelProto(
            ir_version="1.1", producer_name="MindSpore", model_version=_PRODUCER,
            little_endian=True, mind_ir_version=_VERSION,
        )  # fmt: skip
        self.graph: Any = GraphProto(name=name)
        self.names: dict[int, str] = {}
        self.makers: dict[int, Any] = {}
        self.arrays: dict[str, Any] = {}
        self.open_inputs: dict[Any, tuple[str, int, Any]] = {}  # by place of a size
        self._primitives: dict[Any, str] = {}
        self._constants: dict[Any, str] = {}
        self._counts: dict[str, int] = {}
        self._taken: set[str] = set()

    # --- names and nodes --------------------------------------------------------------------------

    def named(self, base: str) -> str:
        """A name that nothing has yet."""
        while True:
            count = self._counts[base] = self._counts.get(base, -1) + 1
            name = f"{self.graph_name}:{base}" + (f"_{count}" if count else "")
            if name not in self._taken:
                self._taken.add(name)
                return name

    def __getattr__(self, primitive: str) -> Any:
        if not primitive[0].isupper():
            raise AttributeError(primitive)

        def write(*inputs: str, results: int = 0, **attributes: Any) -> Any:
            return self.node(primitive, inputs, attributes, results)

        return write

    def node(
        self, primitive: str, inputs: Sequence[str], attributes: dict[str, Any], results: int = 0
    ) -> Any:
        """Append a node; the name of its result, or of each of ``results``."""
        made = self.named(primitive)
        self.graph.node.add(
            input=inputs, output=[made], name=made, domain=f"Default/{primitive}-op",
            op_type=f"REF::{self._primitive(primitive, attributes)}",
        )  # fmt: skip
        if not results:
            return made
        return tuple(self.TupleGetItem(made, self.value(i)) for i in range(results))

    def _primitive(self, name: str, attributes: dict[str, Any]) -> str:
        """What nodes call a primitive with these attributes."""
        key = (name, repr(sorted(attributes.items())))
        if key not in self._primitives:
            reference = f"{name}:{len(self._primitives)}"
            proto = self.model.primitives.add(
                name=reference, op_type=name, instance_name="", prim_type=PrimType.PRIMITIVE
            )
            for attribute, value in attributes.items():
                put_value(proto.attribute.add(name=attribute), value)
            self._primitives[key] = reference
        return self._primitives[key]

    def of(self, value: Any) -> str:
        """The name of a value of the graph."""
        return self.names[value.number]

    def inputs(self, node: Any) -> list[Any]:
        """The names of a node's inputs, None for those that are absent."""
        return [None if value is None else self.of(value) for value in node.inputs]

    # --- constants --------------------------------------------------------------------------------

    def value(self, value: Any) -> str:
        """The name of a number or a tuple of numbers that is an input of nodes."""
        key = (type(value), repr(value))
        if key not in self._constants:
            made = self._constants[key] = self.named("constant")
            node = self.graph.node.add(output=[made], name=made, op_type="Constant")
            put_value(node.attribute.add(name="value"), value)
        return self._constants[key]

    def constant(self, array: Any) -> str:
        """The name of a tensor with these elements; small ones that are alike are one."""
        array = np.asarray(array)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= 64 else None
        if key in self._constants:
            return self._constants[key]
        made = self.named("tensor")
        node = self.graph.node.add(output=[made], name=made, op_type="Constant")
        attribute = node.attribute.add(name="value", type=AttributeType.TENSORS)
        tensor = attribute.tensors.add(name="value0")
        put_tensor(tensor, array)
        self.arrays[made] = array
        if key is not None:
            self._constants[key] = made
        return made

    def drop_unused(self) -> None:
        """Take out the constants that nothing reads."""
        read = {name for node in self.graph.node for name in node.input}
        read |= {each.name for each in self.graph.output}
        kept = [n for n in self.graph.node if n.op_type != "Constant" or n.name in read]
        if len(kept) < len(self.graph.node):
            made = GraphProto(name=self.graph.name)
            made.node.extend(kept)
            self.graph.ClearField("node")
            self.graph.MergeFrom(made)

    def parameter(self, array: Any, name: str) -> str:
        """The name of a parameter with these elements."""
        made = self.named(name)
        put_tensor(self.graph.parameter.add(name=made, ref_key=name), array)
        self.arrays[made] = array
        return made

    def scalar(self, number: Any, dtype: Any) -> str:
        """A number as a tensor without axes."""
        return self.constant(np.array(number, dtype.np))

    def known(self, value: Any) -> Any:
        """The elements of a value that is a constant, else None."""
        return None if value is None else self.arrays.get(self.of(value))

    # --- sizes ------------------------------------------------------------------------------------

    def numbers(self, numbers: Sequence[Any]) -> str:
        """A row of whole numbers that must be known."""
        if any(type(n) is Count for n in numbers):
            raise UnsupportedOperatorError("a number hangs on a length that is open")
        return self.value(tuple(int(n) for n in numbers))

    def shaped(self, x: str, shape: Sequence[Any]) -> str:
        """``x`` in another shape, of whose lengths one may be open."""
        opened = [i for i, n in enumerate(shape) if type(n) is Count]
        if len(opened) > 1:
            raise UnsupportedOperatorError("a shape with several lengths that are open")
        return str(self.Reshape(x, self.numbers([-1 if i in opened else n
                                                 for i, n in enumerate(shape)])))  # fmt: skip

    def zeros_along(self, lengths: Sequence[Any], dtype: Any) -> str:
        """Zeros that are as long as the lengths that are open, and 1 long elsewhere."""
        made = ""
        for axis, length in enumerate(lengths):
            if type(length) is not Count:
                continue
            source = self.open_inputs.get(length.place)
            if source is None:
                raise UnsupportedOperatorError("a tensor whose length is computed from an open one")
            name, place, aval = source
            ends = tuple(0 if i == place else 1 for i in range(aval.ndim))
            row = self.StridedSlice(
                name, self.value((0,) * aval.ndim), self.value(ends), self.value((1,) * aval.ndim),
                begin_mask=0, end_mask=1 << place, ellipsis_mask=0, new_axis_mask=0,
                shrink_axis_mask=0,
            )  # fmt: skip
            row = self.cast(self.ZerosLike(row), aval.dtype, dtype)
            row = self.Reshape(row, self.value(tuple(
                -1 if i == axis else 1 for i in range(len(lengths))
            )))  # fmt: skip
            made = row if not made else self.Add(made, row)
        return made

    # --- types ------------------------------------------------------------------------------------

    def cast(self, name: str, held: Any, dtype: Any) -> str:
        """A tensor of type ``held`` as one of ``dtype``."""
        if held is dtype:
            return name
        array = self.arrays.get(name)
        if array is not None and array.size <= 64 and not array.ndim:
            return self.constant(array.astype(dtype.np))
        return str(self.node("Cast", (name, self.value(type_number(dtype))), {
            "SrcT": text_of(held), "DstT": text_of(dtype),
        }))  # fmt: skip

    def typed(self, value: Any, dtype: Any) -> str:
        """A value of the graph as one of ``dtype``."""
        return self.cast(self.of(value), value.aval.dtype, dtype)

    # --- the words of elementwise writers ---------------------------------------------------------

    Relu, HardSwish = _word("ReLU"), _word("HSwish")
    Acos, Ceil, IsNaN = _word("ACos"), _word("Ceil"), _word("IsNan")
    Or, And, Xor, Not = (
        _word("LogicalOr"), _word("LogicalAnd"), _word("LogicalXor"), _word("LogicalNot")
    )  # fmt: skip
    LessOrEqual, GreaterOrEqual = _word("LessEqual"), _word("GreaterEqual")
    Max, Min = _word("Maximum"), _word("Minimum")
    BitwiseNot = _word("Invert")

    def has_gelu(self) -> bool:
        """Whether there is an operator Gelu: only the approximate one."""
        return False

    def HardSigmoid(self, x: str, alpha: float, beta: float) -> str:  # noqa: N802
        """The piecewise linear sigmoid of torch's slope."""
        return str(self.HSigmoid(x))

    def Where(self, condition: str, x: str, y: str) -> str:  # noqa: N802
        """Elements of ``x`` where the condition holds, of ``y`` elsewhere."""
        return str(self.Select(condition, x, y))

    def Cast(self, x: str, to: int) -> str:  # noqa: N802
        """Raise: element types of ONNX's are not those of MindIR."""
        raise UnsupportedOperatorError("a conversion by ONNX's number of an element type")

    def Mod(self, x: str, y: str, fmod: int = 0) -> str:  # noqa: N802
        """The rest with the sign of ``x`` if ``fmod``, else of ``y``."""
        return str(self.node("Mod" if fmod else "FloorMod", (x, y), {}))
