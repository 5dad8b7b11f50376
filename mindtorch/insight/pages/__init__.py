"""The application's pages; importing this package registers them in the order of the menu.

A page of somebody else's is registered by `registry.page` before the application is made.
"""

from . import trainings as trainings  # isort: skip
from . import scalars as scalars  # isort: skip
from . import distributions as distributions  # isort: skip
from . import graph as graph  # isort: skip
from . import samples as samples  # isort: skip
from . import performance as performance  # isort: skip
from . import lineage as lineage  # isort: skip
from . import compare as compare  # isort: skip
from . import checks as checks  # isort: skip
