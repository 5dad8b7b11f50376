"""torch.nn's modules and torch.optim's optimizers against PyTorch, over PyTorch's own tables.

    python -m tests.support.parity_modules --only 'Conv|Adam' --verbose

Each entry of `module_db` is built, run and differentiated in both libraries; each entry of
`optim_db` trains the same parameters for ten steps. A failure is one line: entry, case, aspect.
"""

from __future__ import annotations

import argparse
import copy
import dataclasses
import inspect
import re
import sys
import traceback
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.testing._internal.common_modules import ModuleErrorEnum, module_db
from torch.testing._internal.common_optimizers import optim_db

import mindtorch.torch as ours
from tests.support import parity_optimizers

SEED = 20
# What PyTorch itself leaves to chance: (entry, case, aspect) and why it is not compared.
UNDEFINED = {
    ("LayerNorm", "1d_empty_elementwise_affine", "parameter gradients"):
        "torch returns uninitialised memory as the weight's gradient of an empty batch",
    ("RMSNorm", "1d_empty_elementwise_affine", "parameter gradients"):
        "torch returns uninitialised memory as the weight's gradient of an empty batch",
}  # fmt: skip


class Failure(NamedTuple):
    """One difference: in which entry's which case, in what respect, and how it shows."""

    entry: str
    case: str
    aspect: str
    message: str

    def __str__(self) -> str:
        return f"{self.entry} [{self.case}] {self.aspect}: {self.message}"


def convert(value: Any) -> Any:
    """A value of torch's as ours: tensors, types, modules and what contains them."""
    if isinstance(value, torch.nn.Module):
        return convert_module(value)
    if isinstance(value, torch.Tensor):
        if value.layout is not torch.strided:
            raise NotImplementedError(f"layout {value.layout}")
        result = ours.tensor(value.detach().numpy().copy(), requires_grad=value.requires_grad)
        return ours.nn.Parameter(result.detach()) if type(value) is torch.nn.Parameter else result
    if isinstance(value, (torch.dtype, torch.device)):
        text = str(value)
        device = isinstance(value, torch.device)
        return getattr(ours, "device")(text) if device else getattr(ours, text[len("torch.") :])  # noqa: B009
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return ours.nn.utils.rnn.PackedSequence(*(convert(field) for field in value))
    if type(value) in (list, tuple, set):
        return type(value)(convert(v) for v in value)
    if isinstance(value, dict):
        return type(value)((k, convert(v)) for k, v in value.items())
    if isinstance(value, torch.nn.LinearCrossEntropyOptions):
        fields = {f.name: convert(getattr(value, f.name)) for f in dataclasses.fields(value)}
        return ours.nn.LinearCrossEntropyOptions(**fields)
    home = getattr(value, "__module__", None) or getattr(type(value), "__module__", "")
    if callable(value) and (home or "").startswith("torch"):
        return find_function(value)
    return value


def find_function(function: Any) -> Any:
    """Our function of the same name."""
    for place in (ours.nn.functional, ours, ours.nn):
        if hasattr(place, function.__name__):
            return getattr(place, function.__name__)
    raise NotImplementedError(f"function {function.__name__}")


def convert_module(module: Any) -> Any:
    """Our module with the same settings and state; for modules that are arguments."""
    result = getattr(ours.nn, type(module).__name__).__new__(
        getattr(ours.nn, type(module).__name__))
    ours.nn.Module.__init__(result)
    for name, value in vars(module).items():
        if not name.startswith("_") or name == "_qkv_same_embed_dim":
            result.__dict__[name] = convert(value)
    for kind in ("_parameters", "_buffers", "_modules"):
        for name, value in getattr(module, kind).items():
            getattr(result, kind)[name] = convert(value)
    return result


def leaves(value: Any) -> Iterator[Any]:
    """The tensors in a structure, in order."""
    if isinstance(value, (torch.Tensor, ours.Tensor)):
        yield value
    elif isinstance(value, (list, tuple)):
        for each in value:
            yield from leaves(each)
    elif isinstance(value, dict):
        for each in value.values():
            yield from leaves(each)


def to_array(tensor: Any) -> Any:
    return tensor.detach().numpy()


def difference(expected: Any, actual: Any, factor: float = 64) -> str:
    """What differs between two arrays beyond rounding, "" for nothing.

    Sums of up to some hundred terms in another order: `factor` units of rounding of the largest.
    """
    if expected.dtype != actual.dtype:
        return f"dtype {actual.dtype}, torch {expected.dtype}"
    if expected.shape != actual.shape:
        return f"shape {actual.shape}, torch {expected.shape}"
    if expected.dtype.kind not in "fc":
        return "" if np.array_equal(expected, actual) else "values differ"
    finite = np.isfinite(expected)
    if not np.array_equal(finite, np.isfinite(actual)):
        return "not finite in other places"
    if not finite.any():
        return ""
    scale = max(1.0, float(np.abs(expected[finite]).max()))
    largest = float(np.abs(expected[finite] - actual[finite]).max())
    bound = factor * float(np.finfo(expected.dtype).eps) * scale
    return "" if largest <= bound else f"differs by {largest:.3g}, allowed {bound:.3g}"


