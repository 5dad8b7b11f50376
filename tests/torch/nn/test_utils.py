"""torch.nn.utils beside torch's: parametrizations, norms, pruning, stateless calls, fusion."""

from __future__ import annotations

import copy
import pickle
import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours
from mindtorch.torch.nn.utils import stateless as own_stateless

torch = pytest.importorskip("torch")
pytest.importorskip("torch.nn.utils.prune")
LIBRARIES = (torch, ours)


def numbers(*shape: int, seed: int = 0) -> Any:
    return np.random.RandomState(seed).standard_normal(shape)


def linear(library: Any, rows: int = 5, columns: int = 4) -> Any:
    """The same double-precision linear map in each library."""
    module = library.nn.Linear(columns, rows, dtype=library.float64)
    with library.no_grad():
        module.weight.copy_(library.tensor(numbers(rows, columns)))
        module.bias.copy_(library.tensor(numbers(rows, seed=1)))
    return module


def learned(module: Any) -> dict[str, Any]:
    return {name: p.detach().numpy().copy() for name, p in module.named_parameters()}


def agree(one: dict[str, Any], other: dict[str, Any], *, tolerance: float = 1e-12) -> None:
    """The same arrays under the same names in the same order."""
    assert list(one) == list(other)
    for name, value in one.items():
        np.testing.assert_allclose(
            other[name], value, rtol=tolerance, atol=tolerance, err_msg=name)


def trained(library: Any, module: Any, steps: int = 3) -> dict[str, Any]:
    """State, output and gradients after some steps."""
    optimizer = library.optim.SGD(module.parameters(), 0.05)
    x = library.tensor(numbers(6, 4, seed=2))
    for _ in range(steps):
        optimizer.zero_grad()
        (module(x) ** 2).mean().backward()
        optimizer.step()
    found = {f"state {k}": v.numpy().copy() for k, v in module.state_dict().items()}
    found |= {f"grad {k}": p.grad.numpy() for k, p in module.named_parameters()}
    found["output"] = module(x).detach().numpy()
    return found


