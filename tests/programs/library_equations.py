"""Small programs of libraries that are built on torch: probability, geometry, equations, counting.

As `library_trainings.py`, whose programs these go on from.
"""

import contextlib
import io
from typing import Any

import torch
from library_trainings import batches, clusters, entropy, perceptron, trained
from torch import nn


def torch_geometric() -> dict[str, Any]:
    from torch_geometric.data import Batch, Data
    from torch_geometric.nn import GAT, GCN, GIN, GraphSAGE, global_mean_pool
    from torch_geometric.transforms import NormalizeFeatures
    from torch_geometric.utils import to_dense_adj, to_undirected

    edges, x = torch.randint(0, 12, (2, 40)), torch.randn(12, 8)
    labels = torch.randint(0, 3, (12,))
    result: dict[str, Any] = {"undirected": to_undirected(edges), "dense": to_dense_adj(edges)}
    for kind in (GCN, GAT, GraphSAGE, GIN):
        model = kind(8, 16, 2, 3, dropout=0.2)
        result[kind.__name__] = trained(model, entropy(model, labels, x, edges), steps=1)
    graph = NormalizeFeatures()(Data(x=x.abs(), edge_index=edges))
    both = Batch.from_data_list([graph, graph])
    return result | {"pooled": global_mean_pool(both.x, both.batch), "edges": both.edge_index}


def pyro() -> dict[str, Any]:
    import pyro
    import pyro.distributions as dist
    from pyro.infer import MCMC, NUTS, SVI, Trace_ELBO

    data = torch.randn(10) + 2

    def model() -> None:
        mean = pyro.sample("mean", dist.Normal(0.0, 1.0))
        with pyro.plate("data", 10):
            pyro.sample("seen", dist.Normal(mean, 1.0), obs=data)

    def guide() -> None:
        scale = pyro.param("scale", torch.tensor(1.0), constraint=dist.constraints.positive)
        pyro.sample("mean", dist.Normal(pyro.param("place", torch.tensor(0.0)), scale))

    pyro.set_rng_seed(0)
    inference = SVI(model, guide, pyro.optim.Adam({"lr": 0.05}), Trace_ELBO())
    losses = [inference.step() for _ in range(5)]
    chain = MCMC(NUTS(model), num_samples=5, warmup_steps=5, disable_progbar=True)
    chain.run()
    return {"losses": losses, "place": pyro.param("place"), **chain.get_samples()}


def gpytorch() -> dict[str, Any]:
    import gpytorch

    x = torch.linspace(0, 1, 20)
    y = torch.sin(x * 6)

    class Exact(gpytorch.models.ExactGP):
        def __init__(self) -> None:
            super().__init__(x, y, gpytorch.likelihoods.GaussianLikelihood())
            self.mean = gpytorch.means.ConstantMean()
            self.kernel = gpytorch.kernels.ScaleKernel(gpytorch.kernels.RBFKernel())

        def forward(self, x: Any) -> Any:
            return gpytorch.distributions.MultivariateNormal(self.mean(x), self.kernel(x))

    model = Exact().double()
    model.set_train_data(x.double(), y.double(), strict=False)
    marginal = gpytorch.mlls.ExactMarginalLogLikelihood(model.likelihood, model)
    optimizer = torch.optim.Adam(model.parameters(), lr=0.1)
    losses = trained(model, lambda: -marginal(model(x.double()), y.double()), 5, optimizer)
    model.eval()
    model.likelihood.eval()
    with torch.no_grad():
        found = model.likelihood(model(torch.linspace(0, 1, 7).double()))
    return {"losses": losses["losses"], "mean": found.mean, "variance": found.variance}


def botorch() -> dict[str, Any]:
    from botorch.fit import fit_gpytorch_mll
    from botorch.models import SingleTaskGP
    from gpytorch.mlls import ExactMarginalLogLikelihood

    x = torch.rand(10, 2, dtype=torch.double)
    y = 1 - (x - 0.5).norm(dim=-1, keepdim=True) + 0.01 * torch.randn(10, 1, dtype=torch.double)
    model = SingleTaskGP(x, y)
    fit_gpytorch_mll(ExactMarginalLogLikelihood(model.likelihood, model))
    return {"mean": model.posterior(torch.rand(5, 2, dtype=torch.double)).mean}


