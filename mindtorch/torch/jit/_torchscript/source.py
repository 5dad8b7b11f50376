"""The code files of an archive: which functions and classes they define.

The text is parsed by Python's parser and never run as Python: `translation.py` knows the few forms
that TorchScript's code has.
"""

from __future__ import annotations

import ast
import enum
from collections import namedtuple
from collections.abc import Mapping
from typing import Any

from .declared_types import Type, declared_type

__all__ = ["Program", "ScriptClass"]

_LARGEST_TEXT = 1 << 24  # characters of one code file
_DEEPEST_BRACKETS = 150  # Python's parser refuses 200


class ScriptClass:
    """A class of a program.

    Args:
        name: its qualified name, ``__torch__.A``.
        base: ``Module``, ``NamedTuple``, ``Enum``, ``ModuleInterface``, ``Interface``, or nothing.
    """

    def __init__(self, program: Program, name: str, base: str) -> None:
        self.program = program
        self.name = name
        self.base = base
        self.attributes: dict[str, Type] = {}
        self.constants: dict[str, ast.expr] = {}
        self.parameters: list[str] = []
        self.buffers: list[str] = []
        self.methods: dict[str, ast.FunctionDef] = {}
        self._python: Any = None
        self._functions: dict[str, Any] = {}

    def is_interface_of(self, name: str) -> bool:
        """Whether ``name`` is an interface whose methods this class has."""
        other = self.program.classes.get(name)
        if other is None or other.base not in ("ModuleInterface", "Interface"):
            return False
        return all(method in self.methods for method in other.methods)

    def function(self, name: str) -> Any:
        """The method, translated."""
        found = self._functions.get(name)
        if found is None:
            found = self._functions[name] = self.program.translate(
                self.methods[name], self.name.rpartition(".")[0], name, self
            )
        return found

    def python_class(self) -> Any:
        """The named tuple or enumeration whose values a caller sees."""
        if self._python is None:
            short = self.name.rpartition(".")[2]
            if self.base == "NamedTuple":
                make: Any = namedtuple
                made = make(short, list(self.attributes), rename=True)
            else:
                members = {key: ast.literal_eval(node) for key, node in self.constants.items()}
                make = enum.Enum
                made = make(short, members)
            made._script_class = self
            self._python = made
        return self._python


class Program:
    """What the code files of an archive define.

    Args:
        texts: the files by their name below ``code/``.
        translate: makes a function of a definition; see `translation.py`.

    Raises:
        RuntimeError: a file is no code of TorchScript.
    """

    def __init__(self, texts: Mapping[str, str], translate: Any) -> None:
        self.texts = dict(texts)
        self.constants: tuple[Any, ...] = ()
        self.version = 0
        self.classes: dict[str, ScriptClass] = {}
        self._functions: dict[str, ast.FunctionDef] = {}
        self._translated: dict[str, Any] = {}
        self._translate = translate
        for file, text in self.texts.items():
            self._read(file, text)

    def _read(self, file: str, text: str) -> None:
        if len(text) > _LARGEST_TEXT or _deepest_bracket(text) > _DEEPEST_BRACKETS:
            raise RuntimeError(f"torch.jit.load: code/{file} is too large or too deeply nested")
        try:
            tree = ast.parse(text)
        except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
            raise RuntimeError(f"torch.jit.load: code/{file} cannot be parsed: {error}") from None
        module = file.removesuffix(".py").replace("/", ".")
        for node in tree.body:
            try:
                self._define(module, node)
            except (SyntaxError, ValueError) as error:
                raise RuntimeError(f"torch.jit.load: code/{file}: {error}") from None

    def _define(self, module: str, node: ast.stmt) -> None:
        if isinstance(node, ast.FunctionDef):
            self._functions[f"{module}.{node.name}"] = node
        elif isinstance(node, ast.ClassDef):
            base = node.bases[0].id if node.bases and isinstance(node.bases[0], ast.Name) else ""
            made = ScriptClass(self, f"{module}.{node.name}", base)
            for statement in node.body:
                _add_member(made, statement)
            self.classes[made.name] = made
        elif not isinstance(node, (ast.Import, ast.ImportFrom)):  # old files begin with imports
            raise SyntaxError(f"line {node.lineno}: neither a function nor a class")

    def function(self, name: str) -> Any:
        """The function of that qualified name, translated; None if there is none."""
        found = self._translated.get(name)
        if found is None and name in self._functions:
            module, _, short = name.rpartition(".")
            found = self.translate(self._functions[name], module, short, None)
            self._translated[name] = found
        return found

    def translate(self, node: ast.FunctionDef, module: str, name: str, owner: Any) -> Any:
        return self._translate(self, node, module, name, owner)

    def check(self) -> None:
        """Translate everything, so that code of unknown forms is refused when it is loaded.

        Raises:
            RuntimeError: a function has such a form.
        """
        for made in self.classes.values():
            if made.base not in ("ModuleInterface", "Interface"):
                for name in made.methods:
                    made.function(name)
        for name in self._functions:
            self.function(name)

    def text_of(self, owner: ScriptClass, method: str) -> str:
        """The text of a method, as torch's `code` shows it."""
        node = owner.methods[method]
        file = owner.name.rpartition(".")[0].replace(".", "/") + ".py"
        lines = self.texts[file].splitlines()[node.lineno - 1 : node.end_lineno]
        head = max(node.body[0].lineno - node.lineno, 1)  # its arguments stay where they are
        kept = [lines[0].removeprefix("  "), *lines[1:head]]
        kept += [line.removeprefix("  ") for line in lines[head:]]
        text = "\n".join(kept) + "\n"
        first = node.args.args[0]
        if first.annotation is not None:
            typed = f"({first.arg}: {ast.unparse(first.annotation)}"
            text = text.replace(typed, f"({first.arg}", 1)
        return text


def _deepest_bracket(text: str) -> int:
    deepest = depth = 0
    for letter in text:
        if letter in "([{":
            depth += 1
            deepest = max(deepest, depth)
        elif letter in ")]}":
            depth -= 1
    return deepest


def _add_member(made: ScriptClass, node: ast.stmt) -> None:
    """One line of a class: an attribute, a list of parameters or a method."""
    if isinstance(node, ast.FunctionDef):
        made.methods[node.name] = node
    elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
        kind = declared_type(node.annotation)
        if node.value is not None and made.base != "NamedTuple":
            made.constants[node.target.id] = node.value
        made.attributes[node.target.id] = kind.args[0] if kind.name == "Final" else kind
    elif isinstance(node, ast.Assign) and len(node.targets) == 1:
        _add_assigned(made, node.targets[0], node.value)
    elif not isinstance(node, (ast.Pass, ast.Expr)):
        raise SyntaxError(f"line {node.lineno}: not a member of a class")


def _add_assigned(made: ScriptClass, target: ast.expr, value: ast.expr) -> None:
    if isinstance(target, ast.Subscript):  # __annotations__["0"] = Tensor
        made.attributes[str(ast.literal_eval(target.slice))] = declared_type(value)
        return
    if not isinstance(target, ast.Name):
        raise SyntaxError(f"line {target.lineno}: not a member of a class")
    lists = {"__parameters__": made.parameters, "__buffers__": made.buffers}
    if target.id in lists:
        lists[target.id].extend(str(name) for name in ast.literal_eval(value))
    elif made.base == "Enum" or target.id != "__annotations__":
        made.constants[target.id] = value
