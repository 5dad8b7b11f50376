"""What is counted in the text of the sources: places that repeat a mechanism, and tables of names.

Each function returns the places it finds, as ``path:line what``, so that a count that rises can
name them.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

from tests.architecture.sources import REPOSITORY, Source, product, sources

FILE_LINES = 600
FUNCTION_LINES = 60
FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
# A table counts as keyed by names of functions if it has so many keys, and so many of them are.
SMALLEST_TABLE = 4
SHARE_OF_NAMES = 0.6
NUMBERS = ("bool", "int", "float", "complex")  # types as well as functions: tables of types


def _texts(node: ast.AST) -> Iterator[tuple[int, str]]:
    """The string constants below a node, also those inside f-strings."""
    for each in ast.walk(node):
        if isinstance(each, ast.Constant) and isinstance(each.value, str):
            yield each.lineno, each.value


def _own_nodes(function: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside it."""
    for child in ast.iter_child_nodes(function):
        if not isinstance(child, FUNCTIONS):
            yield child
            yield from _own_nodes(child)


def _assigned(node: ast.AST) -> list[ast.expr]:
    """What a statement assigns to, one entry per target."""
    if isinstance(node, ast.Assign):
        targets = node.targets
    elif isinstance(node, (ast.AugAssign, ast.AnnAssign)):
        targets = [node.target]
    else:
        return []
    return [x for t in targets for x in (t.elts if isinstance(t, ast.Tuple) else [t])]


def _written_slots(function: ast.AST) -> dict[str, set[str]]:
    """By the name of a local variable the attributes that a function assigns."""
    slots: dict[str, set[str]] = {}
    for node in _own_nodes(function):
        for target in _assigned(node):
            if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Name):
                slots.setdefault(target.value.id, set()).add(target.attr)
    return slots


def result_makers(root: Path = REPOSITORY) -> list[str]:
    """Functions of the engine that make a tensor by writing its slots, generated code included."""
    found = []
    for source in product(root):
        if source.part != "engine" or ".flat" not in source.text:
            continue
        for node, _ in source.statements:
            if isinstance(node, FUNCTIONS):
                for name, slots in _written_slots(node).items():
                    if name != "self" and slots >= {"flat", "aval", "_node"}:
                        found.append(f"{source.path}:{node.lineno} {node.name}")
        for line, text in _texts(source.tree):
            found += [f"{source.path}:{line} (generated)"] * len(re.findall(r"\.flat = ", text))
    return found


def node_recorders(root: Path = REPOSITORY) -> list[str]:
    """Calls of ``tape.record``, generated code included."""
    found = []
    for source in product(root):
        if source.part not in ("engine", "torch"):
            continue
        uses_tape = re.search(r"\btape\b", source.text) and "record(" in source.text
        if not uses_tape:
            continue
        for node in ast.walk(source.tree):
            if isinstance(node, ast.Call):
                called = ast.unparse(node.func)
                if called in ("tape.record", "record") and len(node.args) == 5:
                    found.append(f"{source.path}:{node.lineno}")
        for line, text in _texts(source.tree):
            calls = re.findall(r"(?<![\w.])(?:tape\.)?record\([^)\s]", text)
            found += [f"{source.path}:{line} (generated)"] * len(calls)
    return found


def exchanged_classes(root: Path = REPOSITORY) -> list[str]:
    """Assignments to ``x.__class__``."""
    return [
        f"{source.path}:{target.lineno} {ast.unparse(target)}"
        for source in product(root)
        if "__class__" in source.text
        for node, _ in source.statements
        for target in _assigned(node)
        if isinstance(target, ast.Attribute) and target.attr == "__class__"
    ]


def _imported_modules(source: Source) -> set[str]:
    """The names under which a source knows what it imported."""
    return {
        (alias.asname or alias.name).partition(".")[0]
        for node, _ in source.statements
        if isinstance(node, (ast.Import, ast.ImportFrom))
        for alias in node.names
    }


def _methods_by_class(root: Path) -> dict[str, set[str]]:
    """By the names of our classes those of their methods."""
    found: dict[str, set[str]] = {}
    for source in product(root):
        for node, _ in source.statements:
            if isinstance(node, ast.ClassDef):
                methods = {each.name for each in node.body if isinstance(each, FUNCTIONS)}
                found.setdefault(node.name, set()).update(methods)
    return found


def patched(root: Path = REPOSITORY) -> list[str]:
    """Assignments that exchange a method of an imported class, ours or another library's.

    What a class of ours keeps as its state is no method, and does not count; nor does
    ``sys.excepthook``, which Python's reference says is there to be assigned to.
    """
    methods = _methods_by_class(root)
    found = []
    for source in product(root):
        if not re.search(r"\b[A-Z]\w*\.\w+[^=\n]* = ", source.text):
            continue
        imported = _imported_modules(source)
        for node, _ in source.statements:
            for target in _assigned(node):
                if not isinstance(target, ast.Attribute) or target.attr == "__class__":
                    continue
                owner = ast.unparse(target.value)
                if not re.fullmatch(r"[\w.]+", owner) or owner.partition(".")[0] not in imported:
                    continue
                kind = owner.rpartition(".")[2]
                is_method = kind[:1].isupper() and target.attr in methods.get(kind, {target.attr})
                if is_method:
                    found.append(f"{source.path}:{node.lineno} {owner}.{target.attr}")
    return found


