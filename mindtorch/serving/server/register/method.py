"""Methods: which stages a request goes through. A method's function runs once, when it is
registered, on placeholders; what it did is what is done with every request."""

from __future__ import annotations

import dis
import inspect
import sys
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from mindtorch.serving.checks import check_int, check_str, names

from .definition import Method, Source, Stage, current
from .model import Model

__all__ = [
    "add_stage",
    "call_postprocess",
    "call_postprocess_pipeline",
    "call_preprocess",
    "call_preprocess_pipeline",
    "call_servable",
    "register_method",
]


class Placeholder:
    """A value of a request, where there is none yet."""

    def __init__(self, source: Source) -> None:
        self.source = source


_registering: list[Method] = []
_called: set[str] = set()  # which of the older three functions the method has called


def register_method(output_names: str | Sequence[str]) -> Callable[[Any], Any]:
    """Register a function as a method that clients can call.

    Args:
        output_names: names of the values that it returns. Its inputs have the names of its
            parameters.

    Returns:
        A decorator that gives the function back.

    Raises:
        RuntimeError: of `*args`, keyword-only parameters, a wrong number of outputs, or a value
            that no stage gave.
    """
    outputs = names("output_names", output_names)

    def register(function: Callable[..., Any]) -> Callable[..., Any]:
        name = function.__name__
        parameters = inspect.signature(function).parameters
        for parameter in parameters.values():
            if parameter.kind is not inspect.Parameter.POSITIONAL_OR_KEYWORD:
                raise RuntimeError(f"'{name}' input {parameter.name} cannot be "
                                   f"{parameter.kind.name} !")  # fmt: skip
        method = Method(name, tuple(parameters), outputs)
        _registering.append(method)
        _called.clear()
        try:
            given = function(*(Placeholder((0, i)) for i in range(len(parameters))))
        finally:
            _registering.pop()
        returned = given if isinstance(given, tuple | list) else (given,)
        if not all(isinstance(each, Placeholder) for each in returned):
            raise RuntimeError(
                f"Each value that method '{name}' returns must come from its inputs or from the "
                "outputs of add_stage"
            )
        if len(returned) != len(outputs):
            raise RuntimeError(f"Method return output size {len(returned)} not match registered "
                               f"{len(outputs)}")  # fmt: skip
        method.returned = tuple(each.source for each in returned)
        current().methods[name] = method
        return function

    return register


def add_stage(
    stage: Callable[..., Any] | Model,
    *args: Any,
    outputs_count: int,
    batch_size: int | None = None,
    tag: str | None = None,
) -> Any:
    """Add a stage to the method that is being registered.

    Args:
        stage: a Python function, or a model that `declare_model` gave.
        *args: inputs of the method or outputs of stages before.
        outputs_count: how many values the stage gives for one instance.
        batch_size: None: the function takes one instance's values. A number: it takes a list of
            tuples, so many at most (0: all there are), and gives back as many results.
        tag: a name for errors.

    Returns:
        A placeholder for the output, or a tuple of them.

    Raises:
        RuntimeError: an argument is wrong, or no method is being registered.
    """
    if not _registering:
        raise RuntimeError("add_stage is called in functions that register_method registers")
    method = _registering[-1]
    check_int("outputs_count", outputs_count, 1)
    if tag is not None:
        check_str("tag", tag)
    if not all(isinstance(each, Placeholder) for each in args):
        raise RuntimeError("Each value of parameter *args is a placeholder for data and must come "
                           "from the method inputs or the outputs of add_stage")  # fmt: skip
    if isinstance(stage, str):
        raise RuntimeError(f"stage '{stage}': functions in C++ are not supported, use a Python one")
    if isinstance(stage, Model):
        if stage not in current().models:
            raise RuntimeError(f"method '{method.name}': the model was not declared in this "
                               "servable_config.py")  # fmt: skip
        if batch_size is not None:
            raise RuntimeError("batch_size is for functions; a model has the size of its file")
    elif not inspect.isfunction(stage):
        raise RuntimeError(f"Check failed in method '{method.name}', the parameter 'stage' of "
                           "add_stage must be function or Model returned by declare_model, now is "
                           f"{type(stage)}")  # fmt: skip
    elif batch_size is None:
        _check_arguments(stage, len(args))
    else:
        check_int("batch_size", batch_size, 0)
    sources = tuple(each.source for each in args)
    name = stage.model_key if isinstance(stage, Model) else stage.__name__
    method.stages.append(Stage(stage, sources, outputs_count, batch_size, tag or name))
    number = len(method.stages)
    outputs = tuple(Placeholder((number, i)) for i in range(outputs_count))
    return outputs[0] if outputs_count == 1 else outputs


