"""Classes of tensors that answer for ops (``__torch_dispatch__``), against torch's."""

import pickle
from collections.abc import Callable
from typing import Any

import pytest
import torch

import mindtorch.torch as ours
from mindtorch.torch.utils import _python_dispatch as our_modes
from mindtorch.torch.utils._pytree import tree_map, tree_map_only

MODES = {torch: torch.utils._python_dispatch, ours: our_modes}


def scaled(t: Any, seen: list[str]) -> Any:
    """A tensor times a number, kept apart, as quantised weights are."""
    aten = t.ops.aten

    class Scaled(t.Tensor):
        __torch_function__ = t._C._disabled_torch_function_impl

        @staticmethod
        def __new__(cls: Any, data: Any, scale: float) -> Any:
            return t.Tensor._make_wrapper_subclass(
                cls, data.shape, dtype=data.dtype, device=data.device,
                requires_grad=data.requires_grad,
            )  # fmt: skip

        def __init__(self, data: Any, scale: float) -> None:
            self.data_, self.scale = data, scale

        def __tensor_flatten__(self) -> Any:
            return ["data_"], {"scale": self.scale}

        @classmethod
        def __tensor_unflatten__(cls, inner: Any, meta: Any, size: Any, stride: Any) -> Any:
            return cls(inner["data_"], meta["scale"])

        def __repr__(self) -> str:
            return f"Scaled({self.data_.tolist()}, {self.scale})"

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            kwargs = kwargs or {}
            seen.append(str(func))
            if func in (aten.detach.default, aten.clone.default, aten._to_copy.default):
                made = cls(func(args[0].data_, *args[1:], **kwargs), args[0].scale)
                return MODES[t].return_and_correct_aliasing(func, args, kwargs, made)
            if func is aten.t.default:
                return cls(args[0].data_.t(), args[0].scale)
            plain = tree_map_only(cls, lambda x: x.data_ * x.scale, (args, kwargs))
            return func(*plain[0], **plain[1])

    return Scaled


def logging(t: Any, seen: list[Any]) -> Any:
    """Wraps every result, and writes down what was called."""

    class LoggingTensor(t.Tensor):
        @staticmethod
        def __new__(cls: Any, elem: Any) -> Any:
            made = t.Tensor._make_wrapper_subclass(
                cls, elem.size(), strides=elem.stride(), storage_offset=elem.storage_offset(),
                dtype=elem.dtype, layout=elem.layout, device=elem.device,
                requires_grad=elem.requires_grad,
            )  # fmt: skip
            made.elem = elem
            return made

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            def inner(x: Any) -> Any:
                return x.elem if isinstance(x, cls) else x

            def outer(x: Any) -> Any:
                return cls(x) if isinstance(x, t.Tensor) else x

            seen.append((str(func), [each.__name__ for each in types]))
            return tree_map(outer, func(*tree_map(inner, args), **tree_map(inner, kwargs or {})))

    return LoggingTensor


def what_it_says_of_itself(t: Any) -> Any:
    seen: list[str] = []
    w = scaled(t, seen)(t.tensor([[1.0, 2.0], [3.0, 4.0]]), 10.0)
    facts = (w.shape, w.dtype, w.device, w.requires_grad, w.dim(), w.size(0), w.numel(), w.stride(),
             w.is_contiguous(), w.layout, isinstance(w, t.Tensor), repr(w),
             MODES[t].is_traceable_wrapper_subclass(w))  # fmt: skip
    return facts, seen


def ops_on_it(t: Any) -> Any:
    seen: list[str] = []
    w = scaled(t, seen)(t.tensor([[1.0, 2.0], [3.0, 4.0]]), 10.0)
    results = [
        (w + 1).tolist(), t.mm(w, t.ones(2, 2)).tolist(), w.detach(), w.clone(), w.sum().item(),
        t.nn.functional.linear(t.ones(1, 2), w).tolist(), w.to(t.float64), w[0].tolist(),
        t.cat([t.ones(1, 2), w]).tolist(), (1 - w).tolist(), w.max(1).values.tolist(),
        MODES[t].transform_subclass(w, lambda name, x: x + 1),
    ]  # fmt: skip
    return results, seen


def as_a_parameter(t: Any) -> Any:
    seen: list[str] = []
    layer = t.nn.Linear(2, 2, bias=False)
    kept = scaled(t, seen)(t.tensor([[1.0, 2.0], [3.0, 4.0]]), 10.0)
    layer.weight = t.nn.Parameter(kept, requires_grad=False)
    y = layer(t.ones(1, 2))
    return (
        y.tolist(), type(layer.weight).__name__, isinstance(layer.weight, t.nn.Parameter),
        list(dict(layer.named_parameters())), list(layer.state_dict()), seen,
    )  # fmt: skip


