"""Word-level language models on a generated language: LSTM, GRU, plain RNN or Transformer."""

import argparse
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Corpus:
    """Sentences of a small random grammar, as one long tensor of word numbers."""

    SUBJECTS = "the cat|the dog|a bird|the old man|my sister|a small child".split("|")
    VERBS = "sees|hears|likes|follows|quietly watches".split("|")
    TAILS = "in the garden|near the river|every morning|without a word".split("|")

    def __init__(self, sentences: int, seed: int) -> None:
        rng = random.Random(seed)
        self.word2idx: dict[str, int] = {}
        self.idx2word: list[str] = []
        ids = []
        for _ in range(sentences):
            pick = [rng.choice(self.SUBJECTS), rng.choice(self.VERBS), rng.choice(self.SUBJECTS)]
            if rng.random() < 0.5:
                pick.append(rng.choice(self.TAILS))
            for word in [*" ".join(pick).split(), "<eos>"]:
                if word not in self.word2idx:
                    self.word2idx[word] = len(self.idx2word)
                    self.idx2word.append(word)
                ids.append(self.word2idx[word])
        self.data = torch.tensor(ids).type(torch.int64)


class RNNModel(nn.Module):
    """Embedding, recurrent module, decoder; optionally the decoder shares the embedding."""

    def __init__(
        self, kind: str, words: int, width: int, layers: int, dropout: float, tied: bool
    ) -> None:
        super().__init__()
        self.drop = nn.Dropout(dropout)
        self.encoder = nn.Embedding(words, width)
        if kind in ("LSTM", "GRU"):
            self.rnn = getattr(nn, kind)(width, width, layers, dropout=dropout)
        else:
            nonlinearity = {"RNN_TANH": "tanh", "RNN_RELU": "relu"}[kind]
            self.rnn = nn.RNN(width, width, layers, nonlinearity=nonlinearity, dropout=dropout)
        self.decoder = nn.Linear(width, words)
        if tied:
            self.decoder.weight = self.encoder.weight
        self.kind, self.words, self.width, self.layers = kind, words, width, layers
        nn.init.uniform_(self.encoder.weight, -0.1, 0.1)
        nn.init.zeros_(self.decoder.bias)
        if not tied:
            nn.init.uniform_(self.decoder.weight, -0.1, 0.1)

    def forward(self, tokens: torch.Tensor, hidden):
        output, hidden = self.rnn(self.drop(self.encoder(tokens)), hidden)
        decoded = self.decoder(self.drop(output)).view(-1, self.words)
        return F.log_softmax(decoded, dim=1), hidden

    def init_hidden(self, batch: int):
        weight = next(self.parameters())
        zeros = weight.new_zeros(self.layers, batch, self.width)
        return (zeros, zeros.clone()) if self.kind == "LSTM" else zeros


class PositionalEncoding(nn.Module):
    def __init__(self, width: int, dropout: float, longest: int = 200) -> None:
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        table = torch.zeros(longest, width)
        position = torch.arange(0, longest, dtype=torch.float).unsqueeze(1)
        frequency = torch.exp(torch.arange(0, width, 2).float() * (-math.log(10000.0) / width))
        table[:, 0::2] = torch.sin(position * frequency)
        table[:, 1::2] = torch.cos(position * frequency)
        self.register_buffer("pe", table.unsqueeze(0).transpose(0, 1))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.dropout(x + self.pe[: x.size(0), :])


class TransformerModel(nn.Module):
    def __init__(self, words: int, width: int, heads: int, layers: int, dropout: float) -> None:
        super().__init__()
        self.positions = PositionalEncoding(width, dropout)
        layer = nn.TransformerEncoderLayer(width, heads, 2 * width, dropout)
        self.blocks = nn.TransformerEncoder(layer, layers)
        self.encoder = nn.Embedding(words, width)
        self.decoder = nn.Linear(width, words)
        self.width, self.words = width, words
        self.mask = None

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        if self.mask is None or self.mask.size(0) != len(tokens):
            full = torch.ones(len(tokens), len(tokens))
            self.mask = torch.log(torch.tril(full)).to(tokens.device)
        x = self.positions(self.encoder(tokens) * math.sqrt(self.width))
        x = self.decoder(self.blocks(x, mask=self.mask))
        return F.log_softmax(x, dim=-1).view(-1, self.words)