def _check_arguments(function: Callable[..., Any], given: int) -> None:
    try:
        inspect.signature(function).bind(*range(given))
    except TypeError:
        wanted = len(inspect.signature(function).parameters)
        raise RuntimeError(
            f"function {function.__name__} input args count {wanted} not match the count {given} "
            "registered in method"
        ) from None


# -- the three functions of versions before 1.5


def _unpacked_to() -> int:
    """To how many names the caller of our caller assigns what it gets: the next instruction of its
    code tells."""
    frame = sys._getframe(2)
    for instruction in dis.get_instructions(frame.f_code):
        if instruction.offset > frame.f_lasti:
            return instruction.argval if instruction.opname == "UNPACK_SEQUENCE" else 1
    return 1


def _older(name: str, not_after: Sequence[str]) -> None:
    warnings.warn(
        f"'{name}' is deprecated from version 1.5.0, use 'add_stage' instead",
        DeprecationWarning,
        stacklevel=3,
    )
    kind = name.removesuffix("_pipeline")
    for other in (kind, *not_after):
        if other in _called:
            rule = "more than once" if other == kind else f"after {other}"
            raise RuntimeError(f"{name} should not be invoked {rule}")
    _called.add(kind)


def call_preprocess(preprocess_fun: Callable[..., Any], *args: Any) -> Any:
    """A first stage: `preprocess_fun` of the values of one instance. Before version 1.5.

    Args:
        preprocess_fun: the function.
        *args: inputs of the method.
    """
    _older("call_preprocess", ("call_servable", "call_postprocess"))
    return add_stage(preprocess_fun, *args, outputs_count=_unpacked_to(), tag="Preprocess")


def call_preprocess_pipeline(preprocess_fun: Callable[..., Any], *args: Any) -> Any:
    """A first stage: `preprocess_fun` of all instances. Before version 1.5.

    Args:
        preprocess_fun: takes a list of tuples, gives back or yields one result for each.
        *args: inputs of the method.
    """
    _older("call_preprocess_pipeline", ("call_servable", "call_postprocess"))
    count = _unpacked_to()
    return add_stage(preprocess_fun, *args, outputs_count=count, batch_size=0, tag="Preprocess")


def call_postprocess(postprocess_fun: Callable[..., Any], *args: Any) -> Any:
    """A last stage: `postprocess_fun` of the values of one instance. Before version 1.5.

    Args:
        postprocess_fun: the function.
        *args: inputs of the method or outputs of the stages before.
    """
    _older("call_postprocess", ())
    return add_stage(postprocess_fun, *args, outputs_count=_unpacked_to(), tag="Postprocess")


def call_postprocess_pipeline(postprocess_fun: Callable[..., Any], *args: Any) -> Any:
    """A last stage: `postprocess_fun` of all instances. Before version 1.5.

    Args:
        postprocess_fun: takes a list of tuples, gives back or yields one result for each.
        *args: inputs of the method or outputs of the stages before.
    """
    _older("call_postprocess_pipeline", ())
    count = _unpacked_to()
    return add_stage(postprocess_fun, *args, outputs_count=count, batch_size=0, tag="Postprocess")


def call_servable(*args: Any) -> Any:
    """The stage of the declared model. Before version 1.5.

    Args:
        *args: its inputs.
    """
    _older("call_servable", ("call_postprocess",))
    models = current().models
    if len(models) != 1:
        raise RuntimeError(f"call_servable is for one declared model, there are {len(models)}; use "
                           "add_stage")  # fmt: skip
    return add_stage(models[0], *args, outputs_count=_unpacked_to())
