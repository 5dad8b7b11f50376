"""Who imports whom: circles, imports inside functions, private names, and imports that point up.

An edge leads from a file to the file that an import names: ``from package import submodule`` to the
submodule, ``from module import name`` to the module. Importing a submodule also runs the package's
``__init__``; that edge is not counted, or else every package would be one circle.
"""

from __future__ import annotations

import ast
import functools
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from tests.architecture.sources import BY_NAME, REPOSITORY, Source, product, sources

LAYERS = Path(__file__).with_name("layers.toml")


@dataclass(frozen=True)
class Import:
    """An import of one of our files.

    Attributes:
        path, line: where it stands.
        target: the path of the file that is imported.
        names: what is taken out of it; empty if it is the module itself.
        in_function: whether it stands inside a function.
        by_name: whether it is spelled ``import_module("...")`` or ``__import__("...")``.
    """

    path: str
    line: int
    target: str
    names: tuple[str, ...] = ()
    in_function: bool = False
    by_name: bool = False

    def __str__(self) -> str:
        return f"{self.path}:{self.line} imports {self.target}"


def _base(node: ast.ImportFrom, package: str) -> str:
    """The module after ``from``, with the dots before it resolved."""
    if not node.level:
        return node.module or ""
    above = package.split(".")
    above = above[: len(above) - node.level + 1]
    return ".".join([*above, node.module] if node.module else above)


def imports_of(source: Source, paths: Mapping[str, str]) -> Iterator[Import]:
    """The imports of a source that name one of ours.

    Args:
        paths: the files by their import names.
    """
    for node, inside in source.statements:
        found: dict[str, list[str]] = {}
        if isinstance(node, ast.Import):
            for alias in node.names:
                found.setdefault(alias.name, [])
        elif isinstance(node, ast.ImportFrom):
            base = _base(node, source.package)
            for alias in node.names:
                if f"{base}.{alias.name}" in paths:
                    found.setdefault(f"{base}.{alias.name}", [])
                else:
                    found.setdefault(base, []).append(alias.name)
        for module, names in found.items():
            target = paths.get(module)
            if target is not None and target != source.path:
                yield Import(source.path, node.lineno, target, tuple(names), inside)
    for line, module in _imported_by_name(source):
        target = paths.get(module)
        if target is not None and target != source.path:
            yield Import(source.path, line, target, (), True, True)


def _imported_by_name(source: Source) -> Iterator[tuple[int, str]]:
    """Line and module of ``import_module("...")`` and ``__import__("...")``."""
    if not any(name in source.text for name in BY_NAME):
        return
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Call) and node.args and isinstance(node.args[0], ast.Constant):
            if ast.unparse(node.func).rpartition(".")[2] in BY_NAME:
                text = str(node.args[0].value)
                yield node.lineno, source.package + text if text.startswith(".") else text


@functools.cache
def imports(root: Path = REPOSITORY) -> tuple[Import, ...]:
    """All imports between the product's files."""
    paths = {source.module: source.path for source in product(root)}
    return tuple(found for source in product(root) for found in imports_of(source, paths))


@functools.cache
def statements_in_functions(root: Path = REPOSITORY) -> tuple[Import, ...]:
    """Import statements inside functions; one that imports several modules counts once."""
    found: dict[tuple[str, int], Import] = {}
    for each in imports(root):
        if each.in_function and not each.by_name:
            found.setdefault((each.path, each.line), each)
    return tuple(found.values())


def circles(edges: Iterable[Import]) -> list[list[str]]:
    """The sets of files that import each other, directly or through others; the largest first."""
    graph: dict[str, set[str]] = {}
    for edge in edges:
        graph.setdefault(edge.path, set()).add(edge.target)
        graph.setdefault(edge.target, set())
    number: dict[str, int] = {}
    lowest: dict[str, int] = {}
    stack: list[str] = []
    waiting: set[str] = set()
    found: list[list[str]] = []

    def visit(start: str) -> None:
        """Tarjan's algorithm with a stack of its own, since the graph is deep."""
        work: list[tuple[str, Iterator[str]]] = [(start, iter(sorted(graph[start])))]
        number[start] = lowest[start] = len(number)
        stack.append(start)
        waiting.add(start)
        while work:
            node, others = work[-1]
            for other in others:
                if other not in number:
                    number[other] = lowest[other] = len(number)
                    stack.append(other)
                    waiting.add(other)
                    work.append((other, iter(sorted(graph[other]))))
                    break
                if other in waiting:
                    lowest[node] = min(lowest[node], number[other])
            else:
                work.pop()
                if work:
                    above = work[-1][0]
                    lowest[above] = min(lowest[above], lowest[node])
                if lowest[node] == number[node]:
                    place = stack.index(node)
                    members = stack[place:]
                    del stack[place:]
                    waiting.difference_update(members)
                    if len(members) > 1:
                        found.append(sorted(members))

    for node in sorted(graph):
        if node not in number:
            visit(node)
    return sorted(found, key=lambda members: (-len(members), members))


def without_by_name(root: Path = REPOSITORY) -> list[Import]:
    """The imports that are statements."""
    return [each for each in imports(root) if not each.by_name]


@functools.cache
def circles_of(root: Path = REPOSITORY) -> list[list[str]]:
    """The circles of a checkout."""
    return circles(without_by_name(root))


def private_imports(root: Path = REPOSITORY) -> list[str]:
    """``_names`` taken out of modules other than the one that they are private to."""
    paths = {source.module: source.path for source in sources(root)}
    of_tests = [s for s in sources(root) if s.part == "tests" and "import _" in s.text]
    every = [*imports(root), *(found for s in of_tests for found in imports_of(s, paths))]
    return [
        f"{each.path}:{each.line} imports {name} of {each.target}"
        for each in every
        for name in each.names
        if name.startswith("_") and not name.endswith("__")
    ]


@dataclass(frozen=True)
class Layer:
    """A floor of a part: its height, its name, and the paths that lie on it."""

    height: int
    name: str


@functools.cache
def _layer_tables() -> dict[str, list[dict[str, object]]]:
    with LAYERS.open("rb") as file:
        return tomllib.load(file)


def layer_of(path: str, part: str) -> Layer | None:
    """The floor of a file: that of the longest prefix in the table; None if there is none."""
    best: tuple[int, Layer] | None = None
    for height, row in enumerate(_layer_tables()[part]):
        paths = row["paths"]
        assert isinstance(paths, list)
        for prefix in paths:
            whole = prefix.endswith((".py", "/"))
            if path == prefix or (path.startswith(prefix) if whole else False):
                if best is None or len(prefix) > best[0]:
                    best = len(prefix), Layer(height, str(row["name"]))
    return best[1] if best else None


def pointing_up(part: str, root: Path = REPOSITORY) -> list[str]:
    """The imports of a part that lead from a lower floor to a higher one, one per two files."""
    found: dict[tuple[str, str], str] = {}
    for each in imports(root):
        here, there = layer_of(each.path, part), layer_of(each.target, part)
        if here is not None and there is not None and there.height > here.height:
            text = f"{each} ({here.name} -> {there.name})"
            found.setdefault((each.path, each.target), text)
    return list(found.values())


def without_layer(part: str, root: Path = REPOSITORY) -> list[str]:
    """The files of a part whose floor the table does not say."""
    return [s.path for s in product(root) if s.part == part and layer_of(s.path, part) is None]
