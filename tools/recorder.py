"""Run a script under one library and record what it does.

    python -m mindtorch.tools.recorder --side torch|mindtorch --record DIR script.py [args]

The recorder knows only names of torch's public namespace, so that it does the same on both sides.
It looks and does not touch: no random number is drawn, no value changed, and the time it takes
itself is left out of the times it reports.
"""

import argparse
import functools
import importlib
import random
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from mindtorch.module_hooker import torch_disable, torch_enable

from .records import ArrayWriter, LayerCall, Mask, Record, Recorded, Step
from .script import ScriptNotFoundError, execute, report_failure
from .torchvision_operators import declare_before_import

__all__ = ["Recorder", "main"]

ARRAY_LIMIT = 2**30
MASK_LIMIT = 2**25


def tensors_in(value: Any, kind: type) -> Iterator[Any]:
    """The tensors of a nested value, in order."""
    if isinstance(value, kind):
        yield value
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from tensors_in(each, kind)
    elif isinstance(value, (tuple, list)):
        for each in value:
            yield from tensors_in(each, kind)


class _LoaderPass:
    """An iterator of a DataLoader that shows every batch to the recorder."""

    def __init__(self, iterator: Any, seen: Callable[[Any], None]) -> None:
        self._iterator = iterator
        self._seen = seen

    def __iter__(self) -> "_LoaderPass":
        return self

    def __next__(self) -> Any:
        batch = next(self._iterator)
        self._seen(batch)
        return batch

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


