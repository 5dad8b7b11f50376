"""Public corpora, read from the files they are given out in."""

from .annotated import *
from .arrays import EMnistDataset as EMnistDataset
from .arrays import FakeImageDataset as FakeImageDataset
from .arrays import KMnistDataset as KMnistDataset
from .arrays import PhotoTourDataset as PhotoTourDataset
from .arrays import QMnistDataset as QMnistDataset
from .arrays import RandomDataset as RandomDataset
from .arrays import SemeionDataset as SemeionDataset
from .arrays import STL10Dataset as STL10Dataset
from .arrays import SVHNDataset as SVHNDataset
from .arrays import USPSDataset as USPSDataset
from .pictures import *
from .sounds import *
from .texts import *
