"""torch.export: a module's forward as a program that runs without the module's code.

What is kept is the engine's traced graph, see docs/design/028-exported-programs.md.
"""

from __future__ import annotations

from typing import Any

from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons
from mindtorch.torch._compat.unsupported_names import absent_class, absent_function, absent_module
from mindtorch.torch._dynamo.exc import UserError
from mindtorch.torch.nn import Module

from . import dynamic_shapes, exported_program, graph_signature
from ._files import load, save
from ._tracing import trace_module
from .dynamic_shapes import Dim, dims
from .exported_program import ExportedProgram
from .graph_signature import ExportGraphSignature

__all__ = [
    "Dim", "ExportGraphSignature", "ExportedProgram", "ShapesCollection", "dims", "draft_export",
    "dynamic_shapes", "export", "export_for_training", "exported_program", "graph_signature",
    "load", "register_dataclass", "save", "unflatten",
]  # fmt: skip

_WHY = "torch.export.export, save, load and ExportedProgram.module are there"


def export(
    mod: Module,
    args: tuple[Any, ...],
    kwargs: dict[str, Any] | None = None,
    *,
    dynamic_shapes: Any = None,
    strict: bool = False,
    preserve_module_call_signature: tuple[str, ...] = (),
    prefer_deferred_runtime_asserts_over_guards: bool = False,
) -> ExportedProgram:
    """Make a program of what ``mod(*args, **kwargs)`` computes, in the mode that ``mod`` is in.
    Nothing is computed, and ``mod`` is not changed.

    Args:
        mod: a module.
        args, kwargs: what its forward is called with: tensors, and numbers, texts and None, which
            become part of the program, in containers.
        dynamic_shapes: which lengths may be others later: by argument (a dict by name, a list or a
            tuple), for each tensor a dict from axes to a :class:`Dim`, ``Dim.AUTO``,
            ``Dim.DYNAMIC``, ``Dim.STATIC``, None or the length itself.
        strict: of no effect: there is one way to trace, which runs the forward's Python code.
        preserve_module_call_signature, prefer_deferred_runtime_asserts_over_guards: must not be
            set.

    Returns:
        ExportedProgram: the program, with the module's own parameters and buffers.

    Raises:
        ValueError: ``mod`` is no module, or its forward assigns tensors to attributes.
        UserError: the arguments or ``dynamic_shapes`` do not fit, or the forward fixes a length
            that is to be open.
        ExportError: the forward depends on data, draws random numbers, or writes to tensors that
            are neither its own nor arguments.
    """
    if not isinstance(mod, Module):
        raise ValueError(
            f"Expected `mod` to be an instance of `torch.nn.Module`, got {type(mod)}."
        )
    if not isinstance(args, tuple):
        raise UserError(
            f"Expecting `args` to be a tuple of example positional inputs, got {type(args)}"
        )
    if preserve_module_call_signature or prefer_deferred_runtime_asserts_over_guards:
        raise NotImplementedError(
            "torch.export.export: a program has one signature, and guards are always checked"
        )
    kwargs = dict(kwargs or {})
    traced = trace_module(mod, args, kwargs, dynamic_shapes)
    state = dict(mod.state_dict(keep_vars=True))
    return ExportedProgram(traced, state, traced.constants, (args, kwargs))


def export_for_training(
    mod: Module, args: tuple[Any, ...], kwargs: dict[str, Any] | None = None, **options: Any
) -> ExportedProgram:
    """The same as :func:`export`."""
    return export(mod, args, kwargs, **options)


ShapesCollection = absent_class("torch.export", "ShapesCollection", _WHY)
draft_export = absent_function("torch.export", "draft_export", _WHY)
register_dataclass = absent_function("torch.export", "register_dataclass", _WHY)
unflatten = absent_function("torch.export", "unflatten", _WHY)
absent_module("export._trace", _WHY, "", "_export")
absent_module("export.decomp_utils", _WHY, "CustomDecompTable")


_give_reasons(globals())
