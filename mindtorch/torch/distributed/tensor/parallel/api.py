"""parallelize_module: plans of how a model is cut over processes."""

from __future__ import annotations

import warnings
from fnmatch import fnmatch
from typing import Any

from ...device_mesh import DeviceMesh
from .._tensor import current_mesh
from .style import ParallelStyle

__all__ = ["parallelize_module"]


def parallelize_module(
    module: Any, device_mesh: DeviceMesh | None = None,
    parallelize_plan: ParallelStyle | dict[str, ParallelStyle] | None = None, *,
    src_data_rank: int | None = 0,
) -> Any:  # fmt: skip
    """``module``, of which parts are cut over the processes of a mesh.

    Args:
        device_mesh: the processes, along one axis; the mesh of the block when None.
        parallelize_plan: a style for the module, or styles by the names of its parts, dotted, with
            ``*`` and ``?`` for any letters.
        src_data_rank: the process whose parameters are taken; None: each takes its own.

    Raises:
        TypeError: another plan.
    """
    mesh = current_mesh(device_mesh)
    if parallelize_plan is None:
        warnings.warn(
            "No parallelize_plan is provided and auto-parallel is not supported "
            "at the moment, so this parallelize_module call will do nothing.",
            stacklevel=2,
        )
        return module
    if isinstance(parallelize_plan, ParallelStyle):
        parallelize_plan.src_data_rank = src_data_rank
        return parallelize_plan._apply(module, mesh)
    if not isinstance(parallelize_plan, dict):
        raise TypeError(
            "Expect Union[ParallelStyle, Dict[str, ParallelStyle]] for"
            f" parallelize_plan, {type(parallelize_plan)} found!"
        )
    for path, style in parallelize_plan.items():
        if path == "":
            parallelize_module(module, mesh, style, src_data_rank=src_data_rank)
            continue
        token, _, rest = path.partition(".")
        children = [child for name, child in module.named_children() if fnmatch(name, token)]
        if not children:
            warnings.warn(
                f"Parallelize plan key '{path}' could not be resolved: "
                f"no submodule matching token '{token}' in module {module}, "
                f"skipping this plan entry.",
                stacklevel=2,
            )
        for child in children:
            plan: Any = {rest: style} if rest else style
            parallelize_module(child, mesh, plan, src_data_rank=src_data_rank)
    return module
