"""Data pipelines: sources, operations on rows, and transforms of columns."""

from . import transforms as transforms
from . import vision as vision
from .engine import Dataset as Dataset
from .engine import zip as zip
from .memory import GeneratorDataset as GeneratorDataset
from .memory import NumpySlicesDataset as NumpySlicesDataset
from .sources import Cifar10Dataset as Cifar10Dataset
from .sources import FashionMnistDataset as FashionMnistDataset
from .sources import ImageFolderDataset as ImageFolderDataset
from .sources import MnistDataset as MnistDataset
