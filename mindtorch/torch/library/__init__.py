"""torch.library: operators declared by users, called as `torch.ops.namespace.name`.

An operator has a schema, a kernel for each device, and a gradient formula. What a dispatcher in C++
would do with further keys (batching, functionalisation) is not done, and registering for such a key
says so.
"""

from __future__ import annotations

import inspect
import sys
import types
import typing
import warnings
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from mindtorch.engine.devices.device import Device
from mindtorch.engine.dtypes import DType
from mindtorch.torch._compat.missing_names import give_reasons as _give_reasons

from .._tensor.tensor import Tensor
from ._custom_operators import AUTOCAST_KEYS, Operator, operator_named, parse_schema

__all__ = [
    "CustomOpDef",
    "Library",
    "custom_op",
    "define",
    "fallthrough_kernel",
    "get_ctx",
    "impl",
    "impl_abstract",
    "infer_schema",
    "register_autocast",
    "register_autograd",
    "register_fake",
    "register_kernel",
    "register_torch_dispatch",
    "register_vmap",
    "triton_op",
    "wrap_triton",
]

_DEVICE_KEYS = {"cpu": "CPU", "cuda": "CUDA"}
_KEYS = {
    "CPU", "CUDA", "CompositeExplicitAutograd", "CompositeImplicitAutograd", "Autograd",
    *AUTOCAST_KEYS.values(),
}  # fmt: skip
_SYNONYMS = {
    "": "CompositeImplicitAutograd",
    "AutogradCPU": "Autograd",
    "AutogradCUDA": "Autograd",
    "default": "CompositeExplicitAutograd",
}

_blocks: dict[str, str] = {}


def _caller() -> str:
    """File and line of the code that called into this module."""
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return f"{frame.f_code.co_filename}:{frame.f_lineno}"


def fallthrough_kernel() -> None:
    """Stands for no kernel at all; it is never called.

    Raises:
        NotImplementedError: always.
    """
    raise NotImplementedError("fallthrough_kernel() should never be called.")


class Library:
    """The operators of a namespace: DEF declares it, FRAGMENT adds to it, IMPL gives kernels.

    Args:
        ns: the namespace.
        kind: "DEF" (once for a namespace), "FRAGMENT" or "IMPL".
        dispatch_key: which kernels `impl` gives where it is told no key.
    """

    def __init__(self, ns: str, kind: str, dispatch_key: str = "") -> None:
        if kind not in ("IMPL", "DEF", "FRAGMENT"):
            raise ValueError(f"Unsupported kind: {kind}")
        if kind == "DEF":
            here = _caller()
            if ns in _blocks:
                raise RuntimeError(
                    f"Only a single TORCH_LIBRARY can be used to register the namespace {ns}; "
                    "please put all of your definitions in a single TORCH_LIBRARY block.  If you "
                    "were trying to specify implementations, consider using TORCH_LIBRARY_IMPL "
                    "(which can be duplicated).  If you really intended to define operators for a "
                    "single namespace in a distributed way, you can use TORCH_LIBRARY_FRAGMENT to "
                    "explicitly indicate this.  Previous registration of TORCH_LIBRARY was "
                    f"registered at {_blocks[ns]}; latest registration was registered at {here}"
                )
            _blocks[ns] = here
        self.ns = ns
        self.kind = kind
        self.dispatch_key = dispatch_key
        self._undo: list[Callable[[], object]] = []

    def __repr__(self) -> str:
        return f"Library(kind={self.kind}, ns={self.ns}, dispatch_key={self.dispatch_key})>"

    def define(self, schema: str, alias_analysis: str = "", *, tags: Any = ()) -> str:
        """Declare an operator by its schema; returns its name.

        `alias_analysis` and `tags` inform compilers of torch's: here neither changes anything.
        """
        if alias_analysis not in ("", "FROM_SCHEMA", "CONSERVATIVE"):
            raise RuntimeError(f"Invalid alias_analysis type {alias_analysis}")
        parsed = parse_schema(schema, self.ns)
        operator = operator_named(parsed.name)
        here = _caller()
        if operator.schema is not None:
            raise RuntimeError(
                f"Tried to register an operator ({parsed}) with the same name and overload name "
                "multiple times. Each overload's schema should only be registered with a single "
                f"call to def(). Duplicate registration: registered at {here}. "
                f"Original registration: registered at {operator.origin}"
            )
        operator.schema, operator.origin = parsed, here
        self._undo.append(lambda: setattr(operator, "schema", None))
        return parsed.name.partition("::")[2]

    def impl(
        self,
        op_name: Any,
        fn: Callable[..., Any],
        dispatch_key: str = "",
        *,
        with_keyset: bool = False,
        allow_override: bool = False,
    ) -> None:
        """Give a kernel for a device ("CPU", "CUDA"), for all ("CompositeExplicitAutograd"), for
        all and made of differentiable functions ("CompositeImplicitAutograd"), "Autograd", or what
        casts and calls again within an autocast block ("AutocastCPU" and so on).

        Raises:
            NotImplementedError: another dispatch key, or `with_keyset`.
            RuntimeError: there is a kernel for that key already.
        """
        if not callable(fn):
            raise TypeError(
                f"Input function is required to be a callable but found type {type(fn)}"
            )
        if with_keyset:
            raise NotImplementedError("Library.impl: there are no dispatch key sets in mindtorch")
        name = op_name if isinstance(op_name, str) else op_name.name()
        name = name if "::" in name else f"{self.ns}::{name}"
        operator = operator_named(name.partition(".")[0])
        key = dispatch_key or self.dispatch_key
        if key == "Meta":
            operator.fake = fn
            return
        if fn is not fallthrough_kernel:
            self._undo.append(_set_kernel(operator, key, fn, allow_override))

    def fallback(self, fn: Callable[..., Any], dispatch_key: str = "", **options: Any) -> None:
        """Kernels for all operators of a dispatch key do not exist here.

        Raises:
            NotImplementedError: always.
        """
        raise NotImplementedError("Library.fallback: mindtorch has no dispatcher to fall back in")

    def _destroy(self) -> None:
        """Take back what this library declared."""
        while self._undo:
            self._undo.pop()()
        if self.kind == "DEF":
            _blocks.pop(self.ns, None)


