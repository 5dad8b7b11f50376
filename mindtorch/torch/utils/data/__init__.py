"""Data sets, samplers and loaders."""

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._compat.unsupported_names import absent_function, absent_module

from . import _utils as _utils
from . import datapipes as datapipes
from . import graph as graph
from . import graph_settings as graph_settings
from ._worker_info import get_worker_info as get_worker_info
from .collate import default_collate as default_collate
from .collate import default_convert as default_convert
from .dataloader import DataLoader as DataLoader
from .datapipes._decorator import functional_datapipe as functional_datapipe
from .datapipes._decorator import (
    guaranteed_datapipes_determinism as guaranteed_datapipes_determinism,
)
from .datapipes._decorator import non_deterministic as non_deterministic
from .datapipes.datapipe import DataChunk as DataChunk
from .datapipes.datapipe import DFIterDataPipe as DFIterDataPipe
from .datapipes.datapipe import IterDataPipe as IterDataPipe
from .datapipes.datapipe import MapDataPipe as MapDataPipe
from .dataset import ChainDataset as ChainDataset
from .dataset import ConcatDataset as ConcatDataset
from .dataset import Dataset as Dataset
from .dataset import IterableDataset as IterableDataset
from .dataset import StackDataset as StackDataset
from .dataset import Subset as Subset
from .dataset import TensorDataset as TensorDataset
from .dataset import random_split as random_split
from .distributed import DistributedSampler as DistributedSampler
from .sampler import BatchSampler as BatchSampler
from .sampler import RandomSampler as RandomSampler
from .sampler import Sampler as Sampler
from .sampler import SequentialSampler as SequentialSampler
from .sampler import SubsetRandomSampler as SubsetRandomSampler
from .sampler import WeightedRandomSampler as WeightedRandomSampler

_NO_FRAMES = "data frames of torcharrow, which is no longer made"
absent_module("utils.data.datapipes.dataframe", _NO_FRAMES)
_NO_TYPES = "what a pipe's samples are is not checked"
argument_validation = absent_function("torch.utils.data", "argument_validation", _NO_TYPES)
runtime_validation = absent_function("torch.utils.data", "runtime_validation", _NO_TYPES)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
    "DFIterDataPipe",
    "DataChunk",
    "DataLoader",
    "Dataset",
    "DistributedSampler",
    "IterDataPipe",
    "IterableDataset",
    "MapDataPipe",
    "RandomSampler",
    "Sampler",
    "SequentialSampler",
    "StackDataset",
    "Subset",
    "SubsetRandomSampler",
    "TensorDataset",
    "WeightedRandomSampler",
    "argument_validation",
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "guaranteed_datapipes_determinism",
    "non_deterministic",
    "random_split",
    "runtime_validation",
]

_own_names(globals())