def torchdiffeq() -> dict[str, Any]:
    from torchdiffeq import odeint, odeint_adjoint

    class Field(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 2))

        def forward(self, t: Any, y: Any) -> Any:
            return self.net(y)

    field, start, times = Field(), torch.tensor([[1.0, 0.0]]), torch.linspace(0, 2, 10)
    result = {how: odeint(field, start, times, method=how) for how in ("rk4", "euler", "dopri5")}
    loss = odeint_adjoint(field, start, times).pow(2).mean()
    loss.backward()
    gradients = {name: p.grad for name, p in field.named_parameters()}
    return result | {"loss": loss, "gradients": gradients}


def torchsde() -> dict[str, Any]:
    import torchsde

    class Motion(nn.Module):
        noise_type = "diagonal"
        sde_type = "ito"

        def __init__(self) -> None:
            super().__init__()
            self.net = nn.Linear(3, 3)

        def f(self, t: Any, y: Any) -> Any:
            return torch.tanh(self.net(y))

        def g(self, t: Any, y: Any) -> Any:
            return 0.1 * torch.ones_like(y)

    motion = Motion()
    noise = torchsde.BrownianInterval(0.0, 1.0, size=(2, 3), entropy=7)
    times = torch.linspace(0, 1, 5)
    path = torchsde.sdeint(motion, torch.ones(2, 3), times, dt=0.1, method="euler", bm=noise)
    path.pow(2).mean().backward()
    return {"path": path, "gradients": {n: p.grad for n, p in motion.named_parameters()}}


def nflows() -> dict[str, Any]:
    from nflows.distributions.normal import StandardNormal
    from nflows.flows.base import Flow
    from nflows.transforms.autoregressive import MaskedAffineAutoregressiveTransform
    from nflows.transforms.base import CompositeTransform
    from nflows.transforms.permutations import ReversePermutation

    layers = []
    for _ in range(3):
        layers.append(ReversePermutation(features=2))
        layers.append(MaskedAffineAutoregressiveTransform(features=2, hidden_features=4))
    flow = Flow(CompositeTransform(layers), StandardNormal([2]))
    points = torch.randn(32, 2) * 0.5 + 1
    result = trained(flow, lambda: -flow.log_prob(inputs=points).mean(), 4)
    return result | {"drawn": flow.sample(4)}


def normflows() -> dict[str, Any]:
    import normflows as nf

    layers = []
    for _ in range(3):
        net = nf.nets.MLP([1, 8, 8, 2], init_zeros=True)
        layers += [nf.flows.AffineCouplingBlock(net), nf.flows.Permute(2, mode="swap")]
    model = nf.NormalizingFlow(nf.distributions.base.DiagGaussian(2), layers)
    points = torch.randn(32, 2) * 0.5
    return trained(model, lambda: model.forward_kld(points), 4)


def e3nn() -> dict[str, Any]:
    from e3nn import o3

    harmonics = o3.spherical_harmonics("0e+1o+2e", torch.randn(5, 3), normalize=True)
    product = o3.FullyConnectedTensorProduct("4x0e+2x1o", "0e+1o+2e", "4x0e+2x1o")
    made = product(torch.randn(5, 10), harmonics)
    loss = o3.Linear("4x0e+2x1o", "3x0e")(made).pow(2).mean()
    loss.backward()
    gradients = {name: p.grad for name, p in product.named_parameters()}
    return {"harmonics": harmonics, "made": made, "loss": loss, "gradients": gradients}


# --- looking at models, and tensors by name ------------------------------------------------------


def captum() -> dict[str, Any]:
    from captum.attr import DeepLift, IntegratedGradients, Occlusion, Saliency

    model, x = perceptron(), torch.randn(3, 4, requires_grad=True)
    return {
        "integrated": IntegratedGradients(model).attribute(x, target=1),
        "saliency": Saliency(model).attribute(x, target=0),
        "deep_lift": DeepLift(model).attribute(x, target=1),
        "occlusion": Occlusion(model).attribute(x, (2,), target=1),
    }