WAYS = {
    "weight_norm": lambda u, m: u.parametrizations.weight_norm(m),
    "weight_norm of all": lambda u, m: u.parametrizations.weight_norm(m, dim=None),
    "weight_norm of axis 1": lambda u, m: u.parametrizations.weight_norm(m, dim=1),
    "spectral_norm": lambda u, m: u.parametrizations.spectral_norm(m),
    "spectral_norm of axis 1": lambda u, m: u.parametrizations.spectral_norm(
        m, n_power_iterations=3, dim=1),
    "spectral_norm of a vector": lambda u, m: u.parametrizations.spectral_norm(m, "bias"),
    "old weight_norm": lambda u, m: u.weight_norm(m),
    "old spectral_norm": lambda u, m: u.spectral_norm(m, n_power_iterations=2),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.filterwarnings("ignore:.torch.nn.utils.weight_norm. is deprecated:FutureWarning")
def test_a_normalised_weight_trains_as_in_torch(way: str) -> None:
    """State dict, gradients and the random vectors of power iterations are all the same."""
    results = []
    for library in LIBRARIES:
        module = linear(library)
        library.manual_seed(4)
        WAYS[way](library.nn.utils, module)
        results.append(trained(library, module))
    agree(*results)


MAPS = [
    (rows, columns, name, trivial)
    for rows, columns in ((4, 4), (6, 4), (3, 4))
    for name in (None, "matrix_exp", "cayley", "householder")
    for trivial in (True, False)
]


@pytest.mark.parametrize(("rows", "columns", "name", "trivial"), MAPS)
def test_an_orthogonal_weight_trains_as_in_torch(
    rows: int, columns: int, name: str | None, trivial: bool
) -> None:
    """Every map, square, tall and wide, around the present matrix and around the identity."""
    results = []
    for library in LIBRARIES:
        module = linear(library, rows, columns)
        library.manual_seed(4)
        library.nn.utils.parametrizations.orthogonal(
            module, orthogonal_map=name, use_trivialization=trivial)
        weight = module.weight.detach().numpy()
        gram = weight @ weight.T if rows < columns else weight.T @ weight
        np.testing.assert_allclose(gram, np.eye(len(gram)), atol=1e-10)
        results.append(trained(library, module))
    agree(*results, tolerance=1e-9)


class Halves:
    """A parametrization with several originals, and one with a single original."""

    def __init__(self, library: Any) -> None:
        class Sum(library.nn.Module):
            def forward(self, a: Any, b: Any) -> Any:
                return a + b

            def right_inverse(self, x: Any) -> Any:
                return x * 0.25, x * 0.75

        class Symmetric(library.nn.Module):
            def forward(self, x: Any) -> Any:
                return x.triu() + x.triu(1).transpose(-1, -2)

            def right_inverse(self, x: Any) -> Any:
                return x.triu()

        self.sum, self.symmetric = Sum, Symmetric


def test_parametrizations_are_registered_assigned_and_removed_as_in_torch() -> None:
    """The whole life of one: names, reading, caching, assigning, copying, removing."""
    results = []
    for library in LIBRARIES:
        parametrize = library.nn.utils.parametrize
        kinds, module = Halves(library), linear(library, 4, 4)
        found: dict[str, Any] = {}
        parametrize.register_parametrization(module, "weight", kinds.symmetric())
        parametrize.register_parametrization(module, "bias", kinds.sum())
        text = [repr(module), type(module).__name__, list(module.state_dict())]
        assert parametrize.is_parametrized(module, "weight")
        assert parametrize.type_before_parametrizations(module) is library.nn.Linear
        assert module.weight is not module.weight
        with parametrize.cached():
            assert module.weight is module.weight
        module.weight = library.tensor(numbers(4, 4, seed=7))
        module.bias = library.tensor(numbers(4, seed=8))
        found |= learned(module)
        twin = copy.deepcopy(module)
        found |= {f"copy {k}": v for k, v in learned(twin).items()}
        with pytest.raises(RuntimeError, match="only supported through state_dict"):
            pickle.dumps(module)
        other = linear(library, 4, 4)
        parametrize.transfer_parametrizations_and_params(module, other)
        found |= {f"other {k}": v for k, v in learned(other).items()}
        parametrize.remove_parametrizations(other, "weight", leave_parametrized=False)
        parametrize.remove_parametrizations(module, "weight")
        parametrize.remove_parametrizations(module, "bias")
        assert type(module) is library.nn.Linear
        found |= {f"after {k}": v for k, v in {**learned(module), **learned(other)}.items()}
        results.append((text, found))
    assert results[0][0] == results[1][0]
    agree(results[0][1], results[1][1])


def refusals(library: Any) -> list[str]:
    """The texts of everything that parametrizations refuse."""
    parametrize = library.nn.utils.parametrize
    kinds = Halves(library)

    class Wrong(library.nn.Module):
        def __init__(self, forward: Any, inverse: Any = None) -> None:
            super().__init__()
            self.function = forward
            if inverse is not None:
                self.right_inverse = inverse

        def forward(self, *inputs: Any) -> Any:
            return self.function(*inputs)

    def same(x: Any) -> Any:
        return x

    actions = [
        lambda m: parametrize.register_parametrization(m, "nothing", kinds.sum()),
        lambda m: parametrize.register_parametrization(m, "weight", Wrong(lambda x: x[0])),
        lambda m: parametrize.register_parametrization(m, "weight", Wrong(lambda x: x.float())),
        lambda m: parametrize.register_parametrization(m, "weight", Wrong(lambda x: 3)),
        lambda m: parametrize.register_parametrization(m, "weight", Wrong(same, lambda x: 3)),
        lambda m: parametrize.register_parametrization(m, "weight", Wrong(same, lambda x: [3])),
        lambda m: parametrize.register_parametrization(
            m, "weight", Wrong(same, lambda x: x.float())),
        lambda m: parametrize.remove_parametrizations(m, "weight"),
        lambda m: parametrize.remove_parametrizations(
            parametrize.register_parametrization(m, "bias", kinds.sum()), "bias", False),
        lambda m: setattr(
            parametrize.register_parametrization(m, "weight", Wrong(same)), "weight", m.weight),
        lambda m: parametrize.register_parametrization(
            parametrize.register_parametrization(m, "weight", Wrong(same)), "weight",
            Wrong(lambda x: x[1:])),
        lambda m: parametrize.register_parametrization(
            parametrize.register_parametrization(m, "weight", Wrong(same)), "weight",
            Wrong(same, lambda x: x[1:])),
        lambda m: library.nn.utils.parametrizations.orthogonal(m, "bias"),
        lambda m: library.nn.utils.parametrizations.orthogonal(m, orthogonal_map="none"),
        lambda m: library.nn.utils.parametrizations.spectral_norm(m, n_power_iterations=0),
        lambda m: library.nn.utils.parametrizations.spectral_norm(m, dim=4),
        lambda m: library.nn.utils.spectral_norm(m, n_power_iterations=-1),
        lambda m: library.nn.utils.remove_spectral_norm(m),
        lambda m: library.nn.utils.remove_weight_norm(m),
    ]  # fmt: skip
    texts = []
    for action in actions:
        with pytest.raises(Exception) as caught:
            action(linear(library))
        texts.append(f"{caught.type.__name__}: {caught.value}")
    return texts


def test_parametrizations_refuse_what_torch_refuses() -> None:
    """With torch's exceptions and texts."""
    expected, actual = (refusals(library) for library in LIBRARIES)
    assert actual == expected


@pytest.mark.filterwarnings("ignore:.torch.nn.utils.weight_norm. is deprecated:FutureWarning")
def test_old_norms_are_removed_and_their_checkpoints_taken() -> None:
    """The weight stays; the new weight norm takes the old one's names."""
    for library in LIBRARIES:
        utils, x = library.nn.utils, library.tensor(numbers(3, 4))
        for add, remove in ((utils.weight_norm, utils.remove_weight_norm),
                            (utils.spectral_norm, utils.remove_spectral_norm)):  # fmt: skip
            module = add(linear(library)).eval()
            before = module(x).detach().numpy()
            state = module.state_dict()
            assert list(remove(module).state_dict()) in (["bias", "weight"], ["weight", "bias"])
            np.testing.assert_allclose(module(x).detach().numpy(), before, rtol=1e-12)
            again = add(linear(library)).eval()
            again.load_state_dict(state)
            np.testing.assert_allclose(again(x).detach().numpy(), before, rtol=1e-12)
            with pytest.raises(RuntimeError, match="Cannot register two"):
                add(again)
        new = utils.parametrizations.weight_norm(linear(library))
        old = utils.weight_norm(linear(library)).state_dict()
        new.load_state_dict({k: v * 2 for k, v in old.items()})
        np.testing.assert_allclose(
            new.weight.detach().numpy(), 2 * numbers(5, 4), rtol=1e-12)


PRUNINGS = {
    "random": lambda p, m: p.random_unstructured(m, "weight", 0.3),
    "random count": lambda p, m: p.random_unstructured(m, "weight", 3),
    "least": lambda p, m: p.l1_unstructured(m, "weight", 7),
    "least twice": lambda p, m: p.l1_unstructured(
        p.l1_unstructured(m, "weight", 0.4), "weight", 0.5),
    "slices at random": lambda p, m: p.random_structured(m, "weight", 2, 0),
    "slices": lambda p, m: p.ln_structured(m, "weight", 0.5, 2, 1),
    "slices then elements": lambda p, m: p.l1_unstructured(
        p.ln_structured(m, "weight", 2, 1, -2), "weight", 0.3),
    "slices twice": lambda p, m: p.ln_structured(
        p.ln_structured(m, "weight", 1, 2, 0), "weight", 1, float("inf"), 1),
    "identity": lambda p, m: p.identity(m, "bias"),
    "all": lambda p, m: p.global_unstructured(
        [(m, "weight"), (m, "bias")], p.L1Unstructured, amount=9),
}  # fmt: skip


@pytest.mark.parametrize("way", PRUNINGS)
def test_pruning_masks_what_torch_masks(way: str) -> None:
    """Masks, names and the gradients of what is left; then the pruning is made permanent."""
    results = []
    for library in LIBRARIES:
        prune, module = library.nn.utils.prune, linear(library)
        library.manual_seed(5)
        PRUNINGS[way](prune, module)
        assert prune.is_pruned(module)
        found = trained(library, module)
        for name in ("weight", "bias"):
            if name + "_orig" in module._parameters:
                prune.remove(module, name)
        assert not prune.is_pruned(module)
        results.append(found | {f"left {k}": v for k, v in learned(module).items()})
    agree(*results)


def test_pruning_refuses_what_torch_refuses() -> None:
    """Amounts, axes and names that make no sense."""
    found = []
    for library in LIBRARIES:
        prune, texts = library.nn.utils.prune, []
        actions = [
            lambda m, p=prune: p.l1_unstructured(m, "weight", 1.5),
            lambda m, p=prune: p.l1_unstructured(m, "weight", -1),
            lambda m, p=prune: p.l1_unstructured(m, "weight", "half"),
            lambda m, p=prune: p.l1_unstructured(m, "weight", 100),
            lambda m, p=prune: p.ln_structured(m, "bias", 1, 2, 0),
            lambda m, p=prune: p.ln_structured(m, "weight", 1, 2, 3),
            lambda m, p=prune: p.remove(m, "weight"),
            lambda m, p=prune: p.global_unstructured(
                [(m, "weight")], p.LnStructured, amount=1, n=1),
            lambda m, p=prune: p.global_unstructured(3, p.L1Unstructured, amount=1),
        ]  # fmt: skip
        for action in actions:
            module = linear(library)
            with pytest.raises(Exception) as caught:
                action(module)
            assert list(module._parameters) in (["weight", "bias"], ["bias", "weight"])
            texts.append(f"{caught.type.__name__}: {caught.value}".replace("mindtorch.", ""))
        found.append(texts)
    assert found[1] == found[0]


def test_a_stateless_call_uses_the_given_tensors_and_puts_the_own_ones_back() -> None:
    """Gradients go to what was given; a batch norm's statistics are written to it."""
    results = []
    for library in LIBRARIES:
        nn = library.nn
        net = nn.Sequential(linear(library), nn.BatchNorm1d(5, dtype=library.float64))
        own = {k: v.clone() for k, v in net.state_dict().items()}
        given = {k: (v * 2).detach() for k, v in net.state_dict().items()}
        given["0.weight"].requires_grad_()
        with pytest.warns(FutureWarning, match="stateless.functional_call"):
            out = nn.utils.stateless.functional_call(
                net, given, library.tensor(numbers(6, 4, seed=3)))
        (out ** 2 * library.tensor(numbers(6, 5, seed=4))).sum().backward()
        for key, value in net.state_dict().items():
            np.testing.assert_array_equal(value.numpy(), own[key].numpy())
        assert net[0].weight.grad is None
        found = {k: v.detach().numpy() for k, v in given.items()}
        results.append({**found, "out": out.detach().numpy(),
                        "grad": given["0.weight"].grad.numpy()})  # fmt: skip
    agree(*results)


def test_a_stateless_call_refuses_names_and_ties_as_torch_does() -> None:
    """Two values for one tensor, and with strict missing and unknown names."""
    found = []
    for library in LIBRARIES:
        texts = []
        net = library.nn.Sequential(linear(library, 4), linear(library, 4))
        net[1].weight = net[0].weight
        x = library.tensor(numbers(2, 4))
        call = library.nn.utils.stateless.functional_call
        tied = {"0.weight": net[0].weight * 2, "1.weight": net[0].weight * 3}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)
            for given, options in ((tied, {}), ({"0.weight": x, "a.b": x}, {"strict": True})):
                with pytest.raises((ValueError, RuntimeError)) as caught:
                    call(net, given, (x,), **options)
                texts.append(str(caught.value))
            call(net, {"0.weight": net[0].weight * 2, "0.there": x}, (x,))
            with pytest.raises(AttributeError) as absent:
                call(net, {"0.none.there": x}, (x,))
            texts.append(str(absent.value))
            both = call(net, {"0.weight": net[0].weight * 2}, (x,))
        texts.append(both.detach().numpy().round(9).tolist())
        found.append(texts)
    assert found[0] == found[1]


