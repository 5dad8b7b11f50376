"""Edges of torch.nn's layers and functions: the same result or the same error as PyTorch."""

import io
from typing import Any

import pytest
import torch as real_torch

from mindtorch import torch


def in_place(function):
    def run(t):
        x = t.tensor([-1.0, 1.0], requires_grad=True)
        function(t, x.clone()).sum().backward()
        return x.grad.tolist()

    return run


def attribute_and_buffer(t):
    module = t.nn.Module()
    module.a = 5
    module.a = t.nn.Buffer(t.ones(1))


def no_persistent(persistent):
    def run(t):
        def register(self, name, tensor):
            t.nn.Module.register_buffer(self, name, tensor)

        module = type("Old", (t.nn.Module,), {"register_buffer": register})()
        module.a = t.nn.Buffer(t.ones(1), persistent=persistent)
        return list(module.state_dict())

    return run


def old_schedule(t):
    optimizer = t.optim.SGD([t.nn.Parameter(t.ones(1))], lr=0.1)
    schedule = t.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=1.0, total_steps=5)
    del schedule._anneal_func_type
    schedule.load_state_dict({**schedule.state_dict(), "anneal_func": lambda a, b, part: part})
    optimizer.step()
    schedule.step()
    return schedule.get_last_lr()


def replica(t):
    held = t.nn.ParameterDict({"b": t.nn.Parameter(t.ones(1)), "a": t.nn.Parameter(t.zeros(1))})
    made = held._replicate_for_data_parallel()
    for name, parameter in held.named_parameters():
        setattr(made, name, parameter * 2)
    return [made[name].tolist() for name in held], len(list(made.parameters()))


def empty_batch_norm(t):
    layer = t.nn.BatchNorm2d(3)
    result = layer(t.ones(0, 3, 2, 2, dtype=t.float64))
    result.sum().backward()
    return tuple(result.shape), layer.weight.grad.tolist()


def lazy_half(t):
    layer = t.nn.LazyLinear(2).half()
    layer.weight.materialize((2, 3))
    return str(layer.weight.dtype)


def node_hook(t):
    x = t.ones(2, 1, requires_grad=True)
    seen: list[tuple[int, ...]] = []
    y = x + t.ones(2, 3, requires_grad=True)
    y.grad_fn.register_hook(lambda given, _: seen.extend(tuple(g.shape) for g in given))
    y.sum().backward()
    y = x.sigmoid()
    y.grad_fn.register_hook(lambda given, _: ())
    return seen, y.sum().backward()


def padded(t):
    x = t.rand(1, 1, 2, 2)
    return [t.nn.functional.pad(x, (0,) * 4, mode=m).data_ptr() == x.data_ptr()
            for m in ("constant", "reflect", "replicate", "circular")]


def attend(t):
    layer = t.nn.MultiheadAttention(8, 2)
    return layer(t.ones(3, 2, 8), t.ones(3, 2, 8), t.ones(3, 2, 8), t.zeros(4, 3))


def slotted(t):
    kind: Any = type("Slotted", (t.Tensor,), {"__slots__": ["elem"]})
    tensor = t.ones(2).as_subclass(kind)
    tensor.elem, tensor.note = t.zeros(1), 3
    state = tensor.__reduce_ex__(2)[1][-1]
    return sorted(state[0]), sorted(state[1])


def stated(t):
    def state(self):
        return "mine", self.__dict__

    tensor = t.ones(2).as_subclass(type("Stated", (t.Tensor,), {"__getstate__": state}))
    tensor.note = 3
    return tensor.__reduce_ex__(2)[1][-1]


def bytes_as_bytes(t):
    file = io.BytesIO()
    t.save([t.arange(3.0), b"x"], file, _use_new_zipfile_serialization=False)
    file.seek(0)
    return t.load(file, encoding="bytes")[0].tolist()


def of_storage(t):
    x = t.arange(4.0)
    made = t.tensor(x.storage())
    legacy = t.FloatTensor(x.untyped_storage())
    same = [y.data_ptr() == x.data_ptr() for y in (made, legacy)]
    return made.tolist(), same, t.tensor(x.storage(), dtype=t.float64)


def older_flags(t):
    with t.backends.mkldnn.flags(enabled=True):
        pass
    return t.backends.mkldnn.allow_tf32


