"""Functions that draw random numbers, in torch's order and with torch's numbers."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from mindtorch.engine import dtypes
from mindtorch.engine.autograd import inplace, tape
from mindtorch.engine.aval import Aval, aval, broadcast_shapes, dense_like
from mindtorch.engine.counted_values import loops as counting
from mindtorch.engine.dispatch import state
from mindtorch.engine.dtype_support import refuse, refuse_kinds
from mindtorch.engine.ops import comparison as comparisons
from mindtorch.engine.ops import elementwise
from mindtorch.engine.random.number_types import DIGITS
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.engine.tensor import constant
from mindtorch.engine.transforms.vmap import draw, redraw

from .._api.arguments import as_device, as_dtype, as_int, as_shape, check_sizes, check_value
from .._api.out_rules import Out
from .._api.out_variants import prepare_out, require_dtype, store_out
from .._api.publish import function
from .._api.warn_caller import warn_caller
from .._tensor.generator import default_generator
from .._tensor.size_and_formats import finfo
from .creation import finish, made_like, sizes_of


def generator_of(generator: Any) -> Any:
    """The engine's generator of a ``torch.Generator``, or the default one."""
    return default_generator if generator is None else generator


def _require_floating(x: Aval, name: str) -> None:
    if x.dtype.category < dtypes.FLOAT or x.dtype in dtypes.STORED:
        refuse(name, x.dtype)


# what torch says of a type that a sampler in place does not have, and how it names the type
_CONTINUOUS = {"cauchy_": ("Cauchy", dtypes.c_name),
               "exponential_": ("Exponential", dtypes.scalar_type_name)}  # fmt: skip
# its name for the kernel of the others, and the kinds of types between which they are sampled
_KERNELS_IN_PLACE = {
    "bernoulli_": ("bernoulli_scalar_cpu_", dtypes.BOOL, dtypes.FLOAT),
    "geometric_": ("geometric_cpu", dtypes.INTEGER, dtypes.FLOAT),
    "log_normal_": ("log_normal_cpu", dtypes.FLOAT, dtypes.FLOAT),
    "normal_": ("normal_kernel_cpu", dtypes.FLOAT, dtypes.COMPLEX),
    "random_": ("random_kernel_cpu", dtypes.BOOL, dtypes.FLOAT),
    "uniform_": ("check_uniform_bounds", dtypes.FLOAT, dtypes.COMPLEX),
}


def _require_sampled(x: Aval, name: str) -> None:
    """torch's error where a sampler in place does not have the type."""
    if x.dtype in dtypes.STORED:
        refuse(_KERNELS_IN_PLACE.get(name, (f"{name}kernel_cpu",))[0], x.dtype)
    if name in _CONTINUOUS:
        which, namer = _CONTINUOUS[name]
        if x.dtype.category != dtypes.FLOAT:
            raise RuntimeError(
                f"{which} distribution is a continuous probability distribution. dtype must be a "
                f"floating point but you specified {namer(x.dtype)}"
            )
        return
    kernel, first, last = _KERNELS_IN_PLACE[name]
    if not first <= x.dtype.category <= last:
        kind = dtypes.scalar_type_name(x.dtype)
        raise NotImplementedError(f"\"{kernel}\" not implemented for '{kind}'")


