"""A GPT that learns to sort digits, with a trainer class, callbacks and a checked split."""

import argparse
import math
import pickle
from collections import defaultdict
from types import SimpleNamespace

import torch
import torch.nn as nn
from torch.nn import functional as F
from torch.utils.data import DataLoader, Dataset, RandomSampler


class SortDataset(Dataset):
    """Sequences of `length` digits below 3, followed by the same digits sorted."""

    def __init__(self, split: str, length: int = 6, digits: int = 3) -> None:
        self.split, self.length, self.digits = split, length, digits

    def __len__(self) -> int:
        return 10000

    def __getitem__(self, idx: int) -> tuple[torch.Tensor, torch.Tensor]:
        while True:
            inp = torch.randint(self.digits, size=(self.length,), dtype=torch.long)
            # Repeats are rare by chance and worth training on.
            if torch.rand(1).item() < 0.5 and inp.unique().nelement() > self.length // 2:
                continue
            h = sum(pickle.dumps(inp.tolist())) % 4
            if ("test" if h == 0 else "train") == self.split:
                break
        cat = torch.cat((inp, torch.sort(inp)[0]), dim=0)
        x, y = cat[:-1].clone(), cat[1:].clone()
        y[: self.length - 1] = -1
        return x, y


class NewGELU(nn.Module):
    def forward(self, x: torch.Tensor) -> torch.Tensor:
        inner = math.sqrt(2.0 / math.pi) * (x + 0.044715 * torch.pow(x, 3.0))
        return 0.5 * x * (1.0 + torch.tanh(inner))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, block: int, pdrop: float) -> None:
        super().__init__()
        self.c_attn, self.c_proj = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.attn_dropout, self.resid_dropout = nn.Dropout(pdrop), nn.Dropout(pdrop)
        mask = torch.tril(torch.ones(block, block)).view(1, 1, block, block)
        self.register_buffer("bias", mask)
        self.heads, self.width = heads, width

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(self.width, dim=2)
        k = k.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        q = q.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        v = v.view(B, T, self.heads, C // self.heads).transpose(1, 2)
        att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
        att = att.masked_fill(self.bias[:, :, :T, :T] == 0, float("-inf"))
        att = self.attn_dropout(F.softmax(att, dim=-1))
        y = (att @ v).transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class Block(nn.Module):
    def __init__(self, width: int, heads: int, block: int, pdrop: float) -> None:
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn = Attention(width, heads, block, pdrop)
        self.mlp = nn.ModuleDict(
            dict(
                c_fc=nn.Linear(width, 4 * width),
                c_proj=nn.Linear(4 * width, width),
                act=NewGELU(),
                dropout=nn.Dropout(pdrop),
            )
        )
        m = self.mlp
        self.mlpf = lambda x: m.dropout(m.c_proj(m.act(m.c_fc(x))))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlpf(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab: int, block: int, width: int, heads: int, layers: int) -> None:
        super().__init__()
        self.block_size = block
        self.wte, self.wpe = nn.Embedding(vocab, width), nn.Embedding(block, width)
        self.drop = nn.Dropout(0.1)
        self.h = nn.ModuleList([Block(width, heads, block, 0.1) for _ in range(layers)])
        self.ln_f = nn.LayerNorm(width)
        self.lm_head = nn.Linear(width, vocab, bias=False)
        self.apply(self._init_weights)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, nn.Linear):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if module.bias is not None:
                torch.nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
        elif isinstance(module, nn.LayerNorm):
            torch.nn.init.zeros_(module.bias)
            torch.nn.init.ones_(module.weight)

    def configure_optimizers(self, config: SimpleNamespace) -> torch.optim.Optimizer:
        """Weights of linear layers decay; biases, norms and embeddings do not."""
        decay, no_decay = set(), set()
        for mn, m in self.named_modules():
            for pn, _ in m.named_parameters():
                fpn = f"{mn}.{pn}" if mn else pn
                if pn.endswith("bias"):
                    no_decay.add(fpn)
                elif pn.endswith("weight") and isinstance(m, nn.Linear):
                    decay.add(fpn)
                elif pn.endswith("weight") and isinstance(m, (nn.LayerNorm, nn.Embedding)):
                    no_decay.add(fpn)
        param_dict = dict(self.named_parameters())
        assert len(decay & no_decay) == 0 and param_dict.keys() == decay | no_decay
        groups = [
            {"params": [param_dict[pn] for pn in sorted(decay)], "weight_decay": 0.1},
            {"params": [param_dict[pn] for pn in sorted(no_decay)], "weight_decay": 0.0},
        ]
        return torch.optim.AdamW(groups, lr=config.learning_rate, betas=(0.9, 0.95))

    def forward(self, idx: torch.Tensor, targets: torch.Tensor | None = None):
        _, t = idx.size()
        pos = torch.arange(0, t, dtype=torch.long, device=idx.device).unsqueeze(0)
        x = self.drop(self.wte(idx) + self.wpe(pos))
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None
        if targets is not None:
            flat = logits.view(-1, logits.size(-1))
            loss = F.cross_entropy(flat, targets.view(-1), ignore_index=-1)
        return logits, loss

    @torch.no_grad()
    def generate(self, idx: torch.Tensor, new: int) -> torch.Tensor:
        for _ in range(new):
            logits, _ = self(idx[:, -self.block_size :])
            _, chosen = torch.topk(F.softmax(logits[:, -1, :], dim=-1), k=1, dim=-1)
            idx = torch.cat((idx, chosen), dim=1)
        return idx


