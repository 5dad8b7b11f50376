"""Predict sine waves with two LSTM cells, trained by LBFGS in double precision."""

import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim


class Sequence(nn.Module):
    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.lstm1 = nn.LSTMCell(1, hidden)
        self.lstm2 = nn.LSTMCell(hidden, hidden)
        self.linear = nn.Linear(hidden, 1)

    def forward(self, waves: torch.Tensor, future: int = 0) -> torch.Tensor:
        """One prediction for each step, then `future` ones from its own predictions."""
        outputs = []
        h1 = torch.zeros(waves.size(0), self.hidden, dtype=torch.double)
        c1, h2, c2 = h1.clone(), torch.zeros_like(h1), torch.zeros_like(h1)
        for step in waves.split(1, dim=1):
            h1, c1 = self.lstm1(step, (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            outputs += [self.linear(h2)]
        for _ in range(future):
            h1, c1 = self.lstm1(outputs[-1], (h1, c1))
            h2, c2 = self.lstm2(h1, (h2, c2))
            outputs += [self.linear(h2)]
        return torch.cat(outputs, dim=1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=3, help="outer steps of the optimizer")
    parser.add_argument("--length", type=int, default=60)
    parser.add_argument("--hidden", type=int, default=12)
    opt = parser.parse_args()
    np.random.seed(2)
    torch.manual_seed(0)

    shifts = np.random.randint(-80, 80, 24).reshape(24, 1)
    data = np.sin((np.arange(opt.length) + shifts) / 10.0).astype("float64")
    inputs, target = torch.from_numpy(data[3:, :-1]), torch.from_numpy(data[3:, 1:])
    test_input, test_target = torch.from_numpy(data[:3, :-1]), torch.from_numpy(data[:3, 1:])

    seq = Sequence(opt.hidden)
    seq.double()
    criterion = nn.MSELoss()
    optimizer = optim.LBFGS(seq.parameters(), lr=0.8, max_iter=6)
    for step in range(opt.steps):
        print("STEP:", step)

        def closure() -> torch.Tensor:
            optimizer.zero_grad()
            loss = criterion(seq(inputs), target)
            print(f"loss: {loss.item():.8f}")
            loss.backward()
            return loss

        optimizer.step(closure)
        with torch.no_grad():
            pred = seq(test_input, future=20)
            loss = criterion(pred[:, :-20], test_target)
            print(f"test loss: {loss.item():.8f}")
            print(f"future mean: {pred[:, -20:].detach().numpy().mean():.6f}")


if __name__ == "__main__":
    main()
