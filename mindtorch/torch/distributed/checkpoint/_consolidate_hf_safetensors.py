"""Whole tensors from safetensors files that have boxes of them."""

from __future__ import annotations

from pathlib import Path

from .hf_storage import consolidate

__all__ = ["consolidate_safetensors_files"]


def consolidate_safetensors_files(
    input_dir: str, output_dir: str, fqn_to_index_mapping: dict[str, int], num_threads: int = 1
) -> None:
    """Write whole tensors from what HuggingFaceStorageWriter(save_distributed=True) wrote.

    Args:
        input_dir: the folder of the boxes.
        output_dir: the folder of the files that are written; it exists.
        fqn_to_index_mapping: into which file each tensor goes, from 1.
        num_threads: how many files are written at once.
    """
    consolidate(Path(input_dir), Path(output_dir), fqn_to_index_mapping, num_threads)
