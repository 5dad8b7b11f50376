"""TorchScript's types as values: ``torch.ListType(torch.IntType.get())``.

Programs that write or read signatures of scripts build and print them. A type has two texts: that
of annotations (`List[int]`) and that of schemas (`int[]`).
"""

from __future__ import annotations

from typing import Any, ClassVar

from .unsupported_names import no_constructor

__all__ = ["TYPES", "Type", "unify_type_list"]


def _incompatible(where: str, form: str, args: tuple[Any, ...]) -> TypeError:
    given = ", ".join(map(repr, args))
    kind = "constructor" if where == "__init__" else "function"
    return TypeError(
        f"{where}(): incompatible {kind} arguments. The following argument types are supported:\n"
        f"    1. {form}\n\nInvoked with: {given}"
    )


class Type:
    """A type. Two are equal if they have the same text.

    Attributes:
        annotation_str: its text in annotations.
    """

    _shown: ClassVar[str] = ""  # in annotations and in schemas
    _schema: ClassVar[str] = ""
    _above: ClassVar[tuple[str, ...]] = ()  # what it is a subtype of, besides itself and Any
    _only: ClassVar[dict[str, Type]] = {}

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        raise no_constructor(type(self).__name__)

    @classmethod
    def _get(cls) -> Any:
        """The only object of a class of types without others inside."""
        if cls.__name__ not in cls._only:
            cls._only[cls.__name__] = cls.__new__(cls)
        return cls._only[cls.__name__]

    @property
    def annotation_str(self) -> str:
        return self._shown

    def str(self) -> str:
        """The text in schemas."""
        return self._schema or self._shown

    def kind(self) -> Any:
        """The name of its class."""
        return type(self).__name__

    def containedTypes(self) -> list[Type]:  # noqa: N802
        """The types inside."""
        return []

    def is_interface_type(self) -> bool:
        """Whether it is an interface of scripts; there are none here."""
        return False

    def isSubtypeOf(self, other: Type) -> bool:  # noqa: N802
        """Whether a value of this type is one of ``other``."""
        name = other.kind()
        if name == "AnyType" or self == other or name in self._above:
            return True
        return any(map(self.isSubtypeOf, other._choices()))

    def _choices(self) -> list[Type]:
        """The types, one of which a value is of."""
        return []

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Type):
            raise _incompatible("__eq__", "(self: torch._C.Type, arg0: torch._C.Type) -> bool",
                                (self, other))
        return self.annotation_str == other.annotation_str and self.kind() == other.kind()

    def __hash__(self) -> int:
        return hash((self.kind(), self.annotation_str))

    def __repr__(self) -> Any:
        return self.annotation_str


class _Compound(Type):
    """A type with others inside, which the constructor takes.

    Attributes:
        _texts: how annotations and schemas have the types inside, between commas.
        _grows: a value of a subtype inside is one of this type.
    """

    _texts: ClassVar[tuple[str, str]]
    _grows: ClassVar[bool] = False
    _arguments: ClassVar[int] = 1

    def __init__(self, *args: Any) -> None:
        if len(args) != self._arguments or not all(isinstance(each, Type) for each in args):
            name = type(self).__name__
            forms = ", ".join(f"arg{n}: torch._C.Type" for n in range(self._arguments))
            raise _incompatible("__init__", f"torch._C.{name}({forms})", args)
        self._inside = list(args)

    @property
    def annotation_str(self) -> str:
        return self._texts[0].format(", ".join(each.annotation_str for each in self._inside))

    def str(self) -> Any:
        return self._texts[1].format(", ".join(each.str() for each in self._inside))

    def containedTypes(self) -> list[Type]:  # noqa: N802
        return list(self._inside)

    def isSubtypeOf(self, other: Type) -> bool:  # noqa: N802
        if self._grows and other.kind() == self.kind():
            theirs = other.containedTypes()
            if len(theirs) == len(self._inside) and all(
                mine.isSubtypeOf(each) for mine, each in zip(self._inside, theirs, strict=True)
            ):
                return True
        return super().isSubtypeOf(other)


class _OfOne(_Compound):
    def getElementType(self) -> Type:  # noqa: N802
        """The type inside."""
        return self._inside[0]


class ListType(_OfOne):
    """``List[...]``."""

    _texts = "List[{}]", "{}[]"


class OptionalType(_OfOne):
    """``Optional[...]``."""

    _texts = "Optional[{}]", "{}?"

    @staticmethod
    def ofTensor() -> OptionalType:  # noqa: N802
        """That of a tensor."""
        return OptionalType(TYPES["TensorType"]._get())

    def _choices(self) -> list[Type]:
        return [self._inside[0], TYPES["NoneType"]._get()]

    def isSubtypeOf(self, other: Type) -> bool:  # noqa: N802
        choices = other._choices()
        every = [any(map(mine.isSubtypeOf, choices)) for mine in self._choices()]
        return other.kind() == "AnyType" or all(every)