CASES = {
    "a storage as data": of_storage,
    "a subclass with slots": slotted,
    "a subclass with a state": stated,
    "an old file, with bytes": bytes_as_bytes,
    "limits of complex32": lambda t: repr(t.finfo(t.complex32)),
    "flags of mkldnn": older_flags,
    "gradients of convolutions": lambda t: t.nn.functional.grad.conv1d_input(
        (1, 1, 3), t.ones(1, 1, 2), t.ones(1, 1, 2)
    ).tolist(),
    "conv_tbc": lambda t: t.nn.functional.conv_tbc(
        t.ones(3, 1, 2), t.ones(2, 2, 1), t.ones(1)
    ).tolist(),
    "module to a number": lambda t: t.nn.Linear(1, 1).to("cpu", True),
    "module to a copy": lambda t: t.nn.Linear(1, 1).to("cpu", copy=True),
    "unflatten an int": lambda t: t.nn.Unflatten(1, 5),
    "unflatten names": lambda t: t.nn.Unflatten("f", (("C", 2), ("H", 5))),
    "interpolate a float": lambda t: t.nn.functional.interpolate(
        t.ones(1, 1, 4), size=(t.tensor(2.0),)
    ),
    "targets of two axes": lambda t: t.nn.functional.cosine_embedding_loss(
        t.ones(5, 2), t.ones(5, 2), t.ones(5, 1)
    ),
    "vectors for targets": lambda t: t.nn.functional.cosine_embedding_loss(
        t.ones(5), t.ones(5), t.ones(5)
    ),
    "fold of no blocks": lambda t: t.nn.Fold((4, 5), 2, dilation=8)(t.ones(1, 12, 12)),
    "fold of no rows": lambda t: t.nn.Fold((4, 5), (2, 3))(t.ones(1, 0, 10)),
    "unfold of no channels": lambda t: t.nn.Unfold((2, 3))(t.ones(3, 0, 3, 4)),
    "three ratios": lambda t: t.nn.FractionalMaxPool2d(2, output_ratio=[0.5] * 3)(
        t.ones(2, 2, 8, 8)
    ),
    "padding of another batch": attend,
    "elu_": in_place(lambda t, x: t.nn.functional.elu_(x, alpha=-2.0)),
    "leaky_relu_": in_place(lambda t, x: t.nn.functional.leaky_relu_(x, -2.0)),
    "leaky_relu_ of a positive slope": in_place(lambda t, x: t.nn.functional.leaky_relu_(x, 0.5)),
    "a buffer in place of an attribute": attribute_and_buffer,
    "register_buffer without persistent": no_persistent(True),
    "not persistent, without persistent": no_persistent(False),
    "an old OneCycleLR": old_schedule,
    "a replica": replica,
    "batch_norm of nothing": empty_batch_norm,
    "a lazy layer of half": lazy_half,
    "hooks of a node": node_hook,
    "no padding": padded,
    "grid_sample of no channels": lambda t: tuple(
        t.nn.functional.grid_sample(
            t.ones(2, 0, 3, 4), t.ones(2, 3, 3, 2), align_corners=True
        ).shape
    ),
    "floats as indices": lambda t: t.sparse_coo_tensor(
        t.ones(1, 1), t.ones(1), (2,)
    ).to_dense().tolist(),
    "strict names": lambda t: t.func.functional_call(t.nn.Linear(1, 1), {}, t.ones(1), strict=True),
    "a script of a lazy layer": lambda t: t.jit.script(t.nn.LazyLinear(2)),
    "the storage is shared": lambda t: [
        x.untyped_storage().is_shared() for x in (t.ones(1), t.ones(1).share_memory_())
    ],
    "a None key": lambda t: t.nn.Linear(1, 1, bias=False).load_state_dict(
        {"weight": t.ones(1, 1), "bias": t.ones(1)}
    ),
    "flags as a decorator": lambda t: t.backends.cudnn.flags(enabled=False)(
        lambda: t.backends.cudnn.enabled
    )(),
    "flags of None": lambda t: t.backends.cudnn.flags(enabled=None).__enter__(),
}


def outcome(case, t):
    try:
        return case(t)
    except Exception as error:
        text = str(error).split("\n * ")[0]
        return type(error).__name__, text.replace("mindtorch.", "").replace(" at line", "")


@pytest.mark.parametrize("name", CASES)
@pytest.mark.filterwarnings("ignore")
def test_an_edge(name):
    ours, theirs = outcome(CASES[name], torch), outcome(CASES[name], real_torch)
    assert ours == theirs
