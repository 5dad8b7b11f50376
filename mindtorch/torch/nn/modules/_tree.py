"""Walking over a module's parameters, buffers and submodules by name."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from ..parameter import Parameter


class TreeMixin:
    """Names: a parameter ``weight`` of a submodule ``fc`` is ``fc.weight``."""

    _parameters: dict[str, Any]
    _buffers: dict[str, Any]
    _modules: dict[str, Any]

    def _named_members(
        self,
        members_of: Callable[[Any], Any],
        prefix: str = "",
        recurse: bool = True,
        remove_duplicate: bool = True,
    ) -> Iterator[tuple[str, Any]]:
        seen: set[int] = set()
        if recurse:
            modules = self.named_modules(prefix=prefix, remove_duplicate=remove_duplicate)
        else:
            modules = iter([(prefix, self)])
        for start, module in modules:
            for name, value in members_of(module):
                if value is None or id(value) in seen:
                    continue
                if remove_duplicate:
                    seen.add(id(value))
                yield (f"{start}.{name}" if start else name), value

    def parameters(self, recurse: bool = True) -> Iterator[Any]:
        """The parameters, each once, those of submodules too when ``recurse``."""
        for _, value in self.named_parameters(recurse=recurse):
            yield value

    def named_parameters(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Pairs of name and parameter."""
        return self._named_members(
            lambda module: module._parameters.items(), prefix, recurse, remove_duplicate
        )

    def buffers(self, recurse: bool = True) -> Iterator[Any]:
        """The buffers, each once."""
        for _, value in self.named_buffers(recurse=recurse):
            yield value

    def named_buffers(
        self, prefix: str = "", recurse: bool = True, remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Pairs of name and buffer."""
        return self._named_members(
            lambda module: module._buffers.items(), prefix, recurse, remove_duplicate
        )

    def children(self) -> Iterator[Any]:
        """The direct submodules, each once."""
        for _, module in self.named_children():
            yield module

    def named_children(self) -> Iterator[tuple[str, Any]]:
        """Pairs of name and direct submodule."""
        seen: set[Any] = set()
        for name, module in self._modules.items():
            if module is not None and module not in seen:
                seen.add(module)
                yield name, module

    def modules(self, remove_duplicate: bool = True) -> Iterator[Any]:
        """This module and all below it, each once."""
        for _, module in self.named_modules(remove_duplicate=remove_duplicate):
            yield module

    def named_modules(
        self, memo: set[Any] | None = None, prefix: str = "", remove_duplicate: bool = True
    ) -> Iterator[tuple[str, Any]]:
        """Pairs of name and module; this module has the name ``prefix``."""
        if memo is None:
            memo = set()
        if self in memo:
            return
        if remove_duplicate:
            memo.add(self)
        yield prefix, self
        for name, module in self._modules.items():
            if module is not None:
                below = f"{prefix}.{name}" if prefix else name
                yield from module.named_modules(memo, below, remove_duplicate)

    def get_submodule(self, target: str) -> Any:
        """The module that the dotted name ``target`` means.

        Raises:
            AttributeError: there is none.
        """
        module: Any = self
        if not target:
            return module
        walked = ""
        for name in target.split("."):
            parent = module
            walked = f"{walked}.{name}" if walked else name
            if not hasattr(parent, name):
                raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
            module = getattr(parent, name)
            if not isinstance(module, TreeMixin):
                raise AttributeError(f"`{walked}` is not an nn.Module")
        return module

    def set_submodule(self, target: str, module: Any, strict: bool = False) -> None:
        """Put ``module`` where the dotted name ``target`` says."""
        if target == "":
            raise ValueError("Cannot set the submodule without a target name!")
        if not isinstance(module, TreeMixin):
            raise ValueError(f"`module` is not an nn.Module, found {type(module)}")
        where, _, name = target.rpartition(".")
        parent = self.get_submodule(where)
        if strict and not hasattr(parent, name):
            raise AttributeError(f"{parent._get_name()} has no attribute `{name}`")
        if hasattr(parent, name) and not isinstance(getattr(parent, name), TreeMixin):
            raise AttributeError(f"`{name}` is not an nn.Module")
        setattr(parent, name, module)

    def get_parameter(self, target: str) -> Any:
        """The parameter that the dotted name ``target`` means."""
        where, _, name = target.rpartition(".")
        module = self.get_submodule(where)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        value = getattr(module, name)
        if not isinstance(value, Parameter):
            raise AttributeError(f"`{name}` is not an nn.Parameter")
        return value

    def get_buffer(self, target: str) -> Any:
        """The buffer that the dotted name ``target`` means."""
        where, _, name = target.rpartition(".")
        module = self.get_submodule(where)
        if not hasattr(module, name):
            raise AttributeError(f"{module._get_name()} has no attribute `{name}`")
        if name not in module._buffers:
            raise AttributeError(f"`{name}` is not a buffer")
        return module._buffers[name]

    def trainable_params(self, recurse: bool = True) -> list[Any]:
        """The parameters that collect gradients (MindSpore's name)."""
        return [p for p in self.parameters(recurse) if p.requires_grad]
