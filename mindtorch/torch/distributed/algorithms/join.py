"""Join: processes with less data go along until the last one has ended."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import mindtorch.torch as torch

from .. import distributed_c10d as c10d

__all__ = ["Join", "JoinHook", "Joinable"]

_EARLY = "Detected at least one rank that exhausted inputs. Throwing across all ranks."
_MANY = 1000


class JoinHook:
    """What a process does in place of an iteration when it has no data any more."""

    def main_hook(self) -> bool | None:
        """Take part in the collectives of one iteration of the others.

        Returns:
            False where the iteration ends here: joinables behind this one wait for another.
        """

    def post_hook(self, is_last_joiner: bool) -> None:
        """After all have ended; ``is_last_joiner`` in those that ended last."""


@dataclass
class _JoinConfig:
    enable: bool = False
    throw_on_early_termination: bool = False
    is_first_joinable: bool = False


class Joinable:
    """Something that communicates in every iteration; subclasses give the three members."""

    def __init__(self) -> None:
        super().__init__()
        self._join_config = _JoinConfig()

    def join_hook(self, **kwargs: Any) -> JoinHook:
        """The hook for this object."""
        raise NotImplementedError

    @property
    def join_device(self) -> Any:
        """The device for the communication of :class:`Join`."""
        raise NotImplementedError

    @property
    def join_process_group(self) -> Any:
        """The group for the communication of :class:`Join`."""
        raise NotImplementedError


class Join:
    """A block in which processes may run out of data at different times.

    Args:
        joinables: what communicates in every iteration, in the order in which it does.
        enable: False makes the block do nothing.
        throw_on_early_termination: raise in all processes as soon as one has no more data.
        **kwargs: passed to every ``join_hook``.
    """

    def __init__(
        self, joinables: list[Joinable], enable: bool = True,
        throw_on_early_termination: bool = False, **kwargs: Any,
    ) -> None:  # fmt: skip
        if not joinables:
            raise ValueError("The join context manager requires at least one joinable")
        self._joinables = joinables
        self._hooks = [joinable.join_hook(**kwargs) for joinable in joinables]
        self._enable = enable
        self._throw = throw_on_early_termination
        for i, joinable in enumerate(joinables):
            joinable._join_config = _JoinConfig(enable, throw_on_early_termination, i == 0)
        groups = {id(joinable.join_process_group) for joinable in joinables}
        devices = {joinable.join_device for joinable in joinables}
        if len(groups) > 1:
            raise ValueError(
                "Using join context manager with multiple process groups is not supported"
            )
        if len(devices) > 1:
            raise ValueError("Joinables use different devices")
        self._group = joinables[0].join_process_group
        self._device = joinables[0].join_device

    def __enter__(self) -> None:
        """Nothing happens until the end."""

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None,
        where: TracebackType | None,
    ) -> None:  # fmt: skip
        if not self._enable or kind:
            return
        is_last, iterations = True, 0
        while self._others_at_work():
            if self._throw:
                self._tell_end()
            is_last = False
            iterations += 1
            if iterations == _MANY:
                warnings.warn(
                    "Detected uneven input skew of greater than 1000. This means that rank "
                    f"{c10d.get_rank(self._group)} has at least 1000 fewer inputs than other "
                    "currently-active ranks. This level of skew could lead to performance "
                    "degradation during training.",
                    stacklevel=2,
                )
            for hook in self._hooks:
                if hook.main_hook() is False:
                    break
        for hook in self._hooks:
            hook.post_hook(is_last)

    def _others_at_work(self) -> int:
        count = torch.zeros(1, device=self._device)
        c10d.all_reduce(count, group=self._group)
        return int(count.item())

    def _tell_end(self) -> None:
        ended = torch.ones(1, device=self._device)
        c10d.all_reduce(ended, group=self._group)
        raise RuntimeError(f"Rank {c10d.get_rank(self._group)} exhausted all inputs.")

    @staticmethod
    def notify_join_context(joinable: Joinable) -> Any:
        """Count this process as one at work; a Joinable calls it before it communicates.

        Returns:
            The Work of the count, from the first Joinable of an enabled block; otherwise None.
        """
        config = joinable._join_config
        if not config.enable or not config.is_first_joinable:
            return None
        device, group = joinable.join_device, joinable.join_process_group
        work = c10d.all_reduce(torch.ones(1, device=device), group=group, async_op=True)
        if config.throw_on_early_termination:
            ended = torch.zeros(1, device=device)
            c10d.all_reduce(ended, group=group)
            if ended.item():
                raise RuntimeError(_EARLY)
        return work
