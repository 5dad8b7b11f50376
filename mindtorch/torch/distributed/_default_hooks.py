"""Communication hooks for DistributedDataParallel: averages, in a shorter type where asked."""

from __future__ import annotations

from typing import Any

import mindtorch.torch as torch
from mindtorch.torch.futures import Future

from . import distributed_c10d as c10d
from ._bucket import GradBucket
from ._device import Sum

__all__ = ["allreduce_hook", "bf16_compress_hook", "fp16_compress_hook"]


def _averaged(group: Any, sent: Any, bucket: GradBucket) -> Future[Any]:
    """A future of the sum of ``sent / size``, in the bucket's type."""
    group = c10d.group_of(group)
    later: Any = Future()

    def average() -> None:
        group.all_reduce(sent.array(), "SUM")
        bucket.buffer().copy_(sent)

    def tell(done: Any) -> None:
        error = done.exception()
        if error is None:
            later.set_result(bucket.buffer())
        else:
            later.set_exception(error)

    sent.div_(group.size())
    if sent.is_cuda:  # what is issued on a device is under way by itself
        bucket.buffer().copy_(Sum(sent, group).wait())
        later.set_result(bucket.buffer())
        return later
    group.run(average).add_done_callback(tell)
    return later


def allreduce_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The average of the gradients over the processes; what happens without a hook, too."""
    return _averaged(process_group, bucket.buffer(), bucket)


def _compressed(process_group: Any, bucket: GradBucket, name: str) -> Future[Any]:
    return _averaged(process_group, bucket.buffer().to(getattr(torch, name)), bucket)


def fp16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The average, rounded to float16 on its way."""
    return _compressed(process_group, bucket, "float16")


def bf16_compress_hook(process_group: Any, bucket: GradBucket) -> Future[Any]:
    """The average, rounded to bfloat16 on its way."""
    return _compressed(process_group, bucket, "bfloat16")
