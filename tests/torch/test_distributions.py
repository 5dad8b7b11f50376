"""torch.distributions beside torch's: samples to the bit, values and gradients to rounding."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import mindtorch.torch as ours
from mindtorch.torch.distributions import _sampling

torch = pytest.importorskip("torch")
LIBRARIES = (torch, ours)
VALUES = np.random.RandomState(3)
A, B = VALUES.uniform(0.3, 3, (3, 4)), VALUES.uniform(0.5, 2, (3, 4))
REAL = VALUES.standard_normal((3, 4))
P = VALUES.uniform(0.05, 0.95, (3, 4))
COUNT = np.array([[5.0], [3.0], [9.0]])
ROOT = np.tril(VALUES.uniform(0.2, 1, (4, 4))) + np.eye(4)
SPREAD = ROOT @ ROOT.T
T = np.array(0.7)

# (class, parameters, values within the support)
ROWS: list[tuple[str, dict[str, Any], Any]] = [
    ("Bernoulli", {"probs": P}, np.round(P)),
    ("Bernoulli", {"logits": REAL}, np.round(P)),
    ("Beta", {"concentration1": A, "concentration0": B}, P),
    ("Binomial", {"total_count": COUNT, "probs": P}, np.minimum(np.round(4 * P), COUNT)),
    ("Binomial", {"total_count": 6, "logits": REAL}, np.round(6 * P)),
    ("Categorical", {"probs": A}, np.array([1, 0, 3])),
    ("Categorical", {"logits": REAL}, np.array([1, 0, 3])),
    ("Cauchy", {"loc": REAL, "scale": A}, B),
    ("Chi2", {"df": A}, B),
    ("ContinuousBernoulli", {"probs": np.where(P > 0.8, 0.5, P)}, P[::-1].copy()),
    ("ContinuousBernoulli", {"logits": REAL}, P),
    ("Dirichlet", {"concentration": A}, B / B.sum(-1, keepdims=True)),
    ("Exponential", {"rate": A}, B),
    ("FisherSnedecor", {"df1": A, "df2": B}, A[::-1].copy()),
    ("FisherSnedecor", {"df1": A + 3, "df2": B + 6}, A),
    ("Gamma", {"concentration": A, "rate": B}, A[::-1].copy()),
    ("GeneralizedPareto", {"loc": REAL, "scale": A, "concentration": 0.3 * REAL[::-1].copy()},
     REAL + 0.4 * P),
    ("Geometric", {"probs": P}, np.round(4 * B)),
    ("Geometric", {"logits": REAL}, np.round(4 * B)),
    ("Gumbel", {"loc": REAL, "scale": A}, B),
    ("HalfCauchy", {"scale": A}, B),
    ("HalfNormal", {"scale": A}, B),
    ("InverseGamma", {"concentration": A, "rate": B}, A[::-1].copy()),
    ("Kumaraswamy", {"concentration1": A, "concentration0": B}, P),
    ("Laplace", {"loc": REAL, "scale": A}, B),
    ("LKJCholesky", {"dim": 4, "concentration": np.array([0.7, 2.0])},
     ROOT / np.linalg.norm(ROOT, axis=-1, keepdims=True)),
    ("LogNormal", {"loc": REAL, "scale": A}, B),
    ("LogisticNormal", {"loc": REAL, "scale": A},
     np.full((3, 5), 0.1) + np.eye(5)[[0, 2, 4]] * 0.5),
    ("LowRankMultivariateNormal", {"loc": REAL, "cov_factor": A.T[:, :2].copy(),
                                   "cov_diag": B[0]}, A),
    ("Multinomial", {"total_count": 6, "probs": A}, np.array([1.0, 2.0, 0.0, 3.0])),
    ("Multinomial", {"total_count": 6, "logits": REAL}, np.array([1.0, 2.0, 0.0, 3.0])),
    ("MultivariateNormal", {"loc": REAL, "scale_tril": ROOT}, A),
    ("MultivariateNormal", {"loc": REAL[0], "covariance_matrix": SPREAD * B[:, :1, None]}, A),
    ("MultivariateNormal", {"loc": REAL, "precision_matrix": SPREAD}, A),
    ("NegativeBinomial", {"total_count": A, "probs": P}, np.round(3 * B)),
    ("NegativeBinomial", {"total_count": A, "logits": REAL}, np.round(3 * B)),
    ("Normal", {"loc": REAL, "scale": A}, B),
    ("OneHotCategorical", {"probs": A}, np.eye(4)[[1, 0, 3]]),
    ("OneHotCategoricalStraightThrough", {"logits": REAL}, np.eye(4)[[1, 0, 3]]),
    ("Pareto", {"scale": A, "alpha": B + 2}, A + B),
    ("Poisson", {"rate": A}, np.round(3 * B)),
    ("RelaxedBernoulli", {"temperature": T, "probs": P}, P[::-1].copy()),
    ("RelaxedBernoulli", {"temperature": T, "logits": REAL}, P),
    ("RelaxedOneHotCategorical", {"temperature": T, "probs": A},
     B / B.sum(-1, keepdims=True)),
    ("RelaxedOneHotCategorical", {"temperature": T, "logits": REAL},
     B / B.sum(-1, keepdims=True)),
    ("StudentT", {"df": A, "loc": REAL, "scale": B}, A),
    ("Uniform", {"low": REAL, "high": REAL + A}, REAL + A * P),
    ("VonMises", {"loc": REAL, "concentration": A}, B),
    ("VonMises", {"loc": REAL, "concentration": 5 * A}, B),
    ("Weibull", {"scale": A, "concentration": B}, P),
    ("Wishart", {"df": np.array([4.5, 6.0, 9.0]), "scale_tril": ROOT}, SPREAD),
    ("Wishart", {"df": np.array([4.5, 6.0, 9.0]), "covariance_matrix": SPREAD}, SPREAD),
    ("Wishart", {"df": np.array([4.5, 6.0, 9.0]), "precision_matrix": SPREAD}, SPREAD),
]
IDS = [f"{i}-{row[0]}" for i, row in enumerate(ROWS)]
# A gradient of a sample, by the derivative of its quantile: torch's own is an approximation.
BY_QUANTILE = ("Beta", "Chi2", "Dirichlet", "FisherSnedecor", "Gamma", "InverseGamma", "StudentT",
               "Wishart")  # fmt: skip


@pytest.fixture(autouse=True)
def no_warnings_about_samples() -> Any:
    """Few degrees of freedom are what some rows are about."""
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Low df|Singular sample", UserWarning)
        yield


def build(library: Any, row: Any, dtype: str, learn: bool = False) -> tuple[Any, dict[str, Any]]:
    """The distribution in a library, and its parameters as tensors."""
    name, arguments, _ = row
    tensors = {
        key: library.tensor(np.asarray(value, dtype), requires_grad=learn and key != "total_count")
        for key, value in arguments.items()
        if not isinstance(value, int)
    }
    return getattr(library.distributions, name)(**{**arguments, **tensors}), tensors


def value_of(library: Any, row: Any, learn: bool = False) -> Any:
    integral = row[0] == "Categorical"
    return library.tensor(row[2], requires_grad=learn and not integral)


def close(expected: Any, actual: Any, what: str, tolerance: float = 1e-9) -> None:
    assert tuple(expected.shape) == tuple(actual.shape), what
    np.testing.assert_allclose(
        actual.detach().numpy(), expected.detach().numpy(), rtol=tolerance, atol=tolerance,
        err_msg=what)


SAMPLED = [row for row in ROWS if row[0] != "Wishart"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("row", SAMPLED, ids=[f"{i}-{row[0]}" for i, row in enumerate(SAMPLED)])
def test_samples_are_torchs_to_the_bit(row: Any, dtype: str) -> None:
    """Random numbers are drawn in torch's order; elementary functions may round otherwise."""
    drawn = []
    for library in LIBRARIES:
        made, _ = build(library, row, dtype)
        library.manual_seed(11)
        drawn.append([made.sample((50,)).numpy(), made.sample().numpy()])
    for expected, actual in zip(*drawn, strict=True):
        assert expected.dtype == actual.dtype
        assert expected.shape == actual.shape
        same = (expected == actual) | (np.isnan(expected) & np.isnan(actual))
        exact = row[0] in EXACT
        assert not exact or same.all()
        np.testing.assert_allclose(
            actual, expected, rtol=2e-5 if dtype == "float32" else 1e-11,
            atol=5e-6 if dtype == "float32" else 1e-12)


