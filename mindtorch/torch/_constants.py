"""Numbers with names."""

from math import e as e
from math import inf as inf
from math import nan as nan
from math import pi as pi

newaxis = None
