"""AUTO_PARALLEL: a strategy is found for a training cell's network, and the network divided so.

Each process keeps its parts of the layers that are cut, and of their optimizer's states. A step's
batch, loss and update are those of one process.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from typing import Any

from mindtorch import torch
from mindtorch._module_names import is_ours
from mindtorch.engine.autograd import api
from mindtorch.engine.compile.capture.host_calls import host_call
from mindtorch.engine.tensor import Tensor as EngineTensor
from mindtorch.planning.costs import Planner
from mindtorch.planning.facts import Facts, measure
from mindtorch.planning.link import link_of_job
from mindtorch.torch.distributed.tensor import DTensor, Replicate, Shard
from mindtorch.torch.distributed.tensor.experimental import implicit_replication
from mindtorch.torch.utils._pytree import tree_map

from .. import communication, context
from ..common.parameter import ParameterTuple
from ..nn.basic import Dense
from ._layouts import gathered, part_of, process_mesh
from ._strategy import COLUMNS, ROWS, Strategy, linear_layers, read_strategy, write_strategy

__all__ = ["Division", "searched"]


def searched(network: Any, inputs: Any, optimizer: Any) -> Strategy:
    """The strategy of a file, or the one that the planner finds fastest; the same for all.

    Some steps of the network run, without an update, in all processes at once. Random numbers and
    what the network keeps are as before them.

    Args:
        network: gives a loss.
        inputs: of a step.
        optimizer: of its parameters.

    Raises:
        ValueError: no plan fits ``max_device_memory``, or the file does not fit.
    """
    count = communication.get_group_size()
    files = context.get_auto_parallel_context("strategy_ckpt_config")
    if files["load_file"]:
        strategy = read_strategy(files["load_file"], network, count)
    else:
        strategy = _fastest(network, inputs, optimizer, count)
    if files["save_file"] and communication.get_rank() == 0:
        write_strategy(files["save_file"], strategy, network, files["only_trainable_params"])
    return strategy


@host_call
def _fastest(network: Any, inputs: Any, optimizer: Any, count: int) -> Strategy:
    facts = _measured(network, inputs)
    states = [s for each in _states(optimizer) for s in each]
    facts.states = sum(s.nbytes for s in states) / max(facts.trained, 1)
    link = link_of_job()
    whole = facts.samples
    if context.get_auto_parallel_context("dataset_strategy") == "data_parallel":
        whole *= count
    planner = Planner(
        facts, network, link, count, whole, context.device_memory(), linear=Dense
    )
    told: list[Any] = [None]
    if communication.get_rank() == 0:
        try:
            plan = planner.searched(_may_cut(optimizer))
            layers = {call.path: COLUMNS for pair in plan.pairs for call in pair.columns}
            layers |= {pair.rows.path: ROWS for pair in plan.pairs}
            told = [Strategy(plan.data, plan.cut, layers)]
        except ValueError as error:
            told = [error]
    torch.distributed.broadcast_object_list(told, 0)
    if isinstance(told[0], ValueError):
        raise told[0]
    strategy: Strategy = told[0]
    return strategy


def _may_cut(optimizer: Any) -> bool:
    """Whether updates are of each element, and states are not in slices already."""
    ours = is_ours(type(optimizer).__module__)
    return bool(ours and optimizer.by_element and optimizer._slices is None)


def _measured(network: Any, inputs: Any) -> Facts:
    kept = [p for p in (*network.get_parameters(), *network.buffers()) if not p.requires_grad]
    before = [p.detach().clone() for p in kept]
    generator = torch.get_rng_state()
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # what they say, the step itself says again
            return measure(network, inputs)
    finally:
        torch.set_rng_state(generator)
        with api.grad_mode(False):
            for parameter, value in zip(kept, before, strict=True):
                parameter.copy_(value)


def _states(optimizer: Any) -> Iterator[Any]:
    """The tuples with a state for each parameter."""
    for value in list(vars(optimizer).values()):
        if isinstance(value, ParameterTuple) and value is not optimizer.parameters:
            yield value


class Division:
    """``division(*inputs)`` is the network's result for the batch of all processes.

    Args:
        network: gives a loss; its parameters become this process's parts.
        strategy: which are cut.
        optimizer: of the parameters; so do its states.

    Raises:
        NotImplementedError: layers are to be cut, and the optimizer needs whole parameters.
    """

    def __init__(self, network: Any, strategy: Strategy, optimizer: Any) -> None:
        self.network, self.strategy = network, strategy
        self.whole_batch = context.get_auto_parallel_context("dataset_strategy") == "full_batch"
        self.running = False
        self._seen: dict[int, list[Any]] = {}
        if strategy.cut == 1:
            return
        if not _may_cut(optimizer):
            raise NotImplementedError(
                f"AUTO_PARALLEL: {type(optimizer).__name__} may need whole parameters, and the "
                "strategy cuts layers"
            )
        shape = (strategy.data, strategy.cut)
        self.mesh = process_mesh(shape, tuple(range(communication.get_group_size())))
        places = {id(p): i for i, p in enumerate(optimizer.parameters)}
        for path, cell in linear_layers(network):
            if path not in strategy.layers:
                continue
            cell.__dict__["_division"] = self
            for name, parameter in cell.named_parameters(recurse=False):
                placements = strategy.placements(path, name)
                if isinstance(placements[1], Shard):
                    place = places.get(id(parameter))
                    self._cut(parameter, placements)
                    for states in _states(optimizer) if place is not None else ():
                        self._cut(states[place], placements)

    def _cut(self, parameter: Any, placements: list[Any]) -> None:
        """Keep this process's part of a parameter."""
        part = part_of(parameter, self.mesh, placements)
        parameter.set_data(part.clone(), slice_shape=True)
        parameter.layout = (self.mesh, tuple(placements))
        self._seen[id(parameter)] = placements

    def seen(self, parameter: Any, value: Any) -> Any:
        """What a cell finds for a parameter while the division runs: all parts as one tensor.

        Args:
            parameter: the parameter.
            value: it, or what a cast has made of it.
        """
        placements = self._seen.get(id(parameter)) if self.running else None
        return value if placements is None else DTensor.from_local(value, self.mesh, placements)

    def __call__(self, *inputs: Any) -> Any:
        samples = next((x.aval.shape[0] for x in _tensors(inputs) if x.aval.ndim), None)

        def own(x: Any) -> Any:
            """The samples of this process, or of its row of processes."""
            divided = isinstance(x, EngineTensor) and x.aval.ndim and x.aval.shape[0] == samples
            if self.strategy.cut > 1 and isinstance(x, EngineTensor):
                return self._placed(x, bool(divided))
            return self._rows(x) if divided and self.whole_batch else x

        given = tree_map(own, inputs)
        if self.strategy.cut == 1:
            return self.network(*given)
        self.running = True
        try:
            with implicit_replication():
                result = self.network(*given)
        finally:
            self.running = False
        return tree_map(gathered, result)

    def _rows(self, x: Any) -> Any:
        count, rank = communication.get_group_size(), communication.get_rank()
        if x.aval.shape[0] % count:
            raise ValueError(f"{x.aval.shape[0]} samples are not divided by {count} processes")
        each = x.aval.shape[0] // count
        return x[rank * each : (rank + 1) * each]

    def _placed(self, x: Any, divided: bool) -> Any:
        there = Replicate() if self.whole_batch or not divided else Shard(0)
        value = DTensor.from_local(x, self.mesh, [there, there])
        return value.redistribute(self.mesh, [Shard(0) if divided else Replicate(), Replicate()])


def _tensors(values: Any) -> list[Any]:
    return [x for x in torch.utils._pytree.tree_leaves(values) if isinstance(x, EngineTensor)]