def _define_factory(name: str, sampler: str, *arguments: float) -> None:
    def body(
        *size: Any,
        generator: Any = None,
        out: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        pin_memory: bool = False,
        **kwargs: Any,
    ) -> Any:
        size = sizes_of(size, kwargs)
        if kwargs:
            raise TypeError(f"{name}() got an unexpected keyword argument '{next(iter(kwargs))}'")
        draws = getattr(generator_of(generator), sampler)
        shape = as_shape(size, name)
        if out is not None:
            prepare_out(out, name, shape, None if dtype is None else as_dtype(dtype))
            _require_floating(out.aval, _KERNEL_NAMES[sampler])
            made = redraw(out, lambda array: draws(array, *arguments))
        else:
            check_sizes(shape)
            chosen = dtypes.default if dtype is None else as_dtype(dtype)
            described = aval(shape, chosen, None, as_device(device))
            _require_floating(described, _KERNEL_NAMES[sampler])
            made = draw(described, lambda array: draws(array, *arguments))
        return finish(made, requires_grad, layout, pin_memory)

    def like(
        input: Any,  # noqa: A002
        *,
        generator: Any = None,
        dtype: Any = None,
        layout: Any = None,
        device: Any = None,
        requires_grad: bool = False,
        memory_format: Any = None,
        pin_memory: bool = False,
    ) -> Any:
        described = made_like(input, dtype, device, memory_format)
        _require_floating(described, _KERNEL_NAMES[sampler])
        draws = getattr(generator_of(generator), sampler)
        made = draw(described, lambda array: draws(array, *arguments))
        return finish(made, requires_grad, layout, pin_memory)

    numbers = {"rand": "Numbers spread evenly over [0, 1)", "randn": "Normal numbers"}[name]
    about = f"{numbers}, in the shape ``size``."
    function(method=False, name=name, about=about, cacheable=True)(body)
    about = f"{numbers}, in the shape, and unless given the type and device, of ``input``."
    function(method=False, name=name + "_like", about=about, cacheable=True)(like)


_KERNEL_NAMES = {"uniform": "check_uniform_bounds", "normal": "normal_kernel_cpu"}
_define_factory("rand", "uniform", 0.0, 1.0)
_define_factory("randn", "normal", 0.0, 1.0)


@function(method=False, cacheable=True)
def randint(
    low: Any = None,
    high: Any = None,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    pin_memory: bool = False,
) -> Any:
    """Integers from ``low`` (0) up to but not including ``high``."""
    if isinstance(high, (tuple, list)):
        low, high, size = 0, low, high
    elif high is None:
        low, high = 0, low
    elif low is None:
        low = 0
    if high is None:
        raise TypeError("randint() missing 1 required positional argument: 'high'")
    chosen = dtypes.int64 if dtype is None else as_dtype(dtype)
    if chosen.is_complex:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    fill = _integers(low, high, generator)
    shape = as_shape((size,))
    check_sizes(shape)
    if out is not None:
        asked = None if dtype is None else chosen
        return finish(redraw(prepare_out(out, "randint", shape, asked), fill), requires_grad)
    made = draw(aval(shape, chosen, None, as_device(device)), fill)
    return finish(made, requires_grad, layout, pin_memory)


def _integers(low: Any, high: Any, generator: Any) -> Any:
    """What fills an array with integers from ``low`` up to ``high``."""
    low, high = as_int(low), as_int(high)
    if low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    return lambda array: generator_of(generator).random(array, low, high)


@function(method=False, cacheable=True)
def randint_like(
    input: Any,  # noqa: A002
    low: Any = None,
    high: Any = None,
    *,
    generator: Any = None,
    dtype: Any = None,
    layout: Any = None,
    device: Any = None,
    requires_grad: bool = False,
    memory_format: Any = None,
    pin_memory: bool = False,
) -> Any:
    """Integers from ``low`` (0) up to, not including, ``high``, in ``input``'s shape and type."""
    if low is None or high is None:
        low, high = 0, low if high is None else high
    if high is None:
        raise TypeError("randint_like() missing 1 required positional argument: 'high'")
    described = made_like(input, dtype, device, memory_format)
    if described.dtype.is_complex:
        raise RuntimeError(
            "check_random_bounds handles only integral, floating-point and boolean types"
        )
    made = draw(described, _integers(low, high, generator))
    return finish(made, requires_grad, layout, pin_memory)


_PERMUTED = Out(of_dtype="dtype {dtype} does not match dtype of out parameter ({out})")


