"""Rows of data sets in a cache server, which several processes and runs share.

:class:`DatasetCache` names a session of a server that ``mindtorch cache --start`` started,
:class:`Cached` puts it before a ``torch.utils.data`` data set. Needs the extra `cache`; see
docs/data-cache.md.
"""

from .cached import Cached as Cached
from .session import CacheWarning as CacheWarning
from .session import DatasetCache as DatasetCache

__all__ = ["CacheWarning", "Cached", "DatasetCache"]
