"""L-BFGS: Newton steps with the curvature of the last steps in place of the Hessian."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.autograd.grad_mode import enable_grad, no_grad

from ._line_search import strong_wolfe
from ._parameterwise import check_rate
from .optimizer import Optimizer, to_scalar


def _real(x: Any) -> Any:
    """A complex tensor as its real and imaginary parts."""
    return torch.view_as_real(x) if x.is_complex() else x


class LBFGS(Optimizer):
    """Each step runs up to ``max_iter`` iterations; the closure computes the loss and gradients.

    Args:
        params: tensors; one group only.
        lr: the step length, or with a line search its first guess.
        max_iter, max_eval: limits of iterations and of evaluations in a step.
        tolerance_grad, tolerance_change: stop when the largest gradient, or the change of the
            parameters or the loss, is no more.
        history_size: how many past steps to keep.
        line_search_fn: None or "strong_wolfe".
    """

    def __init__(
        self,
        params: Any,
        lr: Any = 1,
        max_iter: int = 20,
        max_eval: int | None = None,
        tolerance_grad: float = 1e-7,
        tolerance_change: float = 1e-9,
        history_size: int = 100,
        line_search_fn: str | None = None,
    ) -> None:
        check_rate(lr)
        super().__init__(params, {
            "lr": lr, "max_iter": max_iter,
            "max_eval": max_iter * 5 // 4 if max_eval is None else max_eval,
            "tolerance_grad": tolerance_grad, "tolerance_change": tolerance_change,
            "history_size": history_size, "line_search_fn": line_search_fn,
        })  # fmt: skip
        if len(self.param_groups) != 1:
            raise ValueError("LBFGS doesn't support per-parameter options (parameter groups)")
        self._params = self.param_groups[0]["params"]

    def _gradient(self) -> Any:
        """All gradients as one vector of real numbers, zeros where there is none."""
        return torch.cat(
            [
                _real(
                    torch.zeros(p.numel(), dtype=p.dtype) if p._grad is None
                    else p._grad.to_dense() if p._grad._sparse else p._grad
                ).reshape(-1)
                for p in self._params
            ],
            0,
        )

    def _move(self, length: Any, direction: Any) -> None:
        start = 0
        for p in map(_real, self._params):
            part = direction[start : start + p.numel()].view(p.shape)
            p.add_(part, alpha=to_scalar(length))
            start += p.numel()

    @no_grad()
    def step(self, closure: Any) -> Any:
        """Minimise for up to ``max_iter`` iterations; returns the first loss."""

        def evaluate() -> Any:
            with enable_grad():
                return closure()

        group = self.param_groups[0]
        state = self.state[self._params[0]]
        state.setdefault("func_evals", 0)
        state.setdefault("n_iter", 0)
        first_loss = evaluate()
        loss = float(first_loss)
        state["func_evals"] += 1
        gradient = self._gradient()
        if gradient.abs().max() <= group["tolerance_grad"]:
            return first_loss
        self._iterate(evaluate, state, group, loss, gradient)
        # torch's order of the entries.
        for key in ("d", "t", "old_dirs", "old_stps", "ro", "H_diag", "prev_flat_grad",
                    "prev_loss"):  # fmt: skip
            state[key] = state.pop(key, None)
        return first_loss

    def _iterate(
        self, evaluate: Any, state: dict[str, Any], group: dict[str, Any], loss: float,
        gradient: Any,
    ) -> None:  # fmt: skip
        """Iterate until a limit or a tolerance of the group is reached."""
        evaluations = 1
        for iteration in range(1, group["max_iter"] + 1):
            state["n_iter"] += 1
            direction = self._direction(state, gradient, group)
            before = loss
            length = group["lr"]
            if state["n_iter"] == 1:
                length = min(1.0, 1.0 / gradient.abs().sum()) * length
            state["d"], state["t"], state["prev_loss"] = direction, length, before
            slope = gradient.dot(direction)
            if slope > -group["tolerance_change"]:
                break
            last = iteration == group["max_iter"]
            loss, gradient, length, used = self._advance(
                evaluate, direction, length, loss, gradient, slope, evaluations, last
            )
            state["t"] = length
            evaluations += used
            state["func_evals"] += used
            if last or evaluations >= group["max_eval"]:
                break
            if gradient.abs().max() <= group["tolerance_grad"]:
                break
            if direction.mul(length).abs().max() <= group["tolerance_change"]:
                break
            if abs(loss - before) < group["tolerance_change"]:
                break

    def _direction(self, state: dict[str, Any], gradient: Any, group: dict[str, Any]) -> Any:
        """-H g by the two-loop recursion; remembers the gradient for the next iteration."""
        if state["n_iter"] == 1:
            state.update(old_dirs=[], old_stps=[], ro=[], H_diag=1, prev_flat_grad=gradient.clone())
            return gradient.neg()
        size = group["history_size"]
        changes, steps, inverses = state["old_dirs"], state["old_stps"], state["ro"]
        change = gradient.sub(state["prev_flat_grad"])
        step = state["d"].mul(state["t"])
        curvature = change.dot(step)
        if curvature > 1e-10:
            if len(changes) == size:
                for kept in (changes, steps, inverses):
                    kept.pop(0)
            changes.append(change)
            steps.append(step)
            inverses.append(1.0 / curvature)
            state["H_diag"] = curvature / change.dot(change)
        weights = state.setdefault("al", [None] * size)
        rest = gradient.neg()
        for i in range(len(changes) - 1, -1, -1):
            weights[i] = steps[i].dot(rest) * inverses[i]
            rest.add_(changes[i], alpha=-weights[i].item())
        result = rest * state["H_diag"]
        for i in range(len(changes)):
            back = changes[i].dot(result) * inverses[i]
            result.add_(steps[i], alpha=(weights[i] - back).item())
        state["prev_flat_grad"].copy_(gradient)
        return result

    def _advance(
        self, evaluate: Any, direction: Any, length: Any, loss: float, gradient: Any, slope: Any,
        evaluations: int, last: bool,
    ) -> tuple[float, Any, Any, int]:  # fmt: skip
        """Move along the direction; loss, gradient, step length and evaluations used."""
        group = self.param_groups[0]
        if group["line_search_fn"] is None:
            self._move(length, direction)
            if last:
                return loss, gradient, length, 0
            return float(evaluate()), self._gradient(), length, 1
        if group["line_search_fn"] != "strong_wolfe":
            raise RuntimeError("only 'strong_wolfe' is supported")
        origin = [p.clone() for p in self._params]

        def at(t: Any) -> tuple[float, Any]:
            self._move(t, direction)
            value = float(evaluate())
            found = self._gradient()
            for p, old in zip(self._params, origin, strict=True):
                p.copy_(old)
            return value, found

        found, gradient, length, used = strong_wolfe(
            at, length, direction, loss, gradient, slope,
            max_trials=group["max_eval"] - evaluations,
        )  # fmt: skip
        self._move(length, direction)
        return found, gradient, length, used
