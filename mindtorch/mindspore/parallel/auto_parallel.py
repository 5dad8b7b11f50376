"""AutoParallel: a cell with its settings for several processes."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from .. import communication, context
from ..nn.cell import Cell
from ..nn.wrap import TrainOneStepCell

__all__ = ["AutoParallel", "set_op_strategy_config"]

_MODES = ("semi_auto", "sharding_propagation", "recursive_programming")


def set_op_strategy_config(mode: str = "SAVE", path: str = "") -> None:
    """Write what AUTO_PARALLEL's search finds, or take it from a file.

    Args:
        mode: "SAVE" or "LOAD".
        path: of a JSON file, absolute.

    Raises:
        KeyError: another mode, a relative path, or one that does not end with ".json".
    """
    if mode not in ("SAVE", "LOAD"):
        raise KeyError(f"'mode' must be 'SAVE' or 'LOAD', got {mode!r}")
    if not path.endswith(".json") or not Path(path).is_absolute():
        raise KeyError(f"'path' must be an absolute path of a '.json' file, got {path!r}")
    key = "save_file" if mode == "SAVE" else "load_file"
    context.set_auto_parallel_context(strategy_ckpt_config={key: path})


class AutoParallel(Cell):
    """``network`` over all processes of the job; training cells within follow its settings.

    The settings are those of ``set_auto_parallel_context``, which are changed for all that follows.
    Loss and gradients of a training cell are those of the whole batch's mean. A network that is
    called by itself computes this process's batch.

    Args:
        network: a cell: a training cell, or a network that one is made of.
        parallel_mode: "semi_auto", or that the training cell searches at its first step how samples
            and layers are divided: "sharding_propagation" or "recursive_programming", which are one
            search here.

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
        """Put cells into stages: see :class:`mindspore.parallel.nn.Pipeline`.

        Args:
            stages: how many; they divide the processes.
            output_broadcast: of no effect: all processes of a pipeline have its loss.
            interleave: several stages in a process, which are not available.
            scheduler: "1f1b" or "gpipe".

        Raises:
            NotImplementedError: ``interleave``, or another scheduler.
            TypeError, ValueError: no number of stages, or one that does not divide the processes.
        """
        if not isinstance(output_broadcast, bool):
            raise TypeError(f"'output_broadcast' must be bool, got {output_broadcast!r}")
        context.set_auto_parallel_context(
            pipeline_stages=stages,
            pipeline_config={"pipeline_interleave": interleave, "pipeline_scheduler": scheduler},
        )
        communication.get_stage()
        self._tell()

    def save_param_strategy_file(self, file_path: str) -> None:
        """Write what the search finds.

        Args:
            file_path: of a JSON file: parameters' layouts, and strategies of Dense layers.
        """
        context.set_auto_parallel_context(strategy_ckpt_save_file=file_path)

    def load_param_strategy_file(self, file_path: str) -> None:
        """Take a file in place of a search.

        Args:
            file_path: of a JSON file as :meth:`save_param_strategy_file` writes it.
        """
        context.set_auto_parallel_context(strategy_ckpt_load_file=file_path)

    def save_operator_strategy_file(self, file_path: str) -> None:
        """As :meth:`save_param_strategy_file`: one file has both.

        Args:
            file_path: of a JSON file.
        """
        self.save_param_strategy_file(file_path)

    def load_operator_strategy_file(self, file_path: str) -> None:
        """As :meth:`load_param_strategy_file`; a file may have operators alone.

        Args:
            file_path: of a JSON file.
        """
        self.load_param_strategy_file(file_path)

    def disable_strategy_file_only_for_trainable_params(self) -> None:
        """Write layouts of parameters that are not trained, too."""
        context.set_auto_parallel_context(strategy_ckpt_config={"only_trainable_params": False})