def compare_all(expected: Any, actual: Any, factor: float = 64) -> str:
    """What differs between the tensors of two structures."""
    one, other = list(leaves(expected)), list(leaves(actual))
    if len(one) != len(other):
        return f"{len(other)} tensors, torch {len(one)}"
    for i, (a, b) in enumerate(zip(one, other, strict=True)):
        text = difference(to_array(a), to_array(b), factor)
        if text:
            return f"tensor {i}: {text}"
    return ""


def weigh(library: Any, outputs: Any) -> Any:
    """One number that depends differently on every element of the outputs."""
    total = None
    for output in leaves(outputs):
        if not output.is_floating_point() or not output.requires_grad:
            continue
        weights = np.cos(np.arange(output.numel(), dtype=np.float64)).reshape(tuple(output.shape))
        term = (output * library.tensor(weights).to(output.dtype)).sum()
        total = term if total is None else total + term
    return total


class ModuleCase:
    """One `ModuleInput` in both libraries."""

    def __init__(self, info: Any, case: Any, training: bool, dtype: Any) -> None:
        self.name = info.module_cls.__name__
        self.lazy = info.is_lazy
        make, call = case.constructor_input, case.forward_input
        self.make = (make.args, make.kwargs)
        self.call = None if call is None else (call.args, call.kwargs)
        self.training = training
        self.places = {"dtype": dtype} if self.takes_dtype(info.module_cls) else {}

    @staticmethod
    def takes_dtype(kind: Any) -> bool:
        recurrent = issubclass(kind, torch.nn.RNNBase)
        return recurrent or "dtype" in inspect.signature(kind.__init__).parameters

    def build(self) -> tuple[Any, Any]:
        args, kwargs = self.make
        torch.manual_seed(SEED)
        theirs = getattr(torch.nn, self.name)(*args, **{**self.places, **kwargs})
        return theirs.train(self.training), self.build_ours()

    def build_ours(self) -> Any:
        args, kwargs = self.make
        ours.manual_seed(SEED)
        mine = getattr(ours.nn, self.name)(*convert(args), **convert({**self.places, **kwargs}))
        return mine.train(self.training)

    def aspects(self) -> Iterator[tuple[str, str]]:
        """(aspect, what differs) for each aspect, in order."""
        theirs, mine = self.build()
        yield "repr", "" if repr(theirs) == repr(mine) else f"{mine!r}, torch {theirs!r}"
        if not self.lazy:
            yield from self.state(theirs, mine)
        if self.call is not None:
            yield from self.run(theirs, mine)

    def state(self, theirs: Any, mine: Any) -> Iterator[tuple[str, str]]:
        expected, actual = theirs.state_dict(), mine.state_dict()
        same = list(expected) == list(actual)
        yield "state_dict", "" if same else f"keys {list(actual)}, torch {list(expected)}"
        for key in expected if same else ():
            a, b = to_array(expected[key]), to_array(actual[key])
            if a.dtype != b.dtype or a.shape != b.shape or a.tobytes() != b.tobytes():
                yield "initial values", f"{key} is not bit-equal"
                return

    def run(self, theirs: Any, mine: Any) -> Iterator[tuple[str, str]]:
        assert self.call is not None
        inputs = copy_structure(self.call)
        own_inputs = convert(inputs)
        if not self.lazy:
            mine.load_state_dict(convert(dict(theirs.state_dict())))
        torch.manual_seed(SEED)
        ours.manual_seed(SEED)
        try:
            expected = theirs(*inputs[0], **inputs[1])
        except RuntimeError:
            return  # the table has inputs that torch refuses in this type
        actual = mine(*own_inputs[0], **own_inputs[1])
        yield "forward", compare_all(expected, actual)
        if self.lazy:
            yield from self.state(theirs, mine)
        losses = weigh(torch, expected), weigh(ours, actual)
        if losses[0] is None:
            return
        losses[0].backward()
        losses[1].backward()
        yield "input gradients", compare_all(
            [x.grad for x in leaves(inputs) if x.grad is not None],
            [x.grad for x in leaves(own_inputs) if x.grad is not None], 512)  # fmt: skip
        yield "parameter gradients", compare_all(
            [p.grad for p in theirs.parameters() if p.grad is not None],
            [p.grad for p in mine.parameters() if p.grad is not None], 512)  # fmt: skip
        yield "buffers", compare_all(list(theirs.buffers()), list(mine.buffers()))


