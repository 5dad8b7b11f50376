"""Neural style on a small random feature network: optimise an image with LBFGS or Adam."""

import argparse
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim


class ContentLoss(nn.Module):
    def __init__(self, target: torch.Tensor) -> None:
        super().__init__()
        self.target = target.detach()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.loss = F.mse_loss(x, self.target)
        return x


def gram_matrix(x: torch.Tensor) -> torch.Tensor:
    a, b, c, d = x.size()
    features = x.view(a * b, c * d)
    return torch.mm(features, features.t()).div(a * b * c * d)


class StyleLoss(nn.Module):
    def __init__(self, target_feature: torch.Tensor) -> None:
        super().__init__()
        self.target = gram_matrix(target_feature).detach()

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        self.loss = F.mse_loss(gram_matrix(x), self.target)
        return x


class Normalization(nn.Module):
    def __init__(self, mean: torch.Tensor, std: torch.Tensor) -> None:
        super().__init__()
        self.mean = mean.clone().detach().view(-1, 1, 1)
        self.std = std.clone().detach().view(-1, 1, 1)

    def forward(self, img: torch.Tensor) -> torch.Tensor:
        return (img - self.mean) / self.std


def features() -> nn.Sequential:
    return nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(8, 8, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.MaxPool2d(2),
        nn.Conv2d(8, 16, 3, padding=1),
        nn.ReLU(inplace=True),
        nn.Conv2d(16, 16, 3, padding=1),
    )


def with_losses(cnn: nn.Module, style_img: torch.Tensor, content_img: torch.Tensor):
    """The network with losses after some convolutions, cut after the last loss."""
    model = nn.Sequential(Normalization(torch.tensor([0.5] * 3), torch.tensor([0.25] * 3)))
    content_losses, style_losses = [], []
    i = 0
    for layer in copy.deepcopy(cnn).children():
        if isinstance(layer, nn.Conv2d):
            i += 1
            name = f"conv_{i}"
        elif isinstance(layer, nn.ReLU):
            name = f"relu_{i}"
            layer = nn.ReLU(inplace=False)
        else:
            name = f"pool_{i}"
        model.add_module(name, layer)
        if name == "conv_3":
            content_losses.append(ContentLoss(model(content_img).detach()))
            model.add_module(f"content_loss_{i}", content_losses[-1])
        if name in ("conv_1", "conv_2", "conv_4"):
            style_losses.append(StyleLoss(model(style_img).detach()))
            model.add_module(f"style_loss_{i}", style_losses[-1])
    for last in range(len(model) - 1, -1, -1):
        if isinstance(model[last], (ContentLoss, StyleLoss)):
            break
    return model[: last + 1], style_losses, content_losses


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=15)
    parser.add_argument("--optimizer", choices=["lbfgs", "adam"], default="lbfgs")
    args = parser.parse_args()
    torch.manual_seed(6)
    cnn = features().requires_grad_(False).eval()
    for layer in cnn:
        if isinstance(layer, nn.Conv2d):
            nn.init.orthogonal_(layer.weight, 1.4)
    axis = torch.linspace(0, 6.28, 24)
    style = torch.stack([(axis[:, None] * k).sin() * (axis * k).cos() for k in (1, 2, 3)])
    content = torch.stack([(axis[:, None] + axis * k).sin() for k in (0.0, 0.5, 1.0)])
    style, content = (style * 0.4 + 0.5).unsqueeze(0), (content * 0.4 + 0.5).unsqueeze(0)
    input_img = content.clone().add_(0.02 * torch.randn(content.data.size()))
    input_img.requires_grad_(True)
    model, style_losses, content_losses = with_losses(cnn, style, content)
    model.eval().requires_grad_(False)
    if args.optimizer == "lbfgs":
        optimizer = optim.LBFGS([input_img], max_iter=10, line_search_fn="strong_wolfe")
    else:
        optimizer = optim.Adam([input_img], lr=0.02)
    run = [0]
    while run[0] <= args.steps:

        def closure() -> torch.Tensor:
            with torch.no_grad():
                input_img.clamp_(0, 1)
            optimizer.zero_grad()
            model(input_img)
            style_score = 1e4 * sum(sl.loss for sl in style_losses)
            content_score = sum(cl.loss for cl in content_losses)
            total_variation = (input_img[..., 1:] - input_img[..., :-1]).abs().mean()
            loss = style_score + content_score + 0.01 * total_variation
            loss.backward()
            run[0] += 1
            if run[0] % 5 == 0:
                print(f"run {run[0]}: style {style_score:.5f} content {content_score:.5f}")
            return loss

        optimizer.step(closure)
    with torch.no_grad():
        input_img.clamp_(0, 1)
    print(f"mean pixel {input_img.mean().item():.5f}")


if __name__ == "__main__":
    main()
