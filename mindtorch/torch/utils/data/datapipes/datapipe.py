"""The classes of pipes: those that are iterated, and those that are indexed."""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, ClassVar, TypeVar

from mindtorch.torch._api.public_names import own_names as _own_names

from ..dataset import Dataset, IterableDataset
from ._hook_iterator import OneIterator, counted

__all__ = ["DFIterDataPipe", "DataChunk", "IterDataPipe", "MapDataPipe"]

_T = TypeVar("_T")
_T_co = TypeVar("_T_co", covariant=True)


class DataChunk(list[_T]):
    """A batch of samples.

    Args:
        items: the samples.
    """

    def __init__(self, items: Iterable[_T]) -> None:
        super().__init__(items)
        self.items = list(self)

    def as_str(self, indent: str = "") -> str:
        """The samples as text, after ``indent``."""
        return f"{indent}[{', '.join(map(str, self))}]"

    def raw_iterator(self) -> Iterator[_T]:
        """Iterates over the samples as they were given."""
        yield from self.items


class _Pipe:
    """What both kinds share: steps by name (``pipe.map(f)``), hooks of pickling, texts."""

    functions: ClassVar[dict[str, Callable[..., Any]]]
    reduce_ex_hook: ClassVar[Any] = None
    getstate_hook: ClassVar[Any] = None
    str_hook: ClassVar[Any] = None
    repr_hook: ClassVar[Any] = None
    _kind: ClassVar[Any]

    def __getattr__(self, attribute_name: str) -> Any:
        function = self._kind.functions.get(attribute_name)
        if function is None:
            raise AttributeError(
                f"'{type(self).__name__}' object has no attribute '{attribute_name}"
            )
        return functools.update_wrapper(
            functools.partial(function, self), function, assigned=("__doc__",)
        )

    @classmethod
    def register_function(cls, function_name: str, function: Any) -> None:
        """Make ``function(pipe, ...)`` the pipes' method ``function_name``."""
        cls.functions[function_name] = function

    @classmethod
    def register_datapipe_as_function(cls, function_name: str, cls_to_register: Any) -> None:
        """Make a class of pipes the method ``function_name`` of pipes.

        Raises:
            Exception: the name is taken.
        """
        if function_name in cls.functions:
            raise Exception(
                f"Unable to add DataPipe function name {function_name} as it is already taken"
            )

        def made(source_dp: Any, *args: Any, **kwargs: Any) -> Any:
            return cls_to_register(source_dp, *args, **kwargs)

        cls.functions[function_name] = functools.update_wrapper(
            functools.partial(made), cls_to_register, assigned=("__doc__",)
        )

    def __getstate__(self) -> Any:
        return self._hooked(self.__dict__)

    def _hooked(self, state: Any) -> Any:
        hook = self._kind.getstate_hook
        return state if hook is None else hook(state)

    def __reduce_ex__(self, protocol: Any) -> Any:
        hook = self._kind.reduce_ex_hook
        if hook is not None:
            try:
                return hook(self)
            except NotImplementedError:
                """The hook leaves this pipe to pickle."""
        return super().__reduce_ex__(protocol)

    @classmethod
    def set_getstate_hook(cls, hook_fn: Any) -> None:
        """What makes a pipe's state for pickle of its attributes; None takes the hook away."""
        if cls._kind.getstate_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing getstate_hook")
        cls._kind.getstate_hook = hook_fn

    @classmethod
    def set_reduce_ex_hook(cls, hook_fn: Any) -> None:
        """What pickle asks for a pipe's parts; None takes the hook away."""
        if cls._kind.reduce_ex_hook is not None and hook_fn is not None:
            raise RuntimeError("Attempt to override existing reduce_ex_hook")
        cls._kind.reduce_ex_hook = hook_fn

    def __repr__(self) -> str:
        hook = self.repr_hook
        return type(self).__qualname__ if hook is None else hook(self)

    def __str__(self) -> str:
        hook = self.str_hook
        return type(self).__qualname__ if hook is None else hook(self)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.functions]

    def _unknown_length(self) -> TypeError:
        return TypeError(f"{type(self).__name__} instance doesn't have valid length")

    def _length_of(self, pipe: Any) -> int:
        """The length of a pipe that this one reads.

        Raises:
            TypeError: it has none.
        """
        if not hasattr(type(pipe), "__len__"):
            raise self._unknown_length()
        return len(pipe)


class IterDataPipe(_Pipe, OneIterator, IterableDataset[_T_co]):
    """A stream of samples, made by a step from other pipes.

    Subclasses define ``__iter__``, and ``reset()`` where they hold samples. One iterator is valid
    at a time: a new one ends those before. ``functional_datapipe`` gives a class a short name.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}

    def __init_subclass__(cls, **kwargs: Any) -> None:
        super().__init_subclass__(**kwargs)
        if "__iter__" in cls.__dict__:
            cls.__iter__ = counted(cls.__dict__["__iter__"])  # type: ignore[method-assign]

    def __iter__(self) -> Iterator[_T_co]:
        return self


class DFIterDataPipe(IterDataPipe[Any]):
    """A pipe of data frames."""

    def _is_dfpipe(self) -> bool:
        return True


class MapDataPipe(_Pipe, Dataset[_T_co]):
    """Samples by key, made by a step from other pipes.

    Subclasses define ``__getitem__``, and ``__len__`` for most samplers.
    """

    functions: ClassVar[dict[str, Callable[..., Any]]] = {}


IterDataPipe.__iter__ = counted(IterDataPipe.__iter__)  # type: ignore[method-assign]
IterDataPipe._kind = IterDataPipe
MapDataPipe._kind = MapDataPipe

_own_names(globals())
