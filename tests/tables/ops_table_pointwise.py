"""Rows of the elementwise ops."""

from __future__ import annotations

from typing import Any

from tests.tables.ops_table import (
    ALL,
    FLOATS,
    INTEGERS,
    NUMBERS,
    Row,
    binary,
    call,
    layouts,
    numbers,
    pairs,
    unary,
)


def _nn(name: str, *arguments: Any) -> Any:
    return lambda t, x: getattr(t.nn.functional, name)(x, *arguments)


def _activation(ops: str, name: str, *arguments: Any, **options: Any) -> Row:
    label = name + "".join(f"_{a}" for a in arguments)
    return Row(ops, _nn(name, *arguments), layouts(), label=label, **options)


ROWS: list[Row] = [
    # arithmetic
    binary("add", dtypes=ALL),
    call("add_scaled", lambda t, x, y: t.add(x, y, alpha=2), *pairs(), label="add_alpha",
         dtypes=NUMBERS),
    binary("subtract", "sub", dtypes=NUMBERS),
    binary("multiply", "mul", dtypes=ALL),
    binary("divide", "div", ("real", "above_one"), dtypes=NUMBERS),
    binary("floor_divide", "floor_divide", ("real", "above_one"), gradient=False, second=False,
           dtypes=NUMBERS),
    call("trunc_divide", lambda t, x, y: t.div(x, y, rounding_mode="trunc"),
         *pairs("real", "above_one"), dtypes=NUMBERS, label="div_trunc"),
    call("floor_divide", lambda t, x, y: t.div(x, y, rounding_mode="floor"),
         *pairs("real", "above_one"), dtypes=NUMBERS, label="div_floor"),
    binary("remainder", "remainder", ("real", "above_one"), dtypes=NUMBERS),
    binary("fmod", "fmod", ("real", "above_one"), dtypes=NUMBERS),
    binary("power", "pow", ("positive", "real"), tolerance=64),
    *[call({2: "power_two", 3: "power_three", 0.5: "power_half", -0.5: "power_minus_half",
            -1: "power_minus_one", -2: "power_minus_two"}.get(n, "power"),
           lambda t, x, n=n: t.pow(x, n), *layouts("positive"), label=f"pow_{n}", tolerance=32)
      for n in (2, 3, 0.5, -0.5, -1, -2, 0, 2.5)],
    # torch gives these two results in C order whatever the input's layout; ours keep it
    call("power", lambda t, x: t.pow(2.0, x), *layouts(), label="pow_of_number", strides=False),
    binary("maximum", dtypes=ALL),
    binary("minimum", dtypes=ALL),
    call("maximum", lambda t, x: t.maximum(x, x.detach()), *layouts(), label="maximum_ties"),
    binary("fmax", dtypes=NUMBERS),
    binary("fmin", dtypes=NUMBERS),
    binary("hypot"),
    binary("atan2", tolerance=32),
    binary("copysign"),
    binary("nextafter", second=False),
    call("clamp", lambda t, x: t.clamp(x, -0.5, 1.0), *layouts(), dtypes=FLOATS),
    call("clamp", lambda t, x: t.clamp(x, 0, 2), *layouts(), dtypes=NUMBERS, label="clamp_int"),
    call("clamp_min", lambda t, x: t.clamp(x, min=0), *layouts(), dtypes=NUMBERS),
    call("clamp_max", lambda t, x: t.clamp(x, max=0.5), *layouts()),
    call("clamp_min", lambda t, x, y: t.clamp(x, min=y), *pairs(), label="clamp_min_tensor"),
    call("clamp_max", lambda t, x, y: t.clamp(x, max=y), *pairs(), label="clamp_max_tensor"),
    call("clamp", lambda t, x, y: t.clamp(x, y, y + 1), *pairs(), label="clamp_tensors"),
    call("lerp", lambda t, x, y: t.lerp(x, y, 0.3), *pairs()),
    call("lerp", lambda t, x, y: t.lerp(x, y, x), *pairs()[:3], label="lerp_tensor"),
    call("addcmul", lambda t, x, y: t.addcmul(x, y, x, value=0.5), *pairs()),
    call("add_scaled", lambda t, x, y: t.add(x, y, alpha=0.3), *pairs()),
    call("subtract_scaled", lambda t, x, y: t.sub(x, y, alpha=0.3), *pairs()),
    call("addcdiv", lambda t, x, y: t.addcdiv(x, x, y, value=0.5), *pairs("real", "above_one")),
    unary("negative", "neg", dtypes=NUMBERS),
    unary("absolute", "abs", dtypes=NUMBERS),
    unary("sign", dtypes=ALL),
    unary("sgn", dtypes=NUMBERS),
    unary("square", dtypes=NUMBERS),
    # comparison and logic
    *[binary(op, dtypes=ALL, gradient=False, second=False)
      for op in ("eq", "ne", "lt", "le", "gt", "ge", "logical_and", "logical_or", "logical_xor")],
    unary("logical_not", dtypes=ALL, gradient=False, second=False),
    *[unary(op, dtypes=ALL, gradient=False, second=False)
      for op in ("isnan", "isinf", "isfinite", "signbit")],
    *[binary(op, dtypes=(*INTEGERS, "bool"), gradient=False, second=False)
      for op in ("bitwise_and", "bitwise_or", "bitwise_xor")],
    unary("bitwise_not", dtypes=(*INTEGERS, "bool"), gradient=False, second=False),
    *[binary(op, dtypes=INTEGERS, gradient=False, second=False) for op in ("gcd", "lcm")],
    call("left_shift", lambda t, x, y: t.bitwise_left_shift(x, y.abs()), *pairs(),
         dtypes=("int64", "int32"), gradient=False, second=False),
    call("right_shift", lambda t, x, y: t.bitwise_right_shift(x, y.abs()), *pairs(),
         dtypes=("int64", "int32"), gradient=False, second=False),
    call("where", lambda t, x, y: t.where(x > y, x, y), *pairs(), dtypes=ALL),
    call("where", lambda t, x, y: t.where(x > y, x, 0.0), *pairs(), label="where_number"),
    # functions
    *[unary(op, domain="positive") for op in ("sqrt", "rsqrt", "log", "log2", "log10", "log1p")],
    *[unary(op) for op in ("exp", "exp2", "expm1", "sin", "cos", "tan", "atan", "sinh", "cosh",
                           "asinh", "reciprocal", "frac")],
    unary("tanh tanh_gradient", "tanh"),
    unary("sigmoid sigmoid_gradient", "sigmoid"),
    *[unary(op, domain="unit", tolerance=32) for op in ("asin", "acos", "atanh")],
    unary("acosh", domain="above_one", tolerance=64),
    *[unary(op, dtypes=NUMBERS) for op in ("floor", "ceil", "round", "trunc")],
    call("round", lambda t, x: t.round(x, decimals=1), *layouts(), label="round_decimals"),
    *[unary(op, tolerance=32) for op in ("erf", "erfc")],
    unary("erfinv", domain="unit", tolerance=64),
    unary("lgamma digamma", "lgamma", domain="positive", tolerance=64,
          second_tolerance=2.0**22),
    # torch's own trigamma is only good to 1e-9 in double precision
    unary("digamma trigamma", "digamma", domain="positive", tolerance=2.0**22,
          dtypes=("float64",)),
    call("trigamma zeta", lambda t, x: t.polygamma(1, x), *layouts("positive"),
         tolerance=2.0**22, dtypes=("float64",)),
    unary("i0 i1", "i0", tolerance=256),
    unary("sinc", tolerance=64),
    binary("xlogy", "xlogy", ("real", "positive")),
    call("xlog1py", lambda t, x, y: t.special.xlog1py(x, y), *pairs("real", "positive")),
    binary("logaddexp"),
    binary("logaddexp2"),
    binary("heaviside", gradient=False, second=False),
    call("nan_to_num", lambda t, x: t.nan_to_num(x / (x - x), 1.0, 2.0, 3.0), *layouts(),
         gradient=False, second=False),
    unary("logit", domain="probability", tolerance=64),
    call("logit clamp", lambda t, x: t.logit(x, 0.3), *layouts("probability"), label="logit_eps",
         tolerance=64),
    # torch's second derivative adds 1e-12 to x and to 1 - x
    call("binary_cross_entropy",
         lambda t, x, y: t.nn.functional.binary_cross_entropy(x, y, reduction="none"),
         (numbers(3, 4, domain="probability"), numbers(3, 4, domain="probability", seed=2)),
         (numbers(5, 6, domain="probability").T, numbers(6, 5, domain="probability", seed=2)),
         tolerance=64, second_tolerance=2.0**19),
    unary("deg2rad"),
    unary("rad2deg"),
    # activations
    unary("relu threshold_gradient", "relu", dtypes=FLOATS),
    _activation("silu silu_gradient", "silu"),
    _activation("gelu gelu_gradient", "gelu", tolerance=64),
    call("gelu_tanh gelu_tanh_gradient",
         lambda t, x: t.nn.functional.gelu(x, approximate="tanh"), *layouts(), tolerance=64),
    _activation("mish mish_gradient", "mish", tolerance=64),
    _activation("softplus softplus_gradient", "softplus"),
    _activation("softplus softplus_gradient", "softplus", 2.0, 3.0),
    _activation("log_sigmoid log_sigmoid_gradient", "logsigmoid", strides=False),
    _activation("divide", "softsign"),
    _activation("subtract", "tanhshrink", tolerance=64),
    _activation("leaky_relu leaky_relu_gradient", "leaky_relu", 0.2),
    _activation("elu elu_gradient", "elu", 0.7),
    _activation("elu elu_gradient", "selu"),
    # a power of two: torch rounds 1 / alpha to float32 in the derivative
    _activation("elu elu_gradient", "celu", 0.5),
    _activation("hardtanh hardtanh_gradient", "hardtanh"),
    _activation("hardtanh hardtanh_gradient", "relu6"),
    # torch multiplies by a float32 sixth, and has no second derivative
    _activation("hardsigmoid hardsigmoid_gradient", "hardsigmoid", second=False,
                gradient_dtypes=("float32",)),
    _activation("hardswish hardswish_gradient", "hardswish"),
    _activation("hardshrink shrink_gradient", "hardshrink"),
    _activation("softshrink shrink_gradient", "softshrink"),
    _activation("threshold", "threshold", 0.3, 5.0),
    call("fake_quantize fake_quantize_gradient",
         lambda t, x: t.fake_quantize_per_tensor_affine(x, 0.25, 1, -4, 5), *layouts(),
         label="fake_quantize", second=False),
    call("fake_quantize fake_quantize_gradient",
         lambda t, x: t.fake_quantize_per_channel_affine(
             x, t.tensor([0.1, 0.25, 0.5]), t.tensor([0, 1, -2], dtype=t.int32), 0, -4, 5),
         (numbers(3, 4),), label="fake_quantize_channels", second=False),
    call("prelu", lambda t, x, w: t.nn.functional.prelu(x, w),
         (numbers(3, 4), numbers(4, seed=3)), (numbers(3, 4), numbers(1, seed=3))),
]  # fmt: skip