def _set_kernel(
    operator: Operator, key: str, fn: Callable[..., Any], override: bool
) -> Callable[[], object]:
    """Register a kernel; returns what takes it back."""
    known = _SYNONYMS.get(key, key)
    if known not in _KEYS:
        raise NotImplementedError(
            f"kernels for the dispatch key {key} of {operator.name} are not available in "
            f"mindtorch, only those for {', '.join(sorted(_KEYS))}"
        )
    if known in operator.kernels and not override:
        raise RuntimeError(
            f"This is not allowed since there's already a kernel registered from python "
            f"overriding {operator.name.partition('::')[2]}'s behavior for {key} dispatch key and "
            f"{operator.name.partition('::')[0]} namespace."
        )
    operator.kernels[known] = fn
    return lambda: operator.kernels.pop(known, None)


def define(qualname: str, schema: str, *, lib: Library | None = None, tags: Any = ()) -> None:
    """Declare the operator `qualname` ("namespace::name") with a schema "(Tensor x) -> Tensor".

    Args:
        lib: the library that owns it; None for none.
        tags: of no effect.
    """
    namespace, name = operator_named(qualname).name.split("::")
    library = lib or Library(namespace, "FRAGMENT")
    library.define(f"{name}{schema}", tags=tags)


def _devices(types_: str | Sequence[str] | None) -> list[str]:
    if types_ is None:
        return ["default"]
    names = [types_] if isinstance(types_, str) else list(types_)
    for name in names:
        if name not in _DEVICE_KEYS and name not in _KEYS and name != "default":
            raise ValueError(f"mindtorch has no kernels for {name!r}, only for cpu and cuda")
    return [_DEVICE_KEYS.get(name, name) for name in names]


def _decorated(
    func: Callable[..., Any] | None, register: Callable[[Callable[..., Any]], None]
) -> Any:
    """Register `func` now, or whatever is decorated."""

    def decorate(each: Callable[..., Any]) -> Callable[..., Any]:
        register(each)
        return each

    return decorate if func is None else decorate(func)


def impl(
    qualname: str,
    types: str | Sequence[str],
    func: Callable[..., Any] | None = None,
    *,
    lib: Library | None = None,
) -> Any:
    """Give the kernel of an operator for device types ("cpu", "cuda", "default").

    Args:
        qualname: "namespace::name".
        func: the kernel; None where it is decorated.
        lib: the library that owns it; None for none.
    """
    operator, keys = operator_named(qualname), _devices(types)

    def register(each: Callable[..., Any]) -> None:
        for key in keys:
            _set_kernel(operator, key, each, override=False)

    return _decorated(func, register)


def _name_of(op: Any) -> str:
    if isinstance(op, CustomOpDef):
        return op._qualname
    if isinstance(op, str):
        return op
    return str(op.name())


