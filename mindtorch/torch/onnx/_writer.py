"""What writers of ops write with: names, nodes, constants, and numbers that hang on sizes."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any

import numpy as np
import onnx
from onnx import TensorProto, helper

from mindtorch.engine import dtypes
from mindtorch.engine.symbolic_sizes import Count, Sizes, plain
from mindtorch.exporting.elementwise import ELEMENTWISE
from mindtorch.exporting.writers import Writers

from .errors import UnsupportedOperatorError

__all__ = ["ELEMENT_TYPES", "WRITERS", "NewerOpsetError", "Writer", "element_type", "writes"]

ELEMENT_TYPES = {
    dtypes.float32: TensorProto.FLOAT, dtypes.float64: TensorProto.DOUBLE,
    dtypes.float16: TensorProto.FLOAT16, dtypes.bfloat16: TensorProto.BFLOAT16,
    dtypes.int8: TensorProto.INT8, dtypes.int16: TensorProto.INT16,
    dtypes.int32: TensorProto.INT32, dtypes.int64: TensorProto.INT64,
    dtypes.uint8: TensorProto.UINT8, dtypes.uint16: TensorProto.UINT16,
    dtypes.uint32: TensorProto.UINT32, dtypes.uint64: TensorProto.UINT64,
    dtypes.bool_: TensorProto.BOOL,
}  # fmt: skip


class NewerOpsetError(Exception):
    """The opset has no such operator; ``version`` is the first that has."""

    def __init__(self, version: int) -> None:
        super().__init__(version)
        self.version = version


WRITERS = Writers(ELEMENTWISE)
writes = WRITERS.writes


def element_type(dtype: Any) -> int:
    """ONNX's number of an element type."""
    found = ELEMENT_TYPES.get(dtype)
    if found is None:
        raise UnsupportedOperatorError(f"tensors of {dtype.name} are not exported to ONNX")
    return int(found)


