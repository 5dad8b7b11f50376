"""Dictionaries whose keys are held weakly and told apart by identity, as tensors have to be."""

from __future__ import annotations

import collections.abc
import weakref
from collections.abc import Iterator
from typing import Any

__all__ = [
    "TensorWeakRef", "WeakIdKeyDictionary", "WeakIdRef", "WeakTensorKeyDictionary",
    "WeakTensorRefKey",
]  # fmt: skip


class WeakIdRef(weakref.ref[Any]):
    """A weak reference that is equal to those to the same object only."""

    __slots__ = ("_id",)

    def __init__(self, key: Any, callback: Any = None) -> None:
        super().__init__(key, callback)  # type: ignore[call-arg]
        self._id = id(key)

    def __call__(self) -> Any:
        return super().__call__()

    def __hash__(self) -> int:
        return self._id

    def __eq__(self, other: object) -> bool:
        a, b = self(), other() if isinstance(other, WeakIdRef) else None
        return a is b if a is not None and b is not None else self is other


WeakTensorRefKey = WeakIdRef


class TensorWeakRef:
    """A weak reference to a tensor: a call gives the tensor, or None when it is gone."""

    def __init__(self, tensor: Any) -> None:
        self.ref = weakref.ref(tensor)

    def __call__(self) -> Any:
        return self.ref()


class WeakIdKeyDictionary(collections.abc.MutableMapping[Any, Any]):
    """A mapping that forgets a key once nobody else has it; keys are told apart by identity."""

    def __init__(self, given: Any = None, ref_type: Any = WeakIdRef) -> None:
        self.data: dict[Any, Any] = {}
        self.ref_type = ref_type
        if given is not None:
            self.update(given)

    def _forget(self, reference: Any) -> None:
        self.data.pop(reference, None)

    def __getitem__(self, key: Any) -> Any:
        return self.data[self.ref_type(key)]

    def __setitem__(self, key: Any, value: Any) -> None:
        self.data[self.ref_type(key, self._forget)] = value

    def __delitem__(self, key: Any) -> None:
        del self.data[self.ref_type(key)]

    def __contains__(self, key: object) -> bool:
        return self.ref_type(key) in self.data

    def __len__(self) -> int:
        return len(self.data)

    def __iter__(self) -> Iterator[Any]:
        for reference in list(self.data):
            key = reference()
            if key is not None:
                yield key

    def __repr__(self) -> str:
        return f"<{type(self).__name__} at {id(self):#x}>"


WeakTensorKeyDictionary = WeakIdKeyDictionary
