"""Scalar functions for an element type: the step that the drivers of all devices share.

``kernels.scalar`` and the modules that continue it are plain Python on numbers. A driver gets the
source of a function in which every constant has the element type (its parts' type for complex
numbers), together with what it calls, and compiles it for its device.
"""

from __future__ import annotations

import ast
import functools
import inspect
import re
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import ml_dtypes
import numpy as np

from ..scalar import activations, bessel, complex_numbers, real, special
from ..scalar.facts import facts_of

SHORT_FLOATS = (np.dtype(np.float16), np.dtype(ml_dtypes.bfloat16))
_BOOL = np.dtype(np.bool_)
_SUPPLIED = {*real.MATHEMATICS, *bessel.SUPPLIED}


def arithmetic_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type that kernels compute in for elements of ``dtype``."""
    if dtype in SHORT_FLOATS:
        return np.dtype(np.float32)
    return np.dtype(np.uint8) if dtype == _BOOL else dtype


def cast_type(out: np.dtype[Any], x: np.dtype[Any]) -> np.dtype[Any]:
    """The type a cast goes through: the wider floating-point type, else the source's."""
    if out.kind == "c" or x.kind == "c":
        return out if out.kind == "c" else x
    if out == _BOOL:
        return x
    return x if arithmetic_type(x).kind == "f" or arithmetic_type(out).kind != "f" else out


class _TypedConstants(ast.NodeTransformer):
    """Give every numeric constant the type T."""

    def visit_Constant(self, node: ast.Constant) -> ast.expr:  # noqa: N802
        if isinstance(node.value, bool) or not isinstance(node.value, (int, float)):
            return node
        return ast.Call(ast.Name("_T", ast.Load()), [node], [])


class _Definitions(Mapping[str, ast.FunctionDef]):
    """The functions of some modules by name, each parsed when it is asked for: a program needs
    few, and to parse all of them takes longer than to load its kernels."""

    def __init__(self, modules: tuple[ModuleType, ...]) -> None:
        self._sources: dict[str, str] = {}
        self._parsed: dict[str, ast.FunctionDef] = {}
        for module in modules:
            # each begins with a line that is not indented, and ends before the next such line
            for part in re.split(r"^(?=def )", inspect.getsource(module), flags=re.MULTILINE)[1:]:
                source = re.split(r"^(?=[^\s)])", part, maxsplit=2, flags=re.MULTILINE)[1]
                self._sources[source[len("def ") : source.index("(")]] = source

    def __getitem__(self, name: str) -> ast.FunctionDef:
        if name not in self._parsed:
            definition = ast.parse(self._sources[name]).body[0]
            assert isinstance(definition, ast.FunctionDef)
            self._parsed[name] = definition
        return self._parsed[name]

    def __contains__(self, name: object) -> bool:
        return name in self._sources

    def __iter__(self) -> Iterator[str]:
        return iter(self._sources)

    def __len__(self) -> int:
        return len(self._sources)


@functools.cache
def definitions() -> Mapping[str, ast.FunctionDef]:
    """The functions of the scalar modules, by name."""
    return _Definitions((real, activations, special, bessel, complex_numbers))


@functools.cache
def _large() -> frozenset[str]:
    return frozenset(_Definitions((special, bessel)))


def is_large(name: str) -> bool:
    """Whether a function is too large to be part of every loop that calls it: those of ``special``
    and ``bessel``, and what devices supply whole."""
    return name in bessel.SUPPLIED or name in _large()


def for_type(name: str, dtype: np.dtype[Any]) -> str:
    """The variant of ``name`` that fits the type: integers have their own division."""
    if f"{dtype.name}_{name}" in definitions():
        return f"{dtype.name}_{name}"
    if dtype.kind in "iub":
        if f"integer_{name}" in definitions():
            return f"integer_{name}"
        if name == "bitwise_not" and dtype == _BOOL:
            return "logical_not"
        if facts_of(name).of_whole:
            return facts_of(name).of_whole
    if dtype.kind == "c" and f"complex_{name}" in definitions():
        return f"complex_{name}"
    return name if name in definitions() or name in _SUPPLIED else f"{name}_"


def parts_type(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The type of the parts of a complex type; any other type itself."""
    return np.dtype(f"f{dtype.itemsize // 2}") if dtype.kind == "c" else dtype


class TypedScalars:
    """Compiled scalar functions of one device, made when first asked for.

    Args:
        mathematics: the device's ``exp``, ``log``, ... for an element type, by name; and scalar
            functions that the device computes in a way of its own.
        build: compiles (source, name, namespace, whether it stays a function of its own).
    """

    def __init__(
        self,
        mathematics: Callable[[np.dtype[Any]], dict[str, Any]],
        build: Callable[[str, str, dict[str, Any], bool], Any],
    ) -> None:
        self._mathematics = mathematics
        self._build = build
        self._functions: dict[tuple[str, np.dtype[Any]], Any] = {}
        self._namespaces: dict[np.dtype[Any], dict[str, Any]] = {}

    def __call__(self, name: str, dtype: np.dtype[Any]) -> Any:
        """The scalar function ``name`` for arithmetic in ``dtype``."""
        found = self._functions.get((name, dtype))
        if found is None:
            found = self._functions[name, dtype] = self._make(name, dtype)
        return found

    def _make(self, name: str, dtype: np.dtype[Any]) -> Any:
        supplied = self._mathematics(dtype)
        if name in supplied and (name in definitions() or name in _SUPPLIED):
            return supplied[name]
        definition = definitions().get(name)
        if definition is None:
            raise NotImplementedError(
                f"no scalar function {name.removesuffix('_')} stands in kernels/scalar"
            )
        space = self._namespaces.get(dtype)
        if space is None:
            space = {**supplied, "_T": parts_type(dtype).type, "np": np}
            self._namespaces[dtype] = space
        arguments = [a.arg for a in definition.args.args]
        body = [
            statement
            for statement in definition.body
            if not (isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant))
        ]
        for node in ast.walk(ast.Module(body, [])):
            if isinstance(node, ast.Name) and node.id in definitions() and node.id not in arguments:
                space[node.id] = self(for_type(node.id, dtype), dtype)
        fresh = ast.parse(ast.unparse(ast.Module(body, []))).body
        source = ast.unparse(ast.Module([_TypedConstants().visit(s) for s in fresh], []))
        indented = "\n".join("    " + line for line in source.splitlines())
        text = f"def {name}({', '.join(arguments)}):\n{indented}\n"
        loops = any(isinstance(node, (ast.While, ast.For)) for node in ast.walk(definition))
        return self._build(text, name, space, loops or is_large(name))
