"""Names of torch, torchvision and mindspore that a source text uses, found without running it.

A reader walks the syntax tree with Python's own scopes: what `torch`, `nn`, `F` or a name of the
user's stands for is followed through imports, aliases and assignments. Bodies of functions are
read after the module, as they are run. Tensor methods are found where the receiver is known to be
a tensor: annotated, or made by a function that makes tensors.
"""

from __future__ import annotations

import ast
import builtins
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from .guards import is_guard, may_catch
from .tensors import LIKELY_METHODS, makes_tensor, method_makes_tensor

__all__ = ["ROOTS", "Reader", "Use", "uses_in"]

ROOTS = ("torch", "torchvision", "mindspore", "functorch")
_OURS = {"mindtorch.torch": "torch", "mindtorch.mindspore": "mindspore"}
_BUILTINS = frozenset(dir(builtins))


@dataclass(frozen=True)
class Use:
    """One place where a name is used.

    Attributes:
        names: what it may stand for, dotted; several where branches bind the same name.
        kind: "import", "read", "call", "write", "base" or "annotation".
        keywords: of a call: names, and values where they are constants (else Ellipsis).
        guarded: the program is ready for the name to be missing, or asks first.
        likely: a method of something that is taken for a tensor by the method's name alone.
        tensor: the receiver of a method is known to be a tensor.
    """

    names: tuple[str, ...]
    line: int
    column: int
    kind: str
    keywords: tuple[tuple[str, Any], ...] = ()
    guarded: bool = False
    likely: bool = False
    tensor: bool = False


@dataclass(frozen=True)
class Known:
    """What an expression stands for: names, or (with no names) a tensor."""

    names: tuple[str, ...] = ()


TENSOR = Known()


@dataclass
class Scope:
    """A module, class or function: which names are its own, and what they stand for so far."""

    kind: str
    local: set[str] = field(default_factory=set)
    bound: dict[str, Known | None] = field(default_factory=dict)
    stars: list[str] = field(default_factory=list)


def canonical(name: str) -> str | None:
    """A module's dotted name as users know it; None where it is not of our concern."""
    for ours, theirs in _OURS.items():
        if name == ours or name.startswith(f"{ours}."):
            return theirs + name[len(ours) :]
    return name if name.partition(".")[0] in ROOTS else None


class _Locals(ast.NodeVisitor):
    """The names that a body binds itself, those of nested scopes left out."""

    def __init__(self) -> None:
        self.found: set[str] = set()
        self.outer: set[str] = set()

    def visit_Name(self, node: ast.Name) -> None:
        if not isinstance(node.ctx, ast.Load):
            self.found.add(node.id)

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            self.found.add(each.asname or each.name.partition(".")[0])

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        self.found.update(each.asname or each.name for each in node.names if each.name != "*")

    def _definition(self, node: Any) -> None:
        self.found.add(node.name)

    visit_FunctionDef = visit_AsyncFunctionDef = visit_ClassDef = _definition

    def _skip(self, node: ast.AST) -> None:
        """Scopes of their own."""

    visit_Lambda = visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _skip

    def visit_ExceptHandler(self, node: ast.ExceptHandler) -> None:
        if node.name:
            self.found.add(node.name)
        self.generic_visit(node)

    def visit_Global(self, node: ast.Global | ast.Nonlocal) -> None:
        self.outer.update(node.names)

    visit_Nonlocal = visit_Global


def _locals_of(body: Iterable[ast.AST]) -> set[str]:
    finder = _Locals()
    for node in body:
        finder.visit(node)
    return finder.found - finder.outer