def register_kernel(
    op: Any,
    device_types: str | Sequence[str] | None,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
) -> Any:
    """Give the kernel of an operator for device types; None for all.

    Args:
        op: "namespace::name".
        device_types: such as "cpu".
        func: the kernel; None where it is decorated.
        lib: the library that owns it; None for none.
    """
    operator, keys = operator_named(_name_of(op)), _devices(device_types)

    def register(each: Callable[..., Any]) -> None:
        for key in keys:
            _set_kernel(operator, key, each, override=True)

    return _decorated(func, register)


def register_fake(
    op: Any,
    func: Callable[..., Any] | None = None,
    /,
    *,
    lib: Library | None = None,
    _stacklevel: int = 1,
    allow_override: bool = False,
) -> Any:
    """Give the shape rule of an operator, which serves tensors on the device "meta".

    Unlike torch's, the operator may be declared later: a package that lists shape rules for an
    extension that cannot be loaded is no worse for it.

    Args:
        op: "namespace::name".
        func: the rule; None where it is decorated.
        lib: the library that owns it; None for none.
        allow_override: replace one that is there.
    """
    operator = operator_named(_name_of(op))
    return _decorated(func, lambda each: setattr(operator, "fake", each))


def impl_abstract(
    qualname: str, func: Callable[..., Any] | None = None, *, lib: Library | None = None,
    _stacklevel: int = 1,
) -> Any:  # fmt: skip
    """The older name of :func:`register_fake`.

    Args:
        qualname: the operator's, with its namespace.
        func: the rule; None: a decorator of it is returned.
        lib: the library whose end removes the rule.
    """
    warnings.warn(
        "torch.library.impl_abstract was renamed to torch.library.register_fake. Please use that "
        "instead; we will remove torch.library.impl_abstract in a future version of PyTorch.",
        DeprecationWarning,
        stacklevel=2,
    )
    return register_fake(qualname, func, lib=lib)


def register_autograd(
    op: Any,
    backward: Callable[..., Any],
    /,
    *,
    setup_context: Callable[..., Any] | None = None,
    lib: Library | None = None,
) -> None:
    """Give the gradient of an operator.

    Args:
        backward: `backward(ctx, *gradients of the outputs)`, returns the inputs' gradients.
        setup_context: `setup_context(ctx, inputs, output)` keeps what backward needs.
        op: "namespace::name".
        lib: the library that owns it; None for none.
    """
    operator = operator_named(_name_of(op))
    operator.backward, operator.setup_context = backward, setup_context


def _unavailable(name: str, why: str) -> Callable[..., Any]:
    def raises(*args: Any, **kwargs: Any) -> Any:
        raise NotImplementedError(f"torch.library.{name} is not available in mindtorch: {why}")

    raises.__name__ = raises.__qualname__ = name
    raises.__doc__ = f"Not available: {why}.\n\n    Raises:\n        NotImplementedError: always."
    return raises


register_autocast = _unavailable("register_autocast", "cast inside the operator")
register_torch_dispatch = _unavailable("register_torch_dispatch", "there is no torch dispatch")
register_vmap = _unavailable("register_vmap", "write the operator in torch's functions")
triton_op = _unavailable("triton_op", "there is no Triton")
wrap_triton = _unavailable("wrap_triton", "there is no Triton")
get_ctx = _unavailable("get_ctx", "shapes that depend on data are not traced")


# -- schemas from annotations ----------------------------------------------------------------------


def _schema_types() -> dict[Any, str]:
    return {
        Tensor: "Tensor",
        int: "SymInt",
        float: "float",
        bool: "bool",
        str: "str",
        DType: "ScalarType",
        Device: "Device",
        typing.Union[int, float, bool]: "Scalar",  # noqa: UP007 (as torch spells it)
        int | float | bool: "Scalar",
    }


def _schema_type(annotation: Any) -> str | None:
    """The schema's word for an annotation; None where there is none."""
    words = _schema_types()
    if annotation in words:
        return words[annotation]
    origin, args = typing.get_origin(annotation), typing.get_args(annotation)
    if origin in (typing.Union, types.UnionType) and len(args) == 2 and type(None) in args:
        inner = _schema_type(next(each for each in args if each is not type(None)))
        return f"{inner}?" if inner else None
    is_sequence = origin is not None and origin is not tuple and issubclass(origin, Iterable)
    if is_sequence and len(args) == 1:
        inner = _schema_type(args[0])
        return f"{inner}[]" if inner else None
    return None


def _schema_default(value: Any) -> str:
    if isinstance(value, str):
        return f'"{value}"'
    return str(value).removeprefix("torch.")


