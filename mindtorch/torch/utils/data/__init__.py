"""Data sets, samplers and loaders."""

from mindtorch.torch._api.public_names import own_names as _own_names
from mindtorch.torch._compat.unsupported_names import (
    absent_class,
    absent_function,
    absent_module,
)

from . import _utils as _utils
from ._worker_info import get_worker_info as get_worker_info
from .collate import default_collate as default_collate
from .collate import default_convert as default_convert
from .dataloader import DataLoader as DataLoader
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

_NO_PIPES = "DataPipes are deprecated in torch; Dataset and IterableDataset take their place"
IterDataPipe = absent_class("torch.utils.data", "IterDataPipe", _NO_PIPES)
MapDataPipe = absent_class("torch.utils.data", "MapDataPipe", _NO_PIPES)
functional_datapipe = absent_function("torch.utils.data", "functional_datapipe", _NO_PIPES)
for _name in ("", ".iter", ".map", ".datapipe", ".dataframe", ".utils"):
    absent_module(f"utils.data.datapipes{_name}", _NO_PIPES)

__all__ = [
    "BatchSampler",
    "ChainDataset",
    "ConcatDataset",
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
    "default_collate",
    "default_convert",
    "functional_datapipe",
    "get_worker_info",
    "random_split",
]

_own_names(globals())
