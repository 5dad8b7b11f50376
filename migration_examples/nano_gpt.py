"""A character-level GPT with the habits of a small trainer: configuration by dataclass, parameter
groups, warm-up and cosine decay, gradient accumulation and clipping, autocast, compile, sampling.
"""

import argparse
import inspect
import math
from contextlib import nullcontext
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn as nn
from torch.nn import functional as F

TEXT = """the quick brown fox jumps over the lazy dog while the small grey cat looks on.
a dog and a fox met a cat; the cat was quick, the dog was lazy and the fox was brown.
on and on the small dog looks over the grey fox, and the cat jumps while the dog looks on.
""" * 12  # fmt: skip


@dataclass
class GPTConfig:
    block_size: int = 32
    vocab_size: int = 32
    n_layer: int = 2
    n_head: int = 4
    n_embd: int = 32
    dropout: float = 0.1
    bias: bool = False


class LayerNorm(nn.Module):
    """LayerNorm with an optional bias."""

    def __init__(self, ndim: int, bias: bool) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(ndim))
        self.bias = nn.Parameter(torch.zeros(ndim)) if bias else None

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return F.layer_norm(x, self.weight.shape, self.weight, self.bias, 1e-5)


class CausalSelfAttention(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        assert config.n_embd % config.n_head == 0
        self.c_attn = nn.Linear(config.n_embd, 3 * config.n_embd, bias=config.bias)
        self.c_proj = nn.Linear(config.n_embd, config.n_embd, bias=config.bias)
        self.resid_dropout = nn.Dropout(config.dropout)
        self.n_head, self.dropout = config.n_head, config.dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        B, T, C = x.size()
        q, k, v = self.c_attn(x).split(C, dim=2)
        q, k, v = (t.view(B, T, self.n_head, C // self.n_head).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(
            q, k, v, attn_mask=None, dropout_p=self.dropout if self.training else 0, is_causal=True
        )
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.resid_dropout(self.c_proj(y))


class Block(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.ln_1 = LayerNorm(config.n_embd, bias=config.bias)
        self.attn = CausalSelfAttention(config)
        self.ln_2 = LayerNorm(config.n_embd, bias=config.bias)
        self.mlp = nn.Sequential(
            nn.Linear(config.n_embd, 4 * config.n_embd, bias=config.bias),
            nn.GELU(),
            nn.Linear(4 * config.n_embd, config.n_embd, bias=config.bias),
            nn.Dropout(config.dropout),
        )

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, config: GPTConfig) -> None:
        super().__init__()
        self.config = config
        self.transformer = nn.ModuleDict(
            dict(
                wte=nn.Embedding(config.vocab_size, config.n_embd),
                wpe=nn.Embedding(config.block_size, config.n_embd),
                drop=nn.Dropout(config.dropout),
                h=nn.ModuleList([Block(config) for _ in range(config.n_layer)]),
                ln_f=LayerNorm(config.n_embd, bias=config.bias),
            )
        )
        self.lm_head = nn.Linear(config.n_embd, config.vocab_size, bias=False)
        self.transformer.wte.weight = self.lm_head.weight
        self.apply(self._init_weights)
        for name, parameter in self.named_parameters():
            if name.endswith("c_proj.weight"):
                std = 0.02 / math.sqrt(2 * config.n_layer)
                torch.nn.init.normal_(parameter, mean=0.0, std=std)

    def _init_weights(self, module: nn.Module) -> None:
        if isinstance(module, (nn.Linear, nn.Embedding)):
            torch.nn.init.normal_(module.weight, mean=0.0, std=0.02)
            if isinstance(module, nn.Linear) and module.bias is not None:
                torch.nn.init.zeros_(module.bias)

    def forward(self, idx: torch.Tensor, targets: torch.Tensor | None = None):
        position = torch.arange(0, idx.size(1), dtype=torch.long, device=idx.device)
        x = self.transformer.wte(idx) + self.transformer.wpe(position)
        x = self.transformer.drop(x)
        for block in self.transformer.h:
            x = block(x)
        x = self.transformer.ln_f(x)
        if targets is None:
            return self.lm_head(x[:, [-1], :]), None
        logits = self.lm_head(x)
        loss = F.cross_entropy(logits.view(-1, logits.size(-1)), targets.view(-1), ignore_index=-1)
        return logits, loss

    def configure_optimizers(self, weight_decay: float, lr: float, betas, device_type: str):
        """AdamW that decays matrices and leaves vectors alone."""
        params = {n: p for n, p in self.named_parameters() if p.requires_grad}
        decay = [p for p in params.values() if p.dim() >= 2]
        no_decay = [p for p in params.values() if p.dim() < 2]
        groups = [
            {"params": decay, "weight_decay": weight_decay},
            {"params": no_decay, "weight_decay": 0.0},
        ]
        print(f"decayed: {len(decay)} tensors with {sum(p.numel() for p in decay):,} parameters")
        print(f"others: {len(no_decay)} tensors, {sum(p.numel() for p in no_decay):,} parameters")
        fused_available = "fused" in inspect.signature(torch.optim.AdamW).parameters
        extra = dict(fused=True) if fused_available and device_type == "cuda" else dict()
        return torch.optim.AdamW(groups, lr=lr, betas=betas, **extra)

    @torch.no_grad()
    def generate(self, idx: torch.Tensor, new: int, temperature: float = 1.0, top_k=None):
        for _ in range(new):
            logits, _ = self(idx[:, -self.config.block_size :])
            logits = logits[:, -1, :] / temperature
            if top_k is not None:
                v, _ = torch.topk(logits, min(top_k, logits.size(-1)))
                logits[logits < v[:, [-1]]] = -float("Inf")
            probs = F.softmax(logits, dim=-1)
            idx = torch.cat((idx, torch.multinomial(probs, num_samples=1)), dim=1)
        return idx


@dataclass
class TrainConfig:
    max_iters: int = 30
    eval_interval: int = 10
    eval_iters: int = 3
    batch_size: int = 8
    gradient_accumulation_steps: int = 2
    learning_rate: float = 1e-3
    min_lr: float = 1e-4
    warmup_iters: int = 5
    weight_decay: float = 1e-1
    beta1: float = 0.9
    beta2: float = 0.95
    grad_clip: float = 1.0
    dtype: str = "float32"
    compile: bool = True


def get_lr(it: int, c: TrainConfig) -> float:
    """Linear warm-up, then a cosine down to `min_lr`."""
    if it < c.warmup_iters:
        return c.learning_rate * (it + 1) / (c.warmup_iters + 1)
    ratio = (it - c.warmup_iters) / max(1, c.max_iters - c.warmup_iters)
    return c.min_lr + 0.5 * (1.0 + math.cos(math.pi * ratio)) * (c.learning_rate - c.min_lr)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--max-iters", type=int, default=30)
    parser.add_argument("--dtype", choices=["float32", "bfloat16"], default="float32")
    parser.add_argument("--no-compile", dest="compile", action="store_false")
    config = TrainConfig(**vars(parser.parse_args()))
    torch.manual_seed(1337)
    torch.backends.cuda.matmul.allow_tf32 = True
    torch.backends.cudnn.allow_tf32 = True
    device_type = "cpu"
    ptdtype = {"float32": torch.float32, "bfloat16": torch.bfloat16}[config.dtype]
    full = config.dtype == "float32"
    ctx = nullcontext() if full else torch.amp.autocast(device_type=device_type, dtype=ptdtype)

    chars = sorted(set(TEXT))
    stoi = {ch: i for i, ch in enumerate(chars)}
    data = np.array([stoi[ch] for ch in TEXT], dtype=np.uint16)
    parts = {"train": data[: int(0.9 * len(data))], "val": data[int(0.9 * len(data)) :]}
    gptconf = GPTConfig(vocab_size=len(chars))

    def get_batch(split: str) -> tuple[torch.Tensor, torch.Tensor]:
        part, size = parts[split], gptconf.block_size
        ix = torch.randint(len(part) - size, (config.batch_size,))
        x = torch.stack([torch.from_numpy(part[i : i + size].astype(np.int64)) for i in ix])
        y = torch.stack([torch.from_numpy(part[i + 1 : i + 1 + size].astype(np.int64)) for i in ix])
        return x, y

    model = GPT(gptconf)
    print(asdict(gptconf))
    scaler = torch.amp.GradScaler(device_type, enabled=(config.dtype == "float16"))
    optimizer = model.configure_optimizers(
        config.weight_decay, config.learning_rate, (config.beta1, config.beta2), device_type
    )
    raw_model = model
    if config.compile:
        model = torch.compile(model, backend="eager")

    @torch.no_grad()
    def estimate_loss() -> dict[str, float]:
        out = {}
        model.eval()
        for split in ("train", "val"):
            losses = torch.zeros(config.eval_iters)
            for k in range(config.eval_iters):
                with ctx:
                    _, loss = model(*get_batch(split))
                losses[k] = loss.item()
            out[split] = losses.mean()
        model.train()
        return out

    X, Y = get_batch("train")
    for iteration in range(config.max_iters + 1):
        for param_group in optimizer.param_groups:
            param_group["lr"] = get_lr(iteration, config)
        if iteration % config.eval_interval == 0:
            losses = estimate_loss()
            print(f"step {iteration}: train {losses['train']:.4f}, val {losses['val']:.4f}")
        for _ in range(config.gradient_accumulation_steps):
            with ctx:
                _, loss = model(X, Y)
                loss = loss / config.gradient_accumulation_steps
            X, Y = get_batch("train")
            scaler.scale(loss).backward()
        if config.grad_clip != 0.0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(model.parameters(), config.grad_clip)
        scaler.step(optimizer)
        scaler.update()
        optimizer.zero_grad(set_to_none=True)
        print(f"iter {iteration}: loss {loss.item() * config.gradient_accumulation_steps:.5f}")

    raw_model.eval()
    start = torch.tensor([stoi[c] for c in "the "], dtype=torch.long)[None, ...]
    sampled = raw_model.generate(start, 40, temperature=0.8, top_k=5)
    print("".join(chars[i] for i in sampled[0].tolist()))


if __name__ == "__main__":
    main()
