"""Put a recorder in its place: over modules, functions, tensor methods, optimizers and loaders."""

import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from .recorder import Recorder

__all__ = ["watching"]


class _LoaderPass:
    """An iterator of a DataLoader that shows every batch to the recorder."""

    def __init__(self, recorder: Recorder, iterator: Any, convert: Callable[[Any], Any]) -> None:
        self._recorder = recorder
        self._iterator = iterator
        self._convert = convert
        recorder.loader_passes += 1

    def __iter__(self) -> "_LoaderPass":
        return self

    def __next__(self) -> Any:
        self._recorder.quiet += 1
        try:
            batch = self._convert(next(self._iterator))
        finally:
            self._recorder.quiet -= 1
        self._recorder.seen_batch(batch)
        return batch

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._iterator, name)


def names_of(namespace: str) -> list[str]:
    """The functions of a namespace that are watched."""
    text = Path(__file__).with_name("recorded_functions.txt").read_text(encoding="utf-8")
    _, _, rest = text.partition(f"[{namespace}]\n")
    return rest.partition("\n[")[0].split()


class _Watch:
    """Wrappers, and what they stand for."""

    def __init__(self, recorder: Recorder, convert: Callable[[Any], Any]) -> None:
        self.recorder = recorder
        self.convert = convert
        self.undo: list[Callable[[], None]] = []
        self.optimizer_depth = 0
        self.backward_depth = 0

    def wrap(self, owner: Any, name: str, make: Callable[[Callable[..., Any]], Any]) -> None:
        own = vars(owner).get(name, self)
        original = getattr(owner, name)
        try:
            made: Any = functools.wraps(original)(make(original))
        except (AttributeError, TypeError):
            return
        if isinstance(own, staticmethod):
            made = staticmethod(made)
        setattr(owner, name, made)
        if own is self:
            self.undo.append(functools.partial(delattr, owner, name))
        else:
            self.undo.append(functools.partial(setattr, owner, name, own))

    def install(self, torch: Any) -> None:
        self.wrap(torch.nn.Module, "__call__", self._module)
        functional = torch.nn.functional
        spaces = {"torch": torch, "functional": functional, "tensor": torch.Tensor}
        spaces |= {name: getattr(torch, name) for name in ("linalg", "fft", "special")}
        for space, owner in spaces.items():
            for name in names_of(space):
                if inspect.isroutine(getattr(owner, name, None)):
                    self.wrap(owner, name, functools.partial(self._function, space, name))
        for name in ("empty", "empty_like", "empty_permuted", "empty_strided"):
            self.wrap(torch, name, self._cleared)
        for name in ("new_empty", "new_empty_strided"):
            self.wrap(torch.Tensor, name, self._cleared)
        self.wrap(torch, "vmap", functools.partial(self._transform, "vmap"))
        for name in names_of("transforms"):
            self.wrap(torch.func, name, functools.partial(self._transform, name))
        for name in names_of("func"):
            self.wrap(torch.func, name, functools.partial(self._function, "func", name))
        self._install_apply(torch.autograd.Function)
        self.wrap(torch.optim.Optimizer, "__init__", self._optimizer)
        self.wrap(torch.Tensor, "backward", self._backward)
        self.wrap(torch.autograd, "backward", self._quietly)
        self.wrap(torch.autograd, "grad", self._gradients)
        self.wrap(torch.utils.data.DataLoader, "__iter__", self._loader)

    def remove(self) -> None:
        while self.undo:
            self.undo.pop()()

    def _module(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self.recorder

        def call(module: Any, *args: Any, **kwargs: Any) -> Any:
            return recorder.call_module(original, module, args, kwargs)

        return call

    def _function(self, space: str, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self.recorder

        def call(*args: Any, **kwargs: Any) -> Any:
            if recorder.quiet or recorder.probe.inside:
                return original(*args, **kwargs)
            frame = sys._getframe(1)
            if not recorder.wants_function(frame.f_globals.get("__name__", "")):
                return original(*args, **kwargs)
            line = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            return recorder.call_function((space, name), original, args, kwargs, line)

        return call

    def _cleared(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Memory that nobody wrote has zeros: what happens to be there is no difference."""
        recorder = self.recorder

        def call(*args: Any, **kwargs: Any) -> Any:
            made = original(*args, **kwargs)
            if not (recorder.probe.inside or recorder.is_compiling()):
                with recorder.probe.probing():
                    made.zero_()
            return made

        return call

    def _transform(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        """A call of what a transform of `torch.func` made is one event: within it tensors stand
        for others, and cannot be looked at."""

        def make(function: Any, *args: Any, **kwargs: Any) -> Any:
            made = original(function, *args, **kwargs)
            return functools.wraps(function, updated=())(self._function("func", name, made))

        return make

    def _install_apply(self, function: Any) -> None:
        """A user's own autograd.Function is one event, under its class's name."""
        recorder, own = self.recorder, vars(function)["apply"]

        def apply(cls: Any, *args: Any, **kwargs: Any) -> Any:
            run = own.__get__(None, cls)
            frame = sys._getframe(1)
            if not recorder.wants_function(frame.f_globals.get("__name__", "")):
                return run(*args, **kwargs)
            line = f"{Path(frame.f_code.co_filename).name}:{frame.f_lineno}"
            return recorder.call_function(("", cls.__name__), run, args, kwargs, line)

        function.apply = classmethod(apply)
        self.undo.append(functools.partial(setattr, function, "apply", own))

    def _optimizer(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def init(optimizer: Any, *args: Any, **kwargs: Any) -> None:
            cls = type(optimizer)
            if not getattr(vars(cls).get("step"), "watched", False):
                self.wrap(cls, "step", self._step)
                cls.step.__dict__["watched"] = True
            original(optimizer, *args, **kwargs)
            self.recorder.models.note_optimizer(optimizer)

        return init

    def _step(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def step(optimizer: Any, *args: Any, **kwargs: Any) -> Any:
            outermost, own = self.optimizer_depth == 0, not (args or kwargs)
            if outermost:
                self.recorder.before_step(optimizer, within=not own)
            self.optimizer_depth += 1
            self.recorder.quiet += own  # with a closure the model is called within
            try:
                result = original(optimizer, *args, **kwargs)
            finally:
                self.optimizer_depth -= 1
                self.recorder.quiet -= own
            if outermost:
                self.recorder.after_step(within=not own)
            return result

        return step

    def _backward(self, original: Callable[..., Any]) -> Callable[..., Any]:
        recorder = self.recorder

        def backward(loss: Any, *args: Any, **kwargs: Any) -> Any:
            if self.backward_depth == 0:
                recorder.seen_loss(loss)
            self.backward_depth += 1
            recorder.quiet += 1
            try:
                result = original(loss, *args, **kwargs)
            finally:
                self.backward_depth -= 1
                recorder.quiet -= 1
            if self.backward_depth == 0:
                recorder.seen_backward()
            return result

        return backward

    def _gradients(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Without an optimizer, gradients are asked for to make an update by hand: a step."""
        recorder, quietly = self.recorder, self._quietly(original)

        def grad(outputs: Any, *args: Any, **kwargs: Any) -> Any:
            result = quietly(outputs, *args, **kwargs)
            loss = outputs[0] if isinstance(outputs, (tuple, list)) else outputs
            further = kwargs.get("create_graph") or (len(args) > 3 and args[3])
            if recorder.models.optimized is None and not (recorder.quiet or further):
                recorder.seen_loss(loss)
                recorder.seen_backward(tuple(result))
            return result

        return grad

    def _quietly(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def call(*args: Any, **kwargs: Any) -> Any:
            self.recorder.quiet += 1
            try:
                return original(*args, **kwargs)
            finally:
                self.recorder.quiet -= 1

        return call

    def _loader(self, original: Callable[..., Any]) -> Callable[..., Any]:
        def iterate(loader: Any) -> Any:
            self.recorder.quiet += 1
            try:
                iterator = original(loader)
            finally:
                self.recorder.quiet -= 1
            return _LoaderPass(self.recorder, iterator, self.convert)

        return iterate


@contextmanager
def watching(
    recorder: Recorder, torch: Any, convert: Callable[[Any], Any] = lambda batch: batch
) -> Iterator[None]:
    """While this is entered, `recorder` sees what is done with `torch`.

    `convert` is applied to each batch of a loader before the script gets it.
    """
    watch = _Watch(recorder, convert)
    watch.install(torch)
    try:
        yield
    finally:
        watch.remove()
