"""Transforms from unconstrained numbers to constrained ones, found by constraint."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import constraints, transforms
from .utils import is_number

__all__ = ["ConstraintRegistry", "biject_to", "transform_to"]


class ConstraintRegistry:
    """A function from a ``constraint`` to a transform; each class of them has a factory."""

    def __init__(self) -> None:
        self._registry: dict[type, Callable[[Any], Any]] = {}

    def register(self, constraint: Any, factory: Any = None) -> Any:
        """Set the factory of a constraint's class; without one, a decorator.

        Raises:
            TypeError: for what is no constraint.
        """
        if factory is None:
            return lambda function: self.register(constraint, function)
        kind = type(constraint) if isinstance(constraint, constraints.Constraint) else constraint
        if not isinstance(kind, type) or not issubclass(kind, constraints.Constraint):
            raise TypeError(
                "Expected constraint to be either a Constraint subclass or instance, but got "
                f"{constraint}"
            )
        self._registry[kind] = factory
        return factory

    def __call__(self, constraint: Any) -> Any:
        factory = self._registry.get(type(constraint))
        if factory is None:
            raise NotImplementedError(
                f"Cannot transform {type(constraint).__name__} constraints"
            )
        return factory(constraint)


biject_to = ConstraintRegistry()
transform_to = ConstraintRegistry()


def _to_interval(constraint: Any) -> Any:
    low, high = constraint.lower_bound, constraint.upper_bound
    if is_number(low) and is_number(high) and low == 0 and high == 1:
        return transforms.SigmoidTransform()
    return transforms.ComposeTransform([
        transforms.SigmoidTransform(), transforms.AffineTransform(low, high - low),
    ])  # fmt: skip


def _to_half_line(bound: str, scale: int) -> Callable[[Any], Any]:
    def factory(constraint: Any) -> Any:
        move = transforms.AffineTransform(getattr(constraint, bound), scale)
        return transforms.ComposeTransform([transforms.ExpTransform(), move])

    return factory


def _register() -> None:
    both = {
        constraints.real: lambda c: transforms.identity_transform,
        constraints.greater_than: _to_half_line("lower_bound", 1),
        constraints.greater_than_eq: _to_half_line("lower_bound", 1),
        constraints.less_than: _to_half_line("upper_bound", -1),
        constraints.interval: _to_interval,
        constraints.half_open_interval: _to_interval,
        constraints.corr_cholesky: lambda c: transforms.CorrCholeskyTransform(),
    }
    for constraint, factory in both.items():
        biject_to.register(constraint, factory)
        transform_to.register(constraint, factory)
    for registry in (biject_to, transform_to):
        registry.register(constraints.independent, _of_parts(
            registry, lambda r, c: transforms.IndependentTransform(
                r(c.base_constraint), c.reinterpreted_batch_ndims)))  # fmt: skip
        registry.register(constraints.cat, _of_parts(
            registry, lambda r, c: transforms.CatTransform(
                [r(part) for part in c.cseq], c.dim, c.lengths)))  # fmt: skip
        registry.register(constraints.stack, _of_parts(
            registry, lambda r, c: transforms.StackTransform(
                [r(part) for part in c.cseq], c.dim)))  # fmt: skip
    biject_to.register(constraints.simplex, lambda c: transforms.StickBreakingTransform())
    transform_to.register(constraints.simplex, lambda c: transforms.SoftmaxTransform())
    transform_to.register(
        constraints.lower_cholesky, lambda c: transforms.LowerCholeskyTransform())
    for each in (constraints.positive_definite, constraints.positive_semidefinite):
        transform_to.register(each, lambda c: transforms.PositiveDefiniteTransform())


def _of_parts(registry: ConstraintRegistry, build: Any) -> Callable[[Any], Any]:
    return lambda constraint: build(registry, constraint)


_register()
