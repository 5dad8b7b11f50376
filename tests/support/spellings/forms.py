"""The overloads of PyTorch's public functions, as its argument parser has them.

Functions of C++ come from ``native_functions.yaml`` and ``deprecated.yaml``, which the wheel has
beside torchgen; functions of Python from their signatures.
"""

from __future__ import annotations

import functools
import inspect
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import torch
import torchgen
from torchgen.gen import parse_native_yaml
from torchgen.packaged.autograd import gen_python_functions

NUMPY_NAMES = {"dim": "axis", "keepdim": "keepdims", "input": "x", "other": "x2"}
# module by torchgen's name, with the prefix that functions have there
_MODULES = {
    None: ("torch", ""), "linalg": ("torch.linalg", "linalg_"), "fft": ("torch.fft", "fft_"),
    "special": ("torch.special", "special_"), "nn": ("torch.nn.functional", ""),
}  # fmt: skip
_PYTHON_MODULES = ("torch", "torch.functional", "torch.nn.functional", "torch.nn.init")
_OPTIONS = "dtype", "layout", "device", "pin_memory", "requires_grad"
_NOT_GIVEN = inspect.Parameter.empty


class Parameter(NamedTuple):
    """A parameter of an overload.

    ``kind`` is torchgen's name of its type, "" where a function of Python does not say it;
    ``default`` is ``_NOT_GIVEN`` where there is none.
    """

    name: str
    kind: str
    default: Any
    keyword_only: bool

    @property
    def required(self) -> bool:
        return self.default is _NOT_GIVEN


class Form(NamedTuple):
    """One overload: where it is found, its parameters, how many tensors ``out=`` takes.

    ``options``: it takes dtype, layout, device, pin_memory and requires_grad of a factory.
    """

    place: str
    name: str
    parameters: tuple[Parameter, ...]
    out: int
    options: bool
    method: bool
    parser: bool

    @property
    def path(self) -> str:
        return f"{self.place}.{self.name}"

    def __str__(self) -> str:
        shown = (f"{p.kind} {p.name}{'' if p.required else '=' + repr(p.default)}".strip()
                 for p in self.parameters)
        return f"{self.path}({', '.join(shown)}{', out' if self.out else ''})"


def resolve(path: str, root: Any = torch) -> Any:
    """What stands at a dotted path in torch, or in another library of the same shape."""
    found = root
    for part in path.split(".")[1:]:
        found = getattr(found, part)
    return found


def every_form() -> list[Form]:
    """All overloads of all public functions and methods."""
    found = [*_of_the_parser(False), *_of_the_parser(True), *_of_python()]
    return list(dict.fromkeys(found))


@functools.cache
def _native() -> tuple[Any, str]:
    base = Path(torchgen.__file__).parent / "packaged"
    native = base / "ATen/native"
    every = parse_native_yaml(
        str(native / "native_functions.yaml"), str(native / "tags.yaml")
    ).native_functions
    bound = [f for f in every if gen_python_functions.should_generate_py_binding(f)]
    return bound, str(base / "autograd/deprecated.yaml")


def _of_the_parser(method: bool) -> Iterator[Form]:
    functions, deprecated = _native()
    pairs = gen_python_functions.load_signatures(functions, deprecated, method=method)
    for pair in pairs:
        module, prefix = _MODULES.get(pair.function.python_module, ("", ""))
        name = pair.signature.name.removeprefix(prefix)
        variants = {str(v).rpartition(".")[2] for v in pair.function.variants}
        bound = ("method" if method else "function") in variants
        if name.startswith("_") or not module or not bound or name in _CRASHING:
            continue
        place = "torch.Tensor" if method else module
        if hasattr(resolve(place), name):
            yield _form(place, name, pair.signature, method)


def _form(place: str, name: str, signature: Any, method: bool) -> Form:
    parameters = [
        _parameter(each, False) for each in signature.input_args
    ] + [_parameter(each, True) for each in signature.input_kwargs]
    if method:
        parameters.insert(0, Parameter("input", "Tensor", _NOT_GIVEN, False))
    outs = len(signature.output_args.outputs) if signature.output_args else 0
    options = bool(signature.tensor_options_args)
    return Form(place, name, tuple(parameters), outs, options, method, True)


def _parameter(each: Any, keyword_only: bool) -> Parameter:
    name = "input" if each.name == "self" else each.name
    kind = str(each.type).replace("SymInt", "int")
    return Parameter(name, kind, _default(each.default), keyword_only)


def _default(text: str | None) -> Any:
    """The value of a default, from its text in C++."""
    known = {
        None: _NOT_GIVEN, "true": True, "True": True, "false": False, "False": False,
        "::std::nullopt": None, "nullptr": None, "None": None,
    }  # fmt: skip
    if text in known:
        return known[text]
    assert text is not None
    if text.startswith("{"):
        return tuple(int(n) for n in text.strip("{}").split(",") if n.strip())
    if text.startswith('"'):
        return text.strip('"')
    if re.fullmatch(r"-?\d+", text):
        return int(text)
    try:
        return float(text)
    except ValueError:
        enums = {"at::Reduction::Mean": 1, "MemoryFormat::Contiguous": torch.contiguous_format}
        return enums.get(text)


def _of_python() -> Iterator[Form]:
    """Public functions that are written in Python, or are builtin with a signature."""
    places = [(path, resolve(path)) for path in _PYTHON_MODULES]
    for path, module in places:
        for name in sorted(vars(module)):
            value = getattr(module, name)
            own = getattr(value, "__module__", "") or ""
            if name.startswith("_") or not inspect.isfunction(value):
                continue
            if not own.startswith("torch") or name in _NOT_OF_TENSORS:
                continue
            form = _python_form(path, name, value, False)
            if form is not None:
                yield form
    for name, value in sorted(vars(torch.Tensor).items()):
        if not name.startswith("_") and inspect.isfunction(value):
            form = _python_form("torch.Tensor", name, value, True)
            if form is not None:
                yield form


def _python_form(place: str, name: str, value: Any, method: bool) -> Form | None:
    parameters = []
    for i, each in enumerate(inspect.signature(value).parameters.values()):
        if each.kind in (each.VAR_POSITIONAL, each.VAR_KEYWORD):
            return None
        if each.name != "out":
            own = "input" if method and not i else each.name
            parameters.append(Parameter(own, "", each.default, each.kind is each.KEYWORD_ONLY))
    out = int("out" in inspect.signature(value).parameters)
    return Form(place, name, tuple(parameters), out, False, method, False)


_CRASHING = {"mkldnn_rnn_layer"}  # torch itself, where its arguments do not fit
# they change the program or other objects
_NOT_OF_TENSORS = {
    "compile", "load", "save", "set_default_device", "set_default_dtype", "set_default_tensor_type",
    "use_deterministic_algorithms", "set_printoptions", "set_warn_always", "typename", "cond",
    "set_deterministic_debug_mode", "set_float32_matmul_precision", "manual_seed", "seed",
    "vmap", "while_loop", "get_device_module", "handle_torch_function", "has_torch_function",
    "boolean_dispatch", "assert_int_or_pair", "unravel_index", "initial_seed", "set_rng_state",
    "get_rng_state", "wrap_torch_function", "sym_fresh_size", "classproperty",
    "prepare_multiprocessing_environment", "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12",
}  # fmt: skip
