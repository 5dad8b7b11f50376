"""The second half of the forty short programs: sequences, generators, graphs, decisions."""

from __future__ import annotations

SEQUENCES = {
    "recurrent network by hand": """
T, V, H = 20, 28, 64
W, U, b = (nn.Parameter(0.1 * torch.randn(s)) for s in ((V, H), (H, H), (H,)))
out = nn.Linear(H, V)
text = torch.randint(0, V, (16, T + 1))
params = [W, U, b, *out.parameters()]
opt = torch.optim.SGD(params, lr=0.5)
for step in range(8):
    h, losses = torch.zeros(16, H), []
    for t in range(T):
        h = torch.tanh(F.one_hot(text[:, t], V).float() @ W + h @ U + b)
        losses.append(F.cross_entropy(out(h), text[:, t + 1]))
    loss = torch.stack(losses).mean()
    opt.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(params, 1.0)
    opt.step()
print(math.exp(loss.item()))
""",
    "LSTM language model": """
class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.e, self.r, self.o = nn.Embedding(40, 32), nn.LSTM(32, 48, 2, batch_first=True,
            dropout=0.1), nn.Linear(48, 40)
    def forward(self, x, state=None):
        y, state = self.r(self.e(x), state)
        return self.o(y), state
m, x = Model(), torch.randint(0, 40, (8, 21))
opt = torch.optim.Adam(m.parameters(), lr=3e-3)
for i in range(10):
    opt.zero_grad()
    loss = F.cross_entropy(m(x[:, :-1])[0].transpose(1, 2), x[:, 1:])
    loss.backward()
    opt.step()
print(loss.item())
""",
    "sequence to sequence": """
enc, dec = nn.GRU(16, 32), nn.GRU(16 + 32, 32)
e, o = nn.Embedding(30, 16), nn.Linear(32, 30)
params = [p for m in (enc, dec, e, o) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=5e-3)
src, tgt = torch.randint(0, 30, (9, 12)), torch.randint(0, 30, (9, 12))
valid = torch.randint(3, 9, (12,))
mask = torch.arange(8)[:, None] < valid
for i in range(10):
    _, h = enc(e(src))
    y, _ = dec(torch.cat([e(tgt[:-1]), h.repeat(8, 1, 1)], 2), h)
    loss = (F.cross_entropy(o(y).reshape(-1, 30), tgt[1:].reshape(-1), reduction="none").view(8,
        12) * mask).sum() / mask.sum()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
""",
    "attention by hand": """
def masked_softmax(x, lengths):
    mask = torch.arange(x.shape[-1])[None, None] < lengths[:, None, None]
    return F.softmax(x.masked_fill(~mask, -1e6), dim=-1)
q, k, v = torch.normal(0, 1, (2, 3, 8)), torch.normal(0, 1, (2, 10,
    8)), torch.arange(40.0).reshape(1, 10, 4).repeat(2, 1, 1)
lengths = torch.tensor([2, 6])
print(torch.bmm(masked_softmax(q @ k.transpose(1, 2) / math.sqrt(8), lengths), v))
wq, wk, wv = nn.Linear(8, 6, bias=False), nn.Linear(8, 6, bias=False), nn.Linear(6, 1, bias=False)
s = wv(torch.tanh(wq(q).unsqueeze(2) + wk(k).unsqueeze(1))).squeeze(-1)
print(torch.bmm(masked_softmax(s, lengths), v).sum().item() != 0)
""",
    "transformer": """
layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.1, batch_first=True, norm_first=True)
net = nn.Sequential(nn.Embedding(50, 32), nn.TransformerEncoder(layer, 2,
    enable_nested_tensor=False), nn.Linear(32, 50))
opt = torch.optim.AdamW(net.parameters(), lr=1e-3)
x = torch.randint(0, 50, (8, 16))
for i in range(8):
    opt.zero_grad()
    loss = F.cross_entropy(net(x).flatten(0, 1), x.roll(-1, 1).flatten())
    loss.backward()
    opt.step()
print(loss.item())
""",
    "vision transformer": """
class ViT(nn.Module):
    def __init__(self):
        super().__init__()
        self.patch, self.cls = nn.Conv2d(3, 32, 4, 4), nn.Parameter(torch.zeros(1, 1, 32))
        self.pos = nn.Parameter(0.02 * torch.randn(1, 17, 32))
        self.n, self.a = nn.LayerNorm(32), nn.MultiheadAttention(32, 4, batch_first=True)
        self.f = nn.Sequential(nn.LayerNorm(32), nn.Linear(32, 64), nn.GELU(), nn.Linear(64, 32))
        self.head = nn.Linear(32, 10)
    def forward(self, x):
        x = self.patch(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        y = self.n(x)
        x = x + self.a(y, y, y, need_weights=False)[0]
        return self.head((x + self.f(x))[:, 0])
m = ViT()
opt = torch.optim.AdamW(m.parameters(), lr=1e-3, weight_decay=0.05)
for i in range(6):
    opt.zero_grad()
    loss = F.cross_entropy(m(torch.rand(16, 3, 16, 16)), torch.randint(0, 10, (16,)))
    loss.backward()
    opt.step()
print(loss.item())
""",
    "skip-gram": """
c, u = nn.Embedding(200, 16), nn.Embedding(200, 16)
opt = torch.optim.Adam([*c.parameters(), *u.parameters()], lr=0.01)
for i in range(15):
    center, context = torch.randint(0, 200, (64, 1)), torch.randint(0, 200, (64, 10))
    label = (torch.arange(10) < 3).float().expand(64, 10)
    pred = torch.bmm(c(center), u(context).permute(0, 2, 1)).squeeze(1)
    loss = F.binary_cross_entropy_with_logits(pred, label, reduction="none").mean(1).mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item(), F.cosine_similarity(c.weight[:1], c.weight).topk(3).indices.tolist()[0])
""",
    "text convolution": """
e, convs = nn.Embedding(100, 24), nn.ModuleList([nn.Conv1d(24, 8, k) for k in (3, 4, 5)])
out = nn.Linear(24, 2)
x, y = torch.randint(0, 100, (32, 20)), torch.randint(0, 2, (32,))
opt = torch.optim.Adam([*e.parameters(), *convs.parameters(), *out.parameters()], lr=1e-2)
for i in range(8):
    z = e(x).permute(0, 2, 1)
    z = torch.cat([F.relu(c(z)).amax(-1) for c in convs], 1)
    loss = F.cross_entropy(out(F.dropout(z, 0.5)), y)
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
""",
    "beam search": """
W = torch.randn(12, 12)
beams = [([0], 0.0)]
for step in range(6):
    found = []
    for words, score in beams:
        for s, w in zip(*(v.tolist() for v in torch.log_softmax(W[words[-1]], 0).topk(3))):
            found.append((words + [w], score + s))
    beams = sorted(found, key=lambda f: -f[1] / len(f[0]) ** 0.75)[:3]
print(beams[0])
""",
    "state space": """
A = -torch.exp(torch.randn(16))
B, C, D = nn.Parameter(torch.randn(16)), nn.Parameter(torch.randn(16)), nn.Parameter(torch.ones(1))
x = torch.sin(torch.linspace(0, 20, 128))
opt = torch.optim.Adam([B, C, D], lr=0.02)
for i in range(10):
    K = torch.einsum("n,n,nl->l", B, C, torch.exp(A[:, None] * torch.arange(128) * 0.1))
    y = torch.fft.irfft(torch.fft.rfft(K, 256) * torch.fft.rfft(x, 256), 256)[:128] + D * x
    loss = (y[:-1] - x[1:]).square().mean()
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item())
""",
}

