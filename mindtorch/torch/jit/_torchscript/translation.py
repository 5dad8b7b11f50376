"""Functions of TorchScript's code as functions of Python: closures, one for each node of the text.

Only the forms that TorchScript's serializer writes are known; anything else is refused by its line.
Names are looked up in the call's variables, in the archive's own functions and classes, and among
the operators, nowhere else.
"""

from __future__ import annotations

import ast
import math
from collections.abc import Callable
from typing import Any

from mindtorch.engine.tensor import Tensor

from . import language
from .declared_types import Type, accepts, declared_type, dotted_name
from .errors import raise_exception, with_place
from .operators import operator_named
from .script_modules import ScriptObject, attribute_of, method_of, set_attribute
from .source import Program, ScriptClass

__all__ = ["Function", "translate"]

_Value = Callable[[dict[str, Any]], Any]
_Step = Callable[[dict[str, Any]], Any]
_ROOTS = ("torch", "ops", "__torch__", "CONSTANTS")
_UNSET = object()


class Future:
    """What `fork` gives: the result, computed at once."""

    def __init__(self, value: Any) -> None:
        self._value = value

    def wait(self) -> Any:
        return self._value


class Function:
    """A function or method of a program.

    Args:
        program: whose code it is of.
        node: its definition.
        module: the dotted name of its file.
        name: its short name.
    """

    def __init__(self, program: Program, node: ast.FunctionDef, module: str, name: str) -> None:
        self.name = name
        self.file = f"code/{module.replace('.', '/')}.py"
        self._text = program.texts.get(self.file.removeprefix("code/"), "")
        self.parameters = _parameters(node)
        self.types = [_annotation(arg) for arg in node.args.args]
        self.returns = None if node.returns is None else declared_type(node.returns)
        writer = _Translation(program, self.file)
        defaults = [writer.value(each) for each in node.args.defaults]
        self.required = len(self.parameters) - len(defaults)
        self.defaults = defaults
        self._body = writer.block(node.body)

    def shown(self, line: int) -> list[str]:
        """The text of a line, marked."""
        lines = self._text.splitlines()[line - 1 : line] if line else []
        if not lines:
            return []
        text = lines[0].strip()
        return [f"    {text}", f"    {'~' * len(text)} <--- HERE"]

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        env: dict[str, Any] = dict(zip(self.parameters, args, strict=False))
        if kwargs:
            env.update(kwargs)
        if len(env) < len(self.parameters):
            for name, default in zip(self.parameters[self.required :], self.defaults, strict=True):
                if name not in env:
                    env[name] = default(env)
        try:
            made = _run(self._body, env)
        except Exception as error:
            raise with_place(error, self, _run.__code__) from None
        return None if made is None else made[0]


def _parameters(node: ast.FunctionDef) -> list[str]:
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.posonlyargs or node.decorator_list:
        raise SyntaxError(f"line {node.lineno}: arguments of this kind are not known")
    return [arg.arg for arg in given.args]


def _annotation(arg: ast.arg) -> Type:
    return Type("Tensor") if arg.annotation is None else declared_type(arg.annotation)


def _run(block: list[tuple[int, _Step]], env: dict[str, Any]) -> Any:
    """Run statements; None, or what a return statement gives, in a tuple."""
    for numbered in block:
        made = numbered[1](env)
        if made is not None:
            return made
    return None