def test_buffers_that_a_stateless_call_replaces_come_back_in_the_dict() -> None:
    """A module may assign to its buffer in place of writing to it."""

    class Counter(ours.nn.Module):
        count: Any

        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", ours.zeros(()))

        def forward(self, x: Any) -> Any:
            self.count = self.count + 1
            return x + self.count

    module, given = Counter(), {"count": ours.tensor(5.0)}
    assert own_stateless.call(module, given, ours.zeros(())).item() == 6
    assert given["count"].item() == 6
    assert module.count.item() == 0


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("bias", [False, True])
@pytest.mark.parametrize("affine", [False, True])
def test_a_fused_batch_norm_computes_the_same(transposed: bool, bias: bool, affine: bool) -> None:
    """And gives torch's parameters."""
    results = []
    for library in LIBRARIES:
        library.manual_seed(6)
        nn, double = library.nn, {"dtype": library.float64}
        kind = nn.ConvTranspose2d if transposed else nn.Conv2d
        conv = kind(3, 5, 3, bias=bias, **double).eval()
        bn = nn.BatchNorm2d(5, affine=affine, **double)
        x = library.tensor(numbers(2, 3, 6, 6))
        bn(conv(x))
        fused = nn.utils.fuse_conv_bn_eval(conv, bn.eval(), transposed)
        np.testing.assert_allclose(
            fused(x).detach().numpy(), bn(conv(x)).detach().numpy(), rtol=1e-9, atol=1e-10)
        results.append(learned(fused))
        with pytest.raises(AssertionError, match="only for eval"):
            nn.utils.fuse_conv_bn_eval(conv, bn.train(), transposed)
    agree(*results, tolerance=1e-10)


