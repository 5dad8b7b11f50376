"""Translate numbers written in words to digits: bidirectional encoder, decoder with attention."""

import argparse
import random

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import optim
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence
from torch.utils.data import DataLoader

ONES = "zero one two three four five six seven eight nine".split()
TENS = "_ ten twenty thirty forty fifty sixty seventy eighty ninety".split()
PAD, SOS, EOS = 0, 1, 2
SOURCE = ["<pad>", "<sos>", "<eos>", "hundred", "and", *ONES, *TENS[1:]]
TARGET = ["<pad>", "<sos>", "<eos>", *"0123456789"]


def in_words(number: int) -> list[str]:
    words = [ONES[number // 100], "hundred", "and"] if number >= 100 else []
    rest = number % 100
    if rest >= 10:
        words.append(TENS[rest // 10])
    if rest % 10 or not words:
        words.append(ONES[rest % 10])
    return words


def make_pair(number: int) -> tuple[torch.Tensor, torch.Tensor]:
    source = [SOURCE.index(word) for word in in_words(number)] + [EOS]
    target = [SOS] + [TARGET.index(digit) for digit in str(number)] + [EOS]
    return torch.tensor(source), torch.tensor(target)


def collate(batch):
    """Longest source first; (time, batch) with padding, and the lengths."""
    batch.sort(key=lambda pair: len(pair[0]), reverse=True)
    sources, targets = zip(*batch)
    lengths = torch.tensor([len(s) for s in sources])
    return (
        pad_sequence(sources, padding_value=PAD),
        lengths,
        pad_sequence(targets, padding_value=PAD),
    )


class Encoder(nn.Module):
    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width, padding_idx=PAD)
        self.gru = nn.GRU(width, width, bidirectional=True)
        self.fc = nn.Linear(2 * width, width)

    def forward(self, source: torch.Tensor, lengths: torch.Tensor):
        packed = pack_padded_sequence(self.embedding(source), lengths)
        outputs, hidden = self.gru(packed)
        outputs, _ = pad_packed_sequence(outputs)
        hidden = torch.tanh(self.fc(torch.cat((hidden[-2], hidden[-1]), dim=1)))
        return outputs, hidden


class Attention(nn.Module):
    """Additive attention over the encoder's outputs, padding left out."""

    def __init__(self, width: int) -> None:
        super().__init__()
        self.attn = nn.Linear(3 * width, width)
        self.v = nn.Parameter(torch.rand(width))

    def forward(self, hidden: torch.Tensor, outputs: torch.Tensor, mask: torch.Tensor):
        repeated = hidden.unsqueeze(1).repeat(1, outputs.shape[0], 1)
        outputs = outputs.permute(1, 0, 2)
        energy = torch.tanh(self.attn(torch.cat((repeated, outputs), dim=2))).permute(0, 2, 1)
        v = self.v.repeat(hidden.shape[0], 1).unsqueeze(1)
        scores = torch.bmm(v, energy).squeeze(1).masked_fill(mask == 0, -1e10)
        return F.softmax(scores, dim=1)


class Decoder(nn.Module):
    def __init__(self, words: int, width: int) -> None:
        super().__init__()
        self.words = words
        self.embedding = nn.Embedding(words, width)
        self.attention = Attention(width)
        self.gru = nn.GRUCell(3 * width, width)
        self.out = nn.Linear(4 * width, words)
        self.dropout = nn.Dropout(0.1)

    def forward(self, token, hidden, outputs, mask):
        embedded = self.dropout(self.embedding(token))
        a = self.attention(hidden, outputs, mask).unsqueeze(1)
        weighted = torch.bmm(a, outputs.permute(1, 0, 2)).squeeze(1)
        hidden = self.gru(torch.cat((embedded, weighted), dim=1), hidden)
        prediction = self.out(torch.cat((hidden, weighted, embedded), dim=1))
        return prediction, hidden, a.squeeze(1)


class Seq2Seq(nn.Module):
    def __init__(self, encoder: Encoder, decoder: Decoder) -> None:
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, source, lengths, target, teacher_forcing_ratio: float = 0.5):
        steps, batch = target.shape
        outputs = torch.zeros(steps, batch, self.decoder.words)
        encoded, hidden = self.encoder(source, lengths)
        mask = (source != PAD).permute(1, 0)
        token = target[0, :]
        for t in range(1, steps):
            output, hidden, _ = self.decoder(token, hidden, encoded, mask)
            outputs[t] = output
            teacher_force = random.random() < teacher_forcing_ratio
            token = target[t] if teacher_force else output.argmax(1)
        return outputs


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=2)
    args = parser.parse_args()
    random.seed(5)
    torch.manual_seed(5)
    numbers = [*range(1000)]
    random.shuffle(numbers)
    pairs = [make_pair(number) for number in numbers[:400]]
    loader = DataLoader(pairs[:320], batch_size=32, shuffle=True, collate_fn=collate)
    valid = DataLoader(pairs[320:], batch_size=40, collate_fn=collate)
    model = Seq2Seq(Encoder(len(SOURCE), 24), Decoder(len(TARGET), 24))
    for name, param in model.named_parameters():
        if "weight" in name:
            nn.init.normal_(param.data, mean=0, std=0.1)
        elif "bias" in name:
            nn.init.constant_(param.data, 0)
    optimizer = optim.NAdam(model.parameters(), lr=5e-3)
    criterion = nn.CrossEntropyLoss(ignore_index=PAD)
    for epoch in range(args.epochs):
        model.train()
        for step, (source, lengths, target) in enumerate(loader):
            optimizer.zero_grad()
            output = model(source, lengths, target)
            loss = criterion(output[1:].reshape(-1, output.shape[-1]), target[1:].reshape(-1))
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            print(f"{epoch}/{step}: loss {loss.item():.5f}, gradient {norm.item():.5f}")
        model.eval()
        total = 0.0
        with torch.no_grad():
            for source, lengths, target in valid:
                output = model(source, lengths, target, 0.0)
                total += criterion(output[1:].flatten(0, 1), target[1:].flatten()).item()
        print(f"epoch {epoch}: validation loss {total / len(valid):.5f}")


if __name__ == "__main__":
    main()
