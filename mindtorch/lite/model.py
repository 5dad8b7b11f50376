"""`mindspore_lite.Model`: a Lite file that runs."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.compile.runtime.executable import SharedArena
from mindtorch.engine.tensor import as_array

from .context import Context
from .converter import converted
from .errors import ConvertError
from .execution import Program
from .file import is_lite_file, read
from .graph import LiteGraph, LiteTensor, Size
from .kinds import ModelType
from .tensor import Format, Tensor, type_of

__all__ = ["Model"]

SHARED: dict[str, Any] = {}  # what models of a file share with others, by its path
_MOST_PROGRAMS = 16  # for other lengths, that are kept; powers of two in serving


class Model:
    """A Lite model, once a file is built.

    Attributes:
        shared: what it has together with other models of a group; None: nothing.

    Raises:
        RuntimeError: of every method but :meth:`build_from_file`, before that.
    """

    def __init__(self) -> None:
        self.model_path = ""
        self._graph: LiteGraph | None = None
        self._program: Any = None
        self._call: Any = None
        self._programs: dict[tuple[int, ...], Program] = {}
        self._constants: dict[Any, Any] = {}
        self.shared: Any = None

    @property
    def is_built(self) -> bool:
        """Whether a file is built."""
        return self._graph is not None

    def sibling(self) -> Model:
        """A model of the same file with memory of its own; the weights are the same arrays."""
        made = Model()
        made._threads, made._graph, made._arena = self._threads, self._built(), SharedArena()
        made._constants = self._constants
        made._use(tuple(made._graph.lengths))
        return made

    def build_from_file(
        self, model_path: str | os.PathLike[str], model_type: ModelType,
        context: Context | None = None, config_path: str = "", config_dict: Any = None,
        dec_key: bytes | None = None, dec_mode: str = "AES-GCM", dec_num_parallel: int = 0,
    ) -> None:  # fmt: skip
        """Load a file and bind it to memory.

        Args:
            model_path: the file.
            model_type: MINDIR_LITE of what the converter writes; MINDIR of MindIR files, which
                are converted first.
            context: where it runs.
            config_path, config_dict: none; there are no settings in files here.
            dec_key, dec_mode: of an encrypted MindIR file; "AES-GCM" or "AES-CBC".
            dec_num_parallel: 0; files are decrypted in this thread.

        Raises:
            LiteFileError: the file is no Lite model, truncated, damaged or newer.
            RuntimeError: there is no such file.
            TypeError: ``dec_key`` is not bytes.
            ValueError: a configuration is given, or what decrypts a Lite file.
        """
        if not isinstance(model_type, ModelType):
            raise TypeError(f"model_type must be ModelType, but got {type(model_type)}.")
        if context is not None and not isinstance(context, Context):
            raise TypeError(f"context must be Context, but got {type(context)}.")
        if config_path or config_dict:
            raise ValueError("config_path and config_dict: files of settings are not read here")
        if dec_num_parallel:
            raise ValueError("dec_num_parallel: files are decrypted in one thread here")
        if dec_key is not None and not isinstance(dec_key, bytes):
            raise TypeError(f"dec_key must be bytes, but got {type(dec_key)}.")
        if not os.path.isfile(model_path):
            raise RuntimeError(
                f"build_from_file failed, model_path does not exist: {os.fspath(model_path)!r}"
            )
        if model_type is ModelType.MINDIR:
            with open(model_path, "rb") as file:
                if is_lite_file(file.read(8)):
                    raise ConvertError(f"{model_path} is a Lite file: ModelType.MINDIR_LITE")
            graph = converted("MINDIR", model_path, key=dec_key, mode=dec_mode)
        elif dec_key is not None:
            raise ValueError("dec_key: Lite files are not encrypted")
        else:
            graph = read(model_path)
        if self.shared is None:
            self.shared = SHARED.get(os.path.realpath(model_path))
        self.build_from_graph(graph, context)
        self.model_path = os.fspath(model_path)

    def build_from_graph(self, graph: LiteGraph, context: Context | None = None) -> None:
        """Bind a graph that is not in a file."""
        self._threads = (context or Context()).cpu.thread_num
        self._graph, self._arena = graph, SharedArena()
        if self.shared is not None:
            self._arena = self.shared.arena()
            self.shared.share_weights(graph)
        self._constants, self._programs = {}, {}
        self._use(tuple(graph.lengths))

    def _built(self) -> LiteGraph:
        if self._graph is None:
            raise RuntimeError("the model is not built: call build_from_file first")
        return self._graph

    def _running(self) -> Program:
        self._built()
        program: Program = self._program
        return program

    def _use(self, lengths: tuple[int, ...]) -> None:
        """Let the model run for these lengths of the open axes."""
        program = self._programs.get(lengths)
        if program is None:
            program = Program(self._built(), lengths, self._constants, self._threads, self._arena)
            if len(self._programs) >= _MOST_PROGRAMS:
                self._programs.pop(next(iter(self._programs)))
            self._programs[lengths] = program
        self._program = program
        self._inputs = self._empty(program.input_avals, self._built().inputs)
        takes = [(each.dtype.np, each.shape) for each in program.input_avals]
        gives = [
            (tensor.name, tensor.format, described)
            for tensor, described in zip(self.get_outputs(), program.output_avals, strict=True)
        ]
        self._call = program.run, takes, gives  # at once: another thread may be in predict

    def _empty(self, avals: Any, places: Any) -> list[Tensor]:
        made = []
        for described, place in zip(avals, places, strict=True):
            tensor = Tensor(np.zeros(described.shape, described.dtype.np))
            tensor.name = self._built().tensors[place].name
            if self._built().information.get("fmk") == "TFLITE":
                tensor.format = Format.NHWC
            made.append(tensor)
        return made

    def get_inputs(self) -> list[Tensor]:
        """The model's inputs, whose elements one sets before `predict`."""
        self._built()
        return self._inputs

    @property
    def open_shapes(self) -> list[list[int]]:
        """The shapes of the inputs, -1 for lengths that may be any."""
        graph = self._built()
        tensors = [graph.tensors[place] for place in graph.inputs]
        return [[-1 if isinstance(n, Size) else n for n in each.shape] for each in tensors]

    def get_outputs(self) -> list[Tensor]:
        """What the model gives: names, types and shapes; the elements are zeros."""
        return self._empty(self._running().output_avals, self._built().outputs)

    def resize(self, inputs: Sequence[Tensor], dims: Sequence[Sequence[int]]) -> None:
        """Let the inputs have other shapes.

        Raises:
            ValueError: an axis has another length whose length is part of the model, or the open
                ones do not agree.
        """
        graph = self._built()
        if len(inputs) != len(graph.inputs) or len(dims) != len(graph.inputs):
            raise ValueError(
                f"inputs' size and dims' size must be {len(graph.inputs)}, but got {len(inputs)} "
                f"and {len(dims)}"
            )
        given = dict(zip([self._name(x) for x in inputs], dims, strict=True))
        self._use(self._lengths([
            (graph.tensors[i], given.get(graph.tensors[i].name)) for i in graph.inputs
        ]))  # fmt: skip

    def _name(self, tensor: Any) -> str:
        if not isinstance(tensor, Tensor):
            raise TypeError(f"inputs element must be Tensor, but got {type(tensor)}.")
        return tensor.name

    def _lengths(self, wanted: list[Any]) -> tuple[int, ...]:
        """The open lengths that give inputs these shapes."""
        found: dict[int, int] = {}
        for tensor, dims in wanted:
            if dims is None:
                raise ValueError(f"the input {tensor.name!r} is not among the inputs given")
            shape = tuple(dims)
            if len(shape) != len(tensor.shape):
                raise ValueError(f"{tensor.name!r} has {len(tensor.shape)} axes, not {len(shape)}")
            for axis, (length, n) in enumerate(zip(tensor.shape, shape, strict=True)):
                if not isinstance(n, (int, np.integer)) or n < 1:
                    raise ValueError(f"{tensor.name!r}: {n!r} is no length")
                opened = isinstance(length, Size)
                known = found.setdefault(length.place, int(n)) if opened else length
                if known != n:
                    why = "the other inputs have" if opened else "is fixed at"
                    raise ValueError(f"{tensor.name!r}: axis {axis} {why} {known}, not {n}")
        return tuple(int(found[i]) for i in range(len(found)))

    def update_weights(self, weights: Sequence[Sequence[Tensor]]) -> None:
        """Give constants of the file other elements; the model is bound to memory again. A call
        that is under way in another thread ends with those before. The names are the file's: what
        the converter put together has another name than before (``optimize="none"`` keeps all).

        Args:
            weights: lists of tensors, each with the name, type and shape of a constant.

        Raises:
            TypeError: they are no lists of tensors.
            RuntimeError: no constant has such a name, or it has another type or shape, or is
                quantised; then none is changed.
        """
        graph = self._built()
        if not isinstance(weights, (list, tuple)):
            raise TypeError(f"weights must be list, but got {type(weights)}.")
        known = {each.name: each for each in graph.tensors if each.data is not None}
        found = []
        for group in weights:
            if not isinstance(group, (list, tuple)):
                raise TypeError(f"weight must be list, but got {type(group)}.")
            for given in group:
                found.append((_constant_like(known.get(self._name(given)), given), given))
        for constant, given in found:
            constant.data = given.get_data_to_numpy()
        self._constants, self._programs = {}, {}
        self._use(self._program.lengths)

    def predict(
        self, inputs: Sequence[Tensor | np.ndarray], outputs: Sequence[Tensor] | None = None,
        before: Callable[..., bool] | None = None, after: Callable[..., bool] | None = None,
    ) -> list[Tensor]:  # fmt: skip
        """The outputs for these inputs.

        Args:
            inputs: in the order of :meth:`get_inputs`, tensors or arrays.
            outputs: tensors that take the results as well.
            before, after: none.

        Raises:
            RuntimeError: an input has another type or shape than the model's.
            NotImplementedError: ``before`` or ``after``: nodes are not called back.
        """
        if before is not None or after is not None:
            raise NotImplementedError("predict(before=, after=): nodes are not called back here")
        if self._call is None:
            self._running()
        run, takes, gives = self._call
        if len(inputs) != len(takes):
            raise RuntimeError(f"predict takes {len(takes)} inputs, but got {len(inputs)}")
        # a call of a small model is mostly what stands here
        flats = []
        for x, (dtype, shape) in zip(inputs, takes, strict=True):
            if isinstance(x, np.ndarray):
                x = Tensor.sharing(x)
            elif not isinstance(x, Tensor):
                self._name(x)
            data = x._data
            if data.shape != shape or data.dtype != dtype:
                raise RuntimeError(
                    f"the input {x.name!r} is {data.dtype} {list(data.shape)}, the model takes "
                    f"{dtype} {list(shape)}: call resize for other shapes"
                )
            flats.append(data.ravel())
        made = []
        for flat, (name, form, described) in zip(run(flats), gives, strict=True):
            tensor = Tensor.__new__(Tensor)
            tensor.name, tensor.format = name, form
            tensor._data = (
                flat.reshape(described.shape) if described.contiguous
                else np.ascontiguousarray(as_array(flat, described))
            )  # fmt: skip
            made.append(tensor)
        if outputs:
            for into, tensor in zip(outputs, made, strict=False):
                into._data = tensor._data
        return made

    def get_model_info(self, key: str) -> str:
        """What the file says of itself: "fmk", "inputs", ...; "" for what it does not."""
        return str(self._built().information.get(key, ""))

    @property
    def arena_bytes(self) -> int:
        """The memory of all intermediate results."""
        return int(self._running().executable.arena_bytes)

    def seconds(self, inputs: Sequence[Tensor], loops: int, warm_up: int = 3) -> list[float]:
        """How long each of ``loops`` calls of :meth:`predict` took."""
        for _ in range(warm_up):
            self.predict(inputs)
        found = []
        for _ in range(loops):
            began = time.perf_counter()
            self.predict(inputs)
            found.append(time.perf_counter() - began)
        return found

    def __repr__(self) -> str:
        return f"Model(inputs={self._inputs!r})" if self._graph is not None else "Model()"

    def __str__(self) -> str:
        return f"model_path: {self.model_path}."


def _constant_like(constant: LiteTensor | None, given: Tensor) -> LiteTensor:
    """A constant of the file, if a tensor can take its place."""
    if constant is None:
        raise RuntimeError(f"update_weights failed: no constant has the name {given.name!r}")
    dtype = dtypes.by_name(constant.dtype).np
    shape = [int(n) for n in constant.shape]
    if constant.quantization is not None:
        raise RuntimeError(f"update_weights failed: {given.name!r} is quantised")
    if given.shape != shape or given.dtype is not type_of(dtype):
        raise RuntimeError(
            f"update_weights failed: {given.name!r} is {dtype} {shape}, not {given.dtype} "
            f"{given.shape}"
        )
    return constant