EXACT = ("Bernoulli", "Binomial", "Categorical", "Geometric", "Multinomial", "Normal",
         "OneHotCategorical", "Poisson", "Uniform", "NegativeBinomial", "HalfNormal")  # fmt: skip


def test_wishart_samples_have_the_mean() -> None:
    """torch draws the valid samples anew in place of the singular ones, so its bits differ."""
    made, _ = build(ours, ROWS[-1], "float64")
    ours.manual_seed(0)
    sample = made.sample((4000,))
    error = (sample.mean(0) - made.mean) / made.variance.sqrt() * 4000**0.5
    assert error.abs().max() < 4.5
    assert bool(made.support.check(sample).all())


def results(made: Any, value: Any) -> dict[str, Any]:
    """All that a distribution computes, by name; what it does not is left out."""
    found = {}
    inner = 0.1 + 0.8 / (1 + value.detach().double().abs())
    for name, compute in {
        "log_prob": lambda: made.log_prob(value), "entropy": made.entropy,
        "perplexity": made.perplexity, "mean": lambda: made.mean, "mode": lambda: made.mode,
        "variance": lambda: made.variance, "stddev": lambda: made.stddev,
        "cdf": lambda: made.cdf(value), "icdf": lambda: made.icdf(inner),
        "values": made.enumerate_support, "few": lambda: made.enumerate_support(False),
        "covariance": lambda: made.covariance_matrix, "precision": lambda: made.precision_matrix,
        "scale_tril": lambda: made.scale_tril,
    }.items():  # fmt: skip
        try:
            found[name] = compute()
        except (NotImplementedError, AttributeError):
            continue
    return found


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_values_and_their_gradients_are_torchs(row: Any) -> None:
    """Densities, moments, quantiles: in double precision, by parameters and by the value."""
    # torch's own functions of this one refuse double precision.
    single = row[0] == "GeneralizedPareto"
    both = []
    for library in LIBRARIES:
        made, parameters = build(library, row, "float32" if single else "float64", learn=True)
        value = value_of(library, row, learn=not single)
        value = value.float().requires_grad_() if single else value
        both.append((made, [*parameters.values(), value], results(made, value)))
    assert list(both[0][2]) == list(both[1][2])
    # torch computes the factorial of a multinomial's count in single precision.
    tolerance = 1e-5 if single else 1e-6 if row[0] == "Multinomial" else 1e-9
    for name, expected in both[0][2].items():
        close(expected, both[1][2][name], name, tolerance)
        if name == "cdf" and row[0] in ("Chi2", "Gamma", "InverseGamma"):
            continue  # torch has no derivative of the incomplete gamma function
        if not expected.requires_grad or name in ("mode", "values", "few"):
            continue
        if not bool(torch.isfinite(expected).all()):
            continue
        gradients = [
            library.autograd.grad(
                found[name].sum(), [i for i in inputs if i.requires_grad], retain_graph=True,
                allow_unused=True)
            for library, (_, inputs, found) in zip(LIBRARIES, both, strict=True)
        ]  # fmt: skip
        for one, other in zip(*gradients, strict=True):
            assert (one is None) == (other is None), name
            if one is not None:
                if "scale_tril" in row[1] and one.shape[-2:] == (4, 4):
                    one, other = one.tril(), other.tril()  # what lies above is never read
                close(one, other, "gradient of " + name, max(tolerance, 1e-8))


