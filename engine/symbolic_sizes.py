"""Sizes that stand for many: numbers that remember how they follow from the sizes of arguments.

While a call is captured for more sizes than its own, a shape holds :class:`Count` objects. They
pass for Python's ints (``isinstance`` says so) and are none, so that nothing can use one as a
number unseen: arithmetic gives another Count, a comparison becomes a condition, and whatever asks
for the number itself (``range``, ``hash``, C code) fixes it: a condition that it is equal.

:class:`Sizes` keeps all of that as lines of Python, so that one generated function tells for other
sizes whether the conditions hold, and what every Count is then.
"""

from __future__ import annotations

import builtins
import functools
import math
import operator
import sys
import types
from collections.abc import Callable
from typing import Any

# what Counts do: note conditions; be plain numbers; be equal only to themselves
NOTES, PLAIN, FORMAL = range(3)
_MOST_LINES = 20_000


class Amount:
    """A number that follows from sizes.

    Attributes:
        sizes: what it belongs to; place: its number there; value: what it is in this call.
        terms: of a whole number, its polynomial: {atoms: factor}.
    """

    __slots__ = ("place", "sizes", "terms", "value")
    value: Any
    # operators, which the class is given below
    __add__: Any
    __mul__: Any
    __rmul__: Any
    __floordiv__: Any
    __rfloordiv__: Any
    __mod__: Any
    __rmod__: Any
    __ge__: Any

    def __init__(self, sizes: Sizes, place: int, value: Any, terms: Any = None) -> None:
        self.sizes = sizes
        self.place = place
        self.value = value
        self.terms = terms

    def fixed(self) -> Any:
        """The plain number; from now on what was captured is for this number only."""
        if self.sizes.mode == NOTES:
            self.sizes.fix(self)
        return self.value

    def __bool__(self) -> bool:
        return bool(operator.ne(self, 0))

    def __divmod__(self, other: Any) -> Any:
        return (self // other, self % other)

    def __rdivmod__(self, other: Any) -> Any:
        return (other // self, other % self)

    def __neg__(self) -> Any:
        return self * -1 if type(self) is Count else -1.0 * self

    def __abs__(self) -> Any:
        return self if self >= 0 else -self

    def __hash__(self) -> int:
        if self.sizes.mode == FORMAL:
            return hash(("amount", self.place))
        return hash(self.fixed())

    def __array__(self, dtype: Any = None, copy: Any = None) -> Any:
        import numpy as np

        return np.array(self.fixed(), dtype)

    def _shown(self) -> Any:
        """The number for a text, which fixes it unless it is a text of ours, such as an error's."""
        return self.value if self.sizes.ours(sys._getframe(2)) else self.fixed()

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return getattr(ufunc, method)(*map(fixed, inputs), **options)

    def __repr__(self) -> str:
        return repr(self._shown())

    def __str__(self) -> str:
        return str(self._shown())

    def __format__(self, text: str) -> str:
        return format(self._shown(), text)

    def __int__(self) -> int:
        return int(self.fixed())

    def __float__(self) -> float:
        return float(self.fixed())

    def __complex__(self) -> complex:
        return complex(self.fixed())

    def __round__(self, *digits: Any) -> Any:
        return round(self.fixed(), *digits)

    def __reduce__(self) -> Any:
        return (type(self.fixed()), (self.value,))

    def __copy__(self) -> Any:
        return self

    def __deepcopy__(self, memo: Any) -> Any:
        return self

    def __getattr__(self, name: str) -> Any:
        if name[:2] == "__" or not hasattr(self.value, name):
            raise AttributeError(name)
        return getattr(self.fixed(), name)


class Count(Amount):
    """A whole number."""

    __slots__ = ()
    __class__ = property(lambda self: int)

    def __index__(self) -> int:
        return int(self.fixed())

    def __trunc__(self) -> Any:
        return self

    __floor__ = __ceil__ = __pos__ = __trunc__


class Ratio(Amount):
    """A float."""

    __slots__ = ()
    __class__ = property(lambda self: float)

    def __floor__(self) -> Any:
        if self.sizes.mode == PLAIN:
            return math.floor(self.value)
        return self.sizes.rounded("floor", math.floor, self)

    def __ceil__(self) -> Any:
        if self.sizes.mode == PLAIN:
            return math.ceil(self.value)
        return self.sizes.rounded("ceil", math.ceil, self)

    def __trunc__(self) -> int:
        return int(self.fixed())

    def __pos__(self) -> Any:
        return self


KINDS = (Count, Ratio)


def _number(value: Any) -> Any:
    """A Python number from what may stand beside an Amount; None for anything else."""
    kind = type(value)
    if kind is int or kind is float or kind in KINDS:
        return value
    if isinstance(value, bool):
        return int(value)
    if isinstance(value, int):
        return int(value)
    if isinstance(value, float):
        return float(value)
    item = getattr(value, "item", None)
    if item is not None and type(value).__module__ == "numpy" and not getattr(value, "ndim", 1):
        return _number(item())
    return None


def plain(value: Any) -> Any:
    """The number that an Amount is in this call, without fixing it; other values as they are."""
    return value.value if type(value) in KINDS else value


def as_index(value: Any) -> Any:
    """``operator.index``, which lets a Count be what it is."""
    return value if type(value) is Count else operator.index(value)


def as_whole(value: Any) -> Any:
    """``int``, which lets a Count be what it is."""
    return as_index(value) if type(value) is Count else int(value)


def as_float(value: Any) -> Any:
    """``float``, which lets a Ratio be what it is."""
    return value if type(value) is Ratio else float(value)


def _arithmetic(name: str, text: str, function: Callable[[Any, Any], Any], swapped: bool) -> Any:
    def method(self: Amount, other: Any) -> Any:
        number = _number(other)
        if number is None:
            return NotImplemented
        a, b = (number, self) if swapped else (self, number)
        if self.sizes.mode == PLAIN:
            return function(plain(a), plain(b))
        return self.sizes.apply(text, function, a, b)

    method.__name__ = name
    return method


def _comparison(name: str, text: str, function: Callable[[Any, Any], bool]) -> Any:
    def method(self: Amount, other: Any) -> Any:
        number = _number(other)
        if number is None:
            return NotImplemented
        mode = self.sizes.mode
        if mode == NOTES:
            return self.sizes.compare(text, function, self, number)
        if mode == FORMAL and text in ("==", "!="):
            return (self is number) is (text == "==")
        return function(self.value, plain(number))

    method.__name__ = name
    return method


_OPERATORS = {
    "add": "+", "sub": "-", "mul": "*", "truediv": "/", "floordiv": "//", "mod": "%", "pow": "**",
    "and": "&", "or": "|", "xor": "^", "lshift": "<<", "rshift": ">>",
}  # fmt: skip
_COMPARISONS = {"eq": "==", "ne": "!=", "lt": "<", "le": "<=", "gt": ">", "ge": ">="}


def _give_operators() -> None:
    for name, text in _OPERATORS.items():
        function = getattr(operator, f"{name}_" if name in ("and", "or") else name)
        setattr(Amount, f"__{name}__", _arithmetic(name, text, function, False))
        setattr(Amount, f"__r{name}__", _arithmetic(name, text, function, True))
    for name, text in _COMPARISONS.items():
        setattr(Amount, f"__{name}__", _comparison(name, text, getattr(operator, name)))


_give_operators()


class Sizes:
    """The sizes of one capture and what follows from them.

    Attributes:
        mode: what its numbers do.
        values: of all numbers, in this call.
        names: what each of the first numbers, the sizes themselves, is.
        reasons: where a number was fixed.
        place: says which line of the user's runs; ours: whether a frame is the library's.
        make: given by the capture, ``make(described, function, arguments)``: a tensor that is made
            anew for other sizes.
        branches: comparisons in the user's code, where they are to be told; origins: by
            condition, the files and functions that ask for it, where branches are told.
    """

    def __init__(
        self, sizes: list[int], names: list[str], place: Callable[[], str],
        ours: Callable[[types.FrameType], bool],
    ) -> None:  # fmt: skip
        self.mode = PLAIN
        self.values: list[Any] = []
        self.names = names
        self.reasons: list[str] = []
        self.place = place
        self.ours = ours
        self.make: Callable[..., Any] | None = None
        self.branches: list[str] | None = None
        self.origins: dict[str, set[tuple[str, str]]] = {}
        self._known: dict[Any, Any] = {}
        self._lines: list[str] = []
        self._conditions: set[str] = set()
        self._fixed: set[int] = set()
        self.avals: dict[Any, Any] = {}
        self.described: set[int] = set()  # the ids of these
        self._derive: Callable[..., Any] | None = None
        self.sizes = [self._new(n, f"s{i}", None) for i, n in enumerate(sizes)]

    # --- numbers ----------------------------------------------------------------------------------

    def _new(self, value: Any, text: str, terms: Any) -> Any:
        if len(self._lines) > _MOST_LINES:
            raise OverflowError("a call computes too much with sizes")
        place = len(self.values)
        kind = Ratio if isinstance(value, float) else Count
        if kind is Count and terms is None:
            terms = {(place,): 1}
        made = kind(self, place, value, terms)
        self.values.append(value)
        self._lines.append(f"v{place} = {text}")
        if kind is Count:
            self._known[_key(terms)] = made
        return made

    def definition(self, place: int) -> str:
        """What gives the number at this place: an expression of others, ``v0``, ``v1``, ..."""
        start = f"v{place} = "
        return next(line for line in self._lines if line.startswith(start)).removeprefix(start)

    def _polynomial(self, terms: dict[Any, int]) -> Any:
        """The number with these terms; a plain one where no size is left in it."""
        terms = {atoms: factor for atoms, factor in terms.items() if factor}
        if not terms:
            return 0
        if len(terms) == 1 and () in terms:
            return terms[()]
        found = self._known.get(_key(terms))
        if found is None:
            parts = ["*".join([str(f), *[f"v{a}" for a in atoms]]) for atoms, f in terms.items()]
            value = sum(f * _product(self.values, atoms) for atoms, f in terms.items())
            found = self._new(value, " + ".join(parts), terms)
        return found

    def apply(self, text: str, function: Callable[[Any, Any], Any], a: Any, b: Any) -> Any:
        """``a`` and ``b`` combined by an operator."""
        if _is_whole(a) and _is_whole(b):
            found = self._combined(text, a, b)
            if found is not None:
                return found
        key = (text, name_of(a), name_of(b))
        found = self._known.get(key)
        if found is None:
            if text in ("/", "//", "%") and type(b) in KINDS:
                self.compare("!=", operator.ne, b, 0)
            value = function(plain(a), plain(b))
            if type(value) not in (int, float):
                return function(fixed(a), fixed(b))
            if text in ("**", "<<") or (isinstance(value, int) and not _is_whole(a)):
                # its type, or whether it can be computed at all, hangs on the numbers
                return function(fixed(a), fixed(b))
            found = self._known[key] = self._new(value, f"{name_of(a)} {text} {name_of(b)}", None)
        return found

    def _combined(self, text: str, a: Any, b: Any) -> Any:
        p, q = _terms(a), _terms(b)
        if text in "+-":
            sign = 1 if text == "+" else -1
            made = dict(p)
            for atoms, factor in q.items():
                made[atoms] = made.get(atoms, 0) + sign * factor
            return self._polynomial(made)
        if text == "*":
            made = {}
            for left, m in p.items():
                for right, n in q.items():
                    atoms = tuple(sorted(left + right))
                    made[atoms] = made.get(atoms, 0) + m * n
            return self._polynomial(made)
        if text == "**" and isinstance(b, int) and type(b) is int and 0 <= b <= 8:
            result: Any = 1
            for _ in range(b):
                result = a * result
            return result
        if text in ("//", "%"):
            quotient = _divided(p, q)
            if quotient is not None:
                if type(b) is Count:
                    self.compare("!=", operator.ne, b, 0)
                return 0 if text == "%" else self._polynomial(quotient)
        return None

    def rounded(self, name: str, function: Callable[[Any], int], number: Amount) -> Any:
        """The whole number next to a float."""
        key = (name, number.place)
        found = self._known.get(key)
        if found is None:
            text = f"{name}(v{number.place})"
            found = self._known[key] = self._new(function(number.value), text, None)
        return found

    # --- conditions -------------------------------------------------------------------------------

    def compare(self, text: str, function: Callable[[Any, Any], bool], a: Any, b: Any) -> bool:
        """Whether ``a < b`` (``==``, ...): a condition, unless it is so for all sizes."""
        holds = function(plain(a), plain(b))
        if _is_whole(a) and _is_whole(b):
            difference = dict(_terms(a))
            for atoms, factor in _terms(b).items():
                difference[atoms] = difference.get(atoms, 0) - factor
            if _certain(text, difference, len(self.sizes)):
                return holds
            a, b = _sides(difference, self)
        if self.branches is not None:
            self._note_branch(text, a, b, holds)
        self._demand(f"{name_of(a)} {text} {name_of(b)}", holds)
        return holds

    def _note_branch(self, text: str, a: Any, b: Any, holds: bool) -> None:
        """Write down where a comparison is made; all of it, where that is the user's own code."""
        frame: types.FrameType | None = sys._getframe(2)
        while frame is not None and frame.f_code.co_filename == __file__:
            frame = frame.f_back
        if frame is None or self.branches is None:
            return
        origin = (frame.f_code.co_filename, frame.f_code.co_name)
        self.origins.setdefault(f"{name_of(a)} {text} {name_of(b)}", set()).add(origin)
        if self.ours(frame):
            return
        said = f"{self.shown(a)} {text} {self.shown(b)} is {holds} at {self.place()}"
        if said not in self.branches:
            self.branches.append(said)

    def shown(self, number: Any) -> str:
        """A number as a text: a polynomial of the sizes' names."""
        parts = []
        for atoms, factor in _terms(number).items():
            names = [self.names[a] if a < len(self.names) else f"v{a}" for a in atoms]
            parts.append("*".join([*([] if factor == 1 and names else [str(factor)]), *names]))
        return " + ".join(parts)

    def _demand(self, condition: str, holds: bool) -> None:
        if condition not in self._conditions:
            self._conditions.add(condition)
            self._lines.append(f"if {'not ' if holds else ''}({condition}): return None")

    def fix(self, number: Amount) -> None:
        """Let all that follows hold for this value of the number only."""
        if number.place in self._fixed:
            return
        self._fixed.add(number.place)
        reason = f"a size is used as the number {number.value} at {self.place()}"
        if reason not in self.reasons and len(self.reasons) < 64:
            self.reasons.append(reason)
        self._demand(f"v{number.place} == {number.value!r}", True)

    def fix_hidden(self, value: Any, depth: int = 4) -> None:
        """Fix the numbers that a function or an object carries."""
        if type(value) in KINDS:
            value.fixed()
        elif depth and isinstance(value, (tuple, list, set, frozenset)):
            for each in value:
                self.fix_hidden(each, depth)
        elif depth and isinstance(value, dict):
            self.fix_hidden((*value.keys(), *value.values()), depth)
        elif isinstance(value, functools.partial):
            self.fix_hidden((value.func, value.args, value.keywords), depth)
        elif isinstance(value, types.MethodType):
            self.fix_hidden((value.__func__, value.__self__), depth)
        elif isinstance(value, types.FunctionType) and depth:
            for cell in value.__closure__ or ():
                try:
                    self.fix_hidden(cell.cell_contents, depth - 1)
                except ValueError:  # an empty cell
                    continue
            self.fix_hidden((value.__defaults__, value.__kwdefaults__), depth - 1)
        elif depth and hasattr(value, "__dict__") and not isinstance(value, type):
            self.fix_hidden(tuple(vars(value).values()), depth - 1)

    def conditions(self) -> list[tuple[str, bool]]:
        """What the capture relies on: comparisons of two numbers, and whether they hold."""
        found = []
        for line in self._lines:
            if line.startswith("if "):
                text = line.removeprefix("if ").removesuffix(": return None")
                found.append((text.removeprefix("not ")[1:-1], text.startswith("not ")))
        return found

    # --- other sizes ------------------------------------------------------------------------------

    def derived(self, sizes: list[int]) -> Any:
        """All numbers for other sizes; None where a condition does not hold."""
        if self._derive is None:
            names = [f"s{i}" for i in range(len(self.sizes))]
            count = len(self.values)
            lines = [f"if {n} < 2: return None" for n in names] + self._lines
            lines.append(f"return ({', '.join(f'v{i}' for i in range(count))},)")
            text = f"def derive({', '.join(names)}):\n    " + "\n    ".join(lines)
            scope: dict[str, Any] = {"floor": math.floor, "ceil": math.ceil}
            exec(builtins.compile(text, "<sizes>", "exec"), scope)
            self._derive = scope["derive"]
        try:
            return self._derive(*sizes)
        except ArithmeticError:
            return None


def fixed(value: Any) -> Any:
    """A plain number of an Amount, which is fixed; other values as they are."""
    return value.fixed() if type(value) in KINDS else value


def _is_whole(value: Any) -> bool:
    return type(value) in (int, Count)


def name_of(value: Any) -> Any:
    if type(value) in KINDS:
        return f"v{value.place}"
    if isinstance(value, float) and not math.isfinite(value):
        return f"float('{value}')"
    return f"({value!r})"


def _key(terms: dict[Any, int]) -> Any:
    return frozenset(terms.items())


def _terms(value: Any) -> dict[Any, int]:
    return value.terms if type(value) is Count else {(): value}


def _product(values: list[Any], atoms: Any) -> Any:
    result = 1
    for atom in atoms:
        result *= values[atom]
    return result


def _divided(p: dict[Any, int], q: dict[Any, int]) -> dict[Any, int] | None:
    """The quotient by a single term, where it goes without a rest."""
    if len(q) != 1:
        return {(): 1} if p == q else None
    (atoms, factor), = q.items()
    if not factor:
        return None
    made = {}
    for term, n in p.items():
        rest = list(term)
        for atom in atoms:
            if atom not in rest:
                return None
            rest.remove(atom)
        if n % factor:
            return None
        made[tuple(rest)] = n // factor
    return made


def _sides(terms: dict[Any, int], sizes: Sizes) -> tuple[Any, Any]:
    """The two sides of a comparison of a difference with 0, no factor negative."""
    left = sizes._polynomial({a: f for a, f in terms.items() if f > 0})
    right = sizes._polynomial({a: -f for a, f in terms.items() if f < 0})
    return left, right


def _certain(text: str, terms: dict[Any, int], count: int) -> bool:
    """Whether a comparison with 0 has one answer for all sizes, which are 2 or more."""
    if not any(factor for atoms, factor in terms.items() if atoms):
        return True
    for sign in (1, -1):
        least = 0
        for atoms, factor in terms.items():
            if not atoms:
                least += sign * factor
            elif sign * factor < 0 or any(a >= count for a in atoms):
                break
            else:
                least += sign * factor * 2 ** len(atoms)
        else:
            if least > 0:
                return True
            if least == 0 and text == (">=" if sign > 0 else "<="):
                return True
            if least == 0 and text == ("<" if sign > 0 else ">"):
                return True
    return False


# the sizes of captures under way, the innermost last
open_sizes: list[Sizes] = []


def has_amounts(*values: Any) -> bool:
    """Whether there is an Amount in shapes, descriptions and numbers."""
    for value in values:
        if type(value) in KINDS:
            return True
        if isinstance(value, tuple) and has_amounts(*value):
            return True
        if hasattr(value, "strides") and has_amounts(value.shape, value.strides):
            return True
    return False


def made_anew(described: Any, function: Callable[..., Any], *arguments: Any) -> Any:
    """The tensor whose array ``function(*arguments)`` gives, if a capture is to make it anew for
    other sizes; None where nothing hangs on sizes."""
    if not open_sizes:
        return None
    sizes = open_sizes[-1]
    if sizes.mode != NOTES or sizes.make is None or not has_amounts(described, arguments):
        return None
    return sizes.make(described, function, arguments)