class _Translation:
    """Makes closures of one function's nodes."""

    def __init__(self, program: Program, file: str) -> None:
        self.program = program
        self.file = file

    def _unknown(self, node: ast.AST, what: str = "this form is not known") -> SyntaxError:
        line = getattr(node, "lineno", "?")
        return SyntaxError(f"{self.file}, line {line}: {what} ({type(node).__name__})")

    # ------------------------------------------------------------------------------ statements

    def block(self, nodes: list[ast.stmt]) -> list[tuple[int, _Step]]:
        steps = []
        for node in nodes:
            make = getattr(self, f"_step_{type(node).__name__}", None)
            if make is None:
                raise self._unknown(node)
            if not isinstance(node, ast.Pass):
                steps.append((node.lineno, make(node)))
        return steps

    def _step_Expr(self, node: ast.Expr) -> _Step:
        value = self.value(node.value)

        def step(env: dict[str, Any]) -> None:
            value(env)

        return step

    def _step_Return(self, node: ast.Return) -> _Step:
        if node.value is None:
            return lambda env: (None,)
        value = self.value(node.value)
        return lambda env: (value(env),)

    def _step_Assign(self, node: ast.Assign) -> _Step:
        if len(node.targets) != 1:
            raise self._unknown(node)
        return self._assign(node.targets[0], node.value)

    def _step_AnnAssign(self, node: ast.AnnAssign) -> _Step:
        if node.value is None:
            raise self._unknown(node)
        declared_type(node.annotation)
        return self._assign(node.target, node.value)

    def _assign(self, target: ast.expr, given: ast.expr) -> _Step:
        value = self.value(given)
        if isinstance(target, ast.Name):
            name = target.id

            def step(env: dict[str, Any]) -> None:
                env[name] = value(env)

            return step
        if isinstance(target, ast.Tuple):
            return self._unpack(target, value)
        if isinstance(target, ast.Attribute):
            holder, attribute = self.value(target.value), target.attr

            def write(env: dict[str, Any]) -> None:
                set_attribute(holder(env), attribute, value(env))

            return write
        raise self._unknown(target)

    def _unpack(self, target: ast.Tuple, value: _Value) -> _Step:
        names = []
        for each in target.elts:
            if not isinstance(each, ast.Name):
                raise self._unknown(each)
            names.append(each.id)

        def step(env: dict[str, Any]) -> None:
            items = value(env)
            if len(items) != len(names):
                raise RuntimeError(
                    f"Provided list/tuple has {len(items)} elements, but expected {len(names)}"
                )
            env.update(zip(names, items, strict=True))

        return step

    def _step_If(self, node: ast.If) -> _Step:
        test, then, other = self.value(node.test), self.block(node.body), self.block(node.orelse)
        return lambda env: _run(then if test(env) else other, env)

    def _step_While(self, node: ast.While) -> _Step:
        if node.orelse:
            raise self._unknown(node)
        test, body = self.value(node.test), self.block(node.body)

        def step(env: dict[str, Any]) -> Any:
            while test(env):
                made = _run(body, env)
                if made is not None:
                    return made
            return None

        return step

    def _step_For(self, node: ast.For) -> _Step:
        if node.orelse or not isinstance(node.target, ast.Name):
            raise self._unknown(node)
        name, items, body = node.target.id, self.value(node.iter), self.block(node.body)

        def step(env: dict[str, Any]) -> Any:
            for item in items(env):
                env[name] = item
                made = _run(body, env)
                if made is not None:
                    return made
            return None

        return step

    def _step_With(self, node: ast.With) -> _Step:
        if len(node.items) != 1:
            raise self._unknown(node)
        manager, body = self.value(node.items[0].context_expr), self.block(node.body)
        target = node.items[0].optional_vars
        if target is not None and not isinstance(target, ast.Name):
            raise self._unknown(target)

        def step(env: dict[str, Any]) -> Any:
            held = manager(env)
            entered = method_of(held, "__enter__")()
            if target is not None:
                env[target.id] = entered
            try:
                return _run(body, env)
            finally:
                method_of(held, "__exit__")(None, None, None)

        return step

    def _step_FunctionDef(self, node: ast.FunctionDef) -> _Step:
        """A function within: what `fork` is given. It sees the variables of this one."""
        if _parameters(node):
            raise self._unknown(node)
        name, body = node.name, self.block(node.body)

        def step(env: dict[str, Any]) -> None:
            inner = dict(env)

            def call() -> Any:
                made = _run(body, dict(inner))
                return None if made is None else made[0]

            env[name] = call

        return step

    def _step_Delete(self, node: ast.Delete) -> _Step:
        names = [target.id for target in node.targets if isinstance(target, ast.Name)]
        if len(names) != len(node.targets):
            raise self._unknown(node)

        def step(env: dict[str, Any]) -> None:
            for name in names:
                env.pop(name, None)

        return step

    def _step_Pass(self, node: ast.Pass) -> _Step:
        return lambda env: None

    # ----------------------------------------------------------------------------- expressions

    def value(self, node: ast.expr) -> _Value:
        make = getattr(self, f"_value_{type(node).__name__}", None)
        if make is None:
            raise self._unknown(node)
        made: _Value = make(node)
        return made

    def _value_Constant(self, node: ast.Constant) -> _Value:
        constant = node.value
        if isinstance(constant, bytes) or constant is Ellipsis:
            raise self._unknown(node)
        return lambda env: constant

    def _value_UnaryOp(self, node: ast.UnaryOp) -> _Value:
        inner = self.value(node.operand)
        if isinstance(node.op, ast.USub):
            return lambda env: -inner(env)
        if isinstance(node.op, ast.Not):
            return lambda env: not inner(env)
        raise self._unknown(node)

    def _value_BinOp(self, node: ast.BinOp) -> _Value:
        """A complex number, which is written as a sum."""
        low, high = ast.unparse(node.left), ast.unparse(node.right)
        try:
            constant = complex(ast.literal_eval(node))
        except (ValueError, TypeError):
            raise self._unknown(node, f"{low} and {high} are not joined by an operator") from None
        return lambda env: constant

    def _value_Name(self, node: ast.Name) -> _Value:
        name = node.id
        found = {"inf": math.inf, "nan": math.nan, "infj": complex(0, math.inf)}.get(name, _UNSET)

        def look_up(env: dict[str, Any]) -> Any:
            value = env.get(name, found)
            if value is _UNSET:
                raise NameError(f"name {name!r} is not defined")
            return value

        return look_up

    def _value_Tuple(self, node: ast.Tuple) -> _Value:
        items = [self.value(item) for item in node.elts]
        return lambda env: tuple([item(env) for item in items])

    def _value_List(self, node: ast.List) -> _Value:
        items = [self.value(item) for item in node.elts]
        return lambda env: [item(env) for item in items]

    def _value_Dict(self, node: ast.Dict) -> _Value:
        pairs = []
        for key, item in zip(node.keys, node.values, strict=True):
            if key is None:
                raise self._unknown(node)
            pairs.append((self.value(key), self.value(item)))
        return lambda env: {key(env): item(env) for key, item in pairs}

    def _value_Subscript(self, node: ast.Subscript) -> _Value:
        holder = self.value(node.value)
        if isinstance(node.slice, ast.Slice):
            parts = (node.slice.lower, node.slice.upper, node.slice.step)
            ends = [None if part is None else self.value(part) for part in parts]
            return lambda env: holder(env)[slice(*(end and end(env) for end in ends))]
        place = self.value(node.slice)
        return lambda env: holder(env)[place(env)]

    def _value_Attribute(self, node: ast.Attribute) -> _Value:
        dotted = dotted_name(node)
        if dotted is not None and dotted.partition(".")[0] in _ROOTS:
            return self._global(node, dotted)
        holder, name = self.value(node.value), node.attr
        return lambda env: attribute_of(holder(env), name)

    def _global(self, node: ast.expr, name: str) -> _Value:
        """A constant of the archive, one of its functions, or a member of an enumeration."""
        program = self.program
        root, _, rest = name.partition(".")
        if root == "CONSTANTS" and rest[:1] == "c" and rest[1:].isdigit():
            place = int(rest[1:])

            def constant(env: dict[str, Any]) -> Any:
                if place >= len(program.constants):
                    raise RuntimeError(f"the archive has no constant {place}")
                return program.constants[place]

            return constant
        if root == "__torch__":
            holder, _, member = name.rpartition(".")

            def find(env: dict[str, Any]) -> Any:
                owner = program.classes.get(holder)
                if owner is not None and owner.base == "Enum":
                    return owner.python_class()[member]
                found = program.function(name)
                if found is None:
                    raise NameError(f"the archive does not define {name}")
                return found

            return find
        raise self._unknown(node, f"{name} is not known")

    # ----------------------------------------------------------------------------------- calls

    def _value_Call(self, node: ast.Call) -> _Value:
        dotted = dotted_name(node.func)
        root = (dotted or "").partition(".")[0]
        if isinstance(node.func, ast.Name):
            special = _FORMS.get(node.func.id)
            if special is not None:
                return special(self, node)
        args = [self.value(arg) for arg in node.args]
        named = []
        for keyword in node.keywords:
            if keyword.arg is None:
                raise self._unknown(node)
            named.append((keyword.arg, self.value(keyword.value)))
        if dotted is not None and root in ("torch", "ops"):
            return self._operator(dotted, args, named)
        if dotted is not None and root == "__torch__":
            return self._constructor(node, dotted, args, named)
        if isinstance(node.func, ast.Attribute):
            return self._method(node.func, args, named)
        function = self.value(node.func)
        return _calling(lambda env: function(env), args, named)

    def _operator(self, name: str, args: list[_Value], named: list[tuple[str, _Value]]) -> _Value:
        if name == "ops.prim.RaiseException":
            return lambda env: raise_exception(*[arg(env) for arg in args])
        function = operator_named(name, self.program.version)
        if not named:
            if len(args) == 1:
                first = args[0]
                return lambda env: function(first(env))
            return lambda env: function(*[arg(env) for arg in args])
        return lambda env: function(
            *[arg(env) for arg in args], **{key: value(env) for key, value in named}
        )

    def _constructor(
        self, node: ast.Call, name: str, args: list[_Value], named: list[tuple[str, _Value]]
    ) -> _Value:
        """A function of the archive, a named tuple, or ``A.__new__(A)``."""
        program, short = self.program, name.removesuffix(".__new__")

        def find(env: dict[str, Any]) -> Any:
            owner = program.classes.get(short)
            if owner is None:
                found = program.function(name)
                if found is None:
                    raise NameError(f"the archive does not define {name}")
                return found
            if short != name:
                return lambda: ScriptObject(owner)
            if owner.base == "NamedTuple":
                return owner.python_class()
            raise TypeError(f"{name} cannot be called")

        return _calling(find, [] if short != name else args, named)

    def _method(
        self, node: ast.Attribute, args: list[_Value], named: list[tuple[str, _Value]]
    ) -> _Value:
        holder, name = self.value(node.value), node.attr
        return _calling(lambda env: method_of(holder(env), name), args, named)

    def types_of(self, node: ast.expr) -> list[Type]:
        if isinstance(node, (ast.Tuple, ast.List)):
            return [declared_type(each) for each in node.elts]
        return [declared_type(node)]


