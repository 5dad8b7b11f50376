"""What is known of a module's making: its settings, and the text of a user's class with what it
uses of its own module, so that it stands by itself."""

import ast
import inspect
import sys
import textwrap
from collections.abc import Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

__all__ = ["LIBRARY", "attributes_of", "describe", "is_library", "source_of"]

LIBRARY = ("torch.", "mindtorch.")

MOST = 50  # definitions
GIVEN = {"torch", "nn", "F", "math", "np"}
SIMPLE = (bool, int, float, complex, str, bytes, type(None))


def is_library(cls: type) -> bool:
    """Whether a class is torch's or mindtorch's own."""
    return cls.__module__.startswith(LIBRARY)


def attributes_of(module: Any) -> str:
    """What numbers and texts a module has, as Python writes a dictionary of them."""
    kept = {name: value for name, value in vars(module).items() if name[0] != "_"}
    return repr({name: value for name, value in kept.items() if _is_plain(value)})


def describe(module: Any) -> str:
    """The first line of a module's repr, which for a layer says all its settings; of torch's own
    that show their parts instead, the arguments that they keep, and of those that show nothing (the
    losses) such arguments as are not the usual ones."""
    head, _, parts = repr(module).partition("\n")
    head = head.removesuffix("(")
    silent = head.endswith("()")
    if not (parts or silent) or not is_library(type(module)):
        return head
    signature = inspect.signature(type(module).__init__).parameters
    kept = {name: vars(module).get(name) for name in list(signature)[1:]}
    known = [
        f"{name}={value!r}"
        for name, value in kept.items()
        if isinstance(value, (bool, int, float, str))
        and not (silent and value == signature[name].default)
    ]
    return f"{type(module).__name__}({', '.join(known)})" if known else head


def source_of(definition: Any) -> str:
    """Source text that defines a class or function of the script, after all that it uses: what the
    script's modules define or import, and constants. Empty where there is no text (what `exec`
    made, or a C extension)."""
    parts: dict[str, str] = {}
    try:
        _collect(definition.__name__, definition, parts)
    except (OSError, TypeError, SyntaxError):
        return ""
    return "\n\n".join(parts.values())


def _collect(name: str, value: Any, parts: dict[str, str]) -> None:
    """Add what `name` stands for to `parts`, after what it uses itself."""
    if name in parts or len(parts) >= MOST:
        return
    parts[name] = ""  # for what refers to itself
    text = textwrap.dedent(inspect.getsource(value))
    for other, found in _used(ast.parse(text), value):
        if other in parts or other in GIVEN:
            continue
        if isinstance(found, ModuleType):
            parts[other] = f"{other} = importlib.import_module({found.__name__!r})"
        elif _is_plain(found):
            parts[other] = f"{other} = {found!r}"
        elif isinstance(found, type) or inspect.isfunction(found):
            _define(other, found, parts)
        elif inspect.isroutine(found) and getattr(found, "__module__", None):
            parts[other] = _imported(other, found)
    del parts[name]  # to the end: it uses the others
    parts[name] = text


def _define(name: str, value: Any, parts: dict[str, str]) -> None:
    if not _is_own(value):
        parts[name] = _imported(name, value)
        return
    _collect(value.__name__, value, parts)
    if name != value.__name__:
        parts[name] = f"{name} = {value.__name__}"


def _imported(name: str, value: Any) -> str:
    module = f"importlib.import_module({value.__module__!r})"
    return f"{name} = {module}.{value.__qualname__}"


def _is_own(value: Any) -> bool:
    """Whether a class or function is of the script and the modules beside it, and is not installed.

    The script itself is compiled from its text, so its file is known by `__file__` alone.
    """
    module = sys.modules.get(value.__module__)
    file = getattr(module, "__file__", None)
    if value.__module__ == "__main__" or file is None:
        return value.__module__ == "__main__"
    path = Path(file).resolve()
    here = Path(__file__).resolve().parents[2]
    installed = {"site-packages", "dist-packages", f"python{sys.version_info.major}"}
    library = path.is_relative_to(Path(inspect.__file__).resolve().parent)
    ours = any(path.is_relative_to(here / room) for room in ("engine", "mindtorch", "kernels"))
    return not (library or ours or installed & set(path.parts))


def _is_plain(value: Any) -> bool:
    if isinstance(value, (tuple, list, set, frozenset)):
        return all(_is_plain(each) for each in value)
    if isinstance(value, dict):
        return all(_is_plain(each) for pair in value.items() for each in pair)
    return type(value) in SIMPLE


def _used(tree: ast.AST, definition: Any) -> Iterator[tuple[str, Any]]:
    """The names that a definition reads, and what they stand for in the module or the function that
    it was made in."""
    known = dict(vars(sys.modules.get(definition.__module__, sys)))
    for function in _functions(definition):
        known |= function.__globals__
        cells = zip(function.__code__.co_freevars, function.__closure__ or (), strict=True)
        for name, cell in cells:
            try:
                known[name] = cell.cell_contents
            except ValueError:  # not filled yet
                continue
    skipped = _annotations(tree)
    for node in ast.walk(tree):
        read = isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
        if read and id(node) not in skipped and node.id in known:  # type: ignore[attr-defined]
            yield node.id, known[node.id]  # type: ignore[attr-defined]


def _functions(definition: Any) -> Iterator[Any]:
    if inspect.isfunction(definition):
        yield definition
        return
    for value in vars(definition).values():
        inner = value.__func__ if isinstance(value, (staticmethod, classmethod)) else value
        inner = inspect.unwrap(inner) if callable(inner) else inner
        if inspect.isfunction(inner):
            yield inner


def _annotations(tree: ast.AST) -> set[int]:
    """The parts of a text that are annotations, which are not evaluated."""
    found: set[int] = set()
    for node in ast.walk(tree):
        for part in (getattr(node, "annotation", None), getattr(node, "returns", None)):
            if isinstance(part, ast.AST):
                found |= {id(each) for each in ast.walk(part)}
    return found