def batchify(data: torch.Tensor, batch: int) -> torch.Tensor:
    """Columns of consecutive words; what does not fill a row is left out."""
    rows = data.size(0) // batch
    return data.narrow(0, 0, rows * batch).view(batch, -1).t().contiguous()


def get_batch(source: torch.Tensor, i: int, bptt: int) -> tuple[torch.Tensor, torch.Tensor]:
    length = min(bptt, len(source) - 1 - i)
    return source[i : i + length], source[i + 1 : i + 1 + length].view(-1)


def repackage_hidden(hidden):
    """Cut the hidden state from its history."""
    if isinstance(hidden, torch.Tensor):
        return hidden.detach()
    return tuple(repackage_hidden(each) for each in hidden)


def evaluate(model: nn.Module, source: torch.Tensor, bptt: int) -> float:
    model.eval()
    total = 0.0
    hidden = model.init_hidden(source.size(1)) if isinstance(model, RNNModel) else None
    with torch.no_grad():
        for i in range(0, source.size(0) - 1, bptt):
            data, targets = get_batch(source, i, bptt)
            if hidden is None:
                output = model(data)
            else:
                output, hidden = model(data, hidden)
                hidden = repackage_hidden(hidden)
            total += len(data) * F.nll_loss(output, targets).item()
    return total / (len(source) - 1)


def train_epoch(model: nn.Module, source: torch.Tensor, args, lr: float, epoch: int) -> None:
    model.train()
    hidden = model.init_hidden(source.size(1)) if isinstance(model, RNNModel) else None
    for number, i in enumerate(range(0, source.size(0) - 1, args.bptt)):
        data, targets = get_batch(source, i, args.bptt)
        model.zero_grad()
        if hidden is None:
            output = model(data)
        else:
            hidden = repackage_hidden(hidden)
            output, hidden = model(data, hidden)
        loss = F.nll_loss(output, targets)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
        for p in model.parameters():
            p.data.add_(p.grad, alpha=-lr)
        if number % 4 == 0:
            print(f"| epoch {epoch} | batch {number} | lr {lr:.2f} | loss {loss.item():.5f} |")


def main() -> None:
    parser = argparse.ArgumentParser()
    kinds = ["LSTM", "GRU", "RNN_TANH", "RNN_RELU", "Transformer"]
    parser.add_argument("--model", choices=kinds, default="LSTM")
    parser.add_argument("--epochs", type=int, default=2)
    parser.add_argument("--width", type=int, default=32)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--bptt", type=int, default=16)
    parser.add_argument("--clip", type=float, default=0.25)
    parser.add_argument("--dropout", type=float, default=0.2)
    parser.add_argument("--tied", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(11)

    corpus = Corpus(300, 0)
    train, valid = batchify(corpus.data[:-400], 10), batchify(corpus.data[-400:], 5)
    words = len(corpus.idx2word)
    if args.model == "Transformer":
        model = TransformerModel(words, args.width, 4, args.layers, args.dropout)
    else:
        model = RNNModel(args.model, words, args.width, args.layers, args.dropout, args.tied)

    lr, best = {"Transformer": 0.2, "RNN_RELU": 2.0}.get(args.model, 5.0), None
    for epoch in range(1, args.epochs + 1):
        train_epoch(model, train, args, lr, epoch)
        loss = evaluate(model, valid, args.bptt)
        print(f"| end of epoch {epoch} | valid loss {loss:.5f} | valid ppl {math.exp(loss):.3f}")
        if best is None or loss < best:
            best = loss
        else:
            lr /= 4.0


if __name__ == "__main__":
    main()
