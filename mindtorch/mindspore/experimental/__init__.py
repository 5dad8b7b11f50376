"""MindSpore's ``experimental``: optimizers whose groups are dicts, and their schedulers."""

from . import optim as optim
