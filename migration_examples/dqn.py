"""Deep Q-learning with a replay memory and a slowly following target network."""

import argparse
import math
import random
from collections import deque, namedtuple

import torch
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim

Transition = namedtuple("Transition", ("state", "action", "next_state", "reward"))


class GridWorld:
    """A 4 by 4 grid: from the corner to the opposite one, past a hole. States are one-hot."""

    MOVES = ((0, 1), (1, 0), (0, -1), (-1, 0))

    def reset(self) -> torch.Tensor:
        self.row = self.column = self.time = 0
        return self.observe()

    def observe(self) -> torch.Tensor:
        position = torch.tensor(self.row * 4 + self.column)
        return F.one_hot(position, 16).to(torch.float32)

    def step(self, action: int) -> tuple[torch.Tensor, float, bool]:
        down, right = self.MOVES[action]
        self.row = min(3, max(0, self.row + down))
        self.column = min(3, max(0, self.column + right))
        self.time += 1
        if (self.row, self.column) == (3, 3):
            return self.observe(), 1.0, True
        if (self.row, self.column) == (1, 2):
            return self.observe(), -1.0, True
        return self.observe(), -0.02, self.time >= 30


class ReplayMemory:
    def __init__(self, capacity: int) -> None:
        self.memory: deque[Transition] = deque(maxlen=capacity)

    def push(self, *args) -> None:
        self.memory.append(Transition(*args))

    def sample(self, batch_size: int) -> list[Transition]:
        return random.sample(self.memory, batch_size)

    def __len__(self) -> int:
        return len(self.memory)


class DQN(nn.Module):
    def __init__(self, inputs: int, actions: int) -> None:
        super().__init__()
        self.layer1 = nn.Linear(inputs, 64)
        self.layer2 = nn.Linear(64, 64)
        self.layer3 = nn.Linear(64, actions)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = F.relu(self.layer1(x))
        x = F.relu(self.layer2(x))
        return self.layer3(x)


class Agent:
    def __init__(self, lr: float, batch_size: int, gamma: float, tau: float) -> None:
        self.policy_net, self.target_net = DQN(16, 4), DQN(16, 4)
        self.target_net.load_state_dict(self.policy_net.state_dict())
        self.optimizer = optim.AdamW(self.policy_net.parameters(), lr=lr, amsgrad=True)
        self.memory = ReplayMemory(2000)
        self.batch_size, self.gamma, self.tau = batch_size, gamma, tau
        self.steps_done = 0

    def select_action(self, state: torch.Tensor) -> torch.Tensor:
        threshold = 0.05 + 0.85 * math.exp(-self.steps_done / 100)
        self.steps_done += 1
        if random.random() > threshold:
            with torch.no_grad():
                return self.policy_net(state).max(1).indices.view(1, 1)
        return torch.tensor([[random.randrange(4)]], dtype=torch.long)

    def optimize_model(self) -> float | None:
        if len(self.memory) < self.batch_size:
            return None
        batch = Transition(*zip(*self.memory.sample(self.batch_size)))
        not_final = torch.tensor([s is not None for s in batch.next_state], dtype=torch.bool)
        next_states = torch.cat([s for s in batch.next_state if s is not None])
        action_batch, reward_batch = torch.cat(batch.action), torch.cat(batch.reward)
        values = self.policy_net(torch.cat(batch.state)).gather(1, action_batch)
        next_values = torch.zeros(self.batch_size)
        with torch.no_grad():
            next_values[not_final] = self.target_net(next_states).max(1).values
        expected = (next_values * self.gamma) + reward_batch
        loss = nn.SmoothL1Loss()(values, expected.unsqueeze(1))
        self.optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_value_(self.policy_net.parameters(), 100)
        self.optimizer.step()
        target, policy = self.target_net.state_dict(), self.policy_net.state_dict()
        for key in policy:
            target[key] = policy[key] * self.tau + target[key] * (1 - self.tau)
        self.target_net.load_state_dict(target)
        return loss.item()


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--episodes", type=int, default=20)
    args = parser.parse_args()
    random.seed(0)
    torch.manual_seed(0)
    env, agent = GridWorld(), Agent(lr=5e-4, batch_size=32, gamma=0.95, tau=0.02)
    for episode in range(args.episodes):
        state, done, total, losses = env.reset().unsqueeze(0), False, 0.0, []
        while not done:
            action = agent.select_action(state)
            observation, reward, done = env.step(action.item())
            next_state = None if done else observation.unsqueeze(0)
            agent.memory.push(state, action, next_state, torch.tensor([reward]))
            state, total = next_state, total + reward
            loss = agent.optimize_model()
            if loss is not None:
                losses.append(loss)
        mean = sum(losses) / len(losses) if losses else float("nan")
        print(f"episode {episode}: reward {total:.2f}, mean loss {mean:.6f}")


if __name__ == "__main__":
    main()