class Writer:
    """The nodes and constants of a model under way.

    ``writer.Add(a, b)`` appends a node and gives the name of its result; names of operators are
    ONNX's. Keywords are attributes, but ``results``, the number of results.

    Args:
        opset: the version of ONNX's operators.
        sizes: what the numbers in shapes hang on, None where all are plain.
        size_places: for each size the input and the axis it is read from.
    """

    def __init__(
        self, opset: int, sizes: Sizes | None, size_places: Sequence[tuple[str, int]]
    ) -> None:
        self.opset = opset
        self.nodes: list[onnx.NodeProto] = []
        self.initializers: list[onnx.TensorProto] = []
        self.names: dict[int, str] = {}
        self.makers: dict[int, Any] = {}
        self.arrays: dict[str, Any] = {}
        self._taken: set[str] = set()
        self._constants: dict[Any, str] = {}
        self._sizes = sizes
        self._size_places = size_places
        self._numbers: dict[Any, str] = {}
        self._base = "value"

    # --- names and nodes --------------------------------------------------------------------------

    def named(self, base: str) -> str:
        """A name that nothing has yet."""
        name, count = base, 0
        while name in self._taken:
            count += 1
            name = f"{base}_{count}"
        self._taken.add(name)
        return name

    def begin(self, base: str) -> None:
        """The nodes that follow belong to an op of this name."""
        self._base = base

    def __getattr__(self, operator: str) -> Any:
        if not operator[0].isupper():
            raise AttributeError(operator)

        if not onnx.defs.has(operator, self.opset):
            versions = range(self.opset, onnx.defs.onnx_opset_version() + 1)
            self.need(min(v for v in versions if onnx.defs.has(operator, v)))

        def write(*inputs: str | None, results: int = 1, **attributes: Any) -> Any:
            made = [self.named(self._base) for _ in range(results)]
            given = ["" if name is None else name for name in inputs]
            while given and not given[-1]:
                given.pop()
            self.nodes.append(
                helper.make_node(operator, given, made, name=f"{operator}/{made[0]}", **attributes)
            )
            return made[0] if results == 1 else tuple(made)

        return write

    def has_gelu(self) -> bool:
        """Whether there is an operator Gelu."""
        return self.opset >= 20

    def need(self, version: int) -> None:
        """Raise where the opset is older than this, for the model to be written in it."""
        if self.opset < version:
            raise NewerOpsetError(version)

    def length(self, name: str, axis: int) -> str:
        """The length of an axis as a row of one."""
        if self.opset >= 15:
            return str(self.Shape(name, start=axis, end=axis + 1))
        return str(self.Gather(self.Shape(name), self.ints([axis])))

    def of(self, value: Any) -> str:
        """The name of a value of the graph."""
        return self.names[value.number]

    def inputs(self, node: Any) -> list[Any]:
        """The names of a node's inputs, None for those that are absent."""
        return [None if value is None else self.of(value) for value in node.inputs]

    # --- constants --------------------------------------------------------------------------------

    def constant(self, array: Any, name: str = "") -> str:
        """The name of an initializer with these elements; small ones that are alike are one."""
        array = np.asarray(array)
        key = (array.dtype.str, array.shape, array.tobytes()) if array.size <= 64 else None
        if not name and key in self._constants:
            return self._constants[key]
        made = self.named(name or "constant")
        dense = np.ascontiguousarray(array).reshape(array.shape)
        self.initializers.append(onnx.numpy_helper.from_array(dense, made))
        self.arrays[made] = dense
        if not name and key is not None:
            self._constants[key] = made
        return made

    def scalar(self, number: Any, dtype: Any) -> str:
        """A number as a tensor without axes."""
        return self.constant(np.array(number, dtype.np))

    def known(self, value: Any) -> Any:
        """The elements of a value that is a constant, else None."""
        return None if value is None else self.arrays.get(self.of(value))

    def number(self, value: Any) -> float:
        """The only element of a value that must be a constant."""
        array = self.known(value)
        if array is None or array.size != 1:
            raise UnsupportedOperatorError("a number that the operator takes is computed")
        return float(array.reshape(()))

    # --- numbers that hang on sizes ---------------------------------------------------------------

    def ints(self, numbers: Sequence[Any]) -> str:
        """A row of whole numbers."""
        if not any(type(n) is Count for n in numbers):
            return self.constant(np.array([int(n) for n in numbers], np.int64))
        parts = [
            self.size(n) if type(n) is Count else self.constant(np.array([int(n)], np.int64))
            for n in numbers
        ]
        return parts[0] if len(parts) == 1 else str(self.Concat(*parts, axis=0))

    def shape(self, numbers: Sequence[Any]) -> str:
        """A shape to bring a tensor into, which has as many elements."""
        counts = [i for i, n in enumerate(numbers) if type(n) is Count]
        if len(counts) == 1 and 0 not in [plain(n) for n in numbers]:
            numbers = [-1 if i == counts[0] else n for i, n in enumerate(numbers)]
        return self.ints(numbers)

    def size(self, number: Any) -> str:
        """A whole number as a row of one."""
        if type(number) is not Count:
            return self.constant(np.array([int(number)], np.int64))
        found = self._numbers.get(number.place)
        if found is None:
            found = self._numbers[number.place] = self._sum(number.terms)
        return found

    def _sum(self, terms: dict[Any, int]) -> str:
        total = None
        for atoms, factor in terms.items():
            part = None if atoms and factor == 1 else self.constant(np.array([factor], np.int64))
            for atom in atoms:
                part = self._atom(atom) if part is None else self.Mul(part, self._atom(atom))
            total = part if total is None else self.Add(total, part)
        return str(total)

    def _atom(self, place: int) -> str:
        """The number at a place of the sizes, as a row of one."""
        found = self._numbers.get(("atom", place))
        if found is None:
            assert self._sizes is not None
            if place < len(self._size_places):
                source, axis = self._size_places[place]
                found = self.length(source, axis)
            else:
                found = self._derived(ast.parse(self._sizes.definition(place), mode="eval").body)
            self._numbers["atom", place] = found
        return found

    def _derived(self, tree: Any) -> str:
        """A number from the text of what it follows from."""
        if isinstance(tree, ast.BinOp):
            a, b = self._derived(tree.left), self._derived(tree.right)
            if isinstance(tree.op, ast.FloorDiv):  # Div rounds towards zero, Mod as Python does
                return str(self.Div(self.Sub(a, self.Mod(a, b)), b))
            operators = {"Add": "Add", "Sub": "Sub", "Mult": "Mul", "Mod": "Mod"}
            found = operators.get(type(tree.op).__name__)
            if found is not None:
                return str(getattr(self, found)(a, b))
        if isinstance(tree, ast.UnaryOp) and isinstance(tree.op, ast.USub):
            return str(self.Neg(self._derived(tree.operand)))
        if isinstance(tree, ast.Name):
            return self._atom(int(tree.id[1:]))
        if isinstance(tree, ast.Constant) and isinstance(tree.value, int):
            return self.constant(np.array([tree.value], np.int64))
        raise UnsupportedOperatorError(
            f"a size that is computed as {ast.unparse(tree)!r} cannot be written for other sizes"
        )

    # --- types ------------------------------------------------------------------------------------

    def cast(self, name: str, held: Any, dtype: Any) -> str:
        """A tensor of type ``held`` as one of ``dtype``."""
        if held is dtype:
            return name
        array = self.arrays.get(name)
        if array is not None and array.size <= 64 and not array.ndim:
            return self.constant(array.astype(dtype.np))
        return str(self.Cast(name, to=element_type(dtype)))

    def typed(self, value: Any, dtype: Any) -> str:
        """A value of the graph as one of ``dtype``."""
        return self.cast(self.of(value), value.aval.dtype, dtype)
