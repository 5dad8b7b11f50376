"""Rules of one's own: a binarised network of autograd functions, checked by gradcheck."""

import argparse

import torch
from torch import nn
from torch.autograd import Function, gradcheck, gradgradcheck
from torch.autograd.function import once_differentiable


class Binarize(Function):
    """The sign; its gradient passes where the input lies in [-1, 1] (straight-through)."""

    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        ctx.save_for_backward(x)
        return torch.where(x >= 0, torch.ones_like(x), -torch.ones_like(x))

    @staticmethod
    @once_differentiable
    def backward(ctx, grad_output: torch.Tensor) -> torch.Tensor:
        (x,) = ctx.saved_tensors
        return grad_output * (x.abs() <= 1).to(grad_output.dtype)


class LinearFunction(Function):
    """`x @ weight.t() + bias`, with setup_context apart from forward."""

    @staticmethod
    def forward(x, weight, bias):
        output = x.mm(weight.t())
        if bias is not None:
            output += bias.unsqueeze(0).expand_as(output)
        return output

    @staticmethod
    def setup_context(ctx, inputs, output) -> None:
        x, weight, bias = inputs
        ctx.save_for_backward(x, weight, bias)

    @staticmethod
    def backward(ctx, grad_output):
        x, weight, bias = ctx.saved_tensors
        grad_x = grad_weight = grad_bias = None
        if ctx.needs_input_grad[0]:
            grad_x = grad_output.mm(weight)
        if ctx.needs_input_grad[1]:
            grad_weight = grad_output.t().mm(x)
        if bias is not None and ctx.needs_input_grad[2]:
            grad_bias = grad_output.sum(0)
        return grad_x, grad_weight, grad_bias


class SoftClamp(Function):
    """`limit * tanh(x / limit)`, its limit not a tensor, its gradient differentiable again."""

    @staticmethod
    def forward(ctx, x: torch.Tensor, limit: float) -> torch.Tensor:
        ctx.limit = limit
        ctx.save_for_backward(x)
        ctx.set_materialize_grads(False)
        return limit * torch.tanh(x / limit)

    @staticmethod
    def backward(ctx, grad_output):
        if grad_output is None:
            return None, None
        (x,) = ctx.saved_tensors
        return ClampSlope.apply(x / ctx.limit) * grad_output, None


class ClampSlope(Function):
    """`1 - tanh(x)**2`, which keeps its own result for its gradient."""

    @staticmethod
    def forward(ctx, x: torch.Tensor) -> torch.Tensor:
        slope = 1 - torch.tanh(x) ** 2
        ctx.save_for_backward(x, slope)
        return slope

    @staticmethod
    def backward(ctx, grad_output: torch.Tensor) -> torch.Tensor:
        x, slope = ctx.saved_tensors
        return -2 * torch.tanh(x) * slope * grad_output


class Linear(nn.Module):
    def __init__(self, inputs: int, outputs: int, bias: bool = True) -> None:
        super().__init__()
        self.inputs, self.outputs = inputs, outputs
        self.weight = nn.Parameter(torch.empty(outputs, inputs).uniform_(-0.3, 0.3))
        if bias:
            self.bias = nn.Parameter(torch.zeros(outputs))
        else:
            self.register_parameter("bias", None)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return LinearFunction.apply(x, self.weight, self.bias)

    def extra_repr(self) -> str:
        return f"inputs={self.inputs}, outputs={self.outputs}, bias={self.bias is not None}"


class BinaryNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.first = Linear(12, 32)
        self.binary = Linear(32, 32, bias=False)
        self.norm = nn.BatchNorm1d(32)
        self.last = Linear(32, 2)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        x = SoftClamp.apply(self.first(x), 1.5)
        x = LinearFunction.apply(x, Binarize.apply(self.binary.weight), None)
        return self.last(self.norm(x))


def check_rules() -> None:
    def doubles(*size: int) -> torch.Tensor:
        return torch.randn(*size, dtype=torch.double, requires_grad=True)

    inputs = (doubles(5, 4), doubles(3, 4), doubles(3))
    print("linear:", gradcheck(LinearFunction.apply, inputs, eps=1e-6, atol=1e-4))
    print("linear twice:", gradgradcheck(LinearFunction.apply, inputs))
    print("clamp twice:", gradgradcheck(lambda x: SoftClamp.apply(x, 0.7), (doubles(6),)))


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=20)
    args = parser.parse_args()
    torch.manual_seed(0)
    check_rules()
    net = BinaryNet()
    print(net)
    x = torch.randn(256, 12)
    y = (x[:, :6].sum(1) > x[:, 6:].prod(1)).long()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.05, momentum=0.8)
    for step in range(args.steps):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(net(x), y)
        loss.backward()
        optimizer.step()
        with torch.no_grad():
            net.binary.weight.clamp_(-1, 1)
        print(f"step {step}: {loss.item():.6f}")


if __name__ == "__main__":
    main()