class Trainer:
    def __init__(self, config: SimpleNamespace, model: GPT, dataset: Dataset) -> None:
        self.config, self.model, self.train_dataset = config, model, dataset
        self.optimizer = model.configure_optimizers(config)
        self.callbacks = defaultdict(list)
        self.device = "cuda" if torch.cuda.is_available() else "cpu"
        self.model = self.model.to(self.device)

    def add_callback(self, onevent: str, callback) -> None:
        self.callbacks[onevent].append(callback)

    def trigger_callbacks(self, onevent: str) -> None:
        for callback in self.callbacks.get(onevent, []):
            callback(self)

    def run(self) -> None:
        sampler = RandomSampler(self.train_dataset, replacement=True, num_samples=int(1e10))
        loader = DataLoader(
            self.train_dataset, sampler=sampler, shuffle=False, pin_memory=False,
            batch_size=self.config.batch_size, num_workers=0,
        )  # fmt: skip
        self.model.train()
        data_iter = iter(loader)
        for self.iter_num in range(self.config.max_iters):
            x, y = [t.to(self.device) for t in next(data_iter)]
            _, self.loss = self.model(x, y)
            self.model.zero_grad(set_to_none=True)
            self.loss.backward()
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.trigger_callbacks("on_batch_end")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-iters", type=int, default=40)
    args = parser.parse_args()
    torch.manual_seed(3407)
    config = SimpleNamespace(learning_rate=5e-4, batch_size=16, max_iters=args.max_iters)
    trainer = Trainer(config, GPT(3, 11, 48, 3, 2), SortDataset("train"))

    def batch_end_callback(trainer: Trainer) -> None:
        if trainer.iter_num % 4 == 0:
            print(f"iter {trainer.iter_num}: train loss {trainer.loss.item():.5f}")

    trainer.add_callback("on_batch_end", batch_end_callback)
    trainer.run()
    trainer.model.eval()
    with torch.no_grad():
        loader = DataLoader(SortDataset("test"), batch_size=50)
        x, y = next(iter(loader))
        _, loss = trainer.model(x, y)
        guess = trainer.model.generate(x[:, :6], 6)[:, 6:]
        right = (guess == y[:, 5:]).all(1).float().mean()
    print(f"test loss {loss.item():.5f}, sorted {right.item():.2f}")


if __name__ == "__main__":
    main()