def _calling(
    find: _Value, args: list[_Value], named: list[tuple[str, _Value]]
) -> _Value:
    if not named:
        return lambda env: find(env)(*[arg(env) for arg in args])
    return lambda env: find(env)(
        *[arg(env) for arg in args], **{key: value(env) for key, value in named}
    )


# ------------------------------------------------- functions of the language, called by their name


def _second_argument(self: _Translation, node: ast.Call) -> _Value:
    """`annotate(T, x)`, `unchecked_cast(T, x)`: x, as a number where the type is one."""
    if len(node.args) != 2:
        raise self._unknown(node)
    kind, value = declared_type(node.args[0]), self.value(node.args[1])
    if kind.name not in ("int", "float", "number", "bool", "complex"):
        return value

    def number(env: dict[str, Any]) -> Any:
        found = value(env)
        return found.item() if isinstance(found, Tensor) else found

    return number


def _nothing(self: _Translation, node: ast.Call) -> _Value:
    return lambda env: None


def _is_instance(self: _Translation, node: ast.Call) -> _Value:
    if len(node.args) != 2:
        raise self._unknown(node)
    value, kinds = self.value(node.args[0]), self.types_of(node.args[1])

    def test(env: dict[str, Any]) -> bool:
        found = value(env)
        return any(accepts(found, kind) for kind in kinds)

    return test