class FutureType(_OfOne):
    """``Future[...]``."""

    _texts, _grows = ("Future[{}]", "Future[{}]"), True


class AwaitType(_OfOne):
    """``Await[...]``."""

    _texts, _grows = ("Await[{}]", "Await({})"), True


class RRefType(_OfOne):
    """``RRef[...]``."""

    _texts, _grows = ("RRef[{}]", "RRef[{}]"), True


class DictType(_Compound):
    """``Dict[..., ...]``."""

    _texts, _arguments = ("Dict[{}]", "Dict({})"), 2

    def getKeyType(self) -> Type:  # noqa: N802
        """The type of the keys."""
        return self._inside[0]

    def getValueType(self) -> Type:  # noqa: N802
        """The type of the values."""
        return self._inside[1]


class _OfList(_Compound):
    def __init__(self, *args: Any) -> None:
        inside = args[0] if len(args) == 1 and isinstance(args[0], (list, tuple)) else (None,)
        if not all(isinstance(each, Type) for each in inside):
            raise _incompatible("__init__", (
                f"torch._C.{type(self).__name__}(arg0: collections.abc.Sequence[torch._C.Type])"
            ), args)
        self._inside = list(inside)


class TupleType(_OfList):
    """``Tuple[...]``."""

    _texts, _grows = ("Tuple[{}]", "({})"), True

    def elements(self) -> list[Type]:
        """The types inside."""
        return list(self._inside)

    @property
    def annotation_str(self) -> str:
        return super().annotation_str if self._inside else "Tuple[()]"


class UnionType(_OfList):
    """``Union[...]``; that of a type and None is an :class:`OptionalType`."""

    _texts = "Union[{}]", "Union({})"

    def __new__(cls, *args: Any) -> Any:
        given = list(args[0]) if len(args) == 1 and isinstance(args[0], (list, tuple)) else []
        others = [each for each in given if getattr(each, "_shown", "") != "NoneType"]
        if len(given) == 2 and len(others) == 1:
            return OptionalType(others[0])
        return super().__new__(cls)

    def _choices(self) -> list[Type]:
        return list(self._inside)

    def isSubtypeOf(self, other: Type) -> bool:  # noqa: N802
        return other.kind() == "AnyType" or all(mine.isSubtypeOf(other) for mine in self._inside)


def _simple(name: str, shown: str, schema: str = "", *above: str) -> type[Type]:
    """A class of types without others inside, which has one object."""

    def get(*args: Any) -> Type:
        if args:
            raise _incompatible("get", f"() -> torch._C.{name}", args)
        found: Type = made._get()
        return found

    made: Any = type(name, (Type,), {
        "_shown": shown, "_schema": schema, "_above": above, "get": staticmethod(get),
        "__doc__": f"The type ``{shown}``.",
    })  # fmt: skip
    kind: type[Type] = made
    return kind


TYPES: dict[str, type[Any]] = {
    "Type": Type,
    **{each.__name__: each for each in (
        ListType, OptionalType, FutureType, AwaitType, RRefType, DictType, TupleType, UnionType,
    )},
    **{name: _simple(name, *texts) for name, texts in {
        "AnyType": ("Any",), "BoolType": ("bool",), "ComplexType": ("complex", "", "NumberType"),
        "DeviceObjType": ("Device",), "FloatType": ("float", "", "NumberType"),
        "IntType": ("int", "", "NumberType"), "NoneType": ("NoneType",),
        "NumberType": ("number", "Scalar"), "PyObjectType": ("PyObject",),
        "StreamObjType": ("Stream",), "StringType": ("str",), "SymBoolType": ("bool", "SymBool"),
        "SymIntType": ("int", "SymInt"), "TensorType": ("Tensor",),
    }.items()},
}  # fmt: skip
TYPES["TensorType"].getInferred = staticmethod(TYPES["TensorType"].get)
for _name, _inside in {
    "ofInts": "IntType", "ofFloats": "FloatType", "ofComplexDoubles": "ComplexType",
    "ofBools": "BoolType", "ofStrings": "StringType", "ofTensors": "TensorType",
}.items():  # fmt: skip
    setattr(ListType, _name, staticmethod(lambda kind=_inside: ListType(TYPES[kind]._get())))


def unify_type_list(types: Any) -> Type:
    """The type that all of a list are.

    Raises:
        RuntimeError: there are none, or they differ.
    """
    if not types:
        raise RuntimeError("Cannot get unified type from empty list")
    for place, each in enumerate(types):
        if each != types[0]:
            raise RuntimeError(
                f"Could not unify type list since element {place} of type {each} did not match "
                f"the types before it ({types[0]})"
            )
    found: Type = types[0]
    return found
