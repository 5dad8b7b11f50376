"""Passes run one after another."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mindtorch.torch.nn.modules.module import Module

from .pass_base import PassResult

__all__ = ["PassManager"]


class PassManager:
    """Runs passes in their order, again while they change something.

    Args:
        passes: functions from a module to a `PassResult`.
        constraints: ``constraint(a, b)`` is False where a pass `a` may not come before `b`.
        steps: how often the list is run at most.
        run_checks_after_each_pass: whether the checks are made after each pass, not at the end.
        suppress_check_failures: whether passes that break the constraints are run all the same.
    """

    def __init__(
        self, passes: list[Callable[[Any], Any]] | None = None,
        constraints: list[Callable[[Any, Any], bool]] | None = None, steps: int | None = None,
        run_checks_after_each_pass: bool = False, suppress_check_failures: bool = False,
    ) -> None:  # fmt: skip
        self.passes = list(passes or ())
        self.constraints = list(constraints or ())
        self.steps = steps or 1
        self.run_checks_after_each_pass = run_checks_after_each_pass
        self.suppress_check_failures = suppress_check_failures
        self._checks: list[Callable[[Any], Any]] = []

    def add_pass(self, _pass: Callable[[Any], Any]) -> None:
        """Add a pass at the end."""
        self.passes.append(_pass)

    def add_constraint(self, constraint: Callable[[Any, Any], bool]) -> None:
        """Add a rule for the order of two passes."""
        self.constraints.append(constraint)

    def add_checks(self, check: Callable[[Any], Any]) -> None:
        """Add a function that raises where a module is not as it should be."""
        self._checks.append(check)

    def validate_constraints(self) -> None:
        """Raise where two passes stand in an order that a rule forbids.

        Raises:
            RuntimeError: they do.
        """
        if self.suppress_check_failures:
            return
        for rule in self.constraints:
            for i, first in enumerate(self.passes):
                for second in self.passes[i + 1 :]:
                    if not rule(first, second):
                        raise RuntimeError(
                            f"pass schedule constraint violated. Expected {first} before {second}"
                        )

    def __call__(self, module: Module) -> PassResult:
        self.validate_constraints()
        modified = False
        result: Any = PassResult(module, False)  # type: ignore[arg-type]
        for _ in range(self.steps):
            changed = False
            for each in self.passes:
                made = each(module)
                if not isinstance(made, PassResult):
                    raise TypeError(f"The result of the pass {each} should be type PassResult.")
                module, changed = made.graph_module, changed or made.modified
                if self.run_checks_after_each_pass:
                    self._run_checks(module)
            modified = modified or changed
            result = PassResult(module, modified)  # type: ignore[arg-type]
            if not changed:
                break
        self._run_checks(module)
        final: PassResult = result
        return final

    def _run_checks(self, module: Module) -> None:
        for check in self._checks:
            check(module)