@function(method=False, cacheable=True)
def randperm(
    n: int, *, generator: Any = None, out: Any = None, dtype: Any = None, layout: Any = None,
    device: Any = None, requires_grad: bool = False, pin_memory: bool = False,
) -> Any:  # fmt: skip
    """A random order of 0 .. n - 1, of int64 or of ``out``'s type."""
    if n < 0:
        raise RuntimeError(f"Trying to create tensor with negative dimension {n}: [{n}]")
    if dtype is not None:
        require_dtype(_PERMUTED, as_dtype(dtype), out)
    kind = dtypes.int64 if dtype is None else as_dtype(dtype)
    result = aval((n,), kind, None, as_device(device))
    refuse_kinds("randperm", result if out is None else out.aval, "bool complex")
    check_value(n, kind if out is None else out.dtype)

    def fill(array: Any) -> None:
        count = array.shape[-1]  # which is another one where a compiled call is for many sizes
        if not isinstance(array, np.ndarray):  # memory of a device
            generator_of(generator).permutation(array, count)
            return
        for row in array.reshape(-1, count) if count else ():
            generator_of(generator).permutation(row, count)

    made = draw(result, fill)
    if out is not None:
        made = store_out(made, out, "randperm")
    return finish(made, requires_grad, layout, pin_memory)


def _in_place(name: str, checked: bool = False) -> Any:
    def register(body: Any) -> Any:
        def variant(self: Any, *args: Any, generator: Any = None, **kwargs: Any) -> Any:
            _require_sampled(self.aval, name)
            draws = generator_of(generator)
            inputs = [x for x in args if isinstance(x, EngineTensor)]
            inputs += [x for x in kwargs.values() if isinstance(x, EngineTensor)]

            def plain(array: Any) -> None:
                body(draws, array, *args, **kwargs)

            def fill(array: Any, *arrays: Any) -> None:
                given = iter(arrays)
                body(
                    draws,
                    array,
                    *[next(given) if isinstance(x, EngineTensor) else x for x in args],
                    **{k: next(given) if isinstance(x, EngineTensor) else x
                       for k, x in kwargs.items()},
                )  # fmt: skip

            if state.interpreters and not inputs:
                # numbers are refused here, not where a compiled part draws
                plain(np.empty(0, self.aval.dtype.np))
            return redraw(self, fill, *inputs) if inputs else redraw(self, plain)

        variant.__doc__ = body.__doc__
        return function(namespace=False, name=name, checked=checked, cacheable=True)(variant)

    return register


def _ends(named: dict[str, Any], low: Any, high: Any) -> tuple[Any, Any]:
    """Both ends, which may be given as ``from``, a word of Python's, and ``to``."""
    strange = named.keys() - {"from", "to"}
    if strange:
        raise TypeError(f"unexpected keyword arguments {strange}")
    return named.get("from", low), named.get("to", high)


@_in_place("uniform_", checked=True)
def uniform_(generator: Any, array: Any, a: float = 0.0, b: float = 1.0, **named: Any) -> None:
    """Fill with numbers spread evenly over [``from``, ``to``).

    Args:
        from_, to: the ends, in this order; ``from``, a word of Python's, by ``**`` only.
    """
    low, high = _ends(named, a, b)
    _check_uniform(float(low), float(high), array.dtype)
    if low > high:
        raise RuntimeError(
            f"uniform_ expects to return a [from, to) range, but found from={low:g} > to={high:g}"
        )
    generator.uniform(array, float(low), float(high))


@functools.cache
def _most(kind: Any) -> float:
    """The largest number of a type of arrays, or of its parts."""
    return float(finfo(dtypes.from_numpy(kind).to_real()).max)


def _check_uniform(low: float, high: float, kind: Any) -> None:
    most = _most(kind)
    if -most <= low <= most and -most <= high <= most and high - low <= most:
        return
    dtype = dtypes.from_numpy(kind)
    for name, value in (("from", low), ("to", high)):
        if not -most <= value <= most:
            raise RuntimeError(f"{name} is out of bounds for {dtypes.c_name(dtype)}")
    if high - low > most:
        raise RuntimeError(
            "uniform_ expects to-from <= std::numeric_limits<"
            f"{dtypes.scalar_type_name(dtype)}>::max(), but found to={high:g} and from={low:g} "
            "which result in to-from to exceed the limit"
        )