@pytest.mark.parametrize("row", SAMPLED, ids=[f"{i}-{row[0]}" for i, row in enumerate(SAMPLED)])
def test_samples_with_gradients_have_torchs(row: Any) -> None:
    """Where torch approximates the derivative of a quantile, to the approximation's accuracy."""
    both = []
    for library in LIBRARIES:
        made, parameters = build(library, row, "float64", learn=True)
        assert made.has_rsample == build(torch, row, "float64")[0].has_rsample
        if not made.has_rsample:
            with pytest.raises(NotImplementedError):
                made.rsample()
            return
        library.manual_seed(5)
        sample = made.rsample((7,))
        weights = library.tensor(np.cos(np.arange(sample.numel())).reshape(tuple(sample.shape)))
        inputs = [p for p in parameters.values() if p.requires_grad]
        both.append(library.autograd.grad(
            (sample * weights).sum(), inputs, allow_unused=True))  # fmt: skip
    for one, other in zip(*both, strict=True):
        assert (one is None) == (other is None)
        if one is not None:
            close(one, other, "gradient of a sample", 2e-3 if row[0] in BY_QUANTILE else 1e-8)


@pytest.mark.parametrize("row", ROWS, ids=IDS)
def test_shapes_texts_and_expanded_ones_are_torchs(row: Any) -> None:
    """repr, batch and event shapes; an expanded distribution gives the same densities."""
    both = []
    for library in LIBRARIES:
        made, _ = build(library, row, "float64")
        wide = made.expand((2, *made.batch_shape))
        value = value_of(library, row)
        both.append([
            repr(made), tuple(made.batch_shape), tuple(made.event_shape), made.has_rsample,
            made.has_enumerate_support, tuple(wide.batch_shape), tuple(wide.event_shape),
            repr(made.support).replace("torch.float64", ""),
        ])  # fmt: skip
        assert type(wide) is type(made)
        if library is ours:
            again = wide.log_prob(value)
            np.testing.assert_allclose(
                again[1].numpy(), made.log_prob(value).detach().numpy(), rtol=1e-12)
            assert tuple(wide.sample((3,)).shape) == (
                3, 2, *made.batch_shape, *made.event_shape)
    assert both[0] == both[1]


