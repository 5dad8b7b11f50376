"""The ops by subject. Importing any of them makes CUDA known, which registers itself."""

from ..devices import cuda as cuda