@_in_place("normal_")
def normal_(generator: Any, array: Any, mean: float = 0.0, std: float = 1.0) -> None:
    """Fill with normal numbers of the mean ``mean`` and the deviation ``std``."""
    if not std >= 0:
        raise RuntimeError(f"normal expects std >= 0.0, but found std {std:g}")
    if array.dtype.kind != "c":
        generator.normal(array, float(mean), float(std))
        return
    parts = np.empty((*array.shape, 2), array.real.dtype)
    generator.normal(parts, float(mean), float(std) / 2**0.5)
    array[...] = parts[..., 0] + 1j * parts[..., 1]


@_in_place("exponential_")
def exponential_(generator: Any, array: Any, lambd: float = 1.0) -> None:
    """Fill with exponential numbers of rate ``lambd``."""
    if not lambd > 0:
        raise RuntimeError(f"exponential_ expects lambda > 0.0, but found lambda={lambd:g}")
    generator.exponential(array, float(lambd))


@_in_place("geometric_")
def geometric_(generator: Any, array: Any, p: float) -> None:
    """Fill with the number of trials until the first success, of probability ``p``."""
    if not 0 < p < 1:
        raise RuntimeError(f"geometric_ expects p to be in (0, 1), but got p={p:g}")
    generator.geometric(array, float(p))


@_in_place("cauchy_")
def cauchy_(generator: Any, array: Any, median: float = 0.0, sigma: float = 1.0) -> None:
    """Fill with Cauchy numbers about ``median``, of the half width ``sigma``."""
    if not sigma > 0:
        raise RuntimeError(f"cauchy_ expects sigma > 0.0, but found sigma={sigma:g}")
    generator.cauchy(array, float(median), float(sigma))


@_in_place("log_normal_")
def log_normal_(generator: Any, array: Any, mean: float = 1.0, std: float = 2.0) -> None:
    """Fill with numbers whose logarithm is normal, of ``mean`` and ``std``."""
    if not std > 0:
        raise RuntimeError(f"log_normal_ expects std > 0.0, but found std={std:g}")
    generator.log_normal(array, float(mean), float(std))


@_in_place("random_", checked=True)
def random_(generator: Any, array: Any, *ends: Any, **named: Any) -> None:
    """Fill with integers from [0, ``to``), [``from``, ``to``), or the range of the type.

    Args:
        from_, to: the ends, in this order, or ``to`` alone; ``from``, a word of Python's, by name
            only in ``**``.
    """
    low, high = _ends(named, *(*ends, None, None)[:2])
    if low is not None and high is None and "from" not in named and len(ends) < 2:
        low, high = 0, low
    dtype = dtypes.from_numpy(array.dtype)
    if dtype.is_floating_point:
        _check_exact("from", low, dtype)
        _check_exact("to - 1", None if high is None else high - 1, dtype)
    if low is not None and high is not None and low >= high:
        raise RuntimeError(
            f"random_ expects 'from' to be less than 'to', but got from={low} >= to={high}"
        )
    generator.random(array, low, high)


def _check_exact(name: str, bound: Any, dtype: Any) -> None:
    """torch's error for a bound beyond a type of floats, and warning beyond its whole numbers."""
    if bound is None:
        return
    kind, digits = dtypes.c_name(dtype), DIGITS[dtype.name]
    if abs(bound) > _most(dtype.np):
        raise RuntimeError(f"{name} is out of bounds for {kind}")
    if abs(bound) > 2**digits:
        warn_caller(
            f"{name} is out of bounds [-(2^{digits}), 2^{digits}]. Due to precision limitations "
            f"{kind} can support discrete uniform distribution only within this range. This "
            "warning will become an error in version 1.7 release, please fix the code in advance"
        )


@_in_place("bernoulli_")
def bernoulli_(generator: Any, array: Any, p: Any = 0.5) -> None:
    """Fill with 1 with probability ``p`` (a number or a tensor), else 0."""
    if isinstance(p, np.ndarray):
        generator.bernoulli_from(array, np.broadcast_to(p, array.shape))
        return
    if not 0 <= p <= 1:
        raise RuntimeError(f"bernoulli_ expects p to be in [0, 1], but got p={p:g}")
    generator.bernoulli(array, float(p))