class Recorder:
    """Watches models, optimizers, loaders and dropouts through torch's public classes.

    Args:
        torch: the namespace that the script will import.
        record: what is filled.
        arrays: where arrays go.
        last_step: how many optimizer steps are watched; None for all.
    """

    def __init__(
        self, torch: Any, record: Record, arrays: ArrayWriter, last_step: int | None
    ) -> None:
        self.torch = torch
        self.record = record
        self.arrays = arrays
        self.last_step = last_step
        self.overhead = 0.0
        self.inside = False
        self.loader_passes = 0
        self.epoch_of_pass: dict[int, int] = {}
        self.losses: list[float] = []
        self.last_end: tuple[int, float, float] | None = None
        self.optimizer_depth = 0
        self.backward_depth = 0
        self.dropout_depth = 0
        self.module_depth = 0
        self.optimized: set[int] | None = None
        self.roots: list[Any] = []
        self.names: dict[int, str] = {}
        self.strangers: list[Any] = []
        self.calls: dict[str, int] = {}
        self.mask_room = MASK_LIMIT
        self.rehearsal: Any = None
        self.is_compiling = self._compiling_test()
        dropouts = ("Dropout", "Dropout1d", "Dropout2d", "Dropout3d", "AlphaDropout")
        self.dropouts = [getattr(torch.nn, name) for name in dropouts if hasattr(torch.nn, name)]

    def _compiling_test(self) -> Callable[[], bool]:
        """Tells whether torch is compiling the script just now."""
        compiler = getattr(self.torch, "compiler", None)
        found: Callable[[], bool] | None = getattr(compiler, "is_compiling", None)
        return found or (lambda: False)

    # -- what is seen ----------------------------------------------------------------------------

    @property
    def step(self) -> int:
        return len(self.record.steps)

    @property
    def active(self) -> bool:
        """Whether there is still something to watch; never while torch compiles the script."""
        if self.inside or (self.last_step is not None and self.step >= self.last_step):
            return False
        return not self.is_compiling()

    @property
    def detailed(self) -> bool:
        return self.step == self.record.detail_step and self.active

    @contextmanager
    def looking(self) -> Iterator[None]:
        """Our own work: not watched, without gradients, and not counted as the script's time."""
        began = time.perf_counter()
        self.inside = True
        try:
            with self.torch.no_grad():
                yield
        finally:
            self.inside = False
            self.overhead += time.perf_counter() - began

    def array_of(self, tensor: Any) -> tuple[np.ndarray, str]:
        """A copy of a tensor's values, and the name of its dtype."""
        torch, dtype = self.torch, tensor.dtype
        tensor = tensor.detach().cpu()
        if dtype == torch.bfloat16:
            tensor = tensor.to(torch.float32)
        return np.array(tensor.numpy(), order="C"), str(dtype).removeprefix("torch.")

    def look(self, tensor: Any, store: bool = True) -> Recorded:
        return self.arrays.add(*self.array_of(tensor), store)

    def look_all(self, value: Any, store: bool = True) -> list[Recorded]:
        return [self.look(tensor, store) for tensor in tensors_in(value, self.torch.Tensor)]

    # -- modules ---------------------------------------------------------------------------------

    def _is_model(self, module: Any) -> bool:
        """Whether an outermost module is (a part of) what is trained."""
        parameters = list(module.parameters())
        if self.optimized is None:
            return bool(parameters)
        return any(id(parameter) in self.optimized for parameter in parameters)

    def _is_bystander(self, module: Any, given: list[Any]) -> bool:
        """Whether a module is no part of what is trained, e.g. a transform of the data."""
        if self.module_depth or id(module) in self.names or self._is_model(module):
            return False
        return not any(tensor.requires_grad for tensor in given)

    def _adopt(self, module: Any) -> None:
        """Give names to a model and its parts, and record what it starts from."""
        label = type(module).__name__
        count = sum(type(root).__name__ == label for root in self.roots)
        label = f"{label}#{count + 1}" if count else label
        prefix = f"{label}." if self.roots else ""
        self.record.model = self.record.model or label
        self.roots.append(module)
        for path, part in module.named_modules():
            self.names.setdefault(id(part), prefix + path if path else label)
        for name, parameter in module.named_parameters():
            self.record.parameters[prefix + name] = self.look(parameter)
        for name, buffer in module.named_buffers():
            self.record.buffers[prefix + name] = self.look(buffer)

    def name_of(self, module: Any) -> str:
        name = self.names.get(id(module))
        if name is None:  # a loss, or a module that no model holds
            self.strangers.append(module)
            name = self.names[id(module)] = type(module).__name__
        return name

    def _watch_call(self, original: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        """One call of a module in the step that is recorded in detail."""
        torch = self.torch
        given = list(tensors_in([args, kwargs], torch.Tensor))
        if self._is_bystander(module, given):
            return original(module, *args, **kwargs)
        with self.looking():
            if self.module_depth == 0 and id(module) not in self.names and self._is_model(module):
                self._adopt(module)
            inputs = [self.look(tensor) for tensor in given]
        self.module_depth += 1
        try:
            result = original(module, *args, **kwargs)
        finally:
            self.module_depth -= 1
        name = self.name_of(module)
        with self.looking():
            outputs = list(tensors_in(result, torch.Tensor))
            call = self.calls[name] = self.calls.get(name, -1) + 1
            layer = LayerCall(
                name=name,
                kind=type(module).__name__,
                description=repr(module).partition("\n")[0],
                call=call,
                leaf=not any(True for _ in module.children()),
                inputs=inputs,
                outputs=[self.look(output) for output in outputs],
                gradients=[None] * len(outputs),
            )
            self.record.layers.append(layer)
            for position, output in enumerate(outputs):
                if output.requires_grad:
                    output.register_hook(self._gradient_hook(layer, position))
        return result

    def _gradient_hook(self, layer: LayerCall, position: int) -> Callable[[Any], None]:
        def seen(gradient: Any) -> None:
            with self.looking():
                layer.gradients[position] = self.look(gradient)

        return seen

    def call_module(self, original: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        if self.detailed:
            if self.torch.is_grad_enabled() or self.module_depth:
                return self._watch_call(original, module, args, kwargs)
            if not self.record.steps and self.rehearsal is None and self._is_model(module):
                return self._rehearse(original, module, args, kwargs)
        return original(module, *args, **kwargs)

    def _rehearse(self, original: Callable[..., Any], module: Any, args: Any, kwargs: Any) -> Any:
        """The first call without gradients: all there is to see of a script that never trains."""
        kept = self.record.layers
        self.record.layers, self.calls = [], {}
        try:
            return self._watch_call(original, module, args, kwargs)
        finally:
            self.rehearsal = self.record.layers
            self.record.layers, self.calls = kept, {}

    # -- dropout ---------------------------------------------------------------------------------

    def call_dropout(self, name: str, source: Any, run: Callable[[], Any]) -> Any:
        """A dropout that is training: what it keeps can be read off its input and output."""
        if not self.active or self.dropout_depth:
            return run()
        with self.looking():
            known = self.array_of(source)[0] != 0
        self.dropout_depth += 1
        try:
            result = run()
        finally:
            self.dropout_depth -= 1
        with self.looking():
            keep = self.array_of(result)[0] != 0
            self._record_mask(name, keep, known)
        return result

    def _record_mask(self, name: str, keep: np.ndarray, known: np.ndarray) -> None:
        bits = [np.packbits(each) for each in (keep, known)]
        self.mask_room -= sum(each.nbytes for each in bits)
        if self.mask_room < 0:
            self.record.masks_left_out += 1
            return
        packed = [self.arrays.add(each, "uint8", store=True) for each in bits]
        self.record.masks.append(Mask(self.step, name, keep.shape, *packed))

    # -- steps -----------------------------------------------------------------------------------

    def seen_batch(self, loader_pass: int, batch: Any) -> None:
        if self.active:
            with self.looking():
                self.record.batches.append(self.look_all(batch, store=self.detailed))

    def start_pass(self, iterator: Any) -> _LoaderPass:
        self.loader_passes += 1
        return _LoaderPass(iterator, functools.partial(self.seen_batch, self.loader_passes))

    def seen_optimizer(self, optimizer: Any) -> None:
        self.optimized = self.optimized or set()
        for group in optimizer.param_groups:
            self.optimized.update(id(parameter) for parameter in group["params"])

    def seen_loss(self, loss: Any) -> None:
        if self.active:
            with self.looking():
                self.losses.append(float(self.array_of(loss)[0].mean(dtype=np.float64)))

    def before_step(self) -> None:
        """What backward left, before the optimizer uses it."""
        if self.detailed:
            with self.looking():
                for name, parameter in self._parameters():
                    if parameter.grad is not None:
                        self.record.parameter_gradients[name] = self.look(parameter.grad)

    def after_step(self) -> None:
        if not self.active:
            return
        now, detailed = time.perf_counter(), self.detailed
        seconds = None
        if self.last_end is not None and self.last_end[0] == self.loader_passes and not detailed:
            seconds = (now - self.last_end[1]) - (self.overhead - self.last_end[2])
        with self.looking():
            if detailed:
                self._look_at_updates()
            digest = self.generator_digest()
        epoch = self.epoch_of_pass.setdefault(self.loader_passes, len(self.epoch_of_pass))
        self.record.steps.append(Step(epoch, self.losses, digest, seconds))
        self.losses = []
        self.last_end = (self.loader_passes, time.perf_counter(), self.overhead)

    def generator_digest(self) -> str:
        """The state of the default generator."""
        state = np.array(self.torch.get_rng_state().numpy())
        return self.arrays.add(state, "generator", store=False).digest

    def _look_at_updates(self) -> None:
        for name, parameter in self._parameters():
            self.record.updated[name] = self.look(parameter)
        for name, buffer in self._buffers():
            self.record.updated_buffers[name] = self.look(buffer)

    def _parameters(self) -> Iterator[tuple[str, Any]]:
        for root, prefix in self._prefixed():
            yield from ((prefix + name, each) for name, each in root.named_parameters())

    def _buffers(self) -> Iterator[tuple[str, Any]]:
        for root, prefix in self._prefixed():
            yield from ((prefix + name, each) for name, each in root.named_buffers())

    def _prefixed(self) -> Iterator[tuple[Any, str]]:
        for position, root in enumerate(self.roots):
            yield root, f"{self.names[id(root)]}." if position else ""

    # -- installing ------------------------------------------------------------------------------

    def install(self) -> None:
        """Put the watching wrappers over torch's classes."""
        torch = self.torch
        self._wrap(torch.nn.Module, "__call__", self._module_wrapper)
        for dropout in self.dropouts:
            self._wrap(dropout, "__call__", self._dropout_wrapper)
        functional = torch.nn.functional
        for name in ("dropout", "dropout1d", "dropout2d", "dropout3d", "alpha_dropout"):
            if hasattr(functional, name):
                self._wrap(functional, name, functools.partial(self._function_wrapper, f"F.{name}"))
        self._wrap(torch.optim.Optimizer, "__init__", self._optimizer_wrapper)
        self._wrap(torch.Tensor, "backward", self._backward_wrapper)
        self._wrap(torch.utils.data.DataLoader, "__iter__", self._loader_wrapper)

    @staticmethod
    def _wrap(owner: Any, name: str, make: Callable[[Callable[..., Any]], Any]) -> None:
        original = getattr(owner, name)
        setattr(owner, name, functools.wraps(original)(make(original)))

    def _module_wrapper(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            return self.call_module(original, module, args, kwargs)

        return call

    def _dropout_wrapper(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            run = functools.partial(original, module, *args, **kwargs)
            if not module.training or module.p == 0 or not args:
                return run()
            return self.call_dropout(self.names.get(id(module), "Dropout"), args[0], run)

        return call

    def _function_wrapper(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            run = functools.partial(original, *args, **kwargs)
            source = args[0] if args else kwargs.get("input")
            training = kwargs.get("training", args[2] if len(args) > 2 else True)
            p = kwargs.get("p", args[1] if len(args) > 1 else 0.5)
            if not training or p == 0 or not isinstance(source, self.torch.Tensor):
                return run()
            return self.call_dropout(name, source, run)

        return call

    def _optimizer_wrapper(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            cls = type(optimizer)
            if not getattr(cls.step, "watched", False):
                step = functools.wraps(cls.step)(self._step_wrapper(cls.step))
                step.__dict__["watched"] = True
                cls.step = step
            original(optimizer, *args, **kwargs)
            self.seen_optimizer(optimizer)

        return init

    def _step_wrapper(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            if self.optimizer_depth == 0:
                self.before_step()
            self.optimizer_depth += 1
            try:
                result = original(optimizer, *args, **kwargs)
            finally:
                self.optimizer_depth -= 1
            if self.optimizer_depth == 0:
                self.after_step()
            return result

        return step

    def _backward_wrapper(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            if self.backward_depth == 0:
                self.seen_loss(loss)
            self.backward_depth += 1
            try:
                result = original(loss, *args, **kwargs)
            finally:
                self.backward_depth -= 1
            if self.optimized is None and self.backward_depth == 0:  # updates made by hand
                self.before_step()
                self.after_step()
            return result

        return backward

    def _loader_wrapper(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def iterate(loader: Any) -> Any:
            iterator = original(loader)
            return self.start_pass(iterator) if self.active else iterator

        return iterate

    def finish(self) -> None:
        """What the run ends with."""
        with self.looking():
            if not self.record.layers and self.rehearsal is not None:
                self.record.layers = self.rehearsal
            for name, parameter in self._parameters():
                self.record.final[name] = self.look(parameter)


def parse_arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m mindtorch.tools.recorder", description=__doc__)
    parser.add_argument("--side", choices=["torch", "mindtorch"], required=True)
    parser.add_argument("--record", type=Path, required=True, metavar="DIR")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--steps", type=int)
    parser.add_argument("--detail-step", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("script", type=Path)
    parser.add_argument("arguments", nargs=argparse.REMAINDER)
    return parser.parse_args(arguments)


def prepare(side: str, seed: int, threads: int) -> Any:
    """The namespace of a side, seeded, with its threads set."""
    if side == "mindtorch":
        torch_disable()
    else:
        torch_enable()
        declare_before_import()
    torch = importlib.import_module("torch")
    for name in ("nn", "nn.functional", "optim", "utils.data"):
        importlib.import_module(f"torch.{name}")
    torch.set_num_threads(threads)
    random.seed(seed)
    np.random.seed(seed % 2**32)  # noqa: NPY002 (the generator that scripts use)
    torch.manual_seed(seed)
    return torch


def run(options: argparse.Namespace, record: Record, recorder: Recorder) -> int:
    """Run the script; the exit status for the process."""
    try:
        execute(options.script, options.arguments)
    except SystemExit as exit_:
        if exit_.code not in (None, 0):
            record.status = f"exited with {exit_.code}"
            if isinstance(exit_.code, int):
                return exit_.code
            print(exit_.code, file=sys.stderr)
            return 1
    except ScriptNotFoundError as error:
        print(error, file=sys.stderr)
        record.status = str(error)
        return 2
    except BaseException as error:
        record.status = f"raised {type(error).__name__}"
        return report_failure(error, options.script)
    recorder.finish()
    record.status = "finished"
    return 0


def main(arguments: list[str] | None = None) -> int:
    """Record one run; the exit status is the script's."""
    options = parse_arguments(arguments)
    options.record.mkdir(parents=True, exist_ok=True)
    torch = prepare(options.side, options.seed, options.threads)
    record = Record(options.side, str(torch.__version__), options.threads, options.detail_step)
    arrays = ArrayWriter(options.record / "arrays.npz", ARRAY_LIMIT)
    recorder = Recorder(torch, record, arrays, options.steps)
    recorder.install()
    try:
        return run(options, record, recorder)
    finally:
        arrays.close()
        record.save(options.record)


if __name__ == "__main__":
    sys.exit(main())
