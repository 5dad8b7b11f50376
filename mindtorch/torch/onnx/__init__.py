"""torch.onnx: models written as ONNX files, by way of the package `onnx` (the extra `export`).

What is written is the engine's graph of the forward, see docs/design/011-onnx.md.
"""

from __future__ import annotations

import enum
import importlib
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

from mindtorch._distribution import install_extra
from mindtorch.torch._api.onnx_export import exporting_now
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch._compat.unsupported_names import absent_class

from . import errors
from .errors import OnnxExporterError

__all__ = [
    "ONNXProgram",
    "OnnxExporterError",
    "OperatorExportTypes",
    "TrainingMode",
    "errors",
    "export",
    "is_in_onnx_export",
    "register_custom_op_symbolic",
    "unregister_custom_op_symbolic",
]

NO_SYMBOLIC = "operators are written by the engine's ops, not by symbolic functions"
# What packages registered, by operator and opset.
_symbolics: dict[tuple[str, int], Callable[..., Any]] = {}


class TrainingMode(enum.Enum):
    """In which mode a model is exported."""

    EVAL = 0
    PRESERVE = 1
    TRAINING = 2


class OperatorExportTypes(enum.Enum):
    """How operators are exported: as ONNX's, which is the only way here."""

    ONNX = 0
    ONNX_ATEN = 1
    ONNX_ATEN_FALLBACK = 2
    ONNX_FALLTHROUGH = 3


_MODES = {TrainingMode.EVAL: False, TrainingMode.TRAINING: True, TrainingMode.PRESERVE: None}


def __getattr__(name: str) -> Any:
    if name in ("model_writer", "program"):  # they need the package onnx
        return importlib.import_module(f"{__package__}.{name}")
    if name == "ONNXProgram":
        return __getattr__("program").ONNXProgram
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


ExportableModule = absent_class("torch.onnx", "ExportableModule", "pass the module to export")


def is_in_onnx_export() -> bool:
    """Whether `export` is tracing a model."""
    return exporting_now[0]


def _refuse(given: dict[str, Any]) -> None:
    for name, value in given.items():
        if value:
            raise NotImplementedError(f"torch.onnx.export({name}=...) is not available here")


def _asked(input_names: Sequence[str] | None, found: list[str]) -> list[str]:
    names = list(input_names or ())
    if len(set(names)) != len(names):
        raise ValueError(f"input_names has a name twice: {names}")
    return names[: len(found)] + found[len(names) :]


def _called(
    program: Any, args: tuple[Any, ...], kwargs: dict[str, Any], shapes: Any
) -> tuple[Any, tuple[Any, ...], dict[str, Any]]:
    """The module of a program and what it is called with: its examples, if nothing is given."""
    if shapes:
        raise ValueError("a program has its open lengths: give them to torch.export.export")
    if not args and not kwargs and program.example_inputs is not None:
        args, kwargs = program.example_inputs
    return program.module(), args, kwargs