@function(not_none=True)
def bernoulli(input: Any, p: Any = None, *, generator: Any = None, out: Any = None) -> Any:  # noqa: A002
    """1 with the probability that each element of ``input`` (or ``p``) says, else 0."""
    if p is None:
        _require_floating(input.aval, "bernoulli_tensor_cpu_p_")
    refuse_kinds("bernoulli_tensor_cpu_self_", input.aval, "complex")
    chance = input if p is None else p
    draws = generator_of(generator)

    def fill(array: Any, *arrays: Any) -> None:
        if not arrays:
            draws.bernoulli(array, float(chance))
            return
        values = arrays[0]
        if not counting().lie_within(values, 0, 1):
            raise RuntimeError(
                "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error "
                "message be improved?  If so, please report an enhancement request to PyTorch.)"
            )
        draws.bernoulli_of_chances(array, values)

    inputs = (chance,) if isinstance(chance, EngineTensor) else ()
    if out is not None:
        if isinstance(out, EngineTensor):
            inplace.check_overlap(out)
        prepare_out(out, "bernoulli", input.aval.shape, shown="bernoulli")
        return redraw(out, fill, *inputs)
    made = draw(dense_like(input.aval), fill, *inputs)
    return _derived("BernoulliBackward0", made, input)


def _check_weights(weights: Any, one_by_one: bool) -> None:
    """torch's errors, which depend on whether its sampler looks at one weight after another."""
    if not weights.size or counting().are_weights(weights):
        return
    valid = np.isfinite(weights) & (weights >= 0)
    if not one_by_one and not valid.all():
        raise RuntimeError("probability tensor contains either `inf`, `nan` or element < 0")
    if valid.all() and (weights != 0).any(axis=-1).all():
        return
    for row, fine in zip(
        weights.reshape(-1, weights.shape[-1]), valid.reshape(-1, weights.shape[-1]), strict=True
    ):
        if not fine.all():
            what = "= infinity or NaN" if row[np.argmin(fine)] >= 0 else "< 0"
            raise RuntimeError(
                f"invalid multinomial distribution (encountering probability entry {what})"
            )
        if row.size and row.sum() == 0:
            raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")


@function(checked=True)
def multinomial(
    input: Any,  # noqa: A002
    num_samples: int,
    replacement: bool = False,
    *,
    generator: Any = None,
    out: Any = None,
) -> Any:
    """Indices drawn with the (unnormalised) probabilities in each row of ``input``.

    Args:
        num_samples: how many indices for each row.
        replacement: an index may be drawn again.
    """
    if input.aval.ndim not in (1, 2):
        raise RuntimeError("prob_dist must be 1 or 2 dim")
    if input.aval.dtype.category != dtypes.FLOAT:
        raise RuntimeError(
            "multinomial only supports floating-point dtypes for input, got: "
            f"{dtypes.scalar_type_name(input.aval.dtype)}"
        )
    if out is not None and out.aval.dtype is not dtypes.int64:
        raise RuntimeError(
            f"multinomial expects Long tensor out, got: {dtypes.scalar_type_name(out.aval.dtype)}"
        )
    if num_samples <= 0:
        raise RuntimeError("cannot sample n_sample <= 0 samples")
    if not replacement and num_samples > input.aval.shape[-1]:
        raise RuntimeError(
            "cannot sample n_sample > prob_dist.size(-1) samples without replacement"
        )
    if input.aval.size == 0 and input.aval.shape[-1] == 0 and 0 not in input.aval.shape[:-1]:
        raise RuntimeError("invalid multinomial distribution (sum of probabilities <= 0)")
    if input.aval.shape[-1] > 2**24:
        raise RuntimeError("number of categories cannot exceed 2^24")
    draws = generator_of(generator)

    def fill(array: Any, weights: Any) -> None:
        _check_weights(weights, replacement and num_samples > 1)
        shape, every = (*array.shape[:-1], weights.shape[-1]), weights
        if weights.shape != shape:
            every = np.broadcast_to(weights, shape)
        draws.multinomial(array.reshape(-1, num_samples), every, replacement)

    shape = (*input.aval.shape[:-1], num_samples)
    described = aval(shape, dtypes.int64, None, input.aval.device)
    drawn = draw(described, fill, input)
    return drawn if out is None else store_out(drawn, out, "multinomial")


