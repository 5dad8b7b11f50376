"""Forty short programs of the kinds that textbooks and papers show, for short_programs.py.

Each is a script for PyTorch as a reader would type it: data are drawn, sizes are small, it prints
what it found. ``name: source``; COMMON are the first lines of each.
"""

from __future__ import annotations

COMMON = """
import math
import torch
from torch import nn
import torch.nn.functional as F
torch.manual_seed(0)
"""

BASICS = {
    "tensors": """
x = torch.arange(12, dtype=torch.float32).reshape(3, 4)
y = torch.tensor([[2.0, 1, 4, 3], [1, 2, 3, 4], [4, 3, 2, 1]])
print(torch.cat((x, y), 0).shape, torch.cat((x, y), 1).shape, (x == y).sum().item(), x.sum())
x[1, 2] = 17
x[0:2, :] = 12
print(x, x + torch.arange(3).reshape(3, 1), torch.exp(y), y.T @ x, x.mean(0), y.std(), y[y > 2])
""",
    "derivatives by hand": """
x = torch.arange(4.0, requires_grad=True)
y = 2 * torch.dot(x, x)
y.backward()
print(x.grad == 4 * x)
x.grad.zero_()
u = (x * x).detach()
(u * x).sum().backward()
print(x.grad == u)
def f(a):
    b = a * 2
    while b.norm() < 1000:
        b = b * 2
    return b if b.sum() > 0 else 100 * b
a = torch.randn((), requires_grad=True)
d = f(a)
d.backward()
print(a.grad == d / a)
""",
    "linear regression": """
w, b = torch.tensor([2.0, -3.4]), 4.2
X = torch.randn(1000, 2)
y = X @ w + b + 0.01 * torch.randn(1000)
W, c = torch.zeros(2, requires_grad=True), torch.zeros(1, requires_grad=True)
for epoch in range(3):
    for i in torch.randperm(1000).split(10):
        loss = ((X[i] @ W + c - y[i]) ** 2 / 2).mean()
        loss.backward()
        with torch.no_grad():
            for p in (W, c):
                p -= 0.03 * p.grad
                p.grad.zero_()
    print(epoch, f"{loss.item():.5f}")
print(w - W.detach())
""",
    "softmax regression": """
X, y = torch.randn(2000, 64), torch.randint(0, 10, (2000,))
X[torch.arange(2000), y] += 3
net = nn.Linear(64, 10)
trainer = torch.optim.SGD(net.parameters(), lr=0.1)
for epoch in range(4):
    for i in range(0, 2000, 50):
        trainer.zero_grad()
        loss = F.cross_entropy(net(X[i:i + 50]), y[i:i + 50])
        loss.backward()
        trainer.step()
    print(epoch, (net(X).argmax(1) == y).float().mean().item())
""",
    "weight decay": """
n, d = 20, 200
X = torch.randn(120, d)
y = X @ torch.full((d, 1), 0.01) + 0.05 + 0.01 * torch.randn(120, 1)
for decay in (0, 3):
    net = nn.Linear(d, 1)
    trainer = torch.optim.SGD(
        [{"params": net.weight, "weight_decay": decay}, {"params": net.bias}], lr=0.003)
    for epoch in range(20):
        for i in range(0, n, 5):
            trainer.zero_grad()
            F.mse_loss(net(X[i:min(i + 5, n)]), y[i:min(i + 5, n)]).backward()
            trainer.step()
    print(decay, net.weight.norm().item(), F.mse_loss(net(X[n:]), y[n:]).item())
""",
    "polynomials": """
t = torch.linspace(-2, 2, 200)
poly = torch.stack([t ** k / math.gamma(k + 1) for k in range(20)], 1)
y = poly[:, :4] @ torch.tensor([5, 1.2, -3.4, 5.6]) + 0.1 * torch.randn(200)
for degree in (2, 4, 20):
    net = nn.Linear(degree, 1, bias=False)
    opt = torch.optim.SGD(net.parameters(), lr=0.01)
    for step in range(200):
        opt.zero_grad()
        loss = F.mse_loss(net(poly[:100, :degree]), y[:100, None])
        loss.backward()
        opt.step()
    print(degree, loss.item(), F.mse_loss(net(poly[100:, :degree]), y[100:, None]).item())
""",
    "perceptron and dropout": """
X, y = torch.rand(1000, 28 * 28), torch.randint(0, 10, (1000,))
net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Dropout(0.5), nn.Linear(256, 64), nn.ReLU(),
                    nn.Dropout(0.2), nn.Linear(64, 10))
opt = torch.optim.Adam(net.parameters())
for epoch in range(3):
    net.train()
    for i in range(0, 1000, 100):
        opt.zero_grad()
        loss = nn.CrossEntropyLoss()(net(X[i:i + 100]), y[i:i + 100])
        loss.backward()
        opt.step()
    net.eval()
    print(epoch, (net(X).argmax(1) == y).sum().item())
""",
    "vanishing gradients": """
x = torch.arange(-8.0, 8.0, 0.1, requires_grad=True)
for f in (torch.relu, torch.sigmoid, torch.tanh):
    y = f(x)
    y.backward(torch.ones_like(x))
    print(f.__name__, y.sum().item(), x.grad.max().item())
    x.grad.zero_()
M = torch.normal(0, 1, size=(4, 4))
for i in range(100):
    M = M @ torch.normal(0, 1, size=(4, 4))
print(M.isfinite().all())
""",
    "optimizers compared": """
def run(make):
    w = torch.tensor([-5.0, 2.0], requires_grad=True)
    opt = make([w])
    for _ in range(40):
        opt.zero_grad()
        (0.1 * w[0] ** 2 + 2 * w[1] ** 2).backward()
        opt.step()
    return w.detach()
o = torch.optim
for make in (lambda p: o.SGD(p, 0.4), lambda p: o.SGD(p, 0.1, momentum=0.5),
    lambda p: o.Adagrad(p, 0.4),
             lambda p: o.RMSprop(p, 0.1), lambda p: o.Adadelta(p), lambda p: o.Adam(p, 0.1)):
    print(run(make))
""",
    "schedules": """
net = nn.Linear(4, 2)
S = torch.optim.lr_scheduler
for make in (lambda o: S.MultiStepLR(o, [15, 30], 0.5), lambda o: S.CosineAnnealingLR(o, 20),
             lambda o: S.LambdaLR(o, lambda k: (k + 1) ** -0.5)):
    opt = torch.optim.SGD(net.parameters(), lr=0.3)
    schedule, rates = make(opt), []
    for _ in range(30):
        opt.zero_grad()
        net(torch.randn(8, 4)).square().mean().backward()
        opt.step()
        rates.append(opt.param_groups[0]["lr"])
        schedule.step()
    print([round(r, 4) for r in rates[::6]])
""",
}