def gradients_pass(t: Any) -> Any:
    seen: list[str] = []
    w = scaled(t, seen)(t.tensor([[1.0, 2.0], [3.0, 4.0]]), 10.0).requires_grad_()
    x = t.ones(1, 2, requires_grad=True)
    y = t.nn.functional.linear(x, w)
    y.sum().backward()
    return y.tolist(), x.grad.tolist(), type(w.grad).__name__, w.grad.tolist()


def wrapped_from_end_to_end(t: Any) -> Any:
    seen: list[Any] = []
    x = logging(t, seen)(t.tensor([3.0] * 3)).requires_grad_()
    y = (x * 2).sin().sum()
    y.backward()
    return type(y).__name__, round(y.elem.item(), 5), type(x.grad).__name__, seen


def a_network(t: Any) -> Any:
    seen: list[Any] = []
    nn = t.nn
    net = nn.Sequential(nn.Linear(3, 4), nn.ReLU(), nn.LayerNorm(4), nn.Linear(4, 2))
    y = net(logging(t, seen)(t.ones(2, 3)))
    t.nn.functional.cross_entropy(y, t.tensor([0, 1])).backward()
    return type(y).__name__, [type(p.grad).__name__ for p in net.parameters()], seen


def in_place(t: Any) -> Any:
    seen: list[Any] = []
    x = logging(t, seen)(t.ones(3))
    x.add_(2).mul_(x)
    x[0] = 5.0
    return x.elem.tolist(), seen


def under_a_mode(t: Any) -> Any:
    seen: list[Any] = []
    kind, names = logging(t, []), seen

    class Mode(MODES[t].TorchDispatchMode):  # type: ignore[misc]
        def __torch_dispatch__(
            self, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            names.append((str(func), [each.__name__ for each in types]))
            return func(*args, **(kwargs or {}))

    x = kind(t.ones(2))
    with Mode():
        y = x + 1
    return type(y).__name__, seen


@pytest.mark.parametrize(
    "program",
    [
        what_it_says_of_itself, ops_on_it, as_a_parameter, gradients_pass, wrapped_from_end_to_end,
        a_network, in_place, under_a_mode,
    ],
)  # fmt: skip
def test_programs_with_wrappers(program: Callable[[Any], Any]) -> None:
    assert str(program(ours)) == str(program(torch))


def test_a_class_that_knows_no_op_is_told_so() -> None:
    class Silent(ours.Tensor):
        __torch_function__ = ours._C._disabled_torch_function_impl  # type: ignore[assignment, attr-defined]

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return NotImplemented

    made = ours.Tensor._make_wrapper_subclass(Silent, (2,))
    with pytest.raises(TypeError, match="all __torch_dispatch__ handlers returned NotImplemented"):
        ours.exp(made)


def test_what_has_no_data_says_so() -> None:
    wrapped = logging(ours, [])(ours.ones(2))
    with pytest.raises(RuntimeError, match="it wraps others, and its class answers for ops"):
        wrapped.numpy()


def test_a_wrapper_needs_a_class_that_answers() -> None:
    class Plain(ours.Tensor):
        pass

    with pytest.raises(RuntimeError, match="must define __torch_dispatch__"):
        ours.Tensor._make_wrapper_subclass(Plain, (2,))


def test_a_parameters_detach_keeps_the_class() -> None:
    class Unwrapping(ours.Tensor):
        __torch_function__ = ours._C._disabled_torch_function_impl  # type: ignore[assignment, attr-defined]

        @classmethod
        def __torch_dispatch__(
            cls, func: Any, types: Any, args: Any = (), kwargs: Any = None
        ) -> Any:
            return ours.ones(2)

    with pytest.raises(RuntimeError, match="requires that detach\\(\\) returns an instance"):
        ours.nn.Parameter(ours.Tensor._make_wrapper_subclass(Unwrapping, (2,)))


def test_optimizers_step_parameters_that_wrap() -> None:
    def program(t: Any) -> list[float]:
        kind = logging(t, [])
        x = kind(t.tensor([1.0, 2.0])).requires_grad_()
        optimizer = t.optim.SGD([x], 0.1, momentum=0.9)
        for _ in range(2):
            optimizer.zero_grad()
            (x * x).sum().backward()
            optimizer.step()
        return [round(v, 5) for v in x.elem.tolist()]

    assert program(ours) == program(torch)


def test_plain_tensors_pickle_beside_such_classes() -> None:
    scaled(ours, [])
    x = ours.ones(2)
    assert pickle.loads(pickle.dumps(x)).tolist() == [1.0, 1.0]
