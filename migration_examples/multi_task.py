"""Several tasks on one trunk: a ModuleDict of heads, weighted by learned uncertainties."""

import argparse

import torch
from torch import nn
from torch.utils.data import BatchSampler, DataLoader, Dataset, RandomSampler, WeightedRandomSampler


class Signals(Dataset):
    """Noisy waves: regress frequency and phase, classify the shape, detect a spike."""

    def __init__(self, count: int, generator: torch.Generator) -> None:
        t = torch.linspace(0, 1, 32)
        frequency = torch.rand(count, 1, generator=generator) * 3 + 1
        phase = torch.rand(count, 1, generator=generator)
        shape = torch.randint(0, 3, (count,), generator=generator)
        angle = 6.2832 * (frequency * t + phase)
        shapes = torch.stack(
            [angle.sin(), angle.sin().sign(), 1 - 2 * (frequency * t + phase).frac()]
        )
        waves = shapes[shape, torch.arange(count)]
        spike = torch.rand(count, generator=generator) < 0.3
        position = torch.randint(0, 32, (count,), generator=generator)
        waves[torch.arange(count), position] += 3.0 * spike
        self.waves = waves + 0.1 * torch.randn(count, 32, generator=generator)
        self.targets = {
            "frequency": torch.cat([frequency, phase], dim=1),
            "shape": shape,
            "spike": spike.float(),
        }

    def __len__(self) -> int:
        return len(self.waves)

    def __getitem__(self, index):
        return self.waves[index], {name: target[index] for name, target in self.targets.items()}


class MultiTask(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Unflatten(1, (1, 32)),
            nn.Conv1d(1, 12, 5, padding=2, padding_mode="circular", bias=False),
            nn.BatchNorm1d(12),
            nn.GELU(),
            nn.MaxPool1d(2),
            nn.Conv1d(12, 24, 3, padding=2, dilation=2, bias=False),
            nn.InstanceNorm1d(24, affine=True),
            nn.ELU(),
            nn.AdaptiveAvgPool1d(4),
            nn.Flatten(),
            nn.Dropout(0.1),
        )
        self.heads = nn.ModuleDict(
            {
                "frequency": nn.Sequential(nn.Linear(96, 16), nn.Mish(), nn.Linear(16, 2)),
                "shape": nn.Linear(96, 3),
                "spike": nn.Sequential(nn.Linear(96, 1), nn.Flatten(0)),
            }
        )
        self.log_variances = nn.ParameterDict(
            {name: nn.Parameter(torch.zeros(())) for name in self.heads}
        )

    def forward(self, x: torch.Tensor) -> dict[str, torch.Tensor]:
        shared = self.trunk(x)
        return {name: head(shared) for name, head in self.heads.items()}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(17)
    generator = torch.Generator()
    generator.manual_seed(17)
    train, test = Signals(512, generator), Signals(128, generator)
    weights = torch.where(train.targets["spike"] > 0, 2.0, 1.0)
    loader = DataLoader(train, batch_size=32, sampler=WeightedRandomSampler(weights, 512))
    batches = BatchSampler(RandomSampler(test), batch_size=64, drop_last=False)
    criteria = {
        "frequency": nn.HuberLoss(delta=0.5),
        "shape": nn.CrossEntropyLoss(weight=torch.tensor([1.0, 0.8, 1.2])),
        "spike": nn.BCEWithLogitsLoss(pos_weight=torch.tensor(1.5)),
    }
    model = MultiTask()
    optimizer = torch.optim.AdamW(
        [
            {"params": model.trunk.parameters()},
            {"params": model.heads.parameters(), "lr": 4e-3},
            {"params": model.log_variances.values(), "lr": 1e-2, "weight_decay": 0.0},
        ],
        lr=2e-3,
    )
    for epoch in range(args.epochs):
        model.train()
        for waves, targets in loader:
            outputs = model(waves)
            losses = {name: criteria[name](outputs[name], targets[name]) for name in criteria}
            loss = sum(
                torch.exp(-model.log_variances[name]) * value + model.log_variances[name]
                for name, value in losses.items()
            )
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        print(f"epoch {epoch}:", ", ".join(f"{n} {v.item():.5f}" for n, v in losses.items()))
    model.eval()
    totals = dict.fromkeys(criteria, 0.0)
    with torch.no_grad():
        for indices in batches:
            waves, targets = test[indices]
            for name, output in model(waves).items():
                totals[name] += criteria[name](output, targets[name]).item() / len(batches)
    print("test:", ", ".join(f"{name} {value:.5f}" for name, value in totals.items()))
    print({name: round(p.item(), 4) for name, p in model.log_variances.items()})


if __name__ == "__main__":
    main()
