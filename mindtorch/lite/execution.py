"""A Lite graph bound to memory: the engine's kernels on one arena."""

from __future__ import annotations

import importlib
from collections.abc import Sequence
from typing import Any

import numpy as np

import mindtorch.torch  # noqa: F401  # declares the ops
from mindtorch.engine import dtypes
from mindtorch.engine.aval import Aval, aval
from mindtorch.engine.compile.ir.ir import Graph, GraphOp, Node, Value
from mindtorch.engine.compile.passes.kernel_substitution import SubstitutedOp
from mindtorch.engine.compile.passes.pipeline import run_passes
from mindtorch.engine.compile.runtime.executable import Executable, SharedArena
from mindtorch.engine.dispatch import SEVERAL, VIEW
from mindtorch.engine.op import OPS, Plan
from mindtorch.engine.switches import switches
from mindtorch.kernels.cpu.threads import thread_pool
from mindtorch.machine_memory import gigabytes, memory_of_machine

from .errors import LiteFileError
from .graph import LiteGraph, LiteNode, LiteTensor, Size, Then
from .sizes import evaluated

__all__ = ["Program", "TypedNodes", "dequantized", "engine_op", "packed"]

MOST_BYTES = 2000 << 20  # of a value that is computed, as in MindSpore Lite
LEAST_LOOKED_AT = 64 << 20  # bytes of a run, below which nobody asks how much memory is free


class _Followed(GraphOp):
    """A product or convolution, and elementwise ops that are computed in the place of its result.

    The inputs are those of the op, then those of each step.
    """

    def __init__(self, node: LiteNode, arity: int) -> None:
        self.op = engine_op(node.op)
        kernels = getattr(self.op, "compiled", ())
        self.others = [SubstitutedOp(self.op, kernel) for kernel in kernels]
        self.arity, self.steps = arity, node.then
        self.name = "+".join([node.op, *[step.op for step in node.then]])

    def _parts(self, inputs: Any) -> Any:
        """The op's own inputs, and for each step the places of its inputs behind these."""
        at = self.arity
        places = []
        for step in self.steps:
            count = len(step.inputs) - 1
            places.append(range(at, at + count))
            at += count
        return inputs[: self.arity], places

    def aval(self, *inputs: Any, **params: Any) -> Any:
        own, places = self._parts(inputs)
        made = self.op.aval(*own, **params)
        for step, where in zip(self.steps, places, strict=True):
            result = engine_op(step.op).aval(made, *[inputs[i] for i in where], **step.params)
            if result is not made:
                raise ValueError(f"{step.op} does not keep the shape or type")
        return made

    def plan_for(self, inputs: Any, params: dict[str, Any]) -> Plan:
        own, places = self._parts(inputs)
        base = self.op.plan_for(own, params)
        for other in self.others:  # the first kernel that suits, as in compiled functions
            if other.suits(base, params) is not None:
                base = other.plan_for(own, params)
                break
        value = Value(-1, base.aval)
        steps = []
        for step, where in zip(self.steps, places, strict=True):
            plan = engine_op(step.op).plan_for((value, *[inputs[i] for i in where]), step.params)
            if plan.avals != base.avals:
                raise ValueError(f"{step.op} does not keep the shape or type")
            steps.append((plan.run, tuple(where)))
        first, arity = base.run, self.arity
        if len(steps) == 1 and len(steps[0][1]) == 0:
            only = steps[0][0]

            def run_two(out: Any, *given: Any) -> None:
                first(out, *given)
                only(out, out)

            return self.plan(inputs, base.avals, run_two)

        def run(out: Any, *given: Any) -> None:
            first(out, *given[:arity])
            for each, where in steps:
                each(out, out, *[given[i] for i in where])

        return self.plan(inputs, base.avals, run)


def engine_op(name: str) -> Any:
    """The op of this name.

    Raises:
        LiteFileError: there is none.
    """
    op = OPS.get(name)
    if op is None:
        raise LiteFileError(f"the op {name!r} is not known")
    return op


def dequantized(tensor: LiteTensor) -> np.ndarray:
    """A constant's elements in the type that it is said to have."""
    data, q = tensor.data, tensor.quantization
    if data is None:
        raise LiteFileError(f"{tensor.name!r} is no constant")
    if q is None:
        return np.asarray(data, dtypes.by_name(tensor.dtype).np)
    if data.dtype.kind == "i" and data.shape == tensor.shape:
        numbers = data
    else:
        numbers = unpacked(data, q.bits, tensor.shape)
    shape = [1] * len(tensor.shape)
    if q.axis is not None:
        shape[q.axis] = -1
    scales, zeros = q.scales.reshape(shape), q.zero_points.reshape(shape)
    made = (numbers.astype(np.float32) - zeros.astype(np.float32)) * scales
    return np.ascontiguousarray(made, dtypes.by_name(tensor.dtype).np)


