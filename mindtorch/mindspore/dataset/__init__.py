"""Data pipelines: sources, operations on rows, and transforms of columns."""

from . import transforms as transforms
from . import vision as vision
from .engine import Dataset as Dataset
from .engine import zip as zip
from .memory import GeneratorDataset as GeneratorDataset
from .memory import NumpySlicesDataset as NumpySlicesDataset
from .samplers import *
from .sources import Cifar10Dataset as Cifar10Dataset
from .sources import Cifar100Dataset as Cifar100Dataset
from .sources import FashionMnistDataset as FashionMnistDataset
from .sources import ImageFolderDataset as ImageFolderDataset
from .sources import MnistDataset as MnistDataset
from .text_sources import CSVDataset as CSVDataset
from .text_sources import TextFileDataset as TextFileDataset
