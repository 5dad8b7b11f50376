"""The repository's Python sources, parsed once, and which part of the house each belongs to."""

from __future__ import annotations

import ast
import functools
import gc
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

REPOSITORY = Path(__file__).resolve().parent.parent.parent

# The parts that are counted apart: the longest folder that a path begins with.
PARTS = {
    "engine/": "engine",
    "kernels/": "kernels",
    "tools/": "tools",
    "mindtorch/": "mindtorch",
    "mindtorch/torch/": "torch",
    "mindtorch/mindspore/": "mindspore",
    "tests/": "tests",
    "benchmarks/": "benchmarks",
    "migration_examples/": "examples",
}
PRODUCT = ("engine", "kernels", "tools", "mindtorch", "torch", "mindspore")

# Functions that import what a text names.
BY_NAME = ("import_module", "__import__")

# Folders that are imported by another name than their path.
IMPORTED_AS = {
    "engine": "mindtorch.engine",
    "kernels": "mindtorch.kernels",
    "tools": "mindtorch.tools",
}


@dataclass(frozen=True)
class Source:
    """A source file.

    Attributes:
        path: from the top of the repository, e.g. ``engine/aval.py``.
        module: the name it is imported by, e.g. ``mindtorch.engine.aval``.
        part: one of the values of ``PARTS``.
    """

    path: str
    module: str
    part: str
    text: str

    @property
    def package(self) -> str:
        """The package that relative imports start from."""
        if self.path.endswith("__init__.py"):
            return self.module
        return self.module.rpartition(".")[0]

    @functools.cached_property
    def tree(self) -> ast.Module:
        collecting = gc.isenabled()
        gc.disable()  # the syntax trees of all sources are two million objects
        try:
            return ast.parse(self.text, self.path)
        finally:
            gc.freeze()  # they stay: nobody need search among them
            if collecting:
                gc.enable()

    @functools.cached_property
    def statements(self) -> list[tuple[ast.stmt, bool]]:
        """What :func:`statements` finds, but for what stands below ``if TYPE_CHECKING:``."""
        return list(statements(self.tree))

    @functools.cached_property
    def imported(self) -> list[tuple[int, str]]:
        """Line and full name of everything imported, also inside functions and by text."""
        return imported_names(self)

    @property
    def lines(self) -> int:
        return self.text.count("\n")


def literal_start(node: ast.expr) -> str | None:
    """The text an expression begins with where the source says it."""
    if isinstance(node, ast.JoinedStr) and node.values:
        node = node.values[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    return None


def imported_names(source: Source) -> list[tuple[int, str]]:
    """Line and full name of everything a module imports, also inside functions and by text.

    `from a import b` counts as `a.b`: whether that is a module or a thing inside `a`, its layer
    is the same.
    """
    found = []
    package = source.package
    for node, _ in statements(source.tree, True):
        if isinstance(node, ast.Import):
            found += [(node.lineno, alias.name) for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = node.module or ""
            if node.level:
                above = package.split(".")[: len(package.split(".")) - node.level + 1]
                base = ".".join([*above, base]).rstrip(".")
            found += [(node.lineno, f"{base}.{alias.name}") for alias in node.names]
    if any(name in source.text for name in BY_NAME):
        for call in ast.walk(source.tree):
            if isinstance(call, ast.Call) and call.args:
                called = getattr(call.func, "attr", None) or getattr(call.func, "id", None)
                text = literal_start(call.args[0])
                if called in BY_NAME and text:
                    found.append((call.lineno, package + text if text.startswith(".") else text))
    return found


def module_name(path: str) -> str:
    parts = path.removesuffix(".py").split("/")
    parts[0] = IMPORTED_AS.get(parts[0], parts[0])
    return ".".join(parts).removesuffix(".__init__")


def part_of(path: str) -> str | None:
    known = [folder for folder in PARTS if path.startswith(folder)]
    return PARTS[max(known, key=len)] if known else None


def tracked_paths(root: Path) -> list[str]:
    """The Python files that git knows, those not yet committed included."""
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "*.py"]
    try:
        listed = subprocess.run(command, cwd=root, capture_output=True, text=True, check=True)
        paths = listed.stdout.splitlines()
    except (OSError, subprocess.CalledProcessError):  # an unpacked archive has no .git
        paths = [
            found.relative_to(root).as_posix()
            for folder in sorted({name.partition("/")[0] for name in PARTS})
            for found in (root / folder).rglob("*.py")
        ]
        links = tuple(f"mindtorch/{name}/" for name in IMPORTED_AS)
        paths = [path for path in paths if not path.startswith(links)]
    return sorted(path for path in set(paths) if (root / path).is_file())


def sources(root: Path = REPOSITORY) -> tuple[Source, ...]:
    """All sources of a checkout that belong to a part."""
    return _sources(root)


@functools.cache
def _sources(root: Path) -> tuple[Source, ...]:
    return tuple(
        Source(path, module_name(path), part, (root / path).read_text())
        for path in tracked_paths(root)
        if (part := part_of(path)) is not None
    )


def product(root: Path = REPOSITORY) -> tuple[Source, ...]:
    """The sources that users get: no tests, benchmarks and examples."""
    return tuple(source for source in sources(root) if source.part in PRODUCT)


def is_type_checking(node: ast.stmt) -> TypeGuard[ast.If]:
    """Whether a statement is ``if TYPE_CHECKING:``."""
    return isinstance(node, ast.If) and ast.unparse(node.test).endswith("TYPE_CHECKING")


def _blocks(node: ast.AST) -> Iterator[ast.stmt]:
    """The statements directly below a node."""
    for field in ("body", "orelse", "finalbody"):
        yield from getattr(node, field, ())
    for holder in (*getattr(node, "handlers", ()), *getattr(node, "cases", ())):
        yield from holder.body


def statements(tree: ast.Module, every: bool = False) -> Iterator[tuple[ast.stmt, bool]]:
    """All statements of a module, and whether each is inside a function.

    Args:
        every: also what stands below ``if TYPE_CHECKING:``, which never runs.
    """
    waiting = [(node, False) for node in reversed(tree.body)]
    while waiting:
        node, in_function = waiting.pop()
        yield node, in_function
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            in_function = True
        below = list(_blocks(node))
        if not every and is_type_checking(node):
            below = node.orelse
        waiting += [(each, in_function) for each in reversed(below)]
