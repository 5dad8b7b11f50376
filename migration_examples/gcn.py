"""Graph convolution: classify the nodes of a random community graph from a few labels."""

import argparse
import math

import torch
from torch import nn
from torch.nn.parameter import Parameter


class GraphConv(nn.Module):
    """`adjacency @ (x @ weight) + bias`, the adjacency sparse (coordinates) or dense."""

    def __init__(self, inputs: int, outputs: int, use_bias: bool = True) -> None:
        super().__init__()
        self.kernel = Parameter(torch.FloatTensor(inputs, outputs))
        nn.init.xavier_normal_(self.kernel)
        self.bias = None
        if use_bias:
            self.bias = Parameter(torch.FloatTensor(outputs))
            self.bias.data.uniform_(-1 / math.sqrt(outputs), 1 / math.sqrt(outputs))

    def forward(self, x: torch.Tensor, graph) -> torch.Tensor:
        support = torch.mm(x, self.kernel)
        if isinstance(graph, torch.Tensor):
            output = graph @ support
        else:
            source, target, weight = graph
            messages = support[source] * weight.unsqueeze(-1)
            output = torch.zeros_like(support).index_add(0, target, messages)
        return output if self.bias is None else output + self.bias

    def __repr__(self) -> str:
        rows, columns = self.kernel.shape
        return f"{type(self).__name__}({rows} -> {columns})"


class GCN(nn.Module):
    def __init__(self, inputs: int, hidden: int, classes: int, dropout_p: float) -> None:
        super().__init__()
        self.gc1 = GraphConv(inputs, hidden)
        self.gc2 = GraphConv(hidden, classes)
        self.dropout = nn.Dropout(dropout_p)

    def forward(self, x: torch.Tensor, graph) -> torch.Tensor:
        x = self.dropout(nn.functional.relu(self.gc1(x, graph)))
        return nn.functional.log_softmax(self.gc2(x, graph), dim=1)


def make_graph(nodes: int, classes: int, features: int):
    """Edges are likely inside a class; features are noisy one-hot patterns of the class."""
    labels = torch.arange(nodes) % classes
    same = labels[:, None] == labels[None, :]
    chance = torch.where(same, 0.15, 0.02)
    upper = torch.triu(torch.rand(nodes, nodes) < chance, diagonal=1)
    adjacency = (upper | upper.T).float() + torch.eye(nodes)
    degree = adjacency.sum(dim=1)
    inverse_root = degree.pow(-0.5)
    inverse_root[torch.isinf(inverse_root)] = 0.0
    adjacency = torch.diag(inverse_root) @ adjacency @ torch.diag(inverse_root)
    patterns = torch.randn(classes, features)
    x = patterns[labels] + 1.5 * torch.randn(nodes, features)
    x = x / x.abs().sum(dim=1, keepdim=True).clamp(min=1.0)
    return x, labels, adjacency


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--dense", action="store_true", help="multiply by a dense adjacency matrix")
    args = parser.parse_args()
    torch.manual_seed(42)

    x, labels, adjacency = make_graph(240, 4, 32)
    if args.dense:
        graph = adjacency
    else:
        source, target = adjacency.nonzero(as_tuple=True)
        graph = (source, target, adjacency[source, target])
    order = torch.randperm(240)
    train, valid, test = order[:40], order[40:120], order[120:]
    gcn = GCN(32, 16, 4, 0.1)
    print(gcn)
    optimizer = torch.optim.Adam(gcn.parameters(), lr=0.02, weight_decay=5e-4)
    criterion = nn.NLLLoss()
    for epoch in range(1, args.epochs + 1):
        gcn.train()
        optimizer.zero_grad()
        loss = criterion(gcn(x, graph)[train], labels[train])
        loss.backward()
        optimizer.step()
        gcn.eval()
        with torch.no_grad():
            output = gcn(x, graph)
            valid_loss = criterion(output[valid], labels[valid])
        if epoch % 3 == 0:
            print(f"epoch {epoch:02d}: train {loss.item():.5f}, valid {valid_loss.item():.5f}")
    hits = (output[test].argmax(dim=1) == labels[test]).float()
    print(f"test loss {criterion(output[test], labels[test]).item():.5f}")
    print(f"right: {int(hits.sum())} of {len(test)}")


if __name__ == "__main__":
    main()