def test_the_function_of_gamma_variates_has_exact_gradients() -> None:
    """By the value the density, by the concentration a difference of scipy's function."""
    from scipy import special

    a, x = (ours.tensor(v, requires_grad=True) for v in (A, B))
    made = ours.distributions.Gamma(a, ours.ones(3, 4, dtype=ours.float64))
    made.cdf(x).sum().backward()
    np.testing.assert_allclose(
        x.grad.numpy(), made.log_prob(x).exp().detach().numpy(), rtol=1e-12)
    h = 1e-6
    expected = (special.gammainc(A + h, B) - special.gammainc(A - h, B)) / (2 * h)
    np.testing.assert_allclose(a.grad.numpy(), expected, rtol=1e-6)


def test_gradients_of_quantiles_are_exact() -> None:
    """Against differences of the inverse distribution functions of scipy."""
    from scipy import special

    a = np.geomspace(0.05, 40, 9)[:, None]
    u = np.linspace(0.03, 0.97, 11)[None]
    h = 1e-5 * a
    x = special.gammaincinv(a, u)
    expected = (special.gammaincinv(a + h, u) - special.gammaincinv(a - h, u)) / (2 * h)
    np.testing.assert_allclose(_sampling.gamma_slope(x, a + 0 * u), expected, rtol=1e-5)
    b = 1.7
    x = special.betaincinv(a, b, u)
    expected = (special.betaincinv(a + h, b, u) - special.betaincinv(a - h, b, u)) / (2 * h)
    np.testing.assert_allclose(_sampling.beta_slope(x, a + 0 * u, b), expected, rtol=1e-4)


