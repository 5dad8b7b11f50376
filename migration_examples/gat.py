"""Graph attention over an edge list: softmax over neighbours by scatter operations."""

import argparse

import torch
import torch.nn.functional as F
from torch import nn


def edge_softmax(scores: torch.Tensor, target: torch.Tensor, nodes: int) -> torch.Tensor:
    """Softmax of (edges, heads) scores over the edges that end in the same node."""
    index = target.unsqueeze(-1).expand_as(scores)
    largest = scores.new_full((nodes, scores.size(1)), float("-inf"))
    largest = largest.scatter_reduce(0, index, scores.detach(), reduce="amax")
    exponents = torch.exp(scores - largest[target])
    total = torch.zeros(nodes, scores.size(1)).scatter_add_(0, index, exponents)
    return exponents / (total.index_select(0, target) + 1e-16)


class GATLayer(nn.Module):
    """Several heads of attention over neighbours, concatenated or averaged."""

    def __init__(self, inputs: int, outputs: int, heads: int, concat: bool, dropout: float) -> None:
        super().__init__()
        self.heads, self.outputs, self.concat = heads, outputs, concat
        self.project = nn.Linear(inputs, heads * outputs, bias=False)
        self.score_source = nn.Parameter(torch.empty(1, heads, outputs))
        self.score_target = nn.Parameter(torch.empty(1, heads, outputs))
        self.bias = nn.Parameter(torch.zeros(heads * outputs if concat else outputs))
        self.leaky_relu = nn.LeakyReLU(0.2)
        self.dropout = nn.Dropout(dropout)
        for weight in (self.project.weight, self.score_source, self.score_target):
            nn.init.xavier_uniform_(weight)

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        nodes, (source, target) = x.shape[0], edges
        features = self.project(self.dropout(x)).view(-1, self.heads, self.outputs)
        features = self.dropout(features)
        from_source = (features * self.score_source).sum(dim=-1)
        from_target = (features * self.score_target).sum(dim=-1)
        scores = self.leaky_relu(from_source[source] + from_target[target])
        attention = self.dropout(edge_softmax(scores, target, nodes).unsqueeze(-1))
        messages = features.index_select(0, source) * attention
        output = torch.zeros_like(features)
        output.index_add_(0, target, messages)
        if self.concat:
            output = output.reshape(nodes, -1)
        else:
            output = output.mean(dim=1)
        return output + self.bias


class GAT(nn.Module):
    def __init__(self, inputs: int, classes: int) -> None:
        super().__init__()
        self.layers = nn.ModuleList(
            [GATLayer(inputs, 8, 4, True, 0.2), GATLayer(32, classes, 4, False, 0.2)]
        )

    def forward(self, x: torch.Tensor, edges: torch.Tensor) -> torch.Tensor:
        for layer in self.layers[:-1]:
            x = F.elu(layer(x, edges))
        return self.layers[-1](x, edges)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(7)

    nodes, classes = 200, 5
    labels = torch.randint(classes, (nodes,))
    chance = torch.full((nodes, nodes), 0.01).masked_fill_(labels[:, None] == labels, 0.12)
    links = torch.bernoulli(chance).triu_(1).nonzero().t()
    loops = torch.arange(nodes).repeat(2, 1)
    edges = torch.cat([links, links.flip(0), loops], dim=1).contiguous()
    x = F.one_hot(labels, classes).float() @ torch.randn(classes, 24) + torch.randn(nodes, 24)
    train = torch.zeros(nodes, dtype=torch.bool)
    train[torch.randperm(nodes)[:50]] = True

    model = GAT(24, classes)
    print(sum(p.numel() for p in model.parameters() if p.requires_grad), "parameters")
    optimizer = torch.optim.Adam(model.parameters(), lr=0.01, weight_decay=5e-4)
    best = float("inf")
    for epoch in range(args.epochs):
        model.train()
        loss = F.cross_entropy(model(x, edges)[train], labels[train])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        model.eval()
        with torch.inference_mode():
            scores = model(x, edges)
            other = F.cross_entropy(scores[~train], labels[~train]).item()
        best = min(best, other)
        print(f"epoch {epoch}: train {loss.item():.6f}, others {other:.6f}, best {best:.6f}")


if __name__ == "__main__":
    main()
