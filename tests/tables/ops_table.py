"""The table of ops: what each is called in torch's namespace, on which inputs, with what tolerance.

A row names the engine ops that its call must run (forward, backward or second backward); the checks
in ``test_ops.py`` apply to all rows alike. Other subjects keep their rows in modules called
``ops_table_<subject>.py`` with a list ``ROWS``.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Case = tuple[np.ndarray[Any, Any], ...]
FLOATS = ("float32", "float64")
INTEGERS = ("int64", "int32", "uint8")
NUMBERS = (*FLOATS, *INTEGERS)
ALL = (*NUMBERS, "bool")


@dataclass(frozen=True)
class Row:
    """One row.

    Attributes:
        ops: names of engine ops that it covers, separated by blanks.
        call: ``call(namespace, *tensors)`` -> a tensor or several.
        cases: inputs as float64 arrays, cast to each of ``dtypes`` where they are floating-point.
        gradient: whether the derivative is compared; ``second`` likewise.
        gradient_dtypes: in which types the derivative is compared.
        tolerance: relative, in units of the type's epsilon.
        second_tolerance: that of the second derivative where it is another.
        strides: whether torch's strides are expected.
    """

    ops: str
    call: Callable[..., Any]
    cases: tuple[Case, ...]
    dtypes: tuple[str, ...] = FLOATS
    gradient: bool = True
    second: bool = True
    gradient_dtypes: tuple[str, ...] = FLOATS
    tolerance: float = 16
    second_tolerance: float | None = None
    strides: bool = True
    label: str = ""

    @property
    def name(self) -> str:
        return self.label or self.ops.split()[0]


def generator(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def numbers(*shape: int, domain: str = "real", seed: int = 0) -> np.ndarray[Any, Any]:
    """Numbers that keep clear of kinks: |x| is at least 0.15 away from whole halves' edges."""
    rng = generator(seed + 1000 * len(shape) + sum(shape))
    x = rng.uniform(0.15, 0.85, shape)
    if domain == "unit":
        return np.asarray(x * rng.choice([-1.0, 1.0], shape))
    if domain == "probability":
        return np.asarray(x)
    whole = rng.integers(0, 3, shape)
    if domain == "positive":
        return np.asarray(x + whole)
    if domain == "above_one":
        return np.asarray(x + whole + 1)
    return np.asarray((x + whole) * rng.choice([-1.0, 1.0], shape))


def layouts(domain: str = "real") -> tuple[Case, ...]:
    """One input: dense, 0-d, empty, transposed, strided, channels last, long."""
    cube = numbers(2, 4, 5, 3, domain=domain)
    return (
        (numbers(3, 4, domain=domain),),
        (numbers(domain=domain),),
        (numbers(0, 3, domain=domain),),
        (numbers(4, 3, domain=domain).T,),
        (numbers(4, 6, domain=domain)[:, ::2],),
        (cube.transpose(0, 3, 1, 2),),
        (numbers(97, domain=domain),),
    )


def pairs(first: str = "real", second: str = "real") -> tuple[Case, ...]:
    """Two inputs: equal shapes, broadcasting, 0-d, empty, permuted."""

    def two(a: tuple[int, ...], b: tuple[int, ...]) -> Case:
        return numbers(*a, domain=first, seed=1), numbers(*b, domain=second, seed=2)

    cube = two((2, 4, 5, 3), (2, 4, 5, 3))
    return (
        two((3, 4), (3, 4)),
        two((3, 4), (4,)),
        two((3, 1), (1, 4)),
        two((), (3, 4)),
        two((3, 4), ()),
        two((0, 4), (4,)),
        tuple(x.transpose(0, 3, 1, 2) for x in cube),
        (two((4, 3), (3, 4))[0].T, two((4, 3), (3, 4))[1]),
    )


def integers(*shape: int, high: int, seed: int = 0) -> np.ndarray[Any, Any]:
    return generator(seed + sum(shape)).integers(0, high, shape)


def unary(
    op: str,
    name: str = "",
    domain: str = "real",
    *,
    dtypes: tuple[str, ...] = FLOATS,
    **options: Any,
) -> Row:
    """A row of ``torch.<name>(x)``."""
    path = (name or op.split()[0]).split(".")
    return Row(op, lambda t, x: _resolve(t, path)(x), layouts(domain), dtypes, label=".".join(path),
               **options)  # fmt: skip


def binary(
    op: str,
    name: str = "",
    domains: tuple[str, str] = ("real", "real"),
    *,
    dtypes: tuple[str, ...] = FLOATS,
    **options: Any,
) -> Row:
    """A row of ``torch.<name>(x, y)``."""
    path = (name or op.split()[0]).split(".")
    return Row(op, lambda t, x, y: _resolve(t, path)(x, y), pairs(*domains), dtypes,
               label=".".join(path), **options)  # fmt: skip


def _resolve(namespace: Any, path: list[str]) -> Any:
    for part in path:
        namespace = getattr(namespace, part)
    return namespace


def call(
    ops: str, function: Callable[..., Any], *cases: Case, label: str = "", **options: Any
) -> Row:
    """A row of ``function(namespace, *tensors)`` on the given cases."""
    return Row(ops, function, cases, label=label, **options)


def all_rows() -> list[Row]:
    """The rows of every ``ops_table_*.py`` beside this file."""
    return list(_collected())


def _collected() -> Iterator[Row]:
    for path in sorted(Path(__file__).parent.glob("ops_table_*.py")):
        spec = importlib.util.spec_from_file_location(f"tests.{path.stem}", path)
        assert spec is not None and spec.loader is not None
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        yield from module.ROWS
