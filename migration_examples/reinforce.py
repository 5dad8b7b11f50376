"""REINFORCE on a balancing pole, whose physics are written out below."""

import argparse
import math
from collections import deque
from itertools import count

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
from torch.distributions import Categorical


class Pole:
    """A pole on a cart; each step either falls (done) or earns 1."""

    def __init__(self, seed: int) -> None:
        self.random = np.random.RandomState(seed)

    def reset(self) -> np.ndarray:
        self.state = self.random.uniform(-0.05, 0.05, 4)
        return self.state.astype(np.float32)

    def step(self, action: int) -> tuple[np.ndarray, float, bool]:
        _, speed, angle, spin = self.state
        force = 10.0 if action == 1 else -10.0
        sine, cosine = math.sin(angle), math.cos(angle)
        push = (force + 0.05 * spin**2 * sine) / 1.1
        turn = (9.8 * sine - cosine * push) / (0.5 * (4 / 3 - 0.1 * cosine**2 / 1.1))
        drive = push - 0.05 * turn * cosine / 1.1
        rates = np.array([speed, drive, spin, turn])
        self.state = self.state + 0.02 * rates
        done = abs(self.state[0]) > 2.4 or abs(self.state[2]) > 0.21
        return self.state.astype(np.float32), 1.0, bool(done)


class Policy(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.affine1 = nn.Linear(4, 64)
        self.dropout = nn.Dropout(p=0.4)
        self.affine2 = nn.Linear(64, 2)
        self.saved_log_probs: list[torch.Tensor] = []
        self.rewards: list[float] = []

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.dropout(self.affine1(x)))
        return F.softmax(self.affine2(x), dim=1)


def select_action(policy: Policy, state: np.ndarray) -> int:
    probs = policy(torch.from_numpy(state).float().unsqueeze(0))
    m = Categorical(probs)
    action = m.sample()
    policy.saved_log_probs.append(m.log_prob(action))
    return action.item()


def finish_episode(policy: Policy, optimizer: optim.Optimizer, gamma: float) -> float:
    """One step on `-sum(log_prob * standardised return)`."""
    future = 0.0
    returns: deque[float] = deque()
    for reward in policy.rewards[::-1]:
        future = reward + gamma * future
        returns.appendleft(future)
    targets = torch.tensor(returns)
    targets = (targets - targets.mean()) / (targets.std() + np.finfo(np.float32).eps.item())
    losses = [-p * r for p, r in zip(policy.saved_log_probs, targets)]
    optimizer.zero_grad()
    loss = torch.cat(losses).sum()
    loss.backward()
    optimizer.step()
    del policy.rewards[:]
    del policy.saved_log_probs[:]
    return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=25)
    parser.add_argument("--gamma", type=float, default=0.99)
    parser.add_argument("--seed", type=int, default=543)
    args = parser.parse_args()
    env = Pole(args.seed)
    torch.manual_seed(args.seed)
    policy = Policy()
    optimizer = optim.Adam(policy.parameters(), lr=1e-2)
    running = 10.0
    for episode in range(args.episodes):
        state, total = env.reset(), 0.0
        for _ in count(1):
            state, reward, done = env.step(select_action(policy, state))
            policy.rewards.append(reward)
            total += reward
            if done or total >= 200:
                break
        running = 0.05 * total + 0.95 * running
        loss = finish_episode(policy, optimizer, args.gamma)
        print(f"Episode {episode}\tLast reward: {total:.2f}\tAverage: {running:.4f}\t{loss:.5f}")


if __name__ == "__main__":
    main()