def classes(folders: tuple[str, ...], root: Path = REPOSITORY) -> list[str]:
    """The classes written in folders."""
    return [
        f"{source.path}:{node.lineno} {node.name}"
        for source in product(root)
        if source.path.startswith(folders)
        for node, _ in source.statements
        if isinstance(node, ast.ClassDef)
    ]


def long_files(root: Path = REPOSITORY) -> list[str]:
    return [f"{s.path} {s.lines} lines" for s in sources(root) if s.lines > FILE_LINES]


def long_functions(root: Path = REPOSITORY) -> list[str]:
    """Functions of the product that do not fit a screen."""
    return [
        f"{source.path}:{node.lineno} {node.name}"
        for source in product(root)
        for node, _ in source.statements
        if isinstance(node, FUNCTIONS)
        and (node.end_lineno or 0) - node.lineno + 1 > FUNCTION_LINES
    ]


def files_by_folder(part: str, root: Path = REPOSITORY) -> dict[str, int]:
    """How many sources each folder of a part holds, itself alone."""
    found: dict[str, int] = {}
    for source in sources(root):
        if source.part == part:
            folder = source.path.rpartition("/")[0]
            found[folder] = found.get(folder, 0) + 1
    return found


def lines_by_folder(root: Path = REPOSITORY) -> dict[str, int]:
    """How many lines the sources of each folder have, itself alone."""
    found: dict[str, int] = {}
    for source in sources(root):
        folder = source.path.rpartition("/")[0]
        found[folder] = found.get(folder, 0) + source.lines
    return found


def _key_names(node: ast.expr) -> list[str]:
    """The names that a table is keyed by, of ops and functions or of texts; [] if it is none.

    Dicts, sets, lists and tuples are tables, and texts that are split at their spaces. Of a dict
    the keys count, of an entry that is a list or a tuple nothing.
    """
    if isinstance(node, ast.Call):
        function = ast.unparse(node.func)
        if isinstance(node.func, ast.Attribute) and node.func.attr == "split":
            owner = node.func.value
            return str(owner.value).split() if isinstance(owner, ast.Constant) else []
        if function in ("frozenset", "set", "dict", "tuple", "list") and node.args:
            return _key_names(node.args[0])
        named = [keyword.arg for keyword in node.keywords if keyword.arg]
        return named if function == "dict" else []
    if isinstance(node, ast.BinOp):
        return _key_names(node.left) + _key_names(node.right)
    if isinstance(node, (ast.DictComp, ast.SetComp, ast.ListComp, ast.GeneratorExp)):
        return [name for g in node.generators for name in _key_names(g.iter)]
    if isinstance(node, ast.Dict):
        keys: list[ast.expr] = []
        merged = []
        for key, value in zip(node.keys, node.values, strict=True):
            if key is None:
                merged += _key_names(value)
            else:
                keys.append(key)
        return merged + [_name_of(key) for key in keys]
    if isinstance(node, (ast.Set, ast.List, ast.Tuple)):
        names = []
        for each in node.elts:
            if isinstance(each, ast.Starred):
                names += _key_names(each.value)
            else:
                names.append(_name_of(each))
        return names
    return []


def _name_of(node: ast.expr) -> str:
    if isinstance(node, ast.Constant):
        return str(node.value)
    if isinstance(node, ast.Tuple) and node.elts:  # a row whose first entry is the name
        return _name_of(node.elts[0])
    return ast.unparse(node).rpartition(".")[2]


def _tables(source: Source) -> Iterator[tuple[int, str, list[str]]]:
    """Line, name and keys of the tables at the top of a module."""
    for node in source.tree.body:
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            name, value = node.targets[0].id, node.value
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name) and node.value:
            name, value = node.target.id, node.value
        else:
            continue
        if name != "__all__":
            yield node.lineno, name, _key_names(value)


def tables_by_name(
    names: frozenset[str], root: Path = REPOSITORY, parts: tuple[str, ...] = ("engine", "torch")
) -> list[str]:
    """Tables of the engine and of the namespace keyed by names of ops or of public functions.

    Args:
        names: these names.
        parts: where is looked, if elsewhere.
    """
    found = []
    for source in product(root):
        if source.part not in parts:
            continue
        for line, table, keys in _tables(source):
            known = sum(key in names and key not in NUMBERS for key in keys)
            if len(keys) >= SMALLEST_TABLE and known >= SHARE_OF_NAMES * len(keys):
                found.append(f"{source.path}:{line} {table} ({len(keys)} names)")
    return found