# --- divergences -------------------------------------------------------------------------------

PAIRS: dict[str, dict[str, Any]] = {
    "Bernoulli": {"probs": P}, "Beta": {"concentration1": A, "concentration0": B},
    "Binomial": {"total_count": 5, "probs": P}, "Categorical": {"probs": A},
    "Cauchy": {"loc": REAL, "scale": A}, "ContinuousBernoulli": {"probs": P},
    "Dirichlet": {"concentration": A}, "Exponential": {"rate": A},
    "Gamma": {"concentration": A, "rate": B}, "Geometric": {"probs": P},
    "Gumbel": {"loc": REAL, "scale": A}, "HalfNormal": {"scale": A},
    "Laplace": {"loc": REAL, "scale": A},
    "LowRankMultivariateNormal": {"loc": REAL, "cov_factor": A.T[:, :2].copy(),
                                  "cov_diag": B[0]},
    "LogNormal": {"loc": REAL, "scale": A},
    "MultivariateNormal": {"loc": REAL, "scale_tril": ROOT},
    "Normal": {"loc": REAL, "scale": A}, "OneHotCategorical": {"logits": REAL},
    "Pareto": {"scale": A, "alpha": B + 1}, "Poisson": {"rate": A},
    "Uniform": {"low": P - 0.1, "high": P + 0.15 * B}, "Weibull": {"scale": A, "concentration": B},
}  # fmt: skip


def turned(arguments: dict[str, Any]) -> dict[str, Any]:
    """Other parameters of the same kind."""
    return {
        k: v if isinstance(v, int) or k in ("scale_tril", "cov_factor", "cov_diag")
        else v[::-1].copy() for k, v in arguments.items()
    }  # fmt: skip


@pytest.mark.parametrize("second", PAIRS)
@pytest.mark.parametrize("first", PAIRS)
@pytest.mark.filterwarnings("ignore:Ambiguous kl_divergence:RuntimeWarning")
def test_divergences_of_every_pair_are_torchs(first: str, second: str) -> None:
    """Finite, infinite and missing ones alike."""
    found = []
    for library in LIBRARIES:
        p, _ = build(library, (first, PAIRS[first], None), "float64")
        q, _ = build(library, (second, turned(PAIRS[second]), None), "float64")
        try:
            found.append(library.distributions.kl_divergence(p, q).detach().numpy())
        except NotImplementedError as error:
            found.append(str(error))
    if isinstance(found[0], str):
        assert found[1] == found[0]
    else:
        np.testing.assert_allclose(found[1], found[0], rtol=1e-8, atol=1e-10)


def test_divergences_of_batches_taken_as_events() -> None:
    """Independent ones add up; a registered function is found for derived classes."""
    found = []
    for library in LIBRARIES:
        d = library.distributions
        p, q = (d.Independent(d.Normal(library.tensor(REAL), library.tensor(s)), 1) for s in (A, B))
        found.append(d.kl_divergence(p, q).numpy())

        Special = type("Special", (d.Normal,), {})  # noqa: N806

        @d.register_kl(Special, d.Normal)
        def _(p: Any, q: Any) -> str:
            return "special"

        one = Special(library.tensor(0.0), library.tensor(1.0))
        assert d.kl_divergence(one, one) == "special"
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)


# --- transforms and constraints ----------------------------------------------------------------

