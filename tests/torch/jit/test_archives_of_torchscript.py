"""torch.jit.load: modules that real torch scripted or traced run, train and are saved again."""

import copy
import enum
import io
from typing import Any, Dict, List, NamedTuple, Optional, Tuple  # noqa: UP035  TorchScript's

import numpy as np
import pytest
import torch as real

import mindtorch.torch as torch

nn = real.nn
pytestmark = [
    pytest.mark.filterwarnings("ignore:`torch.jit:DeprecationWarning"),
    pytest.mark.filterwarnings("ignore::torch.jit.TracerWarning"),
    pytest.mark.filterwarnings("ignore:The PyTorch API of nested tensors"),
]


class Found(NamedTuple):
    scores: real.Tensor
    number: int


class Kind(enum.Enum):
    PLAIN = 1
    DOUBLE = 2


class Sums:
    """A class of TorchScript: it keeps a sum and a count."""

    def __init__(self, size: int) -> None:
        self.total = real.zeros(size)
        self.count = 0

    def add(self, x: real.Tensor) -> int:
        self.total = self.total + x
        self.count += 1
        return self.count


class Branches(nn.Module):
    """Loops, branches, containers, an optional argument, errors, writes in place."""

    names: List[str]  # noqa: UP006
    mask: real.Tensor

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(3, 3)
        self.layers = nn.ModuleList([nn.Linear(3, 3), nn.ReLU()])
        self.names = ["a", "bc"]
        self.sizes = {"a": 1}
        self.kind = Kind.DOUBLE
        self.calls = 0
        self.rate = 2.0
        self.register_buffer("mask", real.ones(3))
        self.missing = None

    def forward(
        self, x: real.Tensor, n: int = 3, y: Optional[real.Tensor] = None  # noqa: UP045
    ) -> Tuple[real.Tensor, Dict[str, real.Tensor], Found, str, List[float]]:  # noqa: UP006
        self.calls += 1
        named: Dict[str, real.Tensor] = {}  # noqa: UP006
        i = 0
        while i < n:
            x = self.linear(x).mul(self.rate)
            i += 1
            if i == 7:
                break
        for name in self.names:
            named[name] = x + len(name)
        for layer in self.layers:
            x = layer(x)
        if y is not None:
            x = x + y
        elif n > 10:
            raise ValueError(f"n is too large: {n}")
        assert n >= 0, "n is negative"
        if self.kind == Kind.DOUBLE:
            x = x * 2
        rows = [x[k] for k in range(x.size(0))]
        rows.append(x[0, :, None].squeeze(1))
        sums = Sums(3)
        for row in rows:
            sums.add(row)
        masked = x.clone()
        masked[:, 1] = 0.5
        masked[masked > 1] = 1.0
        values, _places = masked.max(dim=-1)
        text = "{} of {}: {}".format("x".upper(), n // 2 + n % 3, 0.1) + "a,b".split(",")[1]
        halves = [size / 2 for size in self.sizes.values()]
        made = real.cat([real.stack(rows), sums.total[None], masked.mul(self.mask)])
        return made, named, Found(values, sums.count), text, halves

    @real.jit.export
    def mean_of(self, items: List[int], weighted: bool = True) -> float:  # noqa: UP006
        return float(sum(items)) / len(items) if weighted else self.rate


class Recurrent(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(11, 4)
        self.lstm = nn.LSTM(4, 3, 2, bidirectional=True)
        self.head = nn.Linear(6, 2)

    def forward(self, tokens: real.Tensor, lengths: real.Tensor) -> real.Tensor:
        packed = nn.utils.rnn.pack_padded_sequence(
            self.embed(tokens), lengths, enforce_sorted=False
        )
        out, _ = nn.utils.rnn.pad_packed_sequence(self.lstm(packed)[0])
        return self.head(out)


def convolutional() -> Any:
    return nn.Sequential(
        nn.Conv2d(3, 4, 3, padding=1), nn.BatchNorm2d(4), nn.ReLU6(inplace=True),
        nn.MaxPool2d(2), nn.Dropout(0.2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4, 2),
    )  # fmt: skip


def transformer() -> Any:
    layer = nn.TransformerEncoderLayer(8, 2, 16, dropout=0.0, batch_first=True)
    return nn.TransformerEncoder(layer, 1)


def draw(*shape: int) -> Any:
    return real.randn(*shape, generator=real.Generator().manual_seed(sum(shape)))


SCRIPTS: dict[str, tuple[Any, tuple[Any, ...]]] = {
    "branches": (Branches, (draw(2, 3),)),
    "recurrent": (Recurrent, (real.arange(10).reshape(5, 2), real.tensor([3, 5]))),
    "convolutional": (convolutional, (draw(2, 3, 8, 8),)),
    "transformer": (transformer, (draw(2, 5, 8),)),
}
TRACES = {name: SCRIPTS[name] for name in ("convolutional", "transformer")}


def saved(made: Any, **kwargs: Any) -> io.BytesIO:
    file = io.BytesIO()
    real.jit.save(made, file, **kwargs)
    file.seek(0)
    return file


def ours(value: Any) -> Any:
    """A value with our tensors in place of torch's."""
    return torch.from_numpy(value.numpy().copy()) if isinstance(value, real.Tensor) else value


def same(theirs: Any, found: Any, atol: float = 2e-6) -> None:
    """Both results are the same, in structure, types and numbers."""
    if isinstance(theirs, real.Tensor):
        assert str(found.dtype) == str(theirs.dtype) and found.shape == tuple(theirs.shape)
        made, wanted = (tensor.detach().resolve_conj().numpy() for tensor in (found, theirs))
        np.testing.assert_allclose(made, wanted, rtol=1e-5, atol=atol)
    elif isinstance(theirs, dict):
        assert list(found) == list(theirs)
        for key, value in theirs.items():
            same(value, found[key], atol)
    elif isinstance(theirs, (list, tuple)):
        assert isinstance(found, tuple) is isinstance(theirs, tuple) and len(found) == len(theirs)
        assert getattr(found, "_fields", None) == getattr(theirs, "_fields", None)
        for pair in zip(theirs, found, strict=True):
            same(*pair, atol)
    else:
        assert found == theirs and type(found) is type(theirs)


def archive(name: str, traced: bool, training: bool) -> tuple[io.BytesIO, tuple[Any, ...]]:
    real.manual_seed(1)
    make, args = SCRIPTS[name]
    module = make().train(training)
    made = real.jit.trace(module, args, check_trace=False) if traced else real.jit.script(module)
    return saved(made), args


CASES = [(name, False) for name in SCRIPTS] + [(name, True) for name in TRACES]


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("name,traced", CASES)
def test_a_module_computes_and_trains_as_in_torch(name: str, traced: bool, training: bool) -> None:
    """Results, structures, gradients, statistics of batches and masks of dropout are torch's."""
    file, args = archive(name, traced, training)
    theirs = real.jit.load(io.BytesIO(file.getvalue()))
    found = torch.jit.load(file)
    assert isinstance(found, torch.jit.ScriptModule) and found.training is theirs.training
    assert found.original_name == theirs.original_name and repr(found) == repr(theirs)
    assert [name for name, _ in found.named_modules()] == [n for n, _ in theirs.named_modules()]
    real.manual_seed(7), torch.manual_seed(7)
    wanted, made = theirs(*args), found(*map(ours, args))
    same(wanted, made)
    for space, result in ((real, wanted), (torch, made)):
        leaves = space.utils._pytree.tree_leaves(result)
        tensors = [leaf for leaf in leaves if isinstance(leaf, space.Tensor)]
        sum(tensor.sum() for tensor in tensors if tensor.requires_grad).backward()
    gradients = {name: parameter.grad for name, parameter in found.named_parameters()}
    assert all(isinstance(each, torch.nn.Parameter) for each in found.parameters())
    for key, parameter in theirs.named_parameters():
        if parameter.grad is not None:
            same(parameter.grad, gradients[key], 1e-5)
    state = found.state_dict()
    assert list(state) == list(theirs.state_dict())
    for key, value in theirs.state_dict().items():
        same(value, state[key])


def test_an_encoder_in_eval_mode_without_gradients_takes_the_short_way() -> None:
    """torch's layers then call one operator; padded places become 0 by way of nested tensors."""
    file, (x,) = archive("transformer", False, False)
    theirs, found = real.jit.load(io.BytesIO(file.getvalue())), torch.jit.load(file)
    padding = real.tensor([[False] * 5, [False, False, True, True, True]])
    with real.no_grad(), torch.no_grad():
        same(theirs(x), found(ours(x)))
        same(theirs(x, None, padding), found(ours(x), None, ours(padding)))


def test_attributes_methods_and_text_are_those_of_the_archive() -> None:
    """Programs read what a module holds, call its other methods and look at its code."""
    file, args = archive("branches", False, True)
    theirs, found = real.jit.load(io.BytesIO(file.getvalue())), torch.jit.load(file)
    assert found.names == ["a", "bc"] and found.sizes == {"a": 1} and found.rate == 2.0
    assert found.missing is None and found.mean_of([1, 2]) == theirs.mean_of([1, 2]) == 1.5
    assert found.mean_of([1], weighted=False) == 2.0 and found.code == theirs.code
    assert type(found.linear.weight) is torch.nn.Parameter and found.mask.tolist() == [1, 1, 1]
    found(*map(ours, args))
    assert found.calls == 1
    found.rate = theirs.rate = 3.0
    same(theirs(*args)[0], found(*map(ours, args))[0])
    twin = copy.deepcopy(found)
    with torch.no_grad():
        twin.linear.weight.zero_()
    assert found.linear.weight.abs().sum() > 0


def test_a_module_learns_moves_its_type_and_is_compiled() -> None:
    """What loads a file goes on with it: an optimizer, double precision, torch.compile."""
    file, args = archive("recurrent", False, True)
    found = torch.jit.load(file)
    tokens, lengths = map(ours, args)
    optimizer = torch.optim.SGD(found.parameters(), lr=0.1)
    losses = []
    for _ in range(3):
        optimizer.zero_grad()
        loss = found(tokens, lengths).square().mean()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    assert losses[0] > losses[1] > losses[2]
    assert found.double()(tokens, lengths).dtype is torch.float64
    file, (x,) = archive("convolutional", False, True)
    network = torch.jit.load(file)
    compiled = torch.compile(network)
    for training in (False, True, False):
        network.train(training)
        wanted = network(ours(x)) if not training else None
        made = compiled(ours(x))
        if wanted is not None:
            np.testing.assert_allclose(made.detach().numpy(), wanted.detach().numpy(), atol=1e-6)


@pytest.mark.parametrize("name,traced", CASES)
def test_real_torch_reads_what_is_saved_again(name: str, traced: bool) -> None:
    """The code is kept, and the state is written as torch's own reader has it."""
    file, args = archive(name, traced, False)
    found = torch.jit.load(file, _extra_files={"words": ""})
    with torch.no_grad():
        for parameter in found.parameters():
            parameter.mul_(0.5)
    again = io.BytesIO()
    texts: Dict[str, Any] = {"words": ""}  # noqa: UP006
    torch.jit.save(found, again, _extra_files={"words": "a b"})
    theirs = real.jit.load(io.BytesIO(again.getvalue()), _extra_files=texts)
    assert texts == {"words": b"a b"} and theirs.training is False
    same(theirs(*args), found(*map(ours, args)))
    same(theirs(*args), torch.jit.load(io.BytesIO(again.getvalue()))(*map(ours, args)))


def test_shared_tensors_stay_shared_and_go_where_they_are_asked_to() -> None:
    """A tied weight is one parameter, and `map_location` is torch.load's."""
    layers = nn.Sequential(nn.Linear(3, 3), nn.Linear(3, 3))
    layers[1].weight = layers[0].weight
    file = saved(real.jit.script(layers), _extra_files={"words": "yes"})
    texts: Dict[str, Any] = {"words": ""}  # noqa: UP006
    found = torch.jit.load(file, map_location="cpu", _extra_files=texts)
    assert texts == {"words": b"yes"} and len(list(found.parameters())) == 3
    file.seek(0)
    meta = torch.jit.load(file, map_location="meta")
    assert {each.device.type for each in meta.parameters()} == {"meta"}
    file.seek(0)
    with pytest.warns(UserWarning, match="dispatching to 'torch.jit.load'"):
        assert len(torch.load(file, weights_only=False).state_dict()) == 4
    file.seek(0)
    with pytest.raises(RuntimeError, match="Cannot use ``weights_only=True`` with TorchScript"):
        torch.load(file)


ERRORS = {
    "a type": lambda m, t: m(1),
    "no argument": lambda m, t: m(),
    "an unknown name": lambda m, t: m(t.ones(2, 3), other=1),
    "too many": lambda m, t: m(t.ones(2, 3), 1, t.ones(2, 3), 4, 5),
    "twice": lambda m, t: m(t.ones(2, 3), x=t.ones(2, 3)),
    "no attribute": lambda m, t: m.nothing,
    "a list of floats": lambda m, t: m.mean_of([1.5]),
    "raised": lambda m, t: m(t.ones(2, 3), 11),
    "asserted": lambda m, t: m(t.ones(2, 3), -1),
    "shapes": lambda m, t: m(t.ones(3, 4)),
}


@pytest.mark.parametrize("case", ERRORS)
def test_errors_have_torchs_type_and_lead_to_the_line(case: str) -> None:
    """The serialized code's file and line, and the cause in torch's words."""
    file, _ = archive("branches", False, True)
    theirs, found = real.jit.load(io.BytesIO(file.getvalue())), torch.jit.load(file)
    with pytest.raises(Exception) as wanted:
        ERRORS[case](theirs, real)
    with pytest.raises(Exception) as made:
        ERRORS[case](found, torch)
    kinds = [type(error.value) for error in (wanted, made)]
    assert kinds[0] is kinds[1] or kinds == [real.jit.Error, torch.jit.Error]
    texts = [str(error.value).split("\nCast error")[0] for error in (wanted, made)]
    if "serialized code" not in texts[0]:
        assert texts[0] == texts[1]
        return
    heads = [text.split("\n")[:3] for text in texts]
    assert heads[0] == heads[1] and 'File "code/__torch__' in heads[1][2]
    last = [text.strip().split("\n")[-1].removeprefix("RuntimeError: ") for text in texts]
    assert last[0] == last[1]
