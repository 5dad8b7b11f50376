"""Data pipelines: sources, operations on rows, and transforms of columns."""

from mindtorch.mindspore._argument_texts import TEXTS as _TEXTS

from .._absent import refusing as _refusing
from .._paths import offer as _offer
from . import audio as audio
from . import config as config
from . import text as text
from . import transforms as transforms
from . import vision as vision
from .caching import DatasetCache as DatasetCache
from .corpora import *
from .engine import Dataset as Dataset
from .engine import zip as zip
from .memory import GeneratorDataset as GeneratorDataset
from .memory import NumpySlicesDataset as NumpySlicesDataset
from .records import MindDataset as MindDataset
from .records import TFRecordDataset as TFRecordDataset
from .samplers import *
from .schema import Schema as Schema
from .sources import Cifar10Dataset as Cifar10Dataset
from .sources import Cifar100Dataset as Cifar100Dataset
from .sources import FashionMnistDataset as FashionMnistDataset
from .sources import ImageFolderDataset as ImageFolderDataset
from .sources import MnistDataset as MnistDataset
from .text_sources import CSVDataset as CSVDataset
from .text_sources import Shuffle as Shuffle
from .text_sources import TextFileDataset as TextFileDataset

_offer("dataset")
_TEXTS.add_to(globals().values())

__getattr__ = _refusing("mindspore.dataset")
