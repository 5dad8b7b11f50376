"""The models that a script calls: which they are, and the names of what they hold."""

from collections.abc import Iterator
from typing import Any

from .distance import OF_NO_MODULE
from .module_source import describe
from .record_format import Record, Recorded, Step
from .tensor_probe import UNINITIALIZED, TensorProbe

__all__ = ["Models"]


class Models:
    """Names modules and parameters, and records what models start from.

    Args:
        torch: the namespace of the script.
        record: where modules, parameters and buffers go.
        probe: reads tensors.

    Attributes:
        optimized: by identity the parameters that an optimizer has; None without one.
        without_gradients: by identity label and module of models called beside the training.
    """

    def __init__(self, torch: Any, record: Record, probe: TensorProbe) -> None:
        self.torch = torch
        self.record = record
        self.probe = probe
        self.roots: list[Any] = []
        self.names: dict[int, str] = {}
        self.optimized: set[int] | None = None
        self.without_gradients: dict[int, tuple[str, Any]] = {}
        self._of_no_model: list[Any] = []  # modules whose names are known; kept, for identities
        self._of_no_module: list[Any] = []  # parameters that only the optimizer has

    def is_model(self, module: Any) -> bool:
        """Whether an outermost module is (a part of) what is trained."""
        parameters = list(module.parameters())
        if self.optimized is None:
            return bool(parameters)
        return any(id(parameter) in self.optimized for parameter in parameters)

    def is_known(self, module: Any) -> bool:
        """Whether a module has a name, and is no model called beside the training."""
        return id(module) in self.names and id(module) not in self.without_gradients

    def is_root(self, module: Any) -> bool:
        return any(module is root for root in self.roots)

    def name_of(self, module: Any) -> str:
        name = self.names.get(id(module))
        if name is None:  # a loss, or a module that no model holds
            self._of_no_model.append(module)
            name = self.names[id(module)] = type(module).__name__
        return name

    def name_without_gradients(self, module: Any) -> str:
        """The name of a model that is called beside the training."""
        known = id(module) in self.names
        path = self.name_of(module)
        if not known:
            path = f"{path}#{len(self.without_gradients) + 1}"
            self.names[id(module)] = path
            self.without_gradients[id(module)] = (path, module)
        return path

    def add(self, module: Any, step: int) -> None:
        """Give names to a model and its parts, and record what it starts from.

        Args:
            step: the number of the step in which it is first called.
        """
        if self.without_gradients.pop(id(module), None):
            del self.names[id(module)]
        label = type(module).__name__
        count = sum(type(root).__name__ == label for root in self.roots)
        label = f"{label}#{count + 1}" if count else label
        prefix = f"{label}." if self.roots else ""
        self.record.model = self.record.model or label
        self.roots.append(module)
        for path, part in module.named_modules():
            name = prefix + path if path else label
            self.names.setdefault(id(part), name)
            self.record.modules[name] = describe(part)
        for name, parameter in module.named_parameters():
            self.record.parameters[prefix + name] = self.probe.record_afresh(parameter, True)
        for name, buffer in module.named_buffers():
            self.record.buffers[prefix + name] = self.probe.record_afresh(buffer, True)
        # What `functional_call` puts in a module's place may have been trained already.
        own = all(isinstance(x, self.torch.nn.Parameter) for x in module.parameters())
        if step or not own:
            for name, _ in (*module.named_parameters(), *module.named_buffers()):
                self.record.late[prefix + name] = step + (not own)

    def add_materialized(self, step: Step) -> None:
        """What a lazy module starts from is known when it was called once."""
        known = self.record.parameters
        late = {name for name, each in known.items() if each.digest == UNINITIALIZED}
        for name, parameter in self.parameters() if late else ():
            if name in late:
                known[name] = step.before[name] = self.probe.record_afresh(parameter, True)

    def note_optimizer(self, optimizer: Any) -> None:
        """Note what an optimizer trains."""
        self.optimized = self.optimized or set()
        for group in optimizer.param_groups:
            self.optimized.update(id(parameter) for parameter in group["params"])

    def add_of_no_module(self, optimizer: Any, step: Step, store: bool) -> None:
        """Parameters that no module has which was called are known from the optimizer."""
        known = {id(each) for root in self.roots for each in root.parameters()}
        kept = [each for each in self._of_no_module if id(each) not in known]
        known.update(id(each) for each in kept)
        for group in optimizer.param_groups:
            kept += [each for each in group["params"] if id(each) not in known]
        self._of_no_module = kept
        for name, each in self._named_of_no_module():
            seen = step.before[name] = self.probe.record_afresh(each, store)
            if step.number == 0:
                self.record.parameters.setdefault(name, seen)

    def _named_of_no_module(self) -> Iterator[tuple[str, Any]]:
        return ((f"{OF_NO_MODULE}{at}", each) for at, each in enumerate(self._of_no_module, 1))

    def parameters(self) -> Iterator[tuple[str, Any]]:
        """The parameters of all models, and those of no module, by name."""
        for root, prefix in self._prefixed():
            yield from ((prefix + name, each) for name, each in root.named_parameters())
        yield from self._named_of_no_module()

    def _buffers(self) -> Iterator[tuple[str, Any]]:
        for root, prefix in self._prefixed():
            yield from ((prefix + name, each) for name, each in root.named_buffers())

    def _prefixed(self) -> Iterator[tuple[Any, str]]:
        for position, root in enumerate(self.roots):
            yield root, f"{self.names[id(root)]}." if position else ""

    def state(self, store: bool) -> Iterator[tuple[str, Recorded]]:
        """Records of all parameters and buffers as they are now."""
        for name, each in (*self.parameters(), *self._buffers()):
            yield name, self.probe.record_afresh(each, store)
        for label, module in self.without_gradients.values():
            for name, each in (*module.named_parameters(), *module.named_buffers()):
                yield f"{label}.{name}", self.probe.record_afresh(each, store)
