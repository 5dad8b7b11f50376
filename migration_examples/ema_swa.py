"""Averages of weights: EMA by hand, AveragedModel with both rules, and SWA's schedule."""

import argparse
import copy
from collections import OrderedDict

import torch
from sklearn.datasets import load_digits
from torch import nn
from torch.optim.swa_utils import SWALR, AveragedModel, get_ema_multi_avg_fn, update_bn
from torch.utils.data import DataLoader, TensorDataset


class ModelEMA:
    """A frozen copy that follows the model; buffers are copied as they are."""

    def __init__(self, model: nn.Module, decay: float) -> None:
        self.module = copy.deepcopy(model).eval()
        self.decay = decay
        for p in self.module.parameters():
            p.requires_grad_(False)

    @torch.no_grad()
    def update(self, model: nn.Module) -> None:
        ema_params = OrderedDict(self.module.named_parameters())
        for name, param in model.named_parameters():
            ema_params[name].sub_((1.0 - self.decay) * (ema_params[name] - param))
        for name, buffer in model.named_buffers():
            self.module.get_buffer(name).copy_(buffer)


def make_model() -> nn.Module:
    return nn.Sequential(
        OrderedDict(
            conv=nn.Conv2d(1, 8, 3, padding=1, bias=False),
            norm=nn.BatchNorm2d(8, momentum=0.05),
            act=nn.LeakyReLU(0.1),
            depthwise=nn.Conv2d(8, 16, 3, padding=1, groups=8),
            pool=nn.AvgPool2d(2),
            flat=nn.Flatten(start_dim=1),
            head=nn.Linear(256, 10),
        )
    )


@torch.no_grad()
def test_loss(model: nn.Module, x: torch.Tensor, y: torch.Tensor) -> float:
    was_training = model.training
    model.eval()
    loss = nn.functional.cross_entropy(model(x), y).item()
    model.train(was_training)
    return loss


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=4)
    parser.add_argument("--swa-start", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(21)
    digits = load_digits()
    x = torch.from_numpy(digits.images[:, None] / 16).float()
    y = torch.from_numpy(digits.target)
    loader = DataLoader(TensorDataset(x[:960], y[:960]), batch_size=64, shuffle=True)
    model = make_model()
    ema = ModelEMA(model, 0.95)
    library_ema = AveragedModel(model, multi_avg_fn=get_ema_multi_avg_fn(0.9))
    swa = AveragedModel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9, dampening=0.1)
    scheduler = torch.optim.lr_scheduler.PolynomialLR(optimizer, total_iters=6, power=2.0)
    swa_scheduler = SWALR(optimizer, anneal_strategy="cos", anneal_epochs=2, swa_lr=0.03)
    for epoch in range(args.epochs):
        for images, labels in loader:
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(images), labels)
            loss.backward()
            optimizer.step()
            ema.update(model)
            library_ema.update_parameters(model)
        if epoch >= args.swa_start:
            swa.update_parameters(model)
            swa_scheduler.step()
        else:
            scheduler.step()
        tested = [test_loss(m, x[960:], y[960:]) for m in (model, ema.module, library_ema)]
        print(f"epoch {epoch}: train {loss.item():.6f}, model {tested[0]:.6f},", end=" ")
        print(f"ema {tested[1]:.6f} {tested[2]:.6f}, lr {optimizer.param_groups[0]['lr']:.6f}")
    update_bn(loader, swa)
    print(f"swa of {swa.n_averaged.item()}: {test_loss(swa, x[960:], y[960:]):.6f}")
    print(f"module's own: {test_loss(swa.module, x[960:], y[960:]):.6f}")


if __name__ == "__main__":
    main()