TRANSFORMS = {
    "exp": lambda L, t: (t.ExpTransform(), REAL),
    "power": lambda L, t: (t.PowerTransform(L.tensor(1.7)), A),
    "sigmoid": lambda L, t: (t.SigmoidTransform(), REAL),
    "tanh": lambda L, t: (t.TanhTransform(), REAL),
    "softplus": lambda L, t: (t.SoftplusTransform(), REAL),
    "affine": lambda L, t: (t.AffineTransform(L.tensor(B), -2.0), REAL),
    "affine of events": lambda L, t: (t.AffineTransform(1.0, L.tensor(B), event_dim=1), REAL),
    "softmax": lambda L, t: (t.SoftmaxTransform(), REAL),
    "sticks": lambda L, t: (t.StickBreakingTransform(), REAL),
    "correlations": lambda L, t: (t.CorrCholeskyTransform(), REAL.reshape(2, 6)),
    "lower": lambda L, t: (t.LowerCholeskyTransform(), REAL[:, :3].copy()),
    "definite": lambda L, t: (t.PositiveDefiniteTransform(), np.tril(REAL[:, :3])),
    "chain": lambda L, t: (t.ComposeTransform([
        t.AffineTransform(0.5, 2.0), t.SigmoidTransform(), t.AffineTransform(0.0, 3.0)]), REAL),
    "inverse": lambda L, t: (t.ExpTransform().inv, A),
    "reshaped": lambda L, t: (t.ReshapeTransform((4,), (2, 2)), REAL),
    "independent": lambda L, t: (t.IndependentTransform(t.ExpTransform(), 1), REAL),
    "cat": lambda L, t: (t.CatTransform(
        [t.ExpTransform(), t.SigmoidTransform()], 1, [1, 3]), REAL),
    "stack": lambda L, t: (t.StackTransform(
        [t.ExpTransform(), t.identity_transform, t.TanhTransform()], 0), REAL),
    "function": lambda L, t: (t.CumulativeDistributionTransform(
        L.distributions.Normal(L.tensor(REAL), L.tensor(A))), B),
}  # fmt: skip


@pytest.mark.parametrize("cache", [0, 1])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms_and_their_inverses_are_torchs(name: str, cache: int) -> None:
    """Values, Jacobians, gradients, shapes and what they say of themselves."""
    both: list[Any] = []
    for library in LIBRARIES:
        transform, start = TRANSFORMS[name](library, library.distributions.transforms)
        try:
            transform = transform.with_cache(cache)
        except NotImplementedError:
            transform = None
        if transform is None:
            both.append("no cache")
            continue
        x = library.tensor(start, requires_grad=True)
        y = transform(x)
        if cache and name not in ("chain", "cat", "stack", "independent"):
            assert transform.inv(y) is x
        back = transform.inv(library.tensor(y.detach().numpy()))
        found = {"y": y, "x": back}
        try:
            found["jacobian"] = transform.log_abs_det_jacobian(x, y)
        except NotImplementedError:
            assert name in ("softmax", "lower", "definite")
        found["gradient"] = library.autograd.grad((y * y).sum(), x)[0]
        facts = [
            repr(transform.domain), repr(transform.codomain), transform.bijective,
            tuple(transform.forward_shape(x.shape)), tuple(transform.inverse_shape(y.shape)),
            transform == transform, type(transform).__name__,
        ]  # fmt: skip
        both.append((facts, found))
    if both[0] == "no cache":
        assert both[1] == "no cache"
        return
    for one, other in zip(both[0][0], both[1][0], strict=True):
        assert str(one).replace("torch.float64", "") == str(other).replace("torch.float64", "")
    assert list(both[0][1]) == list(both[1][1])
    for key, expected in both[0][1].items():
        close(expected, both[1][1][key], key)


