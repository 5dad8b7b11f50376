"""Knowledge distillation: a small student learns from a teacher's softened scores and features."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class Network(nn.Module):
    def __init__(self, width: int, depth: int) -> None:
        super().__init__()
        layers: list[nn.Module] = [nn.Linear(64, width), nn.Hardswish()]
        for _ in range(depth - 1):
            layers += [nn.Linear(width, width), nn.LayerNorm(width), nn.Hardswish()]
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Linear(width, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.classifier(self.features(x))


def train_teacher(teacher: nn.Module, loader: DataLoader, epochs: int) -> None:
    optimizer = torch.optim.RAdam(teacher.parameters(), lr=3e-3)
    criterion = nn.CrossEntropyLoss()
    teacher.train()
    for epoch in range(epochs):
        running = 0.0
        for x, y in loader:
            optimizer.zero_grad()
            loss = criterion(teacher(x), y)
            loss.backward()
            optimizer.step()
            running += loss.item()
        print(f"teacher epoch {epoch}: loss {running / len(loader):.6f}")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--temperature", type=float, default=3.0)
    parser.add_argument("--soft-weight", type=float, default=0.6)
    args = parser.parse_args()
    torch.manual_seed(42)
    digits = load_digits()
    x = torch.from_numpy(digits.data).to(torch.float32) / 16
    y = torch.from_numpy(digits.target)
    loader = DataLoader(TensorDataset(x[:1280], y[:1280]), batch_size=64, shuffle=True)
    teacher, student = Network(96, 3), Network(16, 1)
    train_teacher(teacher, loader, args.epochs)

    # A hook keeps the teacher's features; a regressor brings the student's to their size.
    kept: dict[str, torch.Tensor] = {}
    handle = teacher.features.register_forward_hook(
        lambda module, inputs, output: kept.__setitem__("features", output.detach())
    )
    regressor = nn.Linear(16, 96)
    teacher.eval()
    for parameter in teacher.parameters():
        parameter.requires_grad_(False)
    optimizer = torch.optim.AdamW([*student.parameters(), *regressor.parameters()], lr=5e-3)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=1e-2, epochs=args.epochs, steps_per_epoch=len(loader)
    )
    t = args.temperature
    for epoch in range(args.epochs):
        student.train()
        for images, labels in loader:
            optimizer.zero_grad()
            with torch.no_grad():
                teacher_logits = teacher(images)
            features = student.features(images)
            logits = student.classifier(features)
            soft = F.kl_div(
                F.log_softmax(logits / t, dim=-1),
                F.log_softmax(teacher_logits / t, dim=-1),
                reduction="batchmean",
                log_target=True,
            ) * (t**2)
            hard = F.cross_entropy(logits, labels)
            target = torch.ones(images.size(0))
            hint = F.cosine_embedding_loss(regressor(features), kept["features"], target)
            loss = args.soft_weight * soft + (1 - args.soft_weight) * hard + 0.1 * hint
            loss.backward()
            optimizer.step()
            scheduler.step()
        print(
            f"student epoch {epoch}: soft {soft.item():.6f} hard {hard.item():.6f} "
            f"hint {hint.item():.6f} lr {scheduler.get_last_lr()[0]:.6f}"
        )
    handle.remove()
    student.eval()
    with torch.no_grad():
        scores = student(x[1280:])
        agree = (scores.argmax(1) == teacher(x[1280:]).argmax(1)).float().mean().item()
        print(f"test loss {F.cross_entropy(scores, y[1280:]).item():.6f}, agreement {agree:.4f}")


if __name__ == "__main__":
    main()