def copy_structure(value: Any) -> Any:
    """A structure with new leaf tensors, so that each run has gradients of its own."""
    if isinstance(value, torch.Tensor):
        return value.detach().clone().requires_grad_(value.requires_grad)
    if isinstance(value, torch.nn.utils.rnn.PackedSequence):
        return value
    if isinstance(value, (list, tuple)):
        return type(value)(copy_structure(v) for v in value)
    if isinstance(value, dict):
        return {k: copy_structure(v) for k, v in value.items()}
    return copy.deepcopy(value)




def error_case(info: Any, case: Any) -> str:
    """What differs between the errors of a case that must fail; "" for nothing."""
    make, call = case.module_error_input.constructor_input, case.module_error_input.forward_input
    name = info.module_cls.__name__

    def build() -> Any:
        return getattr(ours.nn, name)(*convert(make.args), **convert(make.kwargs))

    if case.error_on is ModuleErrorEnum.CONSTRUCTION_ERROR:
        raised = catch(build)
    else:
        module = build()
        raised = catch(lambda: module(*convert(call.args), **convert(call.kwargs)))
    return judge_error(raised, case.error_type, case.error_regex)


def catch(action: Callable[[], Any]) -> BaseException | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error", UserWarning)
            action()
    except Exception as error:
        return error
    return None


def judge_error(raised: BaseException | None, kind: Any, pattern: str) -> str:
    """Whether an exception is of the kind and matches the pattern; "" when it does."""
    if raised is None:
        return f"nothing raised, torch {kind.__name__} {pattern!r}"
    if not isinstance(raised, kind) or not re.search(pattern, str(raised)):
        return f"{type(raised).__name__}: {raised}; torch {kind.__name__} {pattern!r}"
    return ""


def some(cases: Any, most: int | None) -> list[tuple[int, Any]]:
    """Numbered cases: all, or ``most`` of them at even distances."""
    numbered = list(enumerate(cases))
    return numbered if most is None else numbered[:: max(1, -(-len(numbered) // most))]


def check_module(info: Any, dtype: Any, most: int | None = None) -> Iterator[Failure]:
    """Every difference in one entry of module_db, or in ``most`` of its cases."""
    entry = info.name.removeprefix("nn.")
    for training in (True, False) if info.train_and_eval_differ else (True,):
        torch.manual_seed(SEED)
        cases = info.module_inputs_func(
            info, device="cpu", dtype=dtype, requires_grad=True, training=training)
        for i, case in some(cases, most):
            label = f"{i} {case.desc} {'train' if training else 'eval'} {str(dtype)[6:]}"
            aspect = "construction"
            try:
                for aspect, text in ModuleCase(info, case, training, dtype).aspects():
                    if text and (entry, case.desc, aspect) not in UNDEFINED:
                        yield Failure(entry, label, aspect, text)
            except Exception as error:
                yield Failure(entry, label, "after " + aspect, describe(error))
    if info.module_error_inputs_func is not None:
        yield from check_module_errors(info, entry, dtype)


def check_module_errors(info: Any, entry: str, dtype: Any) -> Iterator[Failure]:
    cases = info.module_error_inputs_func(
        info, device="cpu", dtype=dtype, requires_grad=False, training=True)
    for i, case in enumerate(cases):
        try:
            text = error_case(info, case)
        except Exception as error:
            text = describe(error)
        if text:
            yield Failure(entry, f"error {i}", "errors", text)


def describe(error: BaseException) -> str:
    """An exception and the line of ours that raised it."""
    place = traceback.extract_tb(error.__traceback__)[-1]
    where = f"{place.filename.rpartition('/')[2]}:{place.lineno}"
    return f"{type(error).__name__} at {where}: {str(error)[:200]}"


def check_all(pattern: str = "") -> Iterator[tuple[str, list[Failure]]]:
    """(entry, its failures) for every module and optimizer whose name matches."""
    for info in module_db:
        name = info.name.removeprefix("nn.")
        if re.search(pattern, name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                found = [f for dtype in (torch.float32, torch.float64)
                         for f in check_module(info, dtype)]  # fmt: skip
            yield name, found
    for entry in optim_db:
        if re.search(pattern, entry.name):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                rows = list(parity_optimizers.check(entry))
            yield entry.name, [Failure(entry.name, *row) for row in rows]


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--only", default="", help="entries whose name this expression finds")
    parser.add_argument("--limit", type=int, default=6, help="failures shown of each entry")
    parser.add_argument("--output", help="also write the failures and the summary to this file")
    options = parser.parse_args(arguments)
    lines: list[str] = []
    passed = total = 0
    for name, failures in check_all(options.only):
        total += 1
        passed += not failures
        shown = [str(f)[:400].replace("\n", " ") for f in failures[: options.limit]]
        shown += [f"{name}: {len(failures)} failures"] if len(failures) > options.limit else []
        lines += shown
        for line in shown:
            print(line, flush=True)
    lines.append(f"{passed} of {total} entries pass")
    print(lines[-1])
    if options.output:
        with open(options.output, "w") as file:
            file.write("\n".join(lines) + "\n")
    return passed != total


if __name__ == "__main__":
    sys.exit(main())