def _schema_returns(annotation: Any) -> str | None:
    if annotation is None or annotation is type(None):
        return "()"
    if typing.get_origin(annotation) is tuple:
        parts = [_schema_type(each) for each in typing.get_args(annotation)]
        return None if None in parts else f"({', '.join(str(part) for part in parts)})"
    return _schema_type(annotation)


def infer_schema(
    prototype_function: Callable[..., Any],
    /,
    *,
    mutates_args: str | Iterable[str],
    op_name: str | None = None,
    tags: Any = None,
) -> str:
    """The schema of a function, from its annotations. `tags` are no part of it.

    Args:
        mutates_args: names of the tensors written to; "unknown" for all of them.
        prototype_function: annotated.
        op_name: the schema's name; None for none.

    Raises:
        ValueError: an annotation is missing, or has no place in a schema.
    """
    signature = inspect.signature(prototype_function)
    hints = typing.get_type_hints(prototype_function)
    tail = f" Got func with signature {signature})"
    parts, keyword_only, mutable = [], False, 0
    for name, parameter in signature.parameters.items():
        if parameter.kind is parameter.KEYWORD_ONLY and not keyword_only:
            keyword_only = True
            parts.append("*")
        if parameter.annotation is parameter.empty:
            raise ValueError(
                f"infer_schema(func): Parameter {name} must have a type annotation.{tail}"
            )
        word = _schema_type(hints[name])
        if word is None:
            raise ValueError(
                f"infer_schema(func): Parameter {name} has unsupported type "
                f"{parameter.annotation}.{tail}"
            )
        written = mutates_args == "unknown" or name in mutates_args
        if written and word.startswith("Tensor"):
            word = word.replace("Tensor", f"Tensor(a{mutable}!)", 1)
            mutable += 1
        empty = parameter.default is parameter.empty
        default = "" if empty else f"={_schema_default(parameter.default)}"
        parts.append(f"{word} {name}{default}")
    returns = _schema_returns(hints.get("return", signature.return_annotation))
    if returns is None:
        raise ValueError(
            f"infer_schema(func): Return has unsupported type {signature.return_annotation}.{tail}"
        )
    return f"{op_name or ''}({', '.join(parts)}) -> {returns}"


class CustomOpDef:
    """An operator made of a Python function; callable, and as `torch.ops.namespace.name`.

    Args:
        qualname: "namespace::name".
        schema: its arguments and results.
        fn: the function.
    """

    def __init__(self, qualname: str, schema: str, fn: Callable[..., Any] | None) -> None:
        namespace, self._name = operator_named(qualname).name.split("::")
        self._qualname = qualname
        self._lib = Library(namespace, "FRAGMENT")
        self._lib.define(f"{self._name}{schema}")
        self._operator = operator_named(qualname)
        self._operator.opaque = True
        self._init_fn = fn

    def register_kernel(
        self,
        device_types: str | Sequence[str] | None,
        fn: Callable[..., Any] | None = None,
        /,
    ) -> Any:
        """Give the kernel for device types."""
        return register_kernel(self, device_types, fn)

    def register_fake(self, fn: Callable[..., Any], /) -> Any:
        """Give the shape rule."""
        return register_fake(self, fn)

    def register_autograd(
        self,
        backward: Callable[..., Any],
        /,
        *,
        setup_context: Callable[..., Any] | None = None,
    ) -> None:
        """Give the gradient: see `torch.library.register_autograd`."""
        register_autograd(self, backward, setup_context=setup_context)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self._operator(*args, **kwargs)

    def __repr__(self) -> str:
        return f"<CustomOpDef({self._qualname})>"


def custom_op(
    name: str,
    fn: Callable[..., Any] | None = None,
    /,
    *,
    mutates_args: str | Iterable[str],
    device_types: str | Sequence[str] | None = None,
    schema: str | None = None,
    tags: Any = None,
) -> Any:
    """Make an operator of a Python function that autograd does not look into.

    Args:
        name: "namespace::name".
        mutates_args: names of the arguments the function writes to.
        device_types: the devices it is for; None for all.
        schema: in place of the annotations.
        fn: the function; None where it is decorated.
        tags: of no effect.

    Returns:
        A `CustomOpDef`, or a decorator that makes one.
    """

    def make(each: Callable[..., Any]) -> CustomOpDef:
        written = schema or infer_schema(each, mutates_args=mutates_args)
        definition = CustomOpDef(name, written, each)
        register_kernel(definition, device_types, each)
        return definition

    return make if fn is None else make(fn)


_give_reasons(globals())