CONSTRAINTS = {
    "boolean": lambda L, c: c.boolean, "one_hot": lambda L, c: c.one_hot,
    "nonnegative_integer": lambda L, c: c.nonnegative_integer,
    "positive_integer": lambda L, c: c.positive_integer, "real": lambda L, c: c.real,
    "integer_interval": lambda L, c: c.integer_interval(0, 2),
    "real_vector": lambda L, c: c.real_vector, "positive": lambda L, c: c.positive,
    "nonnegative": lambda L, c: c.nonnegative, "greater_than": lambda L, c: c.greater_than(0.5),
    "less_than": lambda L, c: c.less_than(0.5), "unit_interval": lambda L, c: c.unit_interval,
    "interval": lambda L, c: c.interval(-1.0, L.tensor(2.0)),
    "half_open_interval": lambda L, c: c.half_open_interval(0.0, 1.0),
    "multinomial": lambda L, c: c.multinomial(3), "simplex": lambda L, c: c.simplex,
    "lower_triangular": lambda L, c: c.lower_triangular,
    "lower_cholesky": lambda L, c: c.lower_cholesky, "corr_cholesky": lambda L, c: c.corr_cholesky,
    "square": lambda L, c: c.square, "symmetric": lambda L, c: c.symmetric,
    "positive_semidefinite": lambda L, c: c.positive_semidefinite,
    "positive_definite": lambda L, c: c.positive_definite,
    "cat": lambda L, c: c.cat([c.positive, c.real], 1, [1, 2]),
    "stack": lambda L, c: c.stack([c.positive, c.boolean, c.unit_interval], 0),
}  # fmt: skip
CHECKED = [
    REAL[:, :3], np.round(P[:, :3]), np.eye(3), -np.eye(3), np.tril(A[:, :3]),
    np.full((3, 3), 1 / 3), SPREAD[:3, :3], np.zeros((3, 3)), 3 * np.eye(3), SPREAD[:3],
    np.diag([2.0, 0.0, 1.0]),
]  # fmt: skip


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_constraints_accept_what_torchs_do(name: str) -> None:
    """And call themselves the same.

    Whether a singular matrix counts as definite is decided by the rounding of LAPACK's kernels,
    except where its zeros are exact: in a diagonal one.
    """
    both = []
    for library in LIBRARIES:
        c = library.distributions.constraints
        constraint = CONSTRAINTS[name](library, c)
        found = [repr(constraint), constraint.is_discrete, constraint.event_dim]
        for array in CHECKED:
            if name in ("cat", "stack", "corr_cholesky") and array.shape != (3, 3):
                continue
            if "definite" in name and (array == 1 / 3).all():
                continue
            found.append(constraint.check(library.tensor(array)).numpy().tolist())
        both.append(found)
    assert both[0] == both[1]


@pytest.mark.parametrize("name", CONSTRAINTS)
@pytest.mark.parametrize("registry", ["biject_to", "transform_to"])
def test_the_registries_give_torchs_transforms(name: str, registry: str) -> None:
    """Unconstrained numbers are taken to the same constrained ones."""
    both = []
    for library in LIBRARIES:
        d = library.distributions
        try:
            transform = getattr(d, registry)(CONSTRAINTS[name](library, d.constraints))
        except NotImplementedError as error:
            both.append(str(error))
            continue
        start = REAL.reshape(2, 6) if name == "corr_cholesky" else REAL[:, :3].copy()
        both.append(transform(library.tensor(start)).numpy())
    if isinstance(both[0], str):
        assert both[0] == both[1]
    else:
        np.testing.assert_allclose(both[1], both[0], rtol=1e-10)


# --- mixtures, events, refusals ----------------------------------------------------------------


def mixture(library: Any, vectors: bool) -> Any:
    d = library.distributions
    weights = d.Categorical(logits=library.tensor(REAL[:, :3].copy()))
    means = library.tensor(VALUES_OF_MEANS)
    if not vectors:
        return d.MixtureSameFamily(weights, d.Normal(means[..., 0], means[..., 1].exp()))
    return d.MixtureSameFamily(weights, d.Independent(d.Normal(means, means.exp()), 1))


VALUES_OF_MEANS = np.random.RandomState(8).standard_normal((3, 3, 2))


@pytest.mark.parametrize("vectors", [False, True])
def test_mixtures_are_torchs(vectors: bool) -> None:
    """Samples, densities, moments and text, for numbers and for vectors."""
    both = []
    for library in LIBRARIES:
        made = mixture(library, vectors)
        library.manual_seed(3)
        sample = made.sample((6,))
        found = {"sample": sample, "density": made.log_prob(sample), "mean": made.mean,
                 "variance": made.variance,
                 "wide": made.expand((2, 3)).log_prob(sample[:2])}  # fmt: skip
        if not vectors:
            found["cdf"] = made.cdf(sample)
        both.append((repr(made), repr(made.support), found))
    assert both[0][:2] == both[1][:2]
    for key, expected in both[0][2].items():
        close(expected, both[1][2][key], key, 1e-12)


