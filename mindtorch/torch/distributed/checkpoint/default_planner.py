"""The planners that save and load everything: flat names, each value written once."""

from __future__ import annotations

import dataclasses
import io
import math
from typing import Any

import mindtorch.torch as torch
from mindtorch.engine.tensor import Tensor as EngineTensor

from ._nested_dict import Path, flatten_state_dict, set_element
from .metadata import (
    STATE_DICT_TYPE,
    BytesStorageMetadata,
    ChunkStorageMetadata,
    Metadata,
    MetadataIndex,
    StorageMeta,
    TensorStorageMetadata,
)
from .planner import (
    LoadPlan,
    LoadPlanner,
    ReadItem,
    SavePlan,
    SavePlanner,
    WriteItem,
    WriteItemType,
)
from .planner_helpers import local_part, narrowed, overlap, read_items, write_items

__all__ = [
    "DefaultLoadPlanner", "DefaultSavePlanner", "create_default_global_load_plan",
    "create_default_global_save_plan", "create_default_local_load_plan",
    "create_default_local_save_plan",
]  # fmt: skip


class DefaultSavePlanner(SavePlanner):
    """Saves all values; one that several processes have, the one writes that has least to do.

    Args:
        flatten_state_dict: save the leaves of nested states.
        flatten_sharded_tensors: of no effect: tensors of tensors are of older versions of torch.
        dedup_replicated_tensors: deprecated in torch, and of no effect there.
        dedup_save_to_lowest_rank: the first process that has a value writes it.
        enable_plan_caching: of no effect on what is written: plans are made each time.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        dedup_replicated_tensors: bool | None = None, dedup_save_to_lowest_rank: bool = False,
        enable_plan_caching: bool = False,
    ) -> None:  # fmt: skip
        del dedup_replicated_tensors, enable_plan_caching
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.dedup_save_to_lowest_rank = dedup_save_to_lowest_rank
        self.mappings: dict[str, Path] = {}

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, storage_meta: StorageMeta | None = None,
        is_coordinator: bool = False,
    ) -> None:  # fmt: skip
        del storage_meta
        self.state_dict: STATE_DICT_TYPE = state_dict
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten_state_dict(state_dict)
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> SavePlan:
        plan = create_default_local_save_plan(self.state_dict, self.is_coordinator)
        if self.flatten_state_dict:
            plan = dataclasses.replace(plan, planner_data=self.mappings)
        self.plan = plan
        return plan

    def create_global_plan(self, all_plans: list[SavePlan]) -> tuple[list[SavePlan], Metadata]:
        once = _each_once(all_plans, self.dedup_save_to_lowest_rank)
        plans, metadata = create_default_global_save_plan(once)
        if self.flatten_state_dict:
            paths: dict[str, Path] = {}
            for plan in reversed(plans):
                paths.update(plan.planner_data)
            metadata = dataclasses.replace(metadata, planner_data=paths)
        _check(plans, metadata)
        self.global_plan, self.metadata = plans, metadata
        return plans, metadata

    def finish_plan(self, new_plan: SavePlan) -> SavePlan:
        self.plan = new_plan
        return new_plan

    def resolve_data(self, write_item: WriteItem) -> Any:
        return self.transform_object(write_item, self.lookup_object(write_item.index))

    def lookup_object(self, index: MetadataIndex) -> Any:
        """The value of an entry; for planners made from this one.

        Args:
            index: the entry's key.
        """
        return local_part(self.state_dict[index.fqn], index)

    def transform_object(self, write_item: WriteItem, object: Any) -> Any:  # noqa: A002
        """What is written of a value; for planners made from this one.

        Args:
            write_item: of the plan.
            object: the value.
        """
        if write_item.type is not WriteItemType.BYTE_IO:
            return object
        data = io.BytesIO()
        torch.save(object, data)
        return data


class DefaultLoadPlanner(LoadPlanner):
    """Loads all values of a state, boxes of tensors from whatever boxes were written.

    Args:
        flatten_state_dict: the checkpoint has the leaves of nested states.
        flatten_sharded_tensors: of no effect: tensors of tensors are of older versions of torch.
        allow_partial_load: leave what the checkpoint does not have as it is.
    """

    def __init__(
        self, flatten_state_dict: bool = True, flatten_sharded_tensors: bool = True,
        allow_partial_load: bool = False,
    ) -> None:  # fmt: skip
        self.flatten_state_dict = flatten_state_dict
        self.flatten_sharded_tensors = flatten_sharded_tensors
        self.allow_partial_load = allow_partial_load
        self.original_state_dict: STATE_DICT_TYPE = {}
        self.mappings: dict[str, Path] = {}

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:  # fmt: skip
        self.original_state_dict = self.state_dict = state_dict
        if self.flatten_state_dict:
            self.state_dict, self.mappings = flatten_state_dict(state_dict)
        self.metadata = metadata
        self.is_coordinator = is_coordinator

    def create_local_plan(self) -> LoadPlan:
        assert self.metadata is not None, "set_up_planner was given no metadata"
        return create_default_local_load_plan(
            self.state_dict, self.metadata, not self.allow_partial_load
        )

    def create_global_plan(self, global_plan: list[LoadPlan]) -> list[LoadPlan]:
        return create_default_global_load_plan(global_plan)

    def finish_plan(self, central_plan: LoadPlan) -> LoadPlan:
        return central_plan

    def load_bytes(self, read_item: ReadItem, value: io.BytesIO) -> None:
        name, loaded = read_item.dest_index.fqn, torch.load(value, weights_only=False)
        if self.flatten_state_dict:
            set_element(self.original_state_dict, self.mappings[name], loaded)
        else:
            self.state_dict[name] = loaded

    def resolve_tensor(self, read_item: ReadItem) -> Any:
        return self.transform_tensor(read_item, self.lookup_tensor(read_item.dest_index))

    def commit_tensor(self, read_item: ReadItem, tensor: Any) -> None:
        """Nothing: the tensor has been written over."""

    def lookup_tensor(self, index: MetadataIndex) -> Any:
        """The tensor of an entry; for planners made from this one.

        Args:
            index: the entry's key.
        """
        return local_part(self.state_dict[index.fqn], index)

    def transform_tensor(self, read_item: ReadItem, tensor: Any) -> Any:
        """The part of a tensor that is written over; for planners made from this one.

        Args:
            read_item: of the plan.
            tensor: what :meth:`lookup_tensor` gave.
        """
        return narrowed(tensor, read_item.dest_offsets, read_item.lengths)


class EmptyStateDictLoadPlanner(DefaultLoadPlanner):
    """Loads into an empty dict: the nested state is made from the checkpoint's description.

    Args:
        keys: flat names, or beginnings of them up to a dot, of what is loaded; None for all.
        args, kwargs: of :class:`DefaultLoadPlanner`.
    """

    def __init__(self, keys: Any = None, *args: Any, **kwargs: Any) -> None:
        self.keys = {keys} if isinstance(keys, str) else keys
        super().__init__(*args, **kwargs)

    def set_up_planner(
        self, state_dict: STATE_DICT_TYPE, metadata: Metadata | None = None,
        is_coordinator: bool = False,
    ) -> None:  # fmt: skip
        if state_dict:
            raise AssertionError("not state_dict")
        assert metadata is not None, "set_up_planner was given no metadata"
        paths = metadata.planner_data or {}
        for name, entry in metadata.state_dict_metadata.items():
            path = paths.get(name, (name,))
            if self._is_wanted(name, path):
                value = None
                if isinstance(entry, TensorStorageMetadata):
                    value = torch.empty(entry.size, dtype=entry.properties.dtype)
                set_element(state_dict, path, value)
        super().set_up_planner(state_dict, metadata, is_coordinator)

    def _is_wanted(self, name: str, path: Path) -> bool:
        if self.keys is None or name in self.keys:
            return True
        return any(".".join(map(str, path[:n])) in self.keys for n in range(1, len(path)))


# torch's name
_EmptyStateDictLoadPlanner = EmptyStateDictLoadPlanner


def create_default_local_load_plan(
    state_dict: dict[str, Any], metadata: Metadata, strict: bool = True
) -> LoadPlan:
    """What a process reads for the values of a flat state.

    Args:
        state_dict: values by flat name.
        metadata: the checkpoint's description.
        strict: whether the checkpoint has to have all names.

    Raises:
        RuntimeError: a name is missing, or a tensor has no memory to load into.
        ValueError: a tensor has another size.
    """
    items: list[ReadItem] = []
    for name, value in state_dict.items():
        entry = metadata.state_dict_metadata.get(name)
        if entry is None:
            if strict:
                raise RuntimeError(f"Missing key in checkpoint state_dict: {name}.")
            continue
        if isinstance(entry, TensorStorageMetadata) and isinstance(value, EngineTensor):
            if tuple(entry.size) != tuple(value.size()):
                raise ValueError(
                    f"Size mismatch between saved {entry.size} and current: {value.size()} for "
                    f"{name}"
                )
            if value.is_meta:
                raise RuntimeError(
                    f"{name} is on the meta device, so there is nothing to load into: "
                    "materialise it (module.to_empty) before loading"
                )
        items += read_items(name, entry, value)
    return LoadPlan(items)


def create_default_global_load_plan(all_plans: list[LoadPlan]) -> list[LoadPlan]:
    """The plans as they are: reading needs no agreement.

    Args:
        all_plans: of all processes.
    """
    return all_plans


def create_default_local_save_plan(state_dict: dict[str, Any], is_coordinator: bool) -> SavePlan:
    """What a process could write of a flat state.

    Args:
        state_dict: values by flat name.
        is_coordinator: of no effect; the global plan drops what several have.
    """
    del is_coordinator
    return SavePlan(
        [item for name, value in state_dict.items() for item in write_items(name, value)]
    )


def create_default_global_save_plan(
    all_plans: list[SavePlan], rewrite_index_hints: bool = True
) -> tuple[list[SavePlan], Metadata]:
    """The checkpoint's description, and plans whose items know their places in it.

    Args:
        all_plans: of all processes, each value in one of them.
        rewrite_index_hints: tell each item its place among the boxes of its tensor.
    """
    entries: dict[str, Any] = {}
    plans = []
    for plan in all_plans:
        items = []
        for item in plan.items:
            name = item.index.fqn
            if item.type is not WriteItemType.SHARD and name in entries:
                raise AssertionError(f"{name} is written twice")
            if item.tensor_data is None:
                entries[name] = BytesStorageMetadata()
            else:
                data = item.tensor_data
                entry = entries.setdefault(
                    name, TensorStorageMetadata(data.properties, data.size, [])
                )
                if rewrite_index_hints:
                    index = dataclasses.replace(item.index, index=len(entry.chunks))
                    item = dataclasses.replace(item, index=index)
                entry.chunks.append(data.chunk)
            items.append(item)
        plans.append(dataclasses.replace(plan, items=items))
    return plans, Metadata(entries)


def _each_once(plans: list[SavePlan], to_lowest: bool) -> list[SavePlan]:
    """The plans, with an item that several have in one of them."""
    owners: dict[MetadataIndex, list[int]] = {}
    items: dict[MetadataIndex, WriteItem] = {}
    for number, plan in enumerate(plans):
        for item in plan.items:
            owners.setdefault(item.index, []).append(number)
            items[item.index] = item
    sizes = [0] * len(plans)
    chosen: dict[MetadataIndex, int] = {}
    for index, numbers in owners.items():
        number = numbers[0] if to_lowest else min(numbers, key=lambda n: sizes[n])
        sizes[number] += items[index].tensor_storage_size() or 1
        chosen[index] = number
    return [
        dataclasses.replace(plan, items=[i for i in plan.items if chosen[i.index] == number])
        for number, plan in enumerate(plans)
    ]


def _check(plans: list[SavePlan], metadata: Metadata) -> None:
    """ValueError where the boxes of a tensor overlap, leave it or do not fill it."""
    errors: list[str] = []
    for name, entry in metadata.state_dict_metadata.items():
        if isinstance(entry, BytesStorageMetadata) or not len(entry.size):
            continue
        for box in entry.chunks:
            ends = [a + n for a, n in zip(box.offsets, box.sizes, strict=True)]
            inside = all(e <= n for e, n in zip(ends, entry.size, strict=True))
            if not inside or min(*box.offsets, *box.sizes) < 0:
                errors.append(
                    f"key:{name} has out of bounds chunk: tensor-size:{entry.size} chunk: {box}"
                )
        errors += [f"key:{name} has overlapping chunks: {a} {b}" for a, b in _overlaps(entry)]
        volume, filled = math.prod(entry.size), sum(math.prod(c.sizes) for c in entry.chunks)
        if len(plans) > 1 and volume != filled:
            errors.append(
                f"key:{name} invalid fill tensor-volume: {volume} chunks-volume: {filled}"
            )
    if errors:
        raise ValueError(f"Failed to validate global plan: {'; '.join(errors)[:500]}")


def _overlaps(
    entry: TensorStorageMetadata,
) -> list[tuple[ChunkStorageMetadata, ChunkStorageMetadata]]:
    """Pairs of boxes that have elements in common; boxes far apart on the longest axis are not
    compared."""
    axis = max(range(len(entry.size)), key=lambda a: entry.size[a])
    found = []
    open_boxes: list[ChunkStorageMetadata] = []
    for box in sorted(entry.chunks, key=lambda c: c.offsets[axis]):
        open_boxes = [
            each for each in open_boxes if each.offsets[axis] + each.sizes[axis] > box.offsets[axis]
        ]
        found += [(box, each) for each in open_boxes if overlap(box, each) is not None]
        open_boxes.append(box)
    return found
