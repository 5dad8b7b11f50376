"""Advantage actor-critic with several environments at once, on a grid world of its own."""

import argparse

import torch
import torch.nn as nn
from torch.distributions import Categorical, Normal


class Corridors:
    """`count` walkers on a line from -1 to 1; each must reach its own goal, and sees both."""

    def __init__(self, count: int, generator: torch.Generator) -> None:
        self.count, self.generator = count, generator

    def reset(self) -> torch.Tensor:
        self.place = torch.rand(self.count, generator=self.generator) * 2 - 1
        self.goal = torch.rand(self.count, generator=self.generator) * 2 - 1
        self.time = 0
        return self.view()

    def view(self) -> torch.Tensor:
        return torch.stack([self.place, self.goal, (self.goal - self.place).abs()], dim=-1)

    def step(self, move: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, bool]:
        before = (self.goal - self.place).abs()
        self.place = (self.place + move.clamp(-0.3, 0.3)).clamp(-1, 1)
        reward = before - (self.goal - self.place).abs()
        self.time += 1
        return self.view(), reward, self.time == 12


class ActorCritic(nn.Module):
    """One trunk; a head for the action (three moves, or a normal distribution) and the value."""

    def __init__(self, continuous: bool) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(3, 48), nn.Tanh(), nn.Linear(48, 48), nn.Tanh())
        self.actor = nn.Linear(48, 1 if continuous else 3)
        self.critic = nn.Linear(48, 1)
        self.continuous = continuous
        if continuous:
            self.log_std = nn.Parameter(torch.full((1,), -1.0))
        for layer in self.modules():
            if isinstance(layer, nn.Linear):
                nn.init.orthogonal_(layer.weight, gain=2**0.5)
                nn.init.zeros_(layer.bias)

    def forward(self, state: torch.Tensor):
        hidden = self.trunk(state)
        value = self.critic(hidden).squeeze(-1)
        if self.continuous:
            return Normal(self.actor(hidden).squeeze(-1), self.log_std.exp()), value
        return Categorical(logits=self.actor(hidden)), value


def rollout(model: ActorCritic, env: Corridors):
    """Log-probabilities, values, rewards and entropies of one episode, each (time, count)."""
    state, done, record = env.reset(), False, []
    while not done:
        distribution, value = model(state)
        action = distribution.sample()
        move = action if model.continuous else (action - 1) * 0.2
        state, reward, done = env.step(move)
        entropy = distribution.entropy().expand(env.count)
        record.append((distribution.log_prob(action), value, reward, entropy))
    return [torch.stack(column) for column in zip(*record)]


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=15)
    parser.add_argument("--continuous", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(3)
    env = Corridors(16, torch.Generator().manual_seed(8))
    model = ActorCritic(args.continuous)
    optimizer = torch.optim.RMSprop(model.parameters(), lr=2e-3, eps=1e-5)
    for update in range(args.updates):
        log_probs, values, rewards, entropies = rollout(model, env)
        returns, running = torch.empty_like(rewards), torch.zeros(env.count)
        for t in reversed(range(len(rewards))):
            running = rewards[t] + 0.95 * running
            returns[t] = running
        advantage = returns - values
        actor_loss = -(log_probs * advantage.detach()).mean()
        critic_loss = nn.functional.smooth_l1_loss(values, returns)
        loss = actor_loss + 0.5 * critic_loss - 0.01 * entropies.mean()
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), max_norm=0.5)
        optimizer.step()
        print(
            f"update {update}: reward {rewards.sum(0).mean():.5f} actor {actor_loss:.6f} "
            f"critic {critic_loss:.6f} entropy {entropies.mean():.5f} norm {norm:.5f}"
        )


if __name__ == "__main__":
    main()