PICTURES = {
    "convolution by hand": """
def corr2d(X, K):
    h, w = K.shape
    Y = torch.zeros((X.shape[0] - h + 1, X.shape[1] - w + 1))
    for i in range(Y.shape[0]):
        for j in range(Y.shape[1]):
            Y[i, j] = (X[i:i + h, j:j + w] * K).sum()
    return Y
X = torch.ones((6, 8))
X[:, 2:6] = 0
Y = corr2d(X, torch.tensor([[1.0, -1.0]]))
conv = nn.Conv2d(1, 1, (1, 2), bias=False)
for i in range(10):
    loss = ((conv(X[None, None]) - Y[None, None]) ** 2).sum()
    conv.zero_grad()
    loss.backward()
    conv.weight.data[:] -= 3e-2 * conv.weight.grad
print(conv.weight.data.reshape(1, 2), loss.item())
""",
    "LeNet": """
net = nn.Sequential(nn.Conv2d(1, 6, 5, padding=2), nn.Sigmoid(), nn.AvgPool2d(2, 2), nn.Conv2d(6,
    16, 5),
                    nn.Sigmoid(), nn.AvgPool2d(2, 2), nn.Flatten(), nn.Linear(400,
                        120), nn.Sigmoid(),
                    nn.Linear(120, 84), nn.Sigmoid(), nn.Linear(84, 10))
X, y = torch.rand(512, 1, 28, 28), torch.randint(0, 10, (512,))
for m in net:
    if isinstance(m, (nn.Linear, nn.Conv2d)):
        nn.init.xavier_uniform_(m.weight)
opt = torch.optim.SGD(net.parameters(), lr=0.9)
for i in range(0, 512, 64):
    opt.zero_grad()
    loss = F.cross_entropy(net(X[i:i + 64]), y[i:i + 64])
    loss.backward()
    opt.step()
print(loss.item())
""",
    "batch norm by hand": """
def batch_norm(X, gamma, beta):
    mean = X.mean(dim=(0, 2, 3), keepdim=True)
    var = ((X - mean) ** 2).mean(dim=(0, 2, 3), keepdim=True)
    return gamma * (X - mean) / torch.sqrt(var + 1e-5) + beta
X = torch.randn(16, 6, 12, 12)
g, b = torch.ones(1, 6, 1, 1, requires_grad=True), torch.zeros(1, 6, 1, 1, requires_grad=True)
Y = batch_norm(X, g, b)
print((Y - nn.BatchNorm2d(6)(X)).abs().max().item() < 1e-4)
Y.square().mean().backward()
print(g.grad.flatten())
""",
    "residual network": """
class Residual(nn.Module):
    def __init__(self, i, o, stride=1):
        super().__init__()
        self.a, self.b = nn.Conv2d(i, o, 3, stride, 1), nn.Conv2d(o, o, 3, 1, 1)
        self.c = nn.Conv2d(i, o, 1, stride) if stride != 1 or i != o else None
        self.n, self.m = nn.BatchNorm2d(o), nn.BatchNorm2d(o)
    def forward(self, x):
        y = self.m(self.b(F.relu(self.n(self.a(x)))))
        return F.relu(y + (x if self.c is None else self.c(x)))
net = nn.Sequential(Residual(3, 16), Residual(16, 32, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    nn.Linear(32, 10))
opt = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.9)
X, y = torch.randn(64, 3, 16, 16), torch.randint(0, 10, (64,))
for i in range(6):
    opt.zero_grad()
    loss = F.cross_entropy(net(X), y)
    loss.backward()
    opt.step()
    print(loss.item())
""",
    "inception and dense blocks": """
class Inception(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a, self.b, self.c = nn.Conv2d(c, 8, 1), nn.Conv2d(c, 8, 3, padding=1), nn.Conv2d(c,
            4, 5, padding=2)
        self.p = nn.MaxPool2d(3, 1, 1)
    def forward(self, x):
        return torch.cat([F.relu(self.a(x)), F.relu(self.b(x)), F.relu(self.c(x)), self.p(x)], 1)
net = nn.Sequential(Inception(3), nn.BatchNorm2d(23), nn.AvgPool2d(2), Inception(23),
    nn.AdaptiveMaxPool2d((1, 1)),
                    nn.Flatten(), nn.LazyLinear(5))
X = torch.rand(16, 3, 16, 16)
print(net(X).shape)
net(X).logsumexp(1).mean().backward()
print(sum(p.grad.abs().sum() for p in net.parameters()).item() > 0)
""",
    "depthwise separable": """
def block(i, o):
    return nn.Sequential(nn.Conv2d(i, i, 3, 1, 1, groups=i, bias=False), nn.BatchNorm2d(i),
        nn.ReLU6(),
                         nn.Conv2d(i, o, 1, bias=False), nn.BatchNorm2d(o), nn.Hardswish())
net = nn.Sequential(block(3, 16), block(16, 32), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
    nn.Linear(32, 4))
opt = torch.optim.RMSprop(net.parameters(), lr=1e-3)
for i in range(5):
    opt.zero_grad()
    loss = F.cross_entropy(net(torch.randn(16, 3, 16, 16)), torch.randint(0, 4, (16,)),
        label_smoothing=0.1)
    loss.backward()
    opt.step()
print(loss.item())
""",
    "U-Net": """
def two(i, o):
    return nn.Sequential(nn.Conv2d(i, o, 3, padding=1), nn.ReLU(), nn.Conv2d(o, o, 3, padding=1),
        nn.ReLU())
class UNet(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b, self.up = two(1, 8), two(8, 16), nn.ConvTranspose2d(16, 8, 2, 2)
        self.c, self.out = two(16, 8), nn.Conv2d(8, 1, 1)
    def forward(self, x):
        a = self.a(x)
        return self.out(self.c(torch.cat([a, self.up(self.b(F.max_pool2d(a, 2)))], 1)))
net = UNet()
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
X = torch.rand(8, 1, 32, 32)
for i in range(5):
    opt.zero_grad()
    loss = F.binary_cross_entropy_with_logits(net(X), (X > 0.5).float())
    loss.backward()
    opt.step()
print(loss.item())
""",
    "style transfer": """
features = nn.Sequential(nn.Conv2d(3, 8, 3, padding=1), nn.ReLU(), nn.Conv2d(8, 16, 3, padding=1),
    nn.ReLU())
for p in features.parameters():
    p.requires_grad_(False)
def gram(x):
    n = x.numel() // x.shape[1]
    x = x.reshape(x.shape[1], n)
    return x @ x.T / x.numel()
content, style = torch.rand(1, 3, 24, 24), torch.rand(1, 3, 24, 24)
image = nn.Parameter(content.clone())
opt = torch.optim.Adam([image], lr=0.05)
for i in range(15):
    opt.zero_grad()
    f = features(image)
    rows, columns = image[:, :, 1:] - image[:, :, :-1], image[..., 1:] - image[..., :-1]
    tv = rows.abs().mean() + columns.abs().mean()
    gap = F.mse_loss(gram(f), gram(features(style)))
    loss = F.mse_loss(f, features(content)) + 1e3 * gap + 0.1 * tv
    loss.backward()
    opt.step()
print(loss.item())
""",
    "anchor boxes": """
def iou(a, b):
    area = lambda x: (x[:, 2] - x[:, 0]) * (x[:, 3] - x[:, 1])
    low, high = torch.max(a[:, None, :2], b[:, :2]), torch.min(a[:, None, 2:], b[:, 2:])
    inter = (high - low).clamp(min=0).prod(2)
    return inter / (area(a)[:, None] + area(b) - inter)
boxes = torch.rand(50, 4)
boxes[:, 2:] = boxes[:, :2] + 0.3 * boxes[:, 2:] + 0.05
scores, keep = torch.rand(50), []
order = scores.argsort(descending=True)
while order.numel():
    keep.append(order[0].item())
    if order.numel() == 1:
        break
    order = order[1:][(iou(boxes[order[:1]], boxes[order[1:]]) < 0.3).flatten()]
print(keep)
""",
    "up-sampling": """
def kernel(i, o, k):
    f = (k + 1) // 2
    c = f - 1 if k % 2 == 1 else f - 0.5
    og = (torch.arange(k).reshape(-1, 1), torch.arange(k).reshape(1, -1))
    filt = (1 - torch.abs(og[0] - c) / f) * (1 - torch.abs(og[1] - c) / f)
    w = torch.zeros((i, o, k, k))
    w[range(i), range(o), :, :] = filt
    return w
conv = nn.ConvTranspose2d(3, 3, 4, padding=1, stride=2, bias=False)
conv.weight.data.copy_(kernel(3, 3, 4))
X = torch.rand(1, 3, 20, 20)
print(conv(X).shape, (conv(X) - F.interpolate(X, scale_factor=2, mode="bilinear"))[..., 2:-2,
    2:-2].abs().max() < 1)
""",
}