class Reader(ast.NodeVisitor):
    """Collects the uses of one module.

    Args:
        exported: the names that `from <module> import *` gives.
    """

    def __init__(self, exported: Callable[[str], Iterable[str]]) -> None:
        self.exported = exported
        self.uses: list[Use] = []
        self.scopes: list[Scope] = []
        self.waiting: list[tuple[list[Scope], Scope, list[ast.AST], int]] = []
        self.guards = 0
        self.branches = 0
        self.kind = "read"

    def read(self, tree: ast.Module) -> list[Use]:
        self.scopes = [Scope("module", _locals_of(tree.body))]
        for node in tree.body:
            self.visit(node)
        while self.waiting:
            outer, scope, body, self.guards = self.waiting.pop(0)
            self.scopes = [*outer, scope]
            self.branches = 0
            for part in body:
                self.visit(part)
        return self.uses

    # -- what a name stands for -------------------------------------------------------------------

    def lookup(self, name: str) -> Known | None:
        innermost = len(self.scopes) - 1
        for position in range(innermost, -1, -1):
            scope = self.scopes[position]
            if scope.kind == "class" and position != innermost:
                continue
            if name in scope.local:
                return scope.bound.get(name)
        if name in _BUILTINS:
            return None
        for scope in self.scopes:
            for module in reversed(scope.stars):
                if name in self.exported(module):
                    return Known((f"{module}.{name}",))
        return None

    def bind(self, name: str, known: Known | None) -> None:
        """Let a name stand for something; in a branch, for what it stood for before as well."""
        scope = self.scopes[-1]
        if name not in scope.local:
            scope = self.scopes[0]
        before = scope.bound.get(name)
        if self.branches and before is not None and before.names:
            if known is not None and known.names:
                known = Known(tuple(dict.fromkeys((*before.names, *known.names))))
            else:
                known = before
        elif self.branches and known is TENSOR and scope.bound.get(name, TENSOR) is not TENSOR:
            known = None
        scope.bound[name] = known

    def resolve(self, node: ast.AST) -> Known | None:
        """What an expression stands for, as far as it can be told."""
        if isinstance(node, ast.Name):
            return self.lookup(node.id)
        if isinstance(node, ast.Attribute):
            base = self.resolve(node.value)
            if base is None:
                return None
            if base is TENSOR:
                return TENSOR if method_makes_tensor(node.attr, called=False) else None
            return Known(tuple(f"{name}.{node.attr}" for name in base.names))
        return self._resolve_value(node)

    def _by_text(self, node: ast.AST) -> Known | None:
        """What `getattr(torch, "name")` and `import_module("torch.name")` stand for."""
        if not isinstance(node, ast.Call) or len(node.args) < 1:
            return None
        function = getattr(node.func, "attr", getattr(node.func, "id", ""))
        text = getattr(node.args[min(1, len(node.args) - 1)], "value", None)
        if not isinstance(text, str):
            return None
        if function == "getattr" and len(node.args) > 1:
            base = self.resolve(node.args[0])
            if base is not None and base.names:
                return Known(tuple(f"{name}.{text}" for name in base.names))
        elif function == "import_module" and len(node.args) == 1:
            name = canonical(text)
            return Known((name,)) if name is not None else None
        return None

    def _resolve_value(self, node: ast.AST) -> Known | None:
        """Whether the value of an expression is a tensor."""
        if isinstance(node, ast.Call):
            name = node.func.attr if isinstance(node.func, ast.Attribute) else ""
            named = self._by_text(node)
            if named is not None:
                return named
            base = self.resolve(node.func.value if name else node.func)  # type: ignore[attr-defined]
            if base is TENSOR:
                return TENSOR if name and method_makes_tensor(name, called=True) else None
            if base is not None and makes_tensor(f"{base.names[0]}.{name}".rstrip(".")):
                return TENSOR
        elif isinstance(node, ast.BinOp):
            sides = (self.resolve(node.left), self.resolve(node.right))
            return TENSOR if TENSOR in sides else None
        elif isinstance(node, ast.UnaryOp) and not isinstance(node.op, ast.Not):
            return TENSOR if self.resolve(node.operand) is TENSOR else None
        elif isinstance(node, ast.Subscript):
            return TENSOR if self.resolve(node.value) is TENSOR else None
        return None

    def record(self, names: tuple[str, ...], node: ast.AST, kind: str, **more: Any) -> None:
        at = (getattr(node, "lineno", 0), getattr(node, "col_offset", 0))
        if isinstance(node, ast.Attribute) and node.end_lineno and node.end_col_offset:
            at = (node.end_lineno, node.end_col_offset - len(node.attr))
        self.uses.append(Use(names, *at, kind, guarded=self.guards > 0, **more))

    # -- imports ----------------------------------------------------------------------------------

    def visit_Import(self, node: ast.Import) -> None:
        for each in node.names:
            name = canonical(each.name)
            own = each.asname or each.name.partition(".")[0]
            if name is not None:
                self.record((name,), node, "import")
                root = name.partition(".")[0] if each.name == name else "mindtorch"
                self.bind(own, Known((name if each.asname else root,)))
            elif own in self.scopes[-1].local:
                self.bind(own, None)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = canonical(node.module) if node.module and not node.level else None
        if node.module == "mindtorch" and not node.level:
            self._import_ours(node)
            return
        for each in node.names:
            own = each.asname or each.name
            if module is None:
                if each.name != "*":
                    self.bind(own, None)
            elif each.name == "*":
                self.record((module,), node, "import")
                self.scopes[-1].stars.append(module)
            else:
                self.record((f"{module}.{each.name}",), node, "import")
                self.bind(own, Known((f"{module}.{each.name}",)))

    def _import_ours(self, node: ast.ImportFrom) -> None:
        for each in node.names:
            name = canonical(f"mindtorch.{each.name}")
            if name is not None:
                self.record((name,), node, "import")
            self.bind(each.asname or each.name, None if name is None else Known((name,)))

    # -- assignments ------------------------------------------------------------------------------

    def _assign(self, target: ast.AST, known: Known | None) -> None:
        if isinstance(target, ast.Name):
            self.bind(target.id, known)
        elif isinstance(target, (ast.Tuple, ast.List)):
            for each in target.elts:
                self._assign(each, None)
        elif isinstance(target, ast.Starred):
            self._assign(target.value, None)
        else:
            self.visit(target)

    def visit_Assign(self, node: ast.Assign) -> None:
        self.visit(node.value)
        values: list[Known | None] = [self.resolve(node.value)]
        for target in node.targets:
            pairs = isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple)
            if pairs and len(target.elts) == len(node.value.elts):  # type: ignore[attr-defined]
                found = [self.resolve(each) for each in node.value.elts]  # type: ignore[attr-defined]
                for each, known in zip(target.elts, found, strict=True):  # type: ignore[attr-defined]
                    self._assign(each, known)
            else:
                self._assign(target, values[0])

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._annotation(node.annotation)
        if node.value is not None:
            self.visit(node.value)
        known = self.resolve(node.value) if node.value is not None else None
        self._assign(node.target, known or self._annotated(node.annotation))

    def visit_NamedExpr(self, node: ast.NamedExpr) -> None:
        self.visit(node.value)
        self._assign(node.target, self.resolve(node.value))

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self.visit(node.value)
        if not isinstance(node.target, ast.Name):
            self.visit(node.target)

    def _loop(self, node: Any) -> None:
        self.visit(node.iter)
        self._assign(node.target, TENSOR if self.resolve(node.iter) is TENSOR else None)
        self._branch([*node.body, *node.orelse])

    visit_For = visit_AsyncFor = _loop

    def visit_While(self, node: ast.While) -> None:
        self.visit(node.test)
        self._branch([*node.body, *node.orelse])

    def visit_withitem(self, node: ast.withitem) -> None:
        self.visit(node.context_expr)
        if node.optional_vars is not None:
            self._assign(node.optional_vars, None)

    # -- scopes -----------------------------------------------------------------------------------

    def _annotation(self, node: ast.AST | None) -> None:
        if node is not None:
            before, self.kind = self.kind, "annotation"
            self.visit(node)
            self.kind = before

    def _annotated(self, node: ast.AST | None) -> Known | None:
        """A tensor where the annotation says so."""
        if isinstance(node, ast.Constant) and node.value in ("Tensor", "torch.Tensor"):
            return TENSOR
        known = self.resolve(node) if isinstance(node, (ast.Name, ast.Attribute)) else None
        return TENSOR if known is not None and known.names == ("torch.Tensor",) else None

    def _function(self, node: Any) -> None:
        for each in node.decorator_list:
            self.visit(each)
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        scope = Scope("function", _locals_of(node.body))
        for argument in self._arguments(node.args):
            self._annotation(argument.annotation)
            scope.local.add(argument.arg)
            scope.bound[argument.arg] = self._annotated(argument.annotation)
        for special in (node.args.vararg, node.args.kwarg):
            if special is not None:
                scope.bound[special.arg] = None
        self._annotation(node.returns)
        self.bind(node.name, None)
        outer = list(self.scopes)
        self.waiting.append((outer, scope, node.body, self.guards))

    visit_FunctionDef = visit_AsyncFunctionDef = _function

    @staticmethod
    def _arguments(args: ast.arguments) -> Iterator[ast.arg]:
        yield from (*args.posonlyargs, *args.args, *args.kwonlyargs)
        yield from (each for each in (args.vararg, args.kwarg) if each is not None)

    def visit_Lambda(self, node: ast.Lambda) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        scope = Scope("function", {each.arg for each in self._arguments(node.args)})
        self.waiting.append((list(self.scopes), scope, [node.body], self.guards))

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for each in node.decorator_list:
            self.visit(each)
        before, self.kind = self.kind, "base"
        for base in node.bases:
            self.visit(base)
        self.kind = before
        for keyword in node.keywords:
            self.visit(keyword.value)
        self.bind(node.name, None)
        self.scopes.append(Scope("class", _locals_of(node.body)))
        for part in node.body:
            self.visit(part)
        self.scopes.pop()

    def _comprehension(self, node: Any) -> None:
        self.visit(node.generators[0].iter)
        scope = Scope("function")
        for generator in node.generators:
            scope.local |= _locals_of([generator.target])
        self.scopes.append(scope)
        for position, generator in enumerate(node.generators):
            if position:
                self.visit(generator.iter)
            self._assign(generator.target, None)
            for test in generator.ifs:
                self.visit(test)
        parts = [node.key, node.value] if isinstance(node, ast.DictComp) else [node.elt]
        for part in parts:
            self.visit(part)
        self.scopes.pop()

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _comprehension

    # -- branches ---------------------------------------------------------------------------------

    @contextmanager
    def _guarded(self, guarded: bool) -> Iterator[None]:
        self.guards += guarded
        yield
        self.guards -= guarded

    def _branch(self, body: Iterable[ast.AST], guarded: bool = False) -> None:
        self.branches += 1
        with self._guarded(guarded):
            for node in body:
                self.visit(node)
        self.branches -= 1

    def _try(self, node: Any) -> None:
        catches = any(may_catch(handler.type) for handler in node.handlers)
        self._branch(node.body, catches)
        for handler in node.handlers:
            if handler.type is not None:
                self.visit(handler.type)
            self._branch(handler.body, may_catch(handler.type))
        self._branch([*node.orelse, *node.finalbody])

    visit_Try = visit_TryStar = _try

    def visit_If(self, node: ast.If) -> None:
        self.visit(node.test)
        guarded = is_guard(node.test)
        self._branch(node.body, guarded)
        self._branch(node.orelse, guarded)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self.visit(node.test)
        with self._guarded(is_guard(node.test)):
            self.visit(node.body)
            self.visit(node.orelse)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        guarded = False
        for each in node.values:
            with self._guarded(guarded):
                self.visit(each)
            guarded = guarded or is_guard(each)

    # -- uses -------------------------------------------------------------------------------------

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            known = self.lookup(node.id)
            if known is not None and known.names:
                self.record(known.names, node, self.kind)

    def visit_Attribute(self, node: ast.Attribute) -> None:
        kind = self.kind if isinstance(node.ctx, ast.Load) else "write"
        self._attribute(node, kind)

    def _attribute(self, node: ast.Attribute, kind: str, keywords: Any = ()) -> None:
        base = self.resolve(node.value)
        if base is not None and base.names:
            names = tuple(f"{name}.{node.attr}" for name in base.names)
            self.record(names, node, kind, keywords=keywords)
            return
        if base is TENSOR and kind != "write":
            names = (f"torch.Tensor.{node.attr}",)
            self.record(names, node, kind, keywords=keywords, tensor=True)
        elif node.attr in LIKELY_METHODS and kind == "call":
            names = (f"torch.Tensor.{node.attr}",)
            self.record(names, node, kind, keywords=keywords, likely=True)
        self.visit(node.value)

    def visit_Call(self, node: ast.Call) -> None:
        keywords = tuple(
            (each.arg, each.value.value if isinstance(each.value, ast.Constant) else ...)
            for each in node.keywords
            if each.arg is not None
        )
        before, self.kind = self.kind, "read"
        named = self._by_text(node)
        if named is not None:
            kind = "import" if len(node.args) == 1 else "read"
            with self._guarded(len(node.args) > 2):  # getattr's default
                self.record(named.names, node, kind)
        if isinstance(node.func, ast.Attribute):
            self._attribute(node.func, "call", keywords)
        elif isinstance(node.func, ast.Name):
            known = self.lookup(node.func.id)
            if known is not None and known.names:
                self.record(known.names, node.func, "call", keywords=keywords)
        else:
            self.visit(node.func)
        for argument in node.args:
            self.visit(argument)
        for keyword in node.keywords:
            self.visit(keyword.value)
        self.kind = before


def uses_in(tree: ast.Module, exported: Callable[[str], Iterable[str]]) -> list[Use]:
    """The uses in a module's syntax tree, by line."""
    found = Reader(exported).read(tree)
    return sorted(found, key=lambda use: (use.line, use.column))
