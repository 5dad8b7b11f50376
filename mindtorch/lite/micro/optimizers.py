"""The formulas of optimizers in C."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from mindtorch.exporting.errors import ExportError
from mindtorch.torch import optim

from .writer import function, literal

__all__ = ["Formula", "formula_of"]


@dataclass
class Formula:
    """How a parameter is changed.

    Attributes:
        function: of C: ``(p, g, *states, count, rate, steps, &options)``.
        states: the names of the optimizer's states for the parameter.
        options: the members of the function's struct ``FUNCTION_options``, from the group.
    """

    function: str
    states: tuple[str, ...]
    options: dict[str, str]


SGD = function("""
struct sgd_options { float momentum, dampening, weight_decay; int nesterov, maximize; };

/* d = g + weight_decay p; v = momentum v + (1 - dampening) d, at first d; p -= rate v, or, with
 * nesterov, rate (d + momentum v). Without momentum `v` is NULL. */
static void sgd(float *p, const float *g, float *v, int count, float rate, uint32_t steps,
                const struct sgd_options *o)
{
    for (int i = 0; i < count; ++i) {
        float d = o->maximize ? -g[i] : g[i];
        d += o->weight_decay * p[i];
        if (v != NULL) {
            v[i] = steps == 1 ? d : o->momentum * v[i] + (1.0f - o->dampening) * d;
            d = o->nesterov ? d + o->momentum * v[i] : v[i];
        }
        p[i] -= rate * d;
    }
}
""")
ADAM = function("""
struct adam_options { double beta1, beta2; float eps, weight_decay; int decoupled, maximize; };

/* m and v: running means of the gradient and of its square;
 *     p -= rate / (1 - beta1^t) * m / (sqrt(v / (1 - beta2^t)) + eps)
 * Weight decay is added to the gradient, or, decoupled, taken off p. `top` (amsgrad; else NULL) is
 * the largest v so far, used in its place. The two powers are computed in double. */
static void adam(float *p, const float *g, float *m, float *v, float *top, int count, float rate,
                 uint32_t steps, const struct adam_options *o)
{
    const float step = (float)((double)rate / (1.0 - pow(o->beta1, (double)steps)));
    const float root = (float)sqrt(1.0 - pow(o->beta2, (double)steps));
    const float take1 = (float)(1.0 - o->beta1);
    const float take2 = (float)(1.0 - o->beta2);
    const float keep2 = (float)o->beta2;
    for (int i = 0; i < count; ++i) {
        float d = o->maximize ? -g[i] : g[i];
        float square;
        if (o->decoupled) {
            p[i] *= 1.0f - rate * o->weight_decay;
        } else {
            d += o->weight_decay * p[i];
        }
        m[i] += take1 * (d - m[i]);
        v[i] = keep2 * v[i] + take2 * d * d;
        square = v[i];
        if (top != NULL) {
            top[i] = square > top[i] ? square : top[i];
            square = top[i];
        }
        p[i] -= step * (m[i] / (sqrtf(square) / root + o->eps));
    }
}
""")


def _sgd(group: dict[str, Any]) -> Formula:
    options = {name: literal(group[name], "float")
               for name in ("momentum", "dampening", "weight_decay")}  # fmt: skip
    options |= {name: str(int(group[name])) for name in ("nesterov", "maximize")}
    return Formula(SGD, ("momentum_buffer",) if group["momentum"] else (), options)


def _adam(group: dict[str, Any]) -> Formula:
    beta1, beta2 = (repr(float(beta)) for beta in group["betas"])
    states = ("exp_avg", "exp_avg_sq", *(["max_exp_avg_sq"] if group["amsgrad"] else []))
    options = {"beta1": beta1, "beta2": beta2}
    options |= {name: literal(group[name], "float") for name in ("eps", "weight_decay")}
    options |= {"decoupled": str(int(group["decoupled_weight_decay"])),
                "maximize": str(int(group["maximize"]))}  # fmt: skip
    return Formula(ADAM, states, options)


_FORMULAS: dict[type, tuple[Callable[[dict[str, Any]], Formula], int]] = {
    optim.SGD: (_sgd, 1), optim.Adam: (_adam, 3), optim.AdamW: (_adam, 3),
}  # fmt: skip


def formula_of(optimizer: Any, group: dict[str, Any]) -> tuple[Formula, int]:
    """The formula for a group of an optimizer, and how many states the C function takes.

    Raises:
        ExportError: there is none for this class.
    """
    found = _FORMULAS.get(type(optimizer))
    if found is None:
        known = ", ".join(each.__name__ for each in _FORMULAS)
        raise ExportError(f"{type(optimizer).__name__} has no C formula here; there are {known}")
    return found[0](group), found[1]