def export(
    model: Any,
    args: Any = (),
    f: Any = None,
    *,
    kwargs: dict[str, Any] | None = None,
    verbose: bool | None = None,
    input_names: Sequence[str] | None = None,
    output_names: Sequence[str] | None = None,
    opset_version: int | None = None,
    dynamo: bool = True,
    external_data: bool = True,
    dynamic_shapes: Any = None,
    custom_translation_table: Any = None,
    report: bool = False,
    optimize: bool = True,
    verify: bool = False,
    profile: bool = False,
    dump_exported_program: bool = False,
    artifacts_dir: str | os.PathLike[str] = ".",
    export_params: bool = True,
    keep_initializers_as_inputs: bool = False,
    dynamic_axes: Mapping[str, Any] | None = None,
    training: TrainingMode = TrainingMode.EVAL,
    operator_export_type: OperatorExportTypes = OperatorExportTypes.ONNX,
    do_constant_folding: bool = True,
    custom_opsets: Mapping[str, int] | None = None,
    export_modules_as_functions: bool | Collection[Any] = False,
    autograd_inlining: bool = True,
) -> Any:
    """Write what `model(*args, **kwargs)` computes as an ONNX model. Nothing is computed.

    Args:
        model: a module or function of tensors; containers of them are taken apart. A program of
            `torch.export` has its open lengths and examples itself.
        args: the positional arguments, a tuple or one tensor; a dict at the end holds keyword
            arguments, as torch takes it. `kwargs`: keyword arguments.
        f: a path, or with ``dynamo=False`` a file open for writing; None writes nothing.
        verbose: print the graph.
        input_names, output_names: of the first tensors; else those of the forward's parameters.
        opset_version: 20 unless given. Versions before 13 are converted to by `onnx`, and where an
            operator is newer than asked for a newer version is written: both with a warning.
        dynamo: False returns None and writes one file, as torch's older exporter did.
        external_data: with `dynamo`, large constants lie in a file beside it, ``<f>.data``.
        dynamic_shapes: which axes may have other lengths: by argument (a dict by name, or a tuple),
            for each tensor a dict from axes to a name, `torch.export.Dim`, `Dim.DYNAMIC` or None.
        dynamic_axes: the same by input name: ``{"x": {0: "batch"}}`` or ``{"x": [0]}``.
        optimize, do_constant_folding: compute what follows from constants alone.
        verify: run the result by `onnx.reference` and compare it with the model.
        export_params: False leaves parameters out: they are inputs of the model.
        keep_initializers_as_inputs: constants are inputs, too, with these values.
        training: modules are exported as in evaluation unless it says otherwise.
        operator_export_type: operators are ONNX's; ONNX_ATEN, which wants torch's, raises.
        autograd_inlining, artifacts_dir: make no difference: functions are always written as what
            they compute, and no reports are.

    Returns:
        ONNXProgram | None: the model; None with ``dynamo=False``.

    Raises:
        OnnxExporterError: the forward needs data or an open length in Python.
        UnsupportedOperatorError: an op has no counterpart.
        NotImplementedError: reports, profiles and translations of one's own are asked for.
        ModuleNotFoundError: the package `onnx` is not installed.
    """
    _refuse({
        "custom_translation_table": custom_translation_table, "report": report, "profile": profile,
        "dump_exported_program": dump_exported_program, "custom_opsets": custom_opsets,
        "export_modules_as_functions": export_modules_as_functions,
        "operator_export_type": operator_export_type is OperatorExportTypes.ONNX_ATEN,
    })  # fmt: skip
    try:
        from . import model_writer as exporting
        from ._axes import ExportedProgram, axes_of, program_axes
        from .program import ONNXProgram
    except ModuleNotFoundError as error:
        if error.name != "onnx":
            raise
        raise ModuleNotFoundError(
            f"torch.onnx.export needs the package onnx: {install_extra('export')}", name="onnx"
        ) from None
    args = tuple(args) if isinstance(args, (tuple, list)) else (args,)
    kwargs = dict(kwargs or {})
    if args and isinstance(args[-1], dict) and not kwargs and not dynamo:
        args, kwargs = args[:-1], args[-1]
    model = getattr(model, "_orig_mod", model)  # of torch.compile
    exported = model if isinstance(model, ExportedProgram) else None
    if exported is not None:
        model, args, kwargs = _called(exported, args, kwargs, dynamic_shapes or dynamic_axes)
    given = exporting.Arguments(getattr(model, "forward", model), args, kwargs)
    if exported is not None:
        given.names, axes = program_axes(exported)
    inputs = _asked(input_names, given.names)
    if exported is None:
        axes = axes_of(given, inputs, dynamic_shapes, dynamic_axes)
    opset = 20 if opset_version is None else opset_version
    if opset > exporting.newest():
        raise ValueError(f"Unsupported ONNX opset version: {opset}")
    before, exporting_now[0] = exporting_now[0], True
    try:
        graph = exporting.trace(model, given, axes, _MODES[training])
    finally:
        exporting_now[0] = before
    if optimize and do_constant_folding:
        graph.fold_constants()
    proto = exporting.model_of(
        model, graph, inputs, list(output_names or ()), opset,
        keep_inputs=keep_initializers_as_inputs, parameters=export_params,
    )  # fmt: skip
    program = ONNXProgram(proto, model, given)
    program.convert(opset)
    program.check()
    if verify:
        program.verify()
    if verbose:
        print(program)
    if f is not None:
        program.save(f, external_data=external_data and dynamo)
    return program if dynamo else None


def register_custom_op_symbolic(
    symbolic_name: str, symbolic_fn: Callable[..., Any], opset_version: int
) -> None:
    """Keep the function that writes an operator "namespace::name" as ONNX nodes.

    Raises:
        RuntimeError: the name is not of that form.
    """
    if symbolic_name.count("::") != 1:
        raise RuntimeError(
            f"Failed to register operator {symbolic_name}. The symbolic name must match the "
            "format domain::name, and should start with a letter and contain only alphanumerical "
            "characters"
        )
    _symbolics[symbolic_name, opset_version] = symbolic_fn


def unregister_custom_op_symbolic(symbolic_name: str, opset_version: int) -> None:
    """Forget what was registered."""
    _symbolics.pop((symbolic_name, opset_version), None)


_give_reasons(globals())
