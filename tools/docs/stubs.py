"""Stubs of what torch's namespace makes at run time, so that editors and mypy find it.

    python -m mindtorch.tools.docs.stubs
    python -m mindtorch.tools.docs.stubs --torch typings  # for programs that import `torch`

Functions and methods come from registries, which static tools do not see. They are written from
the living namespace: arguments and their types by torch's signatures, or else by the function's
own; the type of the result by its annotation, or else by a call. What is a plain ``def`` or an
import where the namespace finds it needs no stub.
"""

from __future__ import annotations

import argparse
import ast
import importlib
import inspect
import keyword
import re
import textwrap
import types
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import mindtorch.torch as torch
from mindtorch.torch import return_types, settings, special, storage
from mindtorch.torch._api.publish import FUNCTIONS, METHODS
from mindtorch.torch._api.signatures import Form, Parameter, forms_of
from mindtorch.torch._tensor.tensor import PARTS
from mindtorch.torch.nn import modules

from .result_types import result_of

_FOLDER = Path(inspect.getfile(torch)).parent
_HEAD = '''\
"""{about}

Made by `python -m mindtorch.tools.docs.stubs`.
"""

# mypy: disable-error-code="overload-cannot-match,overload-overlap"

from builtins import bool as _bool
from builtins import complex as _complex
from builtins import float as _float
from builtins import int as _int
from builtins import str as _str
from collections.abc import Sequence as _Sequence
from typing import Any as _Any
from typing import NamedTuple as _NamedTuple
from typing import overload as _overload

from mindtorch.engine.devices.device import Device as _Device
from mindtorch.engine.dtypes import DType as _DType
from mindtorch.engine.random.generator import Generator as _Generator
from mindtorch.torch import return_types as _return_types
from mindtorch.torch._tensor.size_and_formats import layout as _layout
from mindtorch.torch._tensor.size_and_formats import memory_format as _memory_format
from mindtorch.torch._tensor.tensor import Tensor as Tensor
'''
_NUMBER = "_float | _complex"
_TYPES = {
    "Tensor": "Tensor", "Number": _NUMBER, "float": "_float", "int": "_int", "bool": "_bool",
    "str": "_str", "torch.dtype": "_DType | type", "torch.device": "_Device | _str | _int",
    "torch.layout": "_layout", "torch.memory_format": "_memory_format",
    "torch.Generator": "_Generator", "tuple of ints": "_Sequence[_int]",
    "tuple of floats": "_Sequence[_float]", "tuple of Scalars": f"_Sequence[{_NUMBER}]",
    "tuple of Tensors": "_Sequence[Tensor]",
}  # fmt: skip
_PLAIN = {"bool", "int", "float", "str"}
# their calls change what later ones do
_NOT_CALLED = re.compile(r"set_|_?init|manual_seed|seed|from_file")


# --- functions ------------------------------------------------------------------------------------


def _annotation(text: str) -> str:
    """A function's own annotation, as far as it says something that is known here."""
    parts = text.split(" | ")
    if not _PLAIN | {"None"} >= set(parts) or text == "":
        return "_Any"
    return " | ".join(part if part == "None" else f"_{part}" for part in parts)


def _default(value: Any) -> str:
    return repr(value) if type(value) in (bool, int, str, type(None)) else "..."


def _own_arguments(function: Callable[..., Any]) -> list[str]:
    """A function's arguments by its own signature."""
    written, last = [], None
    for each in inspect.signature(function).parameters.values():
        if each.kind is each.KEYWORD_ONLY and last not in (each.VAR_POSITIONAL, each.KEYWORD_ONLY):
            written.append("*")
        known = "Tensor" if each.name in ("input", "out") else _annotation(str(each.annotation))
        if each.name == "out":
            known += " | None"
        stars = "*" * (each.kind is each.VAR_POSITIONAL) or "**" * (each.kind is each.VAR_KEYWORD)
        default = "" if each.default is each.empty else f" = {_default(each.default)}"
        written.append(f"{stars}{each.name}: {known}{default}")
        last = each.kind
    return written


def _argument(parameter: Parameter, numbers_too: bool) -> str:
    """A parameter of one of torch's signatures; ``numbers_too``: for tensors, too."""
    known = _TYPES.get(parameter.kind, "_Any")
    if parameter.sized and known != "_Any":
        known += f" | {known.removeprefix('_Sequence[').removesuffix(']')}"
    if numbers_too and parameter.kind == "Tensor" and parameter.name not in ("input", "out"):
        known += f" | {_NUMBER}"
    if parameter.kind == "tuple of Tensors" and parameter.name == "indices":
        known = "_Sequence[Tensor | None]"
    if (parameter.none or parameter.name == "out") and known != "_Any":
        known += " | None"
    name = f"{parameter.name}_" if keyword.iskeyword(parameter.name) else parameter.name
    text = parameter.text.partition(" = ")[2]
    literal = re.fullmatch(r"-?[\d.]+|None|True|False", text)
    return f"{name}: {known}" + (f" = {text if literal else '...'}" if parameter.optional else "")


