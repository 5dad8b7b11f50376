"""A small ResNet on CIFAR-like images, augmented by torchvision, with SGD and MultiStepLR."""

import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torchvision.transforms as transforms
from PIL import Image
from torch.utils.data import DataLoader, Dataset


class Stripes(Dataset):
    """PIL images of 16x16 pixels: stripes whose direction is the class, colours by chance."""

    def __init__(self, count: int, seed: int, transform=None) -> None:
        rng = np.random.RandomState(seed)
        ticks = np.arange(16)
        directions = {0: ticks[:, None] + 0 * ticks, 1: ticks + 0 * ticks[:, None]}
        directions |= {2: ticks[:, None] + ticks, 3: ticks[:, None] - ticks}
        self.targets = rng.randint(0, 4, count).tolist()
        self.data, self.transform = [], transform
        for target in self.targets:
            wave = np.sin(directions[target] * rng.uniform(0.8, 1.4) + rng.uniform(0, 6))
            colour = rng.uniform(40, 120, 3)
            pixels = 128 + wave[:, :, None] * colour + rng.normal(0, 25, (16, 16, 3))
            self.data.append(pixels.clip(0, 255).astype(np.uint8))

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, index: int):
        image = Image.fromarray(self.data[index])
        if self.transform is not None:
            image = self.transform(image)
        return image, self.targets[index]


class BasicBlock(nn.Module):
    expansion = 1

    def __init__(self, in_planes: int, planes: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(in_planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=1, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.shortcut = nn.Sequential()
        if stride != 1 or in_planes != self.expansion * planes:
            self.shortcut = nn.Sequential(
                nn.Conv2d(in_planes, self.expansion * planes, 1, stride=stride, bias=False),
                nn.BatchNorm2d(self.expansion * planes),
            )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        out += self.shortcut(x)
        return F.relu(out)


class ResNet(nn.Module):
    def __init__(self, block: type[BasicBlock], blocks: list[int], classes: int = 4) -> None:
        super().__init__()
        self.in_planes = 8
        self.conv1 = nn.Conv2d(3, 8, kernel_size=3, stride=1, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(8)
        self.layer1 = self._make_layer(block, 8, blocks[0], stride=1)
        self.layer2 = self._make_layer(block, 16, blocks[1], stride=2)
        self.layer3 = self._make_layer(block, 32, blocks[2], stride=2)
        self.linear = nn.Linear(32 * block.expansion, classes)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

    def _make_layer(self, block, planes: int, count: int, stride: int) -> nn.Sequential:
        layers = []
        for stride in [stride] + [1] * (count - 1):
            layers.append(block(self.in_planes, planes, stride))
            self.in_planes = planes * block.expansion
        return nn.Sequential(*layers)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.layer3(self.layer2(self.layer1(out)))
        out = F.avg_pool2d(out, 4)
        return self.linear(out.view(out.size(0), -1))


class AverageMeter:
    def __init__(self, name: str, fmt: str = ":f") -> None:
        self.name, self.fmt = name, fmt
        self.val = self.sum = self.count = 0

    def update(self, val: float, n: int = 1) -> None:
        self.val, self.sum, self.count = val, self.sum + val * n, self.count + n

    def __str__(self) -> str:
        text = "{name} {val" + self.fmt + "} ({avg" + self.fmt + "})"
        return text.format(name=self.name, val=self.val, avg=self.sum / self.count)


def accuracy(output: torch.Tensor, target: torch.Tensor, topk=(1,)) -> list[torch.Tensor]:
    """Percent of targets among the `k` highest scores, for each `k`."""
    with torch.no_grad():
        _, pred = output.topk(max(topk), 1, True, True)
        correct = pred.t().eq(target.view(1, -1).expand_as(pred.t()))
        return [
            correct[:k].reshape(-1).float().sum(0, keepdim=True).mul_(100.0 / target.size(0))
            for k in topk
        ]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--lr", type=float, default=0.02)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    normalize = transforms.Normalize((0.5, 0.5, 0.5), (0.25, 0.25, 0.25))
    train_set = Stripes(256, 0, transforms.Compose([
        transforms.RandomCrop(16, padding=2),
        transforms.RandomHorizontalFlip(p=0.2),
        transforms.ColorJitter(brightness=0.2, contrast=0.2),
        transforms.ToTensor(),
        normalize,
        transforms.RandomErasing(p=0.3, scale=(0.02, 0.1)),
    ]))  # fmt: skip
    test_set = Stripes(96, 1, transforms.Compose([transforms.ToTensor(), normalize]))
    train_loader = DataLoader(train_set, batch_size=32, shuffle=True, drop_last=True)
    test_loader = DataLoader(test_set, batch_size=48, shuffle=False)

    net = ResNet(BasicBlock, [1, 1, 1])
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.SGD(
        net.parameters(), lr=args.lr, momentum=0.9, weight_decay=5e-4, nesterov=True
    )
    scheduler = torch.optim.lr_scheduler.MultiStepLR(optimizer, milestones=[1, 3], gamma=0.5)
    for epoch in range(args.epochs):
        net.train()
        losses, top1 = AverageMeter("Loss", ":.5f"), AverageMeter("Acc@1", ":6.2f")
        for inputs, targets in train_loader:
            optimizer.zero_grad()
            outputs = net(inputs)
            loss = criterion(outputs, targets)
            loss.backward()
            optimizer.step()
            losses.update(loss.item(), inputs.size(0))
            top1.update(accuracy(outputs, targets)[0].item(), inputs.size(0))
            print(epoch, losses, top1)
        scheduler.step()
        net.eval()
        losses, top1 = AverageMeter("Loss", ":.5f"), AverageMeter("Acc@1", ":6.2f")
        with torch.no_grad():
            for inputs, targets in test_loader:
                outputs = net(inputs)
                losses.update(criterion(outputs, targets).item(), inputs.size(0))
                top1.update(accuracy(outputs, targets, (1, 2))[0].item(), inputs.size(0))
        print("test", losses, top1, "lr", scheduler.get_last_lr()[0])


if __name__ == "__main__":
    main()