PAPERS = {
    "autoencoder": """
net = nn.Sequential(nn.Linear(64, 32), nn.Tanh(), nn.Linear(32, 4), nn.Tanh(), nn.Linear(4, 32),
    nn.Tanh(), nn.Linear(32, 64), nn.Sigmoid())
opt = torch.optim.Adam(net.parameters(), lr=2e-3)
X = torch.rand(512, 64)
for epoch in range(4):
    for x in X.split(64):
        loss = F.mse_loss(net(x), x)
        opt.zero_grad()
        loss.backward()
        opt.step()
print(loss.item())
""",
    "variational autoencoder": """
enc, mu, lv = nn.Linear(64, 32), nn.Linear(32, 4), nn.Linear(32, 4)
dec = nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 64))
params = [p for m in (enc, mu, lv, dec) for p in m.parameters()]
opt = torch.optim.Adam(params, lr=1e-3)
X = torch.bernoulli(torch.rand(256, 64))
for i in range(12):
    h = F.relu(enc(X))
    m, v = mu(h), lv(h)
    z = m + torch.exp(0.5 * v) * torch.randn_like(v)
    kl = -0.5 * torch.sum(1 + v - m.pow(2) - v.exp())
    loss = F.binary_cross_entropy_with_logits(dec(z), X, reduction="sum") + kl
    opt.zero_grad()
    loss.backward()
    opt.step()
print(loss.item() / 256)
""",
    "adversarial network": """
G = nn.Sequential(nn.Linear(8, 32), nn.LeakyReLU(0.2), nn.Linear(32, 2))
D = nn.Sequential(nn.Linear(2, 32), nn.LeakyReLU(0.2), nn.Linear(32, 1))
g, d = torch.optim.Adam(G.parameters(), 2e-3, (0.5, 0.999)), torch.optim.Adam(D.parameters(),
    2e-3, (0.5, 0.999))
bce, A = nn.BCEWithLogitsLoss(), torch.tensor([[1.0, 2], [-0.1, 0.5]])
for i in range(25):
    real, fake = torch.randn(32, 2) @ A + torch.tensor([1.0, 2]), G(torch.randn(32, 8))
    dl = bce(D(real), torch.ones(32, 1)) + bce(D(fake.detach()), torch.zeros(32, 1))
    d.zero_grad(); dl.backward(); d.step()
    gl = bce(D(fake), torch.ones(32, 1))
    g.zero_grad(); gl.backward(); g.step()
print(dl.item(), gl.item())
""",
    "diffusion": """
beta = torch.linspace(1e-4, 0.02, 50)
abar = torch.cumprod(1 - beta, 0)
net = nn.Sequential(nn.Linear(3, 64), nn.SiLU(), nn.Linear(64, 64), nn.SiLU(), nn.Linear(64, 2))
opt = torch.optim.Adam(net.parameters(), lr=1e-3)
for i in range(20):
    a = torch.rand(128) * 2 * math.pi
    x, t, e = torch.stack([a.cos(), a.sin()], 1), torch.randint(0, 50, (128,)), torch.randn(128, 2)
    s = abar[t][:, None]
    loss = F.mse_loss(net(torch.cat([s.sqrt() * x + (1 - s).sqrt() * e, t[:, None] / 50], 1)), e)
    opt.zero_grad(); loss.backward(); opt.step()
with torch.no_grad():
    x = torch.randn(16, 2)
    for t in reversed(range(50)):
        e = net(torch.cat([x, torch.full((16, 1), t / 50)], 1))
        x = (x - beta[t] / (1 - abar[t]).sqrt() * e) / (1 - beta[t]).sqrt() + (beta[t].sqrt()
            * torch.randn(16, 2) if t else 0)
print(loss.item(), x.norm(dim=1).mean().item())
""",
    "graph convolution": """
n = 60
A = (torch.rand(n, n) < 0.1).float()
A = ((A + A.T) > 0).float() + torch.eye(n)
d = A.sum(1).pow(-0.5)
A = d[:, None] * A * d
X, y = torch.randn(n, 16), torch.randint(0, 3, (n,))
W1, W2 = nn.Linear(16, 16, bias=False), nn.Linear(16, 3, bias=False)
opt = torch.optim.Adam([*W1.parameters(), *W2.parameters()], lr=0.01, weight_decay=5e-4)
train = torch.arange(n) < 20
for i in range(25):
    z = F.log_softmax(A @ W2(F.dropout(F.relu(A @ W1(X)), 0.5)), 1)
    loss = F.nll_loss(z[train], y[train])
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item(), (z.argmax(1) == y)[~train].float().mean().item())
""",
    "deep Q-network": """
import random
from collections import deque
random.seed(0)
q, target = (nn.Sequential(nn.Linear(4, 32), nn.ReLU(), nn.Linear(32, 2)) for _ in range(2))
target.load_state_dict(q.state_dict())
opt, memory, s = torch.optim.Adam(q.parameters(), lr=1e-3), deque(maxlen=500), torch.zeros(4)
for step in range(80):
    with torch.no_grad():
        a = random.randrange(2) if random.random() < 0.3 else q(s).argmax().item()
    s2 = 0.9 * s + 0.1 * torch.randn(4) + (0.05 if a else -0.05)
    memory.append((s, a, -s2.abs().sum().item(), s2))
    s = s2
    if len(memory) >= 16:
        S, A, R, N = zip(*random.sample(memory, 16))
        value = q(torch.stack(S)).gather(1, torch.tensor(A)[:, None]).squeeze(1)
        with torch.no_grad():
            goal = torch.tensor(R) + 0.9 * target(torch.stack(N)).max(1).values
        loss = F.smooth_l1_loss(value, goal)
        opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    "policy gradient": """
policy = nn.Sequential(nn.Linear(2, 16), nn.Tanh(), nn.Linear(16, 3))
opt = torch.optim.Adam(policy.parameters(), lr=1e-2)
for episode in range(8):
    s, logs, rewards = torch.zeros(2), [], []
    for t in range(12):
        d = torch.distributions.Categorical(logits=policy(s))
        a = d.sample()
        logs.append(d.log_prob(a))
        s = s + torch.tensor([0.1, -0.1]) * (a - 1)
        rewards.append(1 - s.abs().sum())
    R = torch.stack(rewards).flip(0).cumsum(0).flip(0)
    loss = -(torch.stack(logs) * (R - R.mean()) / (R.std() + 1e-8)).sum()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    "matrix factorisation": """
P, Q, b, c = nn.Embedding(50, 8), nn.Embedding(80, 8), nn.Embedding(50, 1), nn.Embedding(80, 1)
data = torch.utils.data.TensorDataset(torch.randint(0, 50, (600,)), torch.randint(0, 80, (600,)),
    torch.rand(600) * 4 + 1)
opt = torch.optim.Adam([p for m in (P, Q, b, c) for p in m.parameters()], lr=0.02,
    weight_decay=1e-5)
for epoch in range(2):
    for u, i, r in torch.utils.data.DataLoader(data, 100, shuffle=True):
        loss = F.mse_loss((P(u) * Q(i)).sum(1) + b(u).squeeze() + c(i).squeeze(), r)
        opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    "contrastive learning": """
enc = nn.Sequential(nn.Linear(32, 64), nn.BatchNorm1d(64), nn.ReLU(), nn.Linear(64, 16))
opt = torch.optim.SGD(enc.parameters(), lr=0.1, momentum=0.9, nesterov=True)
X = torch.randn(64, 32)
for i in range(10):
    z = F.normalize(torch.cat([enc(X + 0.1 * torch.randn_like(X)) for _ in range(2)]), dim=1)
    sim = (z @ z.T / 0.5).masked_fill(torch.eye(128, dtype=torch.bool), float("-inf"))
    loss = F.cross_entropy(sim, torch.arange(128).roll(64))
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
    "physics-informed network": """
net = nn.Sequential(nn.Linear(1, 20), nn.Tanh(), nn.Linear(20, 20), nn.Tanh(), nn.Linear(20, 1))
opt = torch.optim.Adam(net.parameters(), lr=1e-2)
for i in range(15):
    x = torch.rand(64, 1, requires_grad=True)
    u = net(x)
    (du,) = torch.autograd.grad(u.sum(), x, create_graph=True)
    (ddu,) = torch.autograd.grad(du.sum(), x, create_graph=True)
    loss = (ddu + math.pi ** 2 * torch.sin(math.pi
        * x)).square().mean() + net(torch.tensor([[0.0], [1.0]])).square().mean()
    opt.zero_grad(); loss.backward(); opt.step()
print(loss.item())
""",
}
