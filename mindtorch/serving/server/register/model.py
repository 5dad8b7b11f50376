"""Models that a servable declares."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from mindtorch.serving.checks import check_bool, check_int, check_str, integers, names

from .definition import current
from .device_info import AclOptions, Context, GpuOptions

__all__ = ["Declaration", "Model", "declare_model", "declare_servable"]

FORMATS = ("mindir", "onnx", "mindir_lite", "pth", "ckpt", "safetensors")


@dataclass(frozen=True)
class Declaration:
    """What `declare_model` was told; its arguments say what each attribute means."""

    files: tuple[str, ...]
    model_format: str
    with_batch_dim: bool
    without_batch_dim_inputs: tuple[int, ...]
    context: Context | None
    module: Callable[[], Any] | str | None
    batch_size: int
    inputs: tuple[tuple[str, str, tuple[int, ...]], ...]
    as_graph: bool = True


class Model:
    """A declared model: a stage of methods, and to be called in Python stages.

    Args:
        declaration: what was declared.
    """

    def __init__(self, declaration: Declaration) -> None:
        self.declaration = declaration
        self.model_key = ";".join(declaration.files)
        self.runner: Any = None  # set by the worker process that has loaded it

    def call(self, *args: Any, subgraph: int = 0) -> Any:
        """Run the model inside of a Python stage, in batches of its size.

        Args:
            *args: the inputs of one instance; or one list with a tuple of inputs for each instance.
            subgraph: 0; files with several graphs are not read.

        Returns:
            One output or a tuple of outputs for one instance, a list of tuples for several.

        Raises:
            RuntimeError: no inputs, wrong inputs, or the model is not loaded here.
        """
        check_int("subgraph", subgraph, 0)
        if subgraph != 0:
            raise RuntimeError(f"Model({self.model_key}).call() failed: it has one subgraph, 0")
        if self.runner is None:
            raise RuntimeError(
                f"Model({self.model_key}).call() failed: the model is loaded in worker processes "
                "only; call it in a stage"
            )
        if not args:
            raise RuntimeError(f"Model({self.model_key}).call() failed: no inputs provided")
        several = len(args) == 1 and isinstance(args[0], tuple | list)
        instances = args[0] if several else [args]
        if not all(isinstance(each, tuple | list) for each in instances):
            raise RuntimeError(
                f"Model({self.model_key}).call() failed: inputs are call(x1, x2) for one instance, "
                "or call([[x1, x2], [x1, x2]]) for several"
            )
        outputs = self.runner.call(instances)
        if several:
            return outputs
        return outputs[0][0] if len(outputs[0]) == 1 else outputs[0]


def declare_model(
    model_file: str | Sequence[str],
    model_format: str,
    with_batch_dim: bool = True,
    options: AclOptions | GpuOptions | None = None,
    without_batch_dim_inputs: int | Sequence[int] | None = None,
    context: Context | None = None,
    config_file: str | None = None,
    *,
    module: Callable[[], Any] | str | None = None,
    batch_size: int = 0,
    inputs: Sequence[tuple[str, str, Sequence[int]]] = (),
    as_graph: bool = True,
) -> Model:
    """Declare a model that stages may use. For use in `servable_config.py`.

    Args:
        model_file: its file in the folder of a version.
        model_format: "MindIR", "ONNX", "MindIR_Lite" (what `mindtorch lite convert` writes); "PTH",
            "CKPT" or "safetensors" for weights alone.
        with_batch_dim: whether the first axis of inputs and outputs counts instances. Without, the
            model runs each instance by itself.
        options: superseded by `context`.
        without_batch_dim_inputs: which inputs have no such axis nevertheless, by position.
        context: how many threads it has.
        config_file: not supported; MindSpore Lite's file for Ascend.
        module: of weights alone: a function without arguments that makes the module, or
            "file.py:function" in the folder of the version or of the servable.
        batch_size: how many instances at most make a batch, where the file leaves it open; 0: 32.
        inputs: (name, type, shape of one instance) of each input, where the file does not tell;
            -1 is an open length. Workers warm up with them, and the model's page shows them.
        as_graph: whether a module whose inputs' shapes are known is traced, and runs as Lite's
            models do: with weights packed, batch norms folded, and convolutions whose sums differ
            by rounding. A module that depends on data runs op by op, as all do without.

    Returns:
        The model, for `add_stage` and `Model.call`.

    Raises:
        RuntimeError: an argument is wrong, or no `servable_config.py` is being read.
    """
    check_bool("with_batch_dim", with_batch_dim)
    check_bool("as_graph", as_graph)
    check_str("model_format", model_format)
    check_int("batch_size", batch_size, 0)
    kind = model_format.lower()
    if kind in ("om", "mindir_opt"):
        raise RuntimeError(f"{model_format} files hold what Ascend runs; export the model as "
                           "MindIR or ONNX")  # fmt: skip
    if kind not in FORMATS:
        raise RuntimeError(f"model format can only be one of {', '.join(FORMATS)}, case ignored")
    if config_file is not None:
        raise RuntimeError("config_file is read by MindSpore Lite on Ascend only; leave it out")
    if context is not None and not isinstance(context, Context):
        raise RuntimeError(f"Parameter 'context' should be Context, but gotten {type(context)}")
    if options is not None:
        if not isinstance(options, AclOptions | GpuOptions):
            raise RuntimeError(f"Parameter 'options' should be None, GpuOptions or AclOptions, but "
                               f"gotten {type(options)}")  # fmt: skip
        context = context or options.context
    files = names("model_file", model_file)
    if len(files) != 1:
        raise RuntimeError("a model is one file; several files are parts of distributed models")
    unbatched = () if without_batch_dim_inputs is None else integers(
        "without_batch_dim_inputs", without_batch_dim_inputs)  # fmt: skip
    described = tuple((name, dtype, tuple(shape)) for name, dtype, shape in inputs)
    model = Model(Declaration(files, kind, with_batch_dim, unbatched, context, module,
                              batch_size, described, as_graph))  # fmt: skip
    current().models.append(model)
    return model


def declare_servable(
    servable_file: str | Sequence[str],
    model_format: str,
    with_batch_dim: bool = True,
    options: AclOptions | GpuOptions | None = None,
    without_batch_dim_inputs: int | Sequence[int] | None = None,
) -> Model:
    """`declare_model` under the name it had before version 1.5.

    Args:
        servable_file: the model's file, `declare_model`'s `model_file`.
        model_format: as there.
        with_batch_dim: as there.
        options: as there.
        without_batch_dim_inputs: as there.
    """
    warnings.warn(
        "'declare_servable' is deprecated from version 1.5.0, use 'declare_model' instead",
        DeprecationWarning,
        stacklevel=2,
    )
    return declare_model(
        servable_file, model_format, with_batch_dim, options, without_batch_dim_inputs
    )