def _arguments(form: Form, spread: bool = False, alone: bool = False) -> list[str]:
    """The arguments of a form.

    Args:
        spread: its sizes are given one by one.
        alone: no other form has numbers where this one has tensors.
    """
    written: list[str] = []
    for each in form.parameters:
        if spread and each is form.parameters[0]:
            written.append(f"*{each.name}: _int")
            continue
        if each.keyword_only and "*" not in written and not spread:
            written.append("*")
        written.append(_argument(each, form.numbers_too and alone))
    return written


def _annotated(function: Callable[..., Any]) -> str:
    """The result's type by annotation."""
    text = str(inspect.unwrap(function).__annotations__.get("return", ""))
    return {"None": "None", "EngineTensor": "Tensor"}.get(text) or _annotation(text)


def _results(
    function: Callable[..., Any], forms: tuple[Form, ...], name: str, method: bool
) -> list[str]:
    """The type of the result for each form: where no call succeeds, that of all others."""
    known = _annotated(function)
    if known == "_Any" and name[-1] == "_" and method:
        known = "Tensor"
    if known != "_Any" or _NOT_CALLED.match(name):
        return [known] * len(forms)
    found = [result_of(function, form, method) for form in forms]
    others = {each for each in found if each}
    other = others.pop() if len(others) == 1 else "_Any"
    return [each or other for each in found]


def _first_line(value: Any) -> str:
    return (inspect.getdoc(value) or "").partition("\n")[0].replace("\\", "\\\\")


def _definitions(name: str, function: Callable[..., Any], method: bool) -> str:
    """The definitions of a function or method: one for each way in which it is called."""
    forms, ways = forms_of(name, method)[0], []
    results = _results(function, forms, name, method)
    for form, result in zip(forms, results, strict=True):
        ways.append((_arguments(form, alone=len(forms) == 1), result))
        if form.positional == 1 and form.parameters[0].kind == "tuple of ints":
            ways.append((_arguments(form, spread=True), result))
    if not ways:
        result = _annotated(function)
        if method and result == "_Any" and (name.startswith("__") or name[-1] == "_"):
            result = "None" if name == "__setitem__" else "Tensor"
        ways.append((_own_arguments(function)[method:], result))
    lines = []
    first = _first_line(function)
    for arguments, result in ways:
        if len(ways) > 1:
            lines.append("@_overload")
        given = ", ".join([*["self"] * method, *arguments])
        body = f'\n    """{first}"""' if first and arguments is ways[0][0] else " ..."
        lines.append(f"def {name}({given}) -> {result}:{body}")
    return "\n".join(lines) + "\n"


# --- modules --------------------------------------------------------------------------------------


def _bound(path: Path, inside: str = "") -> set[str]:
    """The names that a module, or a class in it, binds where static tools see it."""
    found: set[str] = set()
    body = ast.parse(path.read_text()).body
    if inside:
        body = next(n.body for n in body if isinstance(n, ast.ClassDef) and n.name == inside)
    for node in body:
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).partition(".")[0] for alias in node.names}
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Assign, ast.AnnAssign)):
            targets = node.targets if isinstance(node, ast.Assign) else [node.target]
            found |= {t.id for t in targets if isinstance(t, ast.Name)}
    return found


def _written(about: str, body: str, imports: str = "") -> str:
    """A stub: what it says of itself, the imports that it uses, and its body."""
    head = [
        line for line in _HEAD.format(about=about).splitlines()
        if " as _" not in line or re.search(rf"\b{line.rpartition(' ')[2]}\b", body)
    ]  # fmt: skip
    return "\n".join(head) + f"\n{imports}\n{body}"


def _all(names: Iterable[str]) -> str:
    listed = ", ".join(f'"{name}"' for name in sorted(names))
    return f"__all__ = [\n{textwrap.indent(textwrap.fill(listed, 96), '    ')},\n]\n"


def _entry(name: str) -> str:
    """What the namespace's stub says of a name."""
    if name in FUNCTIONS:
        return _definitions(name, FUNCTIONS[name], False)
    if name in torch._LAZY_NAMES:
        return f"from mindtorch.torch.{torch._LAZY_NAMES[name]} import {name} as {name}\n"
    value = getattr(torch, name)
    if isinstance(value, types.ModuleType) or name in torch._LAZY:
        return f"from mindtorch.torch import {name} as {name}\n"
    return f"{name}: {'_DType' if isinstance(value, torch.dtype) else '_Any'}\n"