def test_a_fused_linear_map_computes_the_same() -> None:
    """With a batch norm of as many features, and none with another number."""
    results = []
    for library in LIBRARIES:
        bn = library.nn.BatchNorm1d(5, dtype=library.float64)
        module, x = linear(library).eval(), library.tensor(numbers(8, 4))
        bn(module(x))
        fused = library.nn.utils.fuse_linear_bn_eval(module, bn.eval())
        np.testing.assert_allclose(
            fused(x).detach().numpy(), bn(module(x)).detach().numpy(), rtol=1e-9, atol=1e-10)
        results.append(learned(fused))
        with pytest.raises(AssertionError, match="To fuse"):
            library.nn.utils.fuse_linear_bn_eval(linear(library, 4).eval(), bn)
    agree(*results, tolerance=1e-10)


@pytest.mark.parametrize("order", [1.0, 2.0, 3.0, float("inf")])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_clipped_gradients_and_their_norm_are_torchs(order: float, dtype: str) -> None:
    """The fused path for the Euclidean norm and the one of ops for all others."""
    results = []
    for library in LIBRARIES:
        parameters = []
        for i, shape in enumerate(((3, 4), (5,), ())):
            p = library.nn.Parameter(library.zeros(shape, dtype=getattr(library, dtype)))
            p.grad = library.tensor(np.asarray(numbers(*shape, seed=i), dtype))
            parameters.append(p)
        total = library.nn.utils.clip_grad_norm_(parameters, 0.7, order)
        assert str(total.dtype).endswith(dtype)
        results.append({"total": total.numpy()} | {
            str(i): p.grad.numpy() for i, p in enumerate(parameters)})  # fmt: skip
    agree(*results, tolerance=4e-7 if dtype == "float32" else 1e-14)


def test_a_norm_that_is_not_finite_is_refused_when_asked() -> None:
    """With torch's text."""
    texts = []
    for library in LIBRARIES:
        p = library.nn.Parameter(library.zeros(2))
        p.grad = library.tensor([1.0, float("nan")])
        with pytest.raises(RuntimeError) as caught:
            library.nn.utils.clip_grad_norm_([p], 1.0, error_if_nonfinite=True)
        texts.append(str(caught.value))
    assert texts[0] == texts[1]


def test_skip_init_draws_no_random_numbers() -> None:
    """What comes after a large model's construction does not depend on it."""
    ours.manual_seed(1)
    expected = ours.rand(3).numpy()
    ours.manual_seed(1)
    module = ours.nn.utils.skip_init(ours.nn.Linear, 4, 5)
    assert module.weight.shape == (5, 4)
    np.testing.assert_array_equal(ours.rand(3).numpy(), expected)
    with pytest.raises(RuntimeError, match="must support a 'device' arg"):
        ours.nn.utils.skip_init(ours.nn.modules.activation.ReLU)
