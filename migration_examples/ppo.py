"""Proximal policy optimisation: clipped ratios, advantage estimation, minibatches, a toy task."""

import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
from torch.distributions import Independent, Normal, kl_divergence
from torch.utils.data import BatchSampler, SubsetRandomSampler


@dataclass
class Config:
    updates: int = 4
    horizon: int = 24
    walkers: int = 16
    epochs: int = 3
    minibatch: int = 96
    clip: float = 0.2
    gamma: float = 0.97
    lam: float = 0.9
    target_kl: float = 0.5


class Spring:
    """Masses to be brought to rest at the origin by a bounded force."""

    def __init__(self, walkers: int) -> None:
        self.state = torch.randn(walkers, 2)

    def step(self, force: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        place, speed = self.state.unbind(-1)
        speed = speed + 0.1 * (force.squeeze(-1).clamp(-2, 2) - 0.3 * place)
        place = place + 0.1 * speed
        self.state = torch.stack((place, speed), dim=-1)
        reward = -(place.square() + 0.1 * speed.square())
        lost = place.abs() > 3
        self.state = torch.where(lost.unsqueeze(-1), torch.randn_like(self.state), self.state)
        return self.state.clone(), reward, lost.float()


def layer(inputs: int, outputs: int, gain: float) -> nn.Linear:
    linear = nn.Linear(inputs, outputs)
    torch.nn.init.orthogonal_(linear.weight, gain)
    torch.nn.init.constant_(linear.bias, 0.0)
    return linear


class Agent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(layer(2, 32, 1.4), nn.Tanh(), layer(32, 1, 1.0))
        self.actor = nn.Sequential(layer(2, 32, 1.4), nn.Tanh(), layer(32, 1, 0.01))
        self.log_std = nn.Parameter(torch.zeros(1, 1))

    def policy(self, state: torch.Tensor) -> Independent:
        mean = self.actor(state)
        return Independent(Normal(mean, self.log_std.expand_as(mean).exp()), 1)

    def value(self, state: torch.Tensor) -> torch.Tensor:
        return self.critic(state).squeeze(-1)


@torch.no_grad()
def collect(agent: Agent, env: Spring, config: Config) -> dict[str, torch.Tensor]:
    """States, actions, log-probabilities, advantages and returns of one rollout, flattened."""
    record: dict[str, list[torch.Tensor]] = {k: [] for k in "state action log_prob reward".split()}
    values, losses = [agent.value(env.state)], []
    for _ in range(config.horizon):
        state = env.state.clone()
        policy = agent.policy(state)
        action = policy.sample()
        _, reward, lost = env.step(action)
        for key, value in zip(record, (state, action, policy.log_prob(action), reward)):
            record[key].append(value)
        losses.append(lost)
        values.append(agent.value(env.state))
    advantage, advantages = torch.zeros(config.walkers), []
    for t in reversed(range(config.horizon)):
        alive = 1 - losses[t]
        delta = record["reward"][t] + config.gamma * values[t + 1] * alive - values[t]
        advantage = delta + config.gamma * config.lam * alive * advantage
        advantages.insert(0, advantage)
    batch = {key: torch.stack(column).flatten(0, 1) for key, column in record.items()}
    batch["advantage"] = torch.stack(advantages).flatten()
    batch["value"] = torch.stack(values[:-1]).flatten()
    batch["return"] = batch["advantage"] + batch["value"]
    return batch


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--updates", type=int, default=4)
    config = Config(**vars(parser.parse_args()))
    torch.manual_seed(5)
    agent, env = Agent(), Spring(config.walkers)
    optimizer = torch.optim.Adam(agent.parameters(), lr=1e-3, eps=1e-5)
    for update in range(config.updates):
        optimizer.param_groups[0]["lr"] = 1e-3 * (1 - update / config.updates)
        batch = collect(agent, env, config)
        with torch.no_grad():
            old = agent.policy(batch["state"])
        for _ in range(config.epochs):
            sampler = SubsetRandomSampler(range(len(batch["state"])))
            for indices in BatchSampler(sampler, config.minibatch, drop_last=True):
                part = {key: value[indices] for key, value in batch.items()}
                policy, value = agent.policy(part["state"]), agent.value(part["state"])
                ratio = (policy.log_prob(part["action"]) - part["log_prob"]).exp()
                advantage = part["advantage"]
                advantage = (advantage - advantage.mean()) / (advantage.std() + 1e-8)
                clipped = torch.clamp(ratio, 1 - config.clip, 1 + config.clip)
                policy_loss = -torch.min(advantage * ratio, advantage * clipped).mean()
                change = torch.clamp(value - part["value"], -config.clip, config.clip)
                squares = (value - part["return"]) ** 2
                kept = (part["value"] + change - part["return"]) ** 2
                value_loss = 0.5 * torch.max(squares, kept).mean()
                loss = policy_loss + 0.5 * value_loss - 0.01 * policy.entropy().mean()
                optimizer.zero_grad()
                loss.backward()
                nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
                optimizer.step()
            with torch.no_grad():
                kl = kl_divergence(old.base_dist, agent.policy(batch["state"]).base_dist).mean()
            if kl > config.target_kl:
                break
        print(
            f"update {update}: reward {batch['reward'].mean():.5f} policy {policy_loss:.5f} "
            f"value {value_loss:.5f} kl {kl:.6f}"
        )


if __name__ == "__main__":
    main()
