"""Where torch keeps the parts of its DataLoader that scripts reach for."""

from . import collate as collate
from . import worker as worker
