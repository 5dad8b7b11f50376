"""nn.Transformer with padding and causal masks learns to reverse sentences; beam search at last."""

import argparse
import math

import torch
import torch.nn as nn
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import DataLoader, Dataset

PAD, BOS, EOS, WORDS = 0, 1, 2, 20


class Reversal(Dataset):
    """Random sentences of 3 to 8 words and the same backwards."""

    def __init__(self, count: int, seed: int) -> None:
        generator = torch.Generator().manual_seed(seed)
        lengths = torch.randint(3, 9, (count,), generator=generator).tolist()
        self.sentences = [
            torch.randint(3, WORDS, (length,), generator=generator) for length in lengths
        ]

    def __len__(self) -> int:
        return len(self.sentences)

    def __getitem__(self, index: int) -> tuple[torch.Tensor, torch.Tensor]:
        source = self.sentences[index]
        ends = torch.tensor([BOS]), torch.tensor([EOS])
        return source, torch.cat([ends[0], source.flip(0), ends[1]])


def collate(batch):
    sources, targets = zip(*batch)
    return (
        pad_sequence(list(sources), batch_first=True, padding_value=PAD),
        pad_sequence(list(targets), batch_first=True, padding_value=PAD),
    )


class Translator(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.source = nn.Embedding(WORDS, width, padding_idx=PAD)
        self.target = nn.Embedding(WORDS, width, padding_idx=PAD)
        position = torch.arange(12).unsqueeze(1)
        rate = torch.exp(torch.arange(0, width, 2) * (-math.log(100.0) / width))
        table = torch.zeros(12, width)
        table[:, 0::2], table[:, 1::2] = torch.sin(position * rate), torch.cos(position * rate)
        self.register_buffer("positions", table)
        self.transformer = nn.Transformer(
            d_model=width, nhead=4, num_encoder_layers=1, num_decoder_layers=2,
            dim_feedforward=2 * width, dropout=0.05, batch_first=True, norm_first=True,
            activation="gelu",
        )  # fmt: skip
        self.generator = nn.Linear(width, WORDS)
        self.width = width
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def embed(self, table: nn.Embedding, tokens: torch.Tensor) -> torch.Tensor:
        return table(tokens) * math.sqrt(self.width) + self.positions[: tokens.size(1)]

    def encode(self, source: torch.Tensor) -> torch.Tensor:
        padding = source == PAD
        return self.transformer.encoder(
            self.embed(self.source, source), src_key_padding_mask=padding
        )

    def decode(self, target: torch.Tensor, memory: torch.Tensor, padding: torch.Tensor):
        ahead = torch.triu(torch.ones(target.size(1), target.size(1), dtype=torch.bool), 1)
        hidden = self.transformer.decoder(
            self.embed(self.target, target), memory, tgt_mask=ahead,
            tgt_key_padding_mask=target == PAD, memory_key_padding_mask=padding,
        )  # fmt: skip
        return self.generator(hidden)

    def forward(self, source: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return self.decode(target, self.encode(source), source == PAD)


@torch.no_grad()
def beam_search(model: Translator, source: torch.Tensor, beams: int, steps: int):
    """The best of `beams` hypotheses by summed log-probability."""
    memory = model.encode(source).expand(beams, -1, -1)
    padding = (source == PAD).expand(beams, -1)
    tokens = torch.full((beams, 1), BOS)
    scores = torch.full((beams,), -1e9)
    scores[0] = 0.0
    for _ in range(steps):
        log_probs = model.decode(tokens, memory, padding)[:, -1].log_softmax(-1)
        finished = tokens[:, -1] == EOS
        log_probs[finished] = -1e9
        log_probs[finished, EOS] = 0.0
        total = (scores.unsqueeze(1) + log_probs).view(-1)
        scores, flat = total.topk(beams)
        origin = torch.div(flat, WORDS, rounding_mode="floor")
        tokens = torch.cat([tokens[origin], (flat % WORDS).unsqueeze(1)], dim=1)
        if bool((tokens[:, -1] == EOS).all()):
            break
    return tokens[0].tolist(), scores[0].item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    torch.manual_seed(2)
    loader = DataLoader(Reversal(512, 0), batch_size=32, shuffle=True, collate_fn=collate)
    model = Translator(32)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD, label_smoothing=0.1)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3, betas=(0.9, 0.98), eps=1e-6)
    for epoch in range(args.epochs):
        model.train()
        for step, (source, target) in enumerate(loader):
            logits = model(source, target[:, :-1])
            loss = criterion(logits.reshape(-1, WORDS), target[:, 1:].reshape(-1))
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            if step % 4 == 0:
                print(f"{epoch}/{step}: loss {loss.item():.5f}")
    model.eval()
    source, target = next(iter(DataLoader(Reversal(64, 1), batch_size=64, collate_fn=collate)))
    with torch.no_grad():
        logits = model(source, target[:, :-1])
        loss = criterion(logits.reshape(-1, WORDS), target[:, 1:].reshape(-1))
    best, score = beam_search(model, source[:1, : int((source[0] != PAD).sum())], 3, 10)
    print(f"test loss {loss.item():.5f}, best of three beams {best} at {score:.4f}")


if __name__ == "__main__":
    main()