def _get_attribute(self: _Translation, node: ast.Call) -> _Value:
    if len(node.args) != 2 or not isinstance(node.args[1], ast.Constant):
        raise self._unknown(node)
    holder, name = self.value(node.args[0]), str(node.args[1].value)
    return lambda env: attribute_of(holder(env), name)


def _plain(function: Callable[..., Any]) -> Callable[[_Translation, ast.Call], _Value]:
    def make(self: _Translation, node: ast.Call) -> _Value:
        if node.keywords:
            raise self._unknown(node)
        args = [self.value(arg) for arg in node.args]
        return lambda env: function(*[arg(env) for arg in args])

    return make


def _print(*values: Any) -> None:
    print(*[language.shown(value) for value in values])


def _fork(function: Callable[..., Any], *args: Any) -> Future:
    return Future(function(*args))


_PLAIN: dict[str, Callable[..., Any]] = {
    "range": range, "print": _print, "int": int, "float": float, "bool": bool,
    "complex": complex, "str": language.shown, "sorted": sorted, "fork": _fork,
    "hash": hash, "len": len, "ord": ord, "chr": chr, "hex": hex, "oct": oct, "bin": bin,
    "round": language.FUNCTIONS["round"], "list": list, "dict": dict, "min": min, "max": max,
    "abs": abs, "wait": Future.wait,
}  # fmt: skip
_FORMS: dict[str, Callable[[_Translation, ast.Call], _Value]] = {
    "annotate": _second_argument, "unchecked_cast": _second_argument,
    "uninitialized": _nothing, "isinstance": _is_instance, "getattr": _get_attribute,
    **{name: _plain(function) for name, function in _PLAIN.items()},
}  # fmt: skip


def translate(
    program: Program, node: ast.FunctionDef, module: str, name: str, owner: ScriptClass | None
) -> Function:
    """The function of a definition.

    Raises:
        RuntimeError: it has a form that is not known.
    """
    try:
        return Function(program, node, module, name)
    except (SyntaxError, RecursionError) as error:
        raise RuntimeError(f"torch.jit.load: {error}") from None
