"""What is known of ops stands where they are declared, and all of them are listed by subject."""

from __future__ import annotations

import pkgutil
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as torch
from mindtorch.engine import ops
from mindtorch.engine.op import OPS
from mindtorch.engine.ops.base import Elementwise, WholeDivision
from mindtorch.engine.ops.index_bounds import Bound
from mindtorch.kernels.codegen.fused_loop import rounded
from mindtorch.kernels.codegen.typed_scalar import definitions, for_type
from mindtorch.kernels.scalar import facts
from mindtorch.tools.docs import op_list

WITHOUT_OPS = {"antialias", "base", "index_bounds"}


def test_all_ops_are_listed_by_the_files_that_declare_them() -> None:
    text = op_list.PAGE.read_text()
    assert text == op_list.with_list(text), "run python -m mindtorch.tools.docs"
    modules = {each.name for each in pkgutil.iter_modules(ops.__path__)}
    assert modules - WITHOUT_OPS == set(op_list.SUBJECTS)
    names = [name for subject in op_list.SUBJECTS for name in op_list.declared(subject)]
    assert sorted(names) == sorted(set(OPS) - set(op_list.OF_PLACEMENTS))
    assert set(names) <= set((ops.__doc__ or "").split())


def test_bounds_name_inputs_of_the_op() -> None:
    x, index = torch.rand(3, 4), torch.tensor([[1, 2, 0, 1]])
    bounds = OPS["gather"].index_bounds
    assert bounds is not None
    assert list(bounds((x, index), {"axis": 1})) == [Bound(index, 4)]
    each = OPS["index"].index_bounds
    assert each is not None
    assert list(each((x, None, index), {})) == [Bound(index, 4, from_end=True)]
    assert OPS["gather"].checks_values and OPS["embedding_bag"].checks_values
    assert not OPS["add"].checks_values


def test_divisions_that_refuse_zero_are_of_one_class() -> None:
    names = {op.name for op in OPS.values() if isinstance(op, WholeDivision)}
    assert names == {"floor_divide", "trunc_divide", "remainder", "fmod"}


@pytest.mark.parametrize(("call", "name"), [
    (lambda x: 1 - x, "RsubBackward1"), (lambda x: x - x, "SubBackward0"),
    (lambda x: x.sum(), "SumBackward0"), (lambda x: x.sum(0), "SumBackward1"),
    (lambda x: x**x.detach(), "PowBackward1"), (lambda x: 2**x, "PowBackward2"),
    (lambda x: x.log1p(), "Log1PBackward0"), (lambda x: x.copysign(x), "CopysignBackward0"),
    (lambda x: x @ x, "MmBackward0"), (lambda x: x[None] @ x[None], "UnsafeViewBackward0"),
])  # fmt: skip
def test_nodes_have_torchs_names(call: Any, name: str) -> None:
    x = torch.rand(3, 3, requires_grad=True)
    assert call(x).grad_fn.name() == name


def test_facts_are_stated_of_functions_that_are_there() -> None:
    assert set(facts._STATED) <= set(definitions())
    scalars = {op.scalar for op in OPS.values() if isinstance(op, Elementwise)}
    cheap = {name for name in facts._STATED if facts.facts_of(name).cheap}
    assert cheap <= scalars | {"positive"}  # which casts are made of


def test_facts_say_how_operands_are_rounded() -> None:
    half = np.dtype(np.float16)
    assert rounded("add", 1, "s", half) and not rounded("exp", 0, "c", half)
    assert rounded("multiply", 0, "s", half) and not rounded("multiply", 1, "s", half)
    assert rounded("multiply", 1, "c", half) and not rounded("add", 0, "c", np.dtype(np.float32))


def test_facts_say_what_a_function_is_for_whole_numbers() -> None:
    whole, real = np.dtype(np.int64), np.dtype(np.float32)
    assert for_type("floor", whole) == "positive" and for_type("floor", real) == "floor"
    assert for_type("isinf", whole) == "isnan"
