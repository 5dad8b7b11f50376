"""AutoParallel: a cell with its settings for several processes."""

from __future__ import annotations

from typing import Any

from .. import communication, context
from ..nn.cell import Cell
from ..nn.wrap import TrainOneStepCell

__all__ = ["AutoParallel"]

_MODES = ("semi_auto", "sharding_propagation", "recursive_programming")


class AutoParallel(Cell):
    """``network`` over all processes of the job; training cells within follow its settings.

    The settings are those of ``set_auto_parallel_context``. Each process computes its own part of
    the batch (``dataset_strategy`` "full_batch" is for networks that ``shard`` cuts), and gradients
    are those of the whole batch's mean.

    Args:
        network: a cell: a network, or a training cell.
        parallel_mode: "semi_auto", or how strategies are searched: "sharding_propagation" or
            "recursive_programming"; what is found here is to divide the batch.

    Raises:
        TypeError: no cell.
        ValueError: no such mode.
        RuntimeError: the communication is not initialized.
    """

    def __init__(self, network: Any, parallel_mode: str = "semi_auto") -> None:
        super().__init__(auto_prefix=False)
        if not isinstance(network, Cell):
            raise TypeError(f"For 'AutoParallel', the network must be a Cell, got {type(network)}")
        if parallel_mode not in _MODES:
            raise ValueError(
                f"For 'AutoParallel', the 'parallel_mode' must be one of {list(_MODES)}, but got "
                f"{parallel_mode!r}"
            )
        if not communication.is_initialized():
            raise RuntimeError("call mindspore.communication.init() before AutoParallel")
        self.network = network
        self._mode = parallel_mode
        modes = context.ParallelMode
        if parallel_mode == "semi_auto":
            context.set_auto_parallel_context(parallel_mode=modes.SEMI_AUTO_PARALLEL)
        else:
            context.set_auto_parallel_context(
                parallel_mode=modes.AUTO_PARALLEL, search_mode=parallel_mode
            )
        context.set_auto_parallel_context(
            device_num=communication.get_group_size(), global_rank=communication.get_rank()
        )
        self._tell()

    def _tell(self) -> None:
        """Training cells within were made before the settings."""
        for _, cell in self.network.cells_and_names():
            if isinstance(cell, TrainOneStepCell):
                cell.follow_context()

    def construct(self, *args: Any, **kwargs: Any) -> Any:
        return self.network(*args, **kwargs)

    def hsdp(
        self, shard_size: int = -1, threshold: int = 64, optimizer_level: str = "level1"
    ) -> None:
        """Keep optimizers' states, and the sums of gradients, in slices over all processes.

        Args:
            shard_size: over how many; -1 or the number of all.
            threshold: from how many KB on a parameter is sliced.
            optimizer_level: "level1" or "level2", which are the same: gradients are summed into
                slices, and parameters stay whole.

        Raises:
            NotImplementedError: fewer processes, "level3", or an optimizer that needs whole
                parameters.
            ValueError: no such level.
        """
        if shard_size not in (-1, communication.get_group_size()):
            raise NotImplementedError(
                f"hsdp(shard_size={shard_size}): states are sliced over all processes, or none"
            )
        if optimizer_level not in ("level1", "level2", "level3"):
            raise ValueError(f"'optimizer_level' must be level1, 2 or 3, got {optimizer_level!r}")
        if optimizer_level == "level3":
            raise NotImplementedError(
                "hsdp(optimizer_level='level3'): parameters stay whole in every process; "
                "torch.distributed.fsdp.fully_shard divides them"
            )
        context.set_auto_parallel_context(
            enable_parallel_optimizer=True,
            parallel_optimizer_config={"parallel_optimizer_threshold": threshold},
        )
        self._tell()

    def dataset_strategy(self, config: str) -> None:
        """What each process reads: see ``set_auto_parallel_context(dataset_strategy=...)``.

        Args:
            config: "data_parallel" or "full_batch".
        """
        context.set_auto_parallel_context(dataset_strategy=config)

    def pipeline(
        self, stages: int = 1, output_broadcast: bool = False, interleave: bool = False,
        scheduler: str = "1f1b",
    ) -> None:  # fmt: skip
        """All layers are in each process: one stage.

        Args:
            stages: 1.
            output_broadcast, interleave, scheduler: of more stages.

        Raises:
            NotImplementedError: anything else.
        """
        given = (stages, output_broadcast, interleave, scheduler)
        if given != (1, False, False, "1f1b"):
            raise NotImplementedError(
                "AutoParallel.pipeline: stages are not cut from cells; torch.distributed."
                "pipelining has stages and schedules"
            )