@function(method=False, checked=True, cacheable=True)
def normal(
    mean: Any,
    std: Any = 1.0,
    size: Any = None,
    *,
    generator: Any = None,
    out: Any = None,
    **options: Any,
) -> Any:
    """Normal numbers; ``mean`` and ``std`` may be tensors.

    Args:
        options: ``dtype``, ``layout``, ``device``, ``pin_memory``, ``requires_grad``, as of
            :func:`torch.empty`.
    """
    draws = generator_of(generator)
    tensors = [x for x in (mean, std) if isinstance(x, EngineTensor)]
    if out is not None:
        return _normal_out(out, mean, std, size, draws, options)
    for x in tensors:
        if x is std and x.aval.dtype.is_complex:
            raise RuntimeError("normal expects standard deviation to be non-complex")
        _require_floating(x.aval, "normal_kernel_cpu")
    if not tensors:
        described = _described_for(size, options)
        made = draw(described, lambda array: draws.normal(array, float(mean), float(std)))
        return finish(made, **options) if options else made
    shape = broadcast_shapes(*[x.aval.shape for x in tensors])
    described = aval(shape, tensors[0].aval.dtype, None, tensors[0].aval.device)
    if isinstance(std, EngineTensor):

        def fill(array: Any, deviations: Any) -> None:
            if not (deviations >= 0).all():
                raise RuntimeError("normal expects all elements of std >= 0.0")
            draws.normal(array, 0.0, 1.0)

        made = draw(described, fill, std)
        made = made * std.detach() + (mean.detach() if isinstance(mean, EngineTensor) else mean)
        number = 3 if isinstance(mean, EngineTensor) else 2
        return _derived(f"NormalBackward{number}", made, mean, std)
    made = draw(described, lambda array: draws.normal(array, 0.0, float(std)))
    return _derived("NormalBackward1", made + mean.detach(), mean)


def _normal_out(
    out: Any, mean: Any, std: Any, size: Any, draws: Any, options: dict[str, Any]
) -> Any:
    """:func:`normal` over ``out``."""
    if isinstance(mean, EngineTensor) or isinstance(std, EngineTensor):
        _require_floating(out.aval, "normal_kernel_cpu")
        return store_out(normal(mean, std, generator=draws, **options), out, "normal")
    dtype = options.get("dtype")
    shape = as_shape((size,))
    asked = None if dtype is None else as_dtype(dtype)
    prepare_out(out, "normal", shape, asked, shown="aten::normal")
    _require_floating(out.aval, "normal_kernel_cpu")
    made = redraw(out, lambda array: draws.normal(array, float(mean), float(std)))
    return finish(made, options.get("requires_grad") or False)


def _derived(name: str, made: Any, *sources: Any) -> Any:
    """Random numbers as a function, of derivative 0, of the tensors they were drawn by: a node of
    this name."""
    for x in sources:
        if isinstance(x, EngineTensor) and tape.requires_grad(x):
            made = elementwise.add(made, comparisons.where(constant(True), constant(0), x))
    return tape.named(made, name)


def _described_for(size: Any, options: dict[str, Any]) -> Aval:
    dtype, device = options.pop("dtype", None), options.pop("device", None)
    chosen = dtypes.default if dtype is None else as_dtype(dtype)
    return aval(as_shape((size,)), chosen, None, as_device(device))


@function(method=False)
def poisson(input: Any, generator: Any = None) -> Any:  # noqa: A002
    """Poisson numbers with the rates in ``input``."""
    draws = generator_of(generator)

    def fill(array: Any, rates: Any) -> None:
        draws.poisson(array, np.ascontiguousarray(np.broadcast_to(rates, array.shape)))

    return _derived("PoissonBackward0", draw(dense_like(input.aval), fill, input), input)
