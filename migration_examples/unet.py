"""U-Net: find the blobs in noisy images. Cross entropy plus Dice loss, skip connections."""

import argparse

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.utils.data import DataLoader, TensorDataset, random_split


class DoubleConv(nn.Module):
    def __init__(self, inputs: int, outputs: int) -> None:
        super().__init__()
        self.double_conv = nn.Sequential(
            nn.Conv2d(inputs, outputs, kernel_size=3, padding=1, bias=False),
            nn.BatchNorm2d(outputs),
            nn.ReLU(inplace=True),
            nn.Conv2d(outputs, outputs, kernel_size=3, padding=1, bias=False),
            nn.GroupNorm(2, outputs),
            nn.ReLU(inplace=True),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.double_conv(x)


class Up(nn.Module):
    """Upscale, pad to the skipped image's size, concatenate, convolve."""

    def __init__(self, inputs: int, outputs: int, bilinear: bool) -> None:
        super().__init__()
        if bilinear:
            self.up = nn.Sequential(
                nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                nn.Conv2d(inputs, inputs // 2, 1),
            )
        else:
            self.up = nn.ConvTranspose2d(inputs, inputs // 2, kernel_size=2, stride=2)
        self.conv = DoubleConv(inputs, outputs)

    def forward(self, x: torch.Tensor, skipped: torch.Tensor) -> torch.Tensor:
        x = self.up(x)
        rows, columns = skipped.size(2) - x.size(2), skipped.size(3) - x.size(3)
        x = F.pad(x, [columns // 2, columns - columns // 2, rows // 2, rows - rows // 2])
        return self.conv(torch.cat([skipped, x], dim=1))


class UNet(nn.Module):
    def __init__(self, channels: int, classes: int, width: int, bilinear: bool) -> None:
        super().__init__()
        self.inc = DoubleConv(channels, width)
        self.down1 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(width, width * 2))
        self.down2 = nn.Sequential(nn.MaxPool2d(2), DoubleConv(width * 2, width * 4))
        self.up1 = Up(width * 4, width * 2, bilinear)
        self.up2 = Up(width * 2, width, bilinear)
        self.outc = nn.Conv2d(width, classes, kernel_size=1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x1 = self.inc(x)
        x2 = self.down1(x1)
        x3 = self.down2(x2)
        return self.outc(self.up2(self.up1(x3, x2), x1))


def dice_coeff(probability: torch.Tensor, target: torch.Tensor, epsilon: float = 1e-6):
    """`2 |A and B| / (|A| + |B|)`, averaged over images and classes."""
    inter = 2 * (probability * target).sum(dim=(-1, -2))
    sets_sum = probability.sum(dim=(-1, -2)) + target.sum(dim=(-1, -2))
    sets_sum = torch.where(sets_sum == 0, inter, sets_sum)
    return ((inter + epsilon) / (sets_sum + epsilon)).mean()


def blobs(count: int, rows: int, columns: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Noisy images (count, 1, rows, columns) and masks: 0 ground, 1 disc, 2 rectangle."""
    y = torch.arange(rows).view(1, -1, 1)
    x = torch.arange(columns).view(1, 1, -1)
    cy, cx, top, left = (torch.randint(3, 15, (count, 1, 1)) for _ in range(4))
    mask = torch.zeros(count, rows, columns, dtype=torch.long)
    mask[((y - cy) ** 2 + (x - cx) ** 2) < 14] = 1
    mask[(y >= top) & (y < top + 5) & (x >= left) & (x < left + 4)] = 2
    level = torch.tensor([0.0, 1.0, 0.5])[mask]
    return (level + 0.3 * torch.randn(count, rows, columns)).unsqueeze(1), mask


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--bilinear", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(0)
    dataset = TensorDataset(*blobs(96, 18, 19))
    train_set, val_set = random_split(dataset, [0.8, 0.2])
    train_loader = DataLoader(train_set, shuffle=True, batch_size=8)
    val_loader = DataLoader(val_set, shuffle=False, batch_size=10)
    model = UNet(1, 3, 8, args.bilinear).to(memory_format=torch.channels_last)
    optimizer = optim.RMSprop(
        model.parameters(), lr=1e-4, weight_decay=1e-8, momentum=0.9, foreach=True
    )
    scheduler = optim.lr_scheduler.ReduceLROnPlateau(optimizer, "max", patience=1)
    criterion = nn.CrossEntropyLoss()
    for epoch in range(1, args.epochs + 1):
        model.train()
        for images, masks in train_loader:
            images = images.to(dtype=torch.float32, memory_format=torch.channels_last)
            pred = model(images)
            loss = criterion(pred, masks)
            one_hot = F.one_hot(masks, 3).permute(0, 3, 1, 2).float()
            loss += 1 - dice_coeff(F.softmax(pred, dim=1).float(), one_hot)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(f"epoch {epoch} loss {loss.item():.5f}")
        model.eval()
        scores = []
        with torch.no_grad():
            for images, masks in val_loader:
                found = F.one_hot(model(images).argmax(dim=1), 3).permute(0, 3, 1, 2).float()
                wanted = F.one_hot(masks, 3).permute(0, 3, 1, 2).float()
                scores.append(dice_coeff(found[:, 1:], wanted[:, 1:]))
        score = torch.stack(scores).mean()
        scheduler.step(score)
        print(f"validation Dice {score:.3f}, lr {optimizer.param_groups[0]['lr']:.5f}")


if __name__ == "__main__":
    main()