def packed(numbers: np.ndarray, bits: int) -> np.ndarray:
    """Whole numbers of ``bits`` bits (of two's complement) one after another, lowest bit first."""
    flat = numbers.reshape(-1).astype(np.int32)
    digits = (flat[:, None] >> np.arange(bits, dtype=np.int32)) & 1
    return np.packbits(digits.astype(np.uint8).reshape(-1), bitorder="little")


def unpacked(data: np.ndarray, bits: int, shape: Any) -> np.ndarray:
    """The inverse of :func:`packed`."""
    count = int(np.prod(shape, dtype=np.int64))
    if data.dtype != np.uint8 or data.size * 8 < count * bits or not 1 <= bits <= 16:
        raise LiteFileError("a quantised constant has too few bits")
    digits = np.unpackbits(data, count=count * bits, bitorder="little").reshape(count, bits)
    numbers = digits.astype(np.int32) @ (1 << np.arange(bits, dtype=np.int32))
    numbers -= (numbers >> (bits - 1)) << bits  # the highest bit is the sign
    return numbers.reshape(shape)


class TypedNodes:
    """The engine's nodes of a Lite graph for given lengths; what they make is derived by their ops.

    Args:
        graph: of a file.
        lengths: of the open axes.
        constants: dequantised arrays of tensors by their places, which are filled.

    Attributes:
        ir: the nodes, their inputs and outputs.
        held: (value, flat array) of each constant that is read.

    Raises:
        LiteFileError: the nodes do not fit together.
    """

    def __init__(self, graph: LiteGraph, lengths: Sequence[int], constants: dict[Any, Any]) -> None:
        self.graph = graph
        self._numbers = evaluated(graph.sizes, lengths)
        self.values: dict[int, Value] = {}
        self.ir = Graph()
        self.held: list[tuple[Value, np.ndarray]] = []
        self._build(constants)

    def _value(self, place: int, described: Aval, is_constant: bool = False) -> Value:
        size = described.size * described.dtype.itemsize
        if size > MOST_BYTES and not is_constant:
            raise LiteFileError(
                f"the value {self.graph.tensors[place].name!r} has {size} bytes: the most are "
                f"{MOST_BYTES}"
            )
        value = self.ir.value(described)
        self.values[place] = value
        return value

    def plain(self, value: Any) -> Any:
        """A parameter for the lengths."""
        if isinstance(value, Size):
            return self._numbers[value.place]
        if isinstance(value, tuple):
            return tuple(self.plain(each) for each in value)
        return value

    def _build(self, constants: dict[Any, Any]) -> None:
        graph, ir = self.graph, self.ir
        for place in graph.inputs:
            tensor = graph.tensors[place]
            described = aval(self.plain(tensor.shape), dtypes.by_name(tensor.dtype))
            ir.inputs.append(self._value(place, described))
        read = {i for node in graph.nodes for i in node.reads()} | set(graph.outputs)
        for place, tensor in enumerate(graph.tensors):
            if tensor.data is not None and place in read:
                if place not in constants:
                    constants[place] = dequantized(tensor)
                array = constants[place]
                dtype = dtypes.from_numpy(array.dtype)
                described = aval(array.shape, dtype, None, weak=tensor.weak)
                made = self._value(place, described, is_constant=True)
                self.held.append((made, array.reshape(-1)))
        for node in graph.nodes:
            self._add(node)
        ir.outputs = [self.values[i] for i in graph.outputs]

    def _add(self, node: LiteNode) -> None:
        """Append a node, whose results have the avals that its op derives."""
        inputs = tuple(None if i is None else self.values[i] for i in node.inputs)
        params = {name: self.plain(value) for name, value in node.params.items()}
        op = engine_op(node.op)
        if node.then:
            then = tuple(Then(t.op, t.inputs, t.params) for t in node.then)
            op = _Followed(LiteNode(node.op, node.inputs, node.outputs, {}, then), len(inputs))
            inputs += tuple(self.values[i] for t in then for i in t.inputs if i >= 0)
        try:
            derived = op.aval(*[None if v is None else v.aval for v in inputs], **params)
        except Exception as error:
            raise LiteFileError(f"the node {node.name!r} is not legal: {error}") from error
        avals = derived if isinstance(derived, tuple) else (derived,)
        if len(avals) != len(node.outputs):
            raise LiteFileError(f"the node {node.name!r} has {len(avals)} results")
        outputs = tuple(self._value(i, a) for i, a in zip(node.outputs, avals, strict=True))
        self.ir.nodes.append(Node(op, inputs, params, outputs, node.name))