def refusals(library: Any) -> list[str]:
    d = library.distributions

    def t(*values: float) -> Any:
        return library.tensor(values)

    actions = [
        lambda: d.Normal(t(0.0, 1.0), t(1.0, -1.0)),
        lambda: d.Normal(t(0.0), t(1.0)).log_prob(t(float("nan"))),
        lambda: d.Normal(t(0.0), t(1.0)).log_prob(1.0),
        lambda: d.Normal(t(0.0, 1.0), t(1.0, 1.0)).log_prob(t(0.0, 1.0, 2.0)),
        lambda: d.Normal("a", 1.0),
        lambda: d.Bernoulli(), lambda: d.Bernoulli(t(0.5), t(0.5)),
        lambda: d.Bernoulli(t(1.5)), lambda: d.Bernoulli(t(0.5)).log_prob(t(0.3)),
        lambda: d.Categorical(library.tensor(0.5)),
        lambda: d.Categorical(t(0.5, -0.5)),
        lambda: d.Categorical(t(0.5, 0.5)).log_prob(library.tensor(3)),
        lambda: d.Uniform(t(1.0), t(0.0)),
        lambda: d.Beta(t(0.5), t(-0.5)),
        lambda: d.Dirichlet(library.tensor(0.5)),
        lambda: d.Dirichlet(t(0.5, 0.5)).log_prob(t(0.5, 0.9)),
        lambda: d.Dirichlet(t(0.5, 0.5)).log_prob(t(0.5, 0.4, 0.1)),
        lambda: d.MultivariateNormal(t(0.5, 0.5)),
        lambda: d.MultivariateNormal(t(0.5, 0.5), library.tensor([[1.0, 2.0], [3.0, 4.0]])),
        lambda: d.MultivariateNormal(library.tensor(0.5), library.eye(2)),
        lambda: d.Geometric(t(0.0)),
        lambda: d.Independent(d.Normal(t(0.0), t(1.0)), 2),
        lambda: d.LKJCholesky(1),
        lambda: d.Multinomial(library.tensor(3), t(0.5, 0.5)),
        lambda: d.Binomial(library.tensor([2, 3]), t(0.5, 0.5)).entropy(),
        lambda: d.Normal(t(0.0), t(1.0)).enumerate_support(),
        lambda: d.Poisson(t(1.0)).rsample(),
        lambda: d.TransformedDistribution(d.Normal(t(0.0), t(1.0)), "exp"),
        lambda: d.ExpTransform(cache_size=3),
        lambda: hash(d.ExpTransform()),
        lambda: d.constraints.dependent.check(t(0.5)),
        lambda: d.Distribution.set_default_validate_args(3),
    ]  # fmt: skip
    d.Distribution.set_default_validate_args(True)  # another test may have changed it
    texts = []
    for action in actions:
        with pytest.raises(Exception) as caught:
            action()
        texts.append(f"{caught.type.__name__}: {caught.value}")
    return texts


def test_wrong_parameters_and_values_raise_torchs_errors() -> None:
    """With torch's texts, the invalid values included."""
    expected, actual = (refusals(library) for library in LIBRARIES)
    assert actual == expected


def test_checks_can_be_turned_off() -> None:
    """For one distribution, and for all."""
    made = ours.distributions.Normal(ours.tensor(0.0), ours.tensor(-1.0), validate_args=False)
    assert np.isnan(made.log_prob(ours.tensor(1.0)).item())
    ours.distributions.Distribution.set_default_validate_args(False)
    try:
        ours.distributions.Normal(ours.tensor(0.0), ours.tensor(-1.0))
    finally:
        ours.distributions.Distribution.set_default_validate_args(True)
