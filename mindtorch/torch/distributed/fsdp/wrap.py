"""Which modules :class:`FullyShardedDataParallel` wraps by themselves."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator, Iterable
from typing import Any

from ...nn.modules.container import ModuleDict, ModuleList
from ...nn.modules.module import Module
from ...nn.modules.transformer import MultiheadAttention

__all__ = [
    "CustomPolicy", "ModuleWrapPolicy", "always_wrap_policy", "enable_wrap",
    "lambda_auto_wrap_policy", "size_based_auto_wrap_policy", "transformer_auto_wrap_policy",
    "wrap",
]  # fmt: skip

Wrapper = Callable[..., Any]


def always_wrap_policy(*args: Any, **kwargs: Any) -> bool:
    """True: every module."""
    return True


def lambda_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, lambda_fn: Callable[[Any], bool]
) -> bool:
    """Modules for which ``lambda_fn(module)``."""
    return True if recurse else lambda_fn(module)


def transformer_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, transformer_layer_cls: set[type]
) -> bool:
    """Modules of the classes of a transformer's layers."""
    return True if recurse else isinstance(module, tuple(transformer_layer_cls))


def size_based_auto_wrap_policy(
    module: Any, recurse: bool, nonwrapped_numel: int, min_num_params: int = int(1e8),
    force_leaf_modules: set[type] | None = None,
    exclude_wrap_modules: set[type] | None = None,
) -> bool:  # fmt: skip
    """Modules with at least ``min_num_params`` elements in parameters that are in no wrapped one.

    Args:
        recurse: whether the question is if to look into the module.
        nonwrapped_numel: those elements.
        force_leaf_modules: classes whose inner modules are not wrapped.
        exclude_wrap_modules: classes that are not wrapped themselves.
    """
    leaves: Any = (MultiheadAttention,) if force_leaf_modules is None else force_leaf_modules
    excluded: Any = (ModuleList, ModuleDict) if exclude_wrap_modules is None else (
        exclude_wrap_modules
    )
    large = nonwrapped_numel >= min_num_params
    if recurse:
        return large and not isinstance(module, tuple(leaves))
    return large and not isinstance(module, tuple(excluded))


size_based_auto_wrap_policy.EXCLUDE_WRAP_MODULES = {ModuleList, ModuleDict}  # type: ignore[attr-defined]
size_based_auto_wrap_policy.FORCE_LEAF_MODULES = {MultiheadAttention}  # type: ignore[attr-defined]


class ModuleWrapPolicy:
    """Modules of some classes, and the root.

    Args:
        module_classes: the classes.
    """

    def __init__(self, module_classes: Iterable[type]) -> None:
        self._module_classes = set(module_classes)
        self._module_classes_str = str(self._module_classes)

    def __call__(self, module: Any, recurse: bool, *args: Any, **kwargs: Any) -> bool:
        return recurse or isinstance(module, tuple(self._module_classes))

    def arguments_for(self, module: Any) -> dict[str, Any] | None:
        """Arguments of its own for a module that is wrapped; None for one that is not."""
        return {} if isinstance(module, tuple(self._module_classes)) else None

    def __repr__(self) -> str:
        return f"{super().__repr__()}({self._module_classes_str})"


class CustomPolicy:
    """Modules for which a function says so.

    Args:
        lambda_fn: of a module: True, False, or arguments for the wrapper in place of the root's.
    """

    def __init__(self, lambda_fn: Callable[[Any], bool | dict[str, Any]]) -> None:
        self._lambda_fn = lambda_fn

    def arguments_for(self, module: Any) -> dict[str, Any] | None:
        """Arguments of its own for a module that is wrapped; None for one that is not."""
        found = self._lambda_fn(module)
        if not isinstance(found, (dict, bool)):
            raise ValueError(
                "The lambda_fn passed to CustomPolicy should return False/True or a kwarg dict, "
                f"but it returned {found}"
            )
        if isinstance(found, bool):
            return {} if found else None
        return found


def wrap_inside(root: Any, policy: Any, wrapper: Wrapper, ignored: set[int]) -> None:
    """Replace the modules in ``root``, inner ones first, that a policy names by wrapped ones.

    Args:
        wrapper: of (module, **arguments of its own).
        ignored: ids of modules that are left alone, with all inside them.
    """
    if hasattr(policy, "arguments_for"):
        chosen = {
            id(m): policy.arguments_for(m)
            for m in root.modules() if m is not root and id(m) not in ignored
        }  # fmt: skip
        _replace(root, chosen, wrapper, set())
    else:
        _visit(root, policy, wrapper, ignored, top=True)


def _replace(module: Any, chosen: dict[int, Any], wrapper: Wrapper, seen: set[int]) -> None:
    if id(module) in seen:
        return
    seen.add(id(module))
    for name, child in list(module.named_children()):
        _replace(child, chosen, wrapper, seen)
        arguments = chosen.get(id(child))
        if arguments is not None:
            setattr(module, name, wrapper(child, **arguments))


def _visit(
    module: Any, policy: Any, wrapper: Wrapper, ignored: set[int], top: bool = False
) -> tuple[Any, int]:
    """The module, wrapped where the policy says so, and how many elements are wrapped in it."""
    size = sum(p.numel() for p in module.parameters())
    if not policy(module=module, recurse=True, nonwrapped_numel=size):
        return module, 0
    inside = 0
    for name, child in list(module.named_children()):
        if id(child) in ignored:
            continue
        made, count = _visit(child, policy, wrapper, ignored)
        if made is not child:
            setattr(module, name, made)
        inside += count
    if not top and policy(module=module, recurse=False, nonwrapped_numel=size - inside):
        return wrapper(module), size
    return module, inside


class _Enabled:
    wrapper: Wrapper | None = None
    arguments: dict[str, Any]


@contextlib.contextmanager
def enable_wrap(*, wrapper_cls: Any, **wrapper_kwargs: Any) -> Generator[None, None, None]:
    """A block in which :func:`wrap` wraps.

    Args:
        wrapper_cls: the wrapper.
        **wrapper_kwargs: its arguments.
    """
    before = _Enabled.wrapper, getattr(_Enabled, "arguments", {})
    _Enabled.wrapper, _Enabled.arguments = wrapper_cls, wrapper_kwargs
    try:
        yield
    finally:
        _Enabled.wrapper, _Enabled.arguments = before


def wrap(module: Module, **wrap_overrides: Any) -> Any:
    """``module`` in the wrapper of the :func:`enable_wrap` block around; else ``module``."""
    if _Enabled.wrapper is None:
        return module
    return _Enabled.wrapper(module, **{**_Enabled.arguments, **wrap_overrides})
