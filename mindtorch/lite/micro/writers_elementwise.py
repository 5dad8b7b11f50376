"""Ops that compute each element from the elements at the same place, as one C loop each."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mindtorch.engine import dtypes
from mindtorch.engine.ops import activations, elementwise
from mindtorch.exporting.elementwise import ELEMENTWISE
from mindtorch.exporting.errors import UnsupportedOperatorError

from .buffers import View, ctype_of
from .writer import Writer, function, literal, writes

# --- functions of one element ---------------------------------------------------------------------

RELU = function("""
static float relu(float x)
{
    return x < 0.0f ? 0.0f : x; /* NaN stays NaN */
}
""")
SIGMOID = function("""
static float sigmoid(float x)
{
    return 1.0f / (1.0f + expf(-x));
}
""")
SOFTPLUS = function("""
static float softplus(float x)
{
    return (x > 0.0f ? x : 0.0f) + log1pf(expf(-fabsf(x)));
}
""")
GELU = function("""
static float gelu(float x)
{
    return 0.5f * x * (1.0f + erff(x * 0.707106781f));
}
""")
GELU_TANH = function("""
static float gelu_tanh(float x)
{
    return 0.5f * x * (1.0f + tanhf(0.797884561f * (x + 0.044715f * x * x * x)));
}
""")
HARD_SWISH = function("""
static float hard_swish(float x)
{
    const float gate = x + 3.0f;
    return x * (gate < 0.0f ? 0.0f : gate > 6.0f ? 6.0f : gate) / 6.0f;
}
""")
HARD_SIGMOID = function("""
static float hard_sigmoid(float x)
{
    const float gate = x + 3.0f;
    return (gate < 0.0f ? 0.0f : gate > 6.0f ? 6.0f : gate) / 6.0f;
}
""")
FLOOR_MODULO = function("""
static int32_t floor_modulo(int32_t x, int32_t y)
{
    const int32_t rest = x % y;
    return (rest != 0 && (rest < 0) != (y < 0)) ? rest + y : rest;
}
""")
SILU_GRADIENT = function("""
static float silu_gradient(float g, float x)
{
    const float s = sigmoid(x);
    return g * s * (1.0f + x * (1.0f - s));
}
""")
GELU_GRADIENT = function("""
static float gelu_gradient(float g, float x)
{
    const float cdf = 0.5f * (1.0f + erff(x * 0.707106781f));
    return g * (cdf + x * expf(-0.5f * x * x) * 0.39894228f);
}
""")
GELU_TANH_GRADIENT = function("""
static float gelu_tanh_gradient(float g, float x)
{
    const float t = tanhf(0.797884561f * (x + 0.044715f * x * x * x));
    const float slope = 0.797884561f * (1.0f + 0.134145f * x * x);
    return g * (0.5f * (1.0f + t) + 0.5f * x * (1.0f - t * t) * slope);
}
""")


class Elements:
    """The body of a loop under way, in the words of :mod:`mindtorch.exporting.elementwise`: each
    method appends the definition of a variable and gives its name."""

    def __init__(self, writer: Writer, node: Any) -> None:
        self.writer, self.node = writer, node
        self.views: list[View] = []
        self.lines: list[str] = []
        self.types: dict[str, Any] = {}

    def define(self, dtype: Any, text: str) -> str:
        """A variable of a type."""
        name = f"t{len(self.lines)}"
        self.lines.append(f"const {ctype_of(dtype)} {name} = {text};")
        self.types[name] = dtype
        return name

    def scalar(self, number: Any, dtype: Any) -> str:
        text = literal(number, ctype_of(dtype))
        self.types[text] = dtype
        return text

    def typed(self, value: Any, dtype: Any) -> str:
        known = self.writer.known(value)
        if known is not None and known.size == 1:
            return self.scalar(known.reshape(()).item(), dtype)
        self.views.append(self.writer.of(value))
        place = f"<{len(self.views) - 1}>"
        held = value.aval.dtype
        if held is dtype:
            return self.define(dtype, place)
        return self.cast(self.define(held, place), held, dtype)

    def of(self, value: Any) -> str:
        return self.typed(value, value.aval.dtype)

    def cast(self, name: str, held: Any, dtype: Any) -> str:
        ctype = ctype_of(dtype)
        if held is dtype:
            return name
        if ctype == ctype_of(held):
            self.types[name] = dtype
            return name
        if dtype is dtypes.bool_:
            return self.define(dtype, f"{name} != {literal(0, ctype_of(held))}")
        return self.define(dtype, f"({ctype}){name}")

    def has_gelu(self) -> bool:
        return True

    def Where(self, condition: str, x: str, y: str) -> str:  # noqa: N802  # ONNX's name
        return self.define(self.types[x], f"{condition} ? {x} : {y}")

    def Mod(self, x: str, y: str, fmod: int = 0) -> str:  # noqa: N802
        dtype = self.types[x]
        if dtype is dtypes.float32:
            return self.define(dtype, f"fmodf({x}, {y})")
        if fmod:
            return self.define(dtype, f"{x} % {y}")
        return self.define(dtype, f"{self.writer.program.use(FLOOR_MODULO)}({x}, {y})")

    def Gelu(self, x: str, approximate: str = "none") -> str:  # noqa: N802
        name = GELU_TANH if approximate == "tanh" else GELU
        return self.define(dtypes.float32, f"{self.writer.program.use(name)}({x})")

    def HardSigmoid(self, x: str, alpha: float, beta: float) -> str:  # noqa: N802
        return self.define(dtypes.float32, f"{self.writer.program.use(HARD_SIGMOID)}({x})")

    def __getattr__(self, operator: str) -> Callable[..., str]:
        if operator not in _FORMULAS:
            if operator[:1].isupper():
                raise UnsupportedOperatorError(f"{operator} has no C formula here")
            raise AttributeError(operator)
        formula, result = _FORMULAS[operator]

        def write(*names: str) -> str:
            dtype = self.types[names[0]]
            if result == "float" and dtype is not dtypes.float32:
                raise UnsupportedOperatorError(f"{operator} of {dtype.name}")
            for used in (RELU, SIGMOID, SOFTPLUS, HARD_SWISH):
                if formula.startswith(f"{used}("):
                    self.writer.program.use(used)
            made = dtypes.bool_ if result == "bool" else dtype
            zero = literal(0, ctype_of(dtype))
            return self.define(made, formula.format(*names, zero=zero, ctype=ctype_of(dtype)))

        return write

    def finish(self, result: str) -> View:
        """Write the loop; where its results lie."""
        target = self.writer.made(self.node.outputs[0])

        def body(y: str, *elements: str) -> str:
            lines, own = [*self.lines, f"{y} = {result};"], f" {result} = "
            if self.lines and own in self.lines[-1]:
                lines = [*self.lines[:-1], f"{y} = {self.lines[-1].split(own, 1)[1]}"]
            for i, element in enumerate(elements):
                lines = [line.replace(f"<{i}>", element) for line in lines]
            return "\n".join(lines)

        in_place = [
            (target.buffer, v.buffer) for v in self.views
            if v.buffer.text is None and all(
                other.is_whole and other.shape == target.shape
                for other in self.views if other.buffer is v.buffer
            )
        ]  # fmt: skip
        self.writer.loop(target, self.views, body, in_place)
        return target


# by ONNX's operator: the C expression, and of which type it and its operands are
_FORMULAS = {
    "Add": ("{0} + {1}", "same"), "Sub": ("{0} - {1}", "same"), "Mul": ("{0} * {1}", "same"),
    "Div": ("{0} / {1}", "same"), "Neg": ("-{0}", "same"),
    "Max": ("({0} > {1} || {0} != {0}) ? {0} : {1}", "same"),
    "Min": ("({0} < {1} || {0} != {0}) ? {0} : {1}", "same"),
    "Abs": ("{0} < {zero} ? -{0} : {0}", "same"),
    "Sign": ("({ctype})(({0} > {zero}) - ({0} < {zero}))", "same"),
    "Relu": ("relu({0})", "float"), "Sigmoid": ("sigmoid({0})", "float"),
    "Softplus": ("softplus({0})", "float"), "HardSwish": ("hard_swish({0})", "float"),
    "Mish": ("{0} * tanhf((({0} > 0.0f) ? {0} : 0.0f) + log1pf(expf(-fabsf({0}))))", "float"),
    "Reciprocal": ("1.0f / {0}", "float"), "Exp": ("expf({0})", "float"),
    "Log": ("logf({0})", "float"), "Sqrt": ("sqrtf({0})", "float"), "Tanh": ("tanhf({0})", "float"),
    "Erf": ("erff({0})", "float"), "Floor": ("floorf({0})", "float"),
    "Ceil": ("ceilf({0})", "float"), "Round": ("nearbyintf({0})", "float"),
    "Sin": ("sinf({0})", "float"), "Cos": ("cosf({0})", "float"), "Tan": ("tanf({0})", "float"),
    "Asin": ("asinf({0})", "float"), "Acos": ("acosf({0})", "float"),
    "Atan": ("atanf({0})", "float"), "Sinh": ("sinhf({0})", "float"),
    "Cosh": ("coshf({0})", "float"), "Asinh": ("asinhf({0})", "float"),
    "Acosh": ("acoshf({0})", "float"), "Atanh": ("atanhf({0})", "float"),
    "Pow": ("powf({0}, {1})", "float"),
    "Equal": ("{0} == {1}", "bool"), "Less": ("{0} < {1}", "bool"),
    "LessOrEqual": ("{0} <= {1}", "bool"), "Greater": ("{0} > {1}", "bool"),
    "GreaterOrEqual": ("{0} >= {1}", "bool"), "Not": ("!{0}", "bool"),
    "And": ("{0} && {1}", "bool"), "Or": ("{0} || {1}", "bool"), "Xor": ("{0} != {1}", "bool"),
    "IsNaN": ("{0} != {0}", "bool"), "IsInf": ("isinf({0}) != 0", "bool"),
}  # fmt: skip


def _write(rule: Any, w: Writer, node: Any) -> View:
    elements = Elements(w, node)
    return elements.finish(rule(elements, node))


for _op, _rule in ELEMENTWISE.items():
    writes(_op)(functools.partial(_write, _rule))


# --- derivatives ----------------------------------------------------------------------------------


def _gradient(op: Any, text: str, *uses: str) -> None:
    """The C expression of an op whose operands are all float."""

    def write(w: Writer, node: Any) -> View:
        for name in uses:
            w.program.use(name)
        elements = Elements(w, node)
        given = [elements.typed(v, dtypes.float32) for v in node.inputs]
        return elements.finish(elements.define(dtypes.float32, text.format(*given)))

    writes(op)(write)


_gradient(activations.threshold_gradient, "{1} <= {2} ? 0.0f : {0}")
_gradient(elementwise.sigmoid_gradient, "{0} * (1.0f - {1}) * {1}")
_gradient(elementwise.tanh_gradient, "{0} * (1.0f - {1} * {1})")
_gradient(activations.silu_gradient, "silu_gradient({0}, {1})", SILU_GRADIENT)
_gradient(activations.gelu_gradient, "gelu_gradient({0}, {1})", GELU_GRADIENT)
_gradient(activations.gelu_tanh_gradient, "gelu_tanh_gradient({0}, {1})", GELU_TANH_GRADIENT)
_gradient(activations.leaky_relu_gradient, "{1} > 0.0f ? {0} : {0} * {2}")
_gradient(activations.hardtanh_gradient, "{1} > {2} && {1} < {3} ? {0} : 0.0f")
_gradient(activations.hardsigmoid_gradient,
          "{1} > -3.0f && {1} < 3.0f ? {0} * 0.166666672f : 0.0f")
_gradient(activations.hardswish_gradient,
          "{1} <= -3.0f ? 0.0f : {1} >= 3.0f ? {0} : {0} * ({1} / 3.0f + 0.5f)")
_gradient(activations.elu_gradient,
          "{1} > 0.0f ? {0} * {3} : {0} * {4} * {2} * {3} * expf({1} * {4})")
_gradient(activations.softplus_gradient,
          "{1} * {2} > {3} ? {0} : {0} * sigmoid({1} * {2})", SIGMOID)