def functions_stub() -> str:
    """torch's functions, and what is imported when it is first used."""
    bound = _bound(_FOLDER / "__init__.py") | {n for n in vars(settings) if n[0] != "_"}
    made = {n for n in dir(torch) if n[0] != "_" or n in FUNCTIONS or n in torch._LAZY}
    made |= {n for n in vars(storage) if n.endswith("Storage")}
    made -= bound | {"annotations", "Any", "TYPE_CHECKING"}
    entries = {name: _entry(name) for name in sorted(made)}
    imports = sorted(text for text in entries.values() if text.startswith("from "))
    others = [text for text in entries.values() if not text.startswith("from ")]
    about = "What the namespace has that its ``__init__.py`` does not say."
    return _written(about, "\n".join([_all(made), *others]), "".join(imports))


def methods_stub() -> str:
    """The tensor's methods that are also functions."""
    made = {
        name: value
        for part in PARTS for name, value in vars(part).items()
        if isinstance(value, types.FunctionType) and (name[0] != "_" or name in METHODS)
    }  # fmt: skip
    for part in PARTS:
        written = next(f for f in vars(part).values() if isinstance(f, types.FunctionType))
        for name in _bound(Path(inspect.getfile(inspect.unwrap(written))), part.__name__):
            made.pop(name, None)
    methods = [textwrap.indent(_definitions(n, f, True), "    ") for n, f in sorted(made.items())]
    about = "The methods that the class of tensors gets from the registry."
    return _written(about, "class Methods:\n" + "\n".join(methods))


def special_stub() -> str:
    """torch.special's functions that are made from ops."""
    bound = _bound(_FOLDER / "special.py")
    made = [
        n for n, value in vars(special).items()
        if n[0] != "_" and n not in bound and isinstance(value, types.FunctionType)
    ]  # fmt: skip
    texts = [_definitions(n, getattr(special, n), False) for n in sorted(made)]
    about = "torch.special's functions that are made from ops."
    return _written(about, "\n".join([_all(made), *texts]))


def return_types_stub() -> str:
    """The named tuples that functions return."""
    lines = []
    for name, kind in vars(return_types).items():
        if hasattr(kind, "_fields") and not name.endswith("_out"):  # those are made when used
            fields = [f"    {field}: {kind.__annotations__[field]}" for field in kind._fields]
            lines += [f"class {name}(_NamedTuple):", *fields, ""]
    lines.append("def of_out(kind: _Any) -> _Any: ...\n")
    about = "The named tuples that functions with several results return."
    return _written(about, "\n".join(lines))


def modules_stub() -> str:
    """torch.nn's classes that are made in loops over the number of axes."""
    imports, lines = [], []
    for name in modules._classes:
        kind = getattr(modules, name)
        home = importlib.import_module(kind.__base__.__module__)
        own = importlib.import_module(kind.__module__)
        places = {module.__file__ or "" for module in (own, home) if hasattr(module, "__file__")}
        places |= {inspect.getfile(f) for f in vars(kind).values() if inspect.isfunction(f)}
        if not any(name in _bound(Path(p)) for p in places if Path(p).is_file()):
            base = kind.__base__.__name__
            imports.append(f"from {home.__name__} import {base} as {base}\n")
            lines.append(f'class {name}({base}):\n    """{_first_line(kind)}"""\n')
    about = "Modules that are made in loops over the number of axes."
    return _written(about, "\n".join(lines), "".join(sorted(set(imports))))


def stubs() -> dict[Path, str]:
    """The text of each stub, by its place."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {
            _FOLDER / "_functions.pyi": functions_stub(),
            _FOLDER / "_special.pyi": special_stub(),
            _FOLDER / "return_types.pyi": return_types_stub(),
            _FOLDER / "nn" / "modules" / "_made.pyi": modules_stub(),
            _FOLDER / "_tensor" / "_methods.pyi": methods_stub(),
        }


def torch_stubs() -> dict[str, str]:
    """Stubs that lead from `torch` to this library, by their paths: for programs that import
    `torch` after the switch."""
    found = {"__init__.pyi": "mindtorch.torch"}
    for path in sorted(_FOLDER.rglob("*.py")):
        inside = path.relative_to(_FOLDER)
        if inside.name[0] != "_" or (inside.name == "__init__.py" and len(inside.parts) > 1):
            module = ".".join(inside.with_suffix("").parts).removesuffix(".__init__")
            if not any(part[0] == "_" for part in module.split(".")):
                found[str(inside.with_suffix(".pyi"))] = f"mindtorch.torch.{module}"
    return {path: f"from {module} import *\n" for path, module in found.items()}


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m mindtorch.tools.docs.stubs")
    parser.add_argument(
        "--torch", type=Path, metavar="FOLDER", help="write stubs there that lead from torch here"
    )
    folder = parser.parse_args().torch
    made: dict[Path, str] = stubs() if folder is None else {
        folder / "torch" / path: text for path, text in torch_stubs().items()
    }  # fmt: skip
    for path, text in made.items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


if __name__ == "__main__":
    main()