class Program:
    """A graph for given lengths, bound to memory.

    Args:
        graph: of a file.
        lengths: of the open axes.
        constants: dequantised arrays of tensors by their places, and packed weights, which
            programs of several lengths share.
        threads: that kernels may use; 0: as many as the process is set to.
        arena: of other programs of the graph, which run one after another.
        fuses: whether elementwise nodes become one loop.

    Attributes:
        lengths: of the open axes.
        run: of the inputs' flat arrays the outputs' ones, which are the caller's.

    Raises:
        LiteFileError: the nodes do not fit together.
    """

    def __init__(
        self, graph: LiteGraph, lengths: Sequence[int], constants: dict[Any, Any],
        threads: int = 0, arena: SharedArena | None = None, fuses: bool = True,
    ) -> None:  # fmt: skip
        self.threads = threads
        self.graph, self.lengths = graph, tuple(lengths)
        try:
            typed = TypedNodes(graph, lengths, constants)
            self._ir, self._values, self._constants = typed.ir, typed.values, typed.held
            self._in_threads(lambda: self._bind(arena, fuses, constants))
        except LiteFileError:
            raise
        except (TypeError, ValueError, RuntimeError, IndexError, KeyError, ArithmeticError,
                AttributeError, MemoryError, NotImplementedError) as error:  # fmt: skip
            raise LiteFileError(f"the graph cannot be run: {error}") from error

    def _bind(self, arena: SharedArena | None, fuses: bool, constants: dict[Any, Any]) -> None:
        ir = self._ir
        self._check_views()
        # a file that was not optimised keeps the bits of eager execution
        if fuses and switches.kernel_substitution and "passes" in self.graph.information:
            arrays = {i: a for i, a in constants.items() if isinstance(i, int)}
            packed = constants.setdefault("packed", {})
            uses = self.graph.uses()
            # with its kernels, which no import of this module should need
            segments = importlib.import_module("mindtorch.engine.inference.segments")
            segments.join_nodes(self.graph.nodes, ir, self._values, arrays, uses, packed)
        run_passes(ir, [v for v, _ in self._constants], exact=not fuses)
        run_passes(ir, [v for v, _ in self._constants], sized=True, exact=not fuses)
        self.executable = Executable(ir, ir.inputs, ir.outputs, self._constants, arena)
        self.output_avals = [v.aval for v in ir.outputs]
        self.input_avals = [v.aval for v in ir.inputs]
        self._check_memory()
        self.run = self._only_steps() or self._run_all

    def _check_memory(self) -> None:
        """Raise where a run takes more memory than is free: the system would end this process, or
        another one."""
        needed = self.executable.arena_bytes + sum(
            each.size * each.dtype.itemsize for each in (*self.input_avals, *self.output_avals)
        )
        if needed < LEAST_LOOKED_AT:
            return
        free = memory_of_machine()[1]
        if needed > free:
            raise LiteFileError(
                f"a run takes {gigabytes(needed)} for its inputs and results, and "
                f"{gigabytes(free)} are free: use a smaller batch"
            )

    def _only_steps(self) -> Any:
        """What runs the graph where it is nothing but steps of one call; else None."""
        ir, executable = self._ir, self.executable
        if executable.refused or len(executable.nodes) != 1:
            return None
        (node,), ((_, arguments),) = executable.nodes, executable.steps
        steps: Any = getattr(node.op, "run", None)
        if not getattr(steps, "is_one_call", False) or (
            [*node.inputs, *node.outputs] != [*ir.inputs, *ir.outputs]
        ):
            return None
        return steps.caller(arguments[-1], executable.lock)

    def _check_views(self) -> None:
        """Raise where a view leaves the memory that it is a view of."""
        room = {v.number: (0, v.aval.extent) for v in self._values.values()}
        for node in self._ir.nodes:
            if node.op.view is None:
                continue
            plan = node.plan()
            source = node.inputs[0]
            if plan.kind not in (VIEW, SEVERAL) or source is None:
                continue
            start, size = room[source.number]
            start += plan.run if plan.kind == VIEW else 0
            made = node.outputs[0]
            if start < 0 or start + made.aval.extent > size:
                raise LiteFileError(f"the node {node.line!r} sees memory outside of its input")
            room[made.number] = (start, size)

    def _in_threads(self, act: Any) -> Any:
        """Call with the number of threads that is asked for, which is then as before."""
        before = thread_pool.limit_of_this_thread(self.threads)
        try:
            return act()
        finally:
            thread_pool.limit_of_this_thread(before)

    def _run_all(self, flats: Sequence[np.ndarray]) -> list[Any]:
        """The outputs' flat arrays, which are the caller's, for those of the inputs."""
        executable = self.executable
        with executable.lock:
            before = thread_pool.limit_of_this_thread(self.threads)
            try:
                made = executable.run(flats)
            except (TypeError, ValueError, AttributeError) as error:
                # a kernel that looks at its parameters only now
                raise LiteFileError(f"the graph cannot be run: {error}") from error
            finally:
                thread_pool.limit_of_this_thread(before)
                executable.release()
            return made