def _convolutions() -> Any:
    layers = [nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.ReLU(), nn.Flatten(), nn.Linear(288, 10)]
    return nn.Sequential(*layers)


def torchinfo() -> dict[str, Any]:
    import torchinfo

    return {"text": [str(torchinfo.summary(_convolutions(), (2, 3, 8, 8), verbose=0))]}


def torchsummary() -> dict[str, Any]:
    import torchsummary

    with contextlib.redirect_stdout(io.StringIO()) as text:
        torchsummary.summary(_convolutions(), (3, 8, 8), device="cpu")
    return {"text": [text.getvalue()]}


def thop() -> dict[str, Any]:
    from thop import profile

    counted = profile(_convolutions(), inputs=(torch.randn(1, 3, 8, 8),), verbose=False)
    return {"counted": list(counted)}


def fvcore() -> dict[str, Any]:
    from fvcore.nn import parameter_count

    return {"counted": dict(parameter_count(_convolutions()))}


def einx() -> dict[str, Any]:
    import einx

    x = torch.randn(4, 6, 8)
    return {
        "sum": einx.sum("a [b] c", x), "dot": einx.dot("a b c, c d -> a b d", x, torch.randn(8, 5)),
        "moved": einx.rearrange("a (b c) d -> a b (c d)", x, b=2),
    }  # fmt: skip


# --- privacy, codebooks, curved spaces, metrics ---------------------------------------------------


def opacus() -> dict[str, Any]:
    from opacus import PrivacyEngine

    model = perceptron()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model, optimizer, loader = PrivacyEngine().make_private(
        module=model, optimizer=optimizer, data_loader=batches(), noise_multiplier=1.0,
        max_grad_norm=1.0,
    )  # fmt: skip
    losses = []
    for x, y in loader:
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses}


def schedulefree() -> dict[str, Any]:
    import schedulefree

    (x, y), model = clusters(), perceptron()
    optimizer = schedulefree.AdamWScheduleFree(model.parameters(), lr=0.01)
    optimizer.train()
    result = trained(model, entropy(model, y, x), 4, optimizer)
    optimizer.eval()
    return result | {"averaged": model(x)}


def vector_quantize_pytorch() -> dict[str, Any]:
    from vector_quantize_pytorch import FSQ, ResidualVQ, VectorQuantize

    x = torch.randn(2, 10, 8)
    single = VectorQuantize(dim=8, codebook_size=16, decay=0.8)(x)
    residual = ResidualVQ(dim=8, num_quantizers=2, codebook_size=8)(x)
    finite = FSQ([4, 3, 3])(torch.randn(1, 6, 3))
    found = [*single, *residual, *finite]
    return {str(place): value for place, value in enumerate(found)}


def geoopt() -> dict[str, Any]:
    import geoopt

    ball = geoopt.PoincareBall()
    points = geoopt.ManifoldParameter(torch.randn(4, 2) * 0.1, manifold=ball)
    targets, losses = ball.expmap0(torch.randn(4, 2) * 0.2), []
    optimizer = geoopt.optim.RiemannianAdam([points], lr=0.01)
    for _ in range(3):
        optimizer.zero_grad()
        loss = ball.dist(points, targets).sum()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return {"losses": losses, "points": points}


def pytorch_metric_learning() -> dict[str, Any]:
    from pytorch_metric_learning import losses, miners

    x, y = torch.randn(16, 8, requires_grad=True), torch.randint(0, 4, (16,))
    result: dict[str, Any] = {}
    for name in ("TripletMarginLoss", "NTXentLoss", "MultiSimilarityLoss", "CircleLoss"):
        loss = getattr(losses, name)()(x, y)
        result[name] = {"loss": loss, "gradient": torch.autograd.grad(loss, x)[0]}
    mined = miners.MultiSimilarityMiner()(x, y)
    return result | {"mined": {str(place): each for place, each in enumerate(mined)}}
